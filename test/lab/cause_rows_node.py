"""Faults of the node's own links: what somebody has added to or changed on an uplink or a bridge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from causes import Row, Stage
from railcni_lab import kernel
from railcni_lab.layout import uplink


def by_ip(fault: str, mend: str) -> Callable[[Stage], AbstractContextManager[None]]:
    """Words of `ip` on the node; {uplink} stands for the rail's. What the remedy has mended is mended once more without harm."""

    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        name = uplink(stage.rail)
        kernel.run(["ip", "-n", stage.node.namespace, *fault.format(uplink=name).split()])
        try:
            yield
        finally:
            kernel.run(["ip", "-n", stage.node.namespace, "-force", "-batch", "-"], stdin=mend.format(uplink=name) + "\n")

    return make


ROWS: list[Row] = [
    Row("uplink has an address", "uplink-has-address", "rail0",
        by_ip("address add 192.0.2.1/24 dev {uplink}", "address flush dev {uplink} to 192.0.2.1/24"), "ip address del"),
]
