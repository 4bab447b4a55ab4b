"""Open vSwitch's kernel datapath with hw-offload=true: everything between pods is tc's, nothing is left to Open vSwitch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from railcni_lab import matrix
from switched import lab_of, on_pod_path
from world import World

PODS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "a3": ("n1", "tenant-a"), "b1": ("n1", "tenant-b"),
        "b2": ("n2", "tenant-b")}


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with lab_of(PODS) as world:
        yield world


@pytest.mark.parametrize("kind", ["udp", "icmp"])
def test_same_tenant_reachable_and_other_tenant_never(world: World, kind: str) -> None:
    cells = matrix.measure(world.lab, kind, wait_seconds=60)
    assert all(c.right for c in cells), matrix.table(cells, kind)


def test_megaflows(world: World) -> None:
    for node in world.lab.nodes():
        for flow in on_pod_path(world, node):
            print(node.name, flow.text)
