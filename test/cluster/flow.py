"""Numbered datagrams between pods all the time: what was lost, what arrived where it must not.

Use:     with Flow(kube, pairs, forbidden) as flow:
             ... what may cost nothing ...
         assert flow.lost() == 0 and not flow.breaches()
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time

from kube import Kube, eventually
from railcni_lab import kernel

Pod = tuple[str, str]  # namespace, name
PORT, PERIOD = 4793, 0.02


class Flow:
    """50 datagrams a second from each pod to each other, on one rail, IPv4."""

    def __init__(self, kube: Kube, pairs: list[tuple[Pod, Pod]], forbidden: list[tuple[Pod, Pod]] | None = None, rail: int = 0) -> None:
        self.kube, self.rail = kube, rail
        self.pairs, self.allowed = [*pairs, *(forbidden or [])], len(pairs)
        self.sent = [0] * len(self.pairs)
        self.seen: list[set[int]] = [set() for _ in self.pairs]
        self.sockets: dict[Pod, socket.socket] = {}
        self.addresses: dict[Pod, str] = {}
        self.stop_sending, self.ended = threading.Event(), threading.Event()
        self.sender, self.receiver = threading.Thread(target=self._send, daemon=True), threading.Thread(target=self._receive, daemon=True)

    def __enter__(self) -> Flow:
        for pod in sorted({pod for pair in self.pairs for pod in pair}):
            self.addresses[pod] = self.kube.addresses(*pod, self.rail)[0]
            with kernel.inside(self.kube.sandbox(*pod)):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, f"net{self.rail + 1}".encode() + b"\0")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
            s.bind((self.addresses[pod], PORT))
            self.sockets[pod] = s
        self.receiver.start()
        self._warm()
        self.sender.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_sending.set()
        self.sender.join()
        deadline = time.monotonic() + 2  # what is on its way still counts
        while self.lost() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.ended.set()
        self.receiver.join()
        for s in self.sockets.values():
            s.close()

    def _warm(self) -> None:
        """The first packet of a pair asks for a neighbour and a flow; numbers begin after that."""
        def all_seen() -> bool:
            for index in range(self.allowed):
                if 0 not in self.seen[index]:
                    self._packet(index, 0)
            time.sleep(0.1)
            return all(0 in seen for seen in self.seen[:self.allowed])

        eventually("traffic between the pods", all_seen, bool, 30)

    def _packet(self, index: int, number: int) -> None:
        source, target = self.pairs[index]
        try:
            self.sockets[source].sendto(struct.pack("!II", index, number), (self.addresses[target], PORT))
        except OSError:
            pass  # no route: lost

    def _send(self) -> None:
        due = time.monotonic()
        while not self.stop_sending.is_set():
            for index in range(len(self.pairs)):
                self.sent[index] += 1
                self._packet(index, self.sent[index])
            due = max(due + PERIOD, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _receive(self) -> None:
        poll = select.poll()
        by_fd = {s.fileno(): s for s in self.sockets.values()}
        for fd in by_fd:
            poll.register(fd, select.POLLIN)
        while not self.ended.is_set():
            for fd, _ in poll.poll(100):
                try:
                    while True:
                        index, number = struct.unpack("!II", by_fd[fd].recv(64)[:8])
                        self.seen[index].add(number)
                except OSError:
                    continue

    def lost(self) -> int:
        return sum(sent - len(seen - {0}) for sent, seen in zip(self.sent[:self.allowed], self.seen, strict=False))

    def silence(self) -> float:
        """The longest time in seconds in which a pair that may talk heard nothing; numbers tell the time."""
        def longest(sent: int, seen: set[int]) -> int:
            numbers = [0, *sorted(seen - {0}), sent + 1]
            return max(after - before - 1 for before, after in zip(numbers, numbers[1:], strict=False))

        return PERIOD * max(longest(sent, seen) for sent, seen in zip(self.sent[:self.allowed], self.seen, strict=False))

    def count(self) -> int:
        return sum(self.sent[:self.allowed])

    def breaches(self) -> list[tuple[Pod, Pod]]:
        return [pair for pair, seen in list(zip(self.pairs, self.seen, strict=True))[self.allowed:] if seen]
