"""Who hears what: a socket in every pod of a guest."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from frames import ROCE_PORT
from railcni_lab import kernel
from tags import TOS


class Pod(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def namespace(self) -> str: ...
    @property
    def address(self) -> str: ...


class Ears:
    """What each pod has heard: (payload, TOS)."""

    def __init__(self, sockets: dict[str, socket.socket]) -> None:
        self.sockets = sockets  # by the pod's name

    def say(self, pod: Pod, target: str, words: str) -> None:
        self.sockets[pod.name].sendto(words.encode(), (target, ROCE_PORT))

    def heard(self, pod: Pod, seconds: float) -> tuple[str, int] | None:
        """The next datagram, if one comes within this time."""
        s = self.sockets[pod.name]
        s.settimeout(seconds)
        try:
            data, ancillary, _, _ = s.recvmsg(2048, 64)
        except TimeoutError:
            return None
        return data.decode(), ancillary[0][2][0]


@contextmanager
def listening(pods: Sequence[Pod]) -> Iterator[Ears]:
    with ExitStack() as stack:
        sockets: dict[str, socket.socket] = {}
        for pod in pods:
            with kernel.inside(pod.namespace):
                s = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
            s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, TOS)
            s.bind((pod.address, ROCE_PORT))
            sockets[pod.name] = s
        yield Ears(sockets)
