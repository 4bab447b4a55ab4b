"""Datagrams between pods all the time, and what a leaf knows all the time: what a fault costs, seen from outside.

Use:     with Traffic([("a1", "a2"), ("a2", "a1")], world) as traffic:
             began = time.monotonic(); ... a fault ...; traffic.flows_again(); print(traffic.gap_ms(began))
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time

from railcni_lab import kernel, vty
from railcni_lab.layout import Host, LabError
from world import World, eventually

PORT = 4792
PERIOD = 0.01
SO_RCVBUFFORCE = 33  # socket(7)
RECEIVED = 8 << 20  # bytes: seconds of traffic, for which a busy machine may keep the reader waiting


class Traffic:
    """100 datagrams a second from each pod to each other, on rail 0, IPv4. Those of `forbidden` pairs must never arrive."""

    def __init__(self, pairs: list[tuple[str, str]], world: World, forbidden: list[tuple[str, str]] | None = None) -> None:
        self.pairs, self.world, self.allowed = [*pairs, *(forbidden or [])], world, len(pairs)
        self.arrivals: list[list[float]] = [[] for _ in self.pairs]
        self.sent = [0] * len(self.pairs)
        self.pause, self.silent = threading.Event(), threading.Event()
        self.ended = threading.Event()
        self.unheard: int | None = None  # of the allowed pairs, before the first flows_again: a route was still on its way
        self.sockets: dict[str, socket.socket] = {}
        self.threads: list[threading.Thread] = []
        self.addresses: dict[str, str] = {}

    def __enter__(self) -> Traffic:
        self.open({name for pair in self.pairs for name in pair})
        self.threads = [threading.Thread(target=self._send, daemon=True), threading.Thread(target=self._receive, daemon=True)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        for thread in self.threads:
            thread.join()
        for s in self.sockets.values():
            s.close()

    def open(self, names: set[str]) -> None:
        """Sockets in these pods; again when the pods have been made again."""
        for name in names:
            port = self.world.port(name)
            with kernel.inside(port.namespace):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, port.ifname.encode() + b"\0")
            s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVED)
            s.bind((port.ipv4, PORT))
            self.addresses[name] = port.ipv4
            self.sockets[name] = s

    def close(self, names: set[str]) -> None:
        """A socket keeps a pod's namespace alive."""
        for name in names:
            self.sockets[name].close()

    def _send(self) -> None:
        due = time.monotonic()
        while not self.ended.is_set():
            if self.pause.is_set():
                self.silent.set()
            else:
                self.silent.clear()
            for index, (source, target) in enumerate([] if self.silent.is_set() else self.pairs):
                try:
                    self.sockets[source].sendto(struct.pack("!I", index), (self.addresses[target], PORT))
                    self.sent[index] += 1
                except OSError:
                    pass  # the pod is gone for now
            due = max(due + PERIOD, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))

    def _receive(self) -> None:
        while not self.ended.is_set():
            try:
                readable, _, _ = select.select([s for s in self.sockets.values() if s.fileno() >= 0], [], [], 0.1)
            except (OSError, ValueError):
                continue  # one was closed meanwhile
            now = time.monotonic()
            for s in readable:
                try:
                    while True:
                        self.arrivals[struct.unpack("!I", s.recv(64)[:4])[0]].append(now)
                except OSError:
                    continue

    def flows(self) -> bool:
        """Every direction has delivered in the last tenth of a second, and did half a second ago."""
        now = time.monotonic()
        return all(a and now - a[-1] < 0.1 and len([t for t in a[-100:] if now - t < 0.5]) > 20 for a in self.arrivals[:self.allowed])

    def breaches(self) -> list[tuple[str, str]]:
        """The forbidden pairs of which something has arrived."""
        return [pair for pair, arrivals in list(zip(self.pairs, self.arrivals, strict=True))[self.allowed:] if arrivals]

    def flows_again(self, seconds: float = 30) -> None:
        eventually("traffic in both directions", self.flows, bool, seconds)
        if self.unheard is None:
            self.unheard = self.silent_missing(1)
            eventually("traffic after the count", self.flows, bool, seconds)

    def lost(self) -> int:
        """How many datagrams of the allowed pairs have not arrived, of all since the first `flows_again`. The pods are silent meanwhile."""
        return self.silent_missing(10, self.unheard or 0) - (self.unheard or 0)

    def silent_missing(self, seconds: float, accepted: int = 0) -> int:
        self.pause.set()
        assert self.silent.wait(30), "the sender hangs"
        deadline = time.monotonic() + seconds  # what is under way arrives, or never will
        while self.missing() > accepted and time.monotonic() < deadline:
            time.sleep(PERIOD)
        missing = self.missing()
        self.pause.clear()
        while self.silent.is_set() and self.threads[0].is_alive():
            time.sleep(PERIOD / 10)
        return missing

    def missing(self) -> int:
        return sum(self.sent[:self.allowed]) - sum(map(len, self.arrivals[:self.allowed]))

    def gap_ms(self, since: float) -> float:
        """The longest silence of any direction that ended after `since`."""
        longest = 0.0
        for arrivals in self.arrivals[:self.allowed]:
            times = [t for t in arrivals if t >= since - 1] or [since]
            longest = max([longest, *(b - a for a, b in zip(times, times[1:], strict=False) if b >= since)])
        return max(0.0, longest - PERIOD) * 1000


class LeafWatch:
    """The prefixes that were missing at a leaf at any look, many times a second."""

    def __init__(self, leaf: Host, wanted: set[str]) -> None:
        self.leaf, self.wanted, self.lost = leaf, wanted, set[str]()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)

    def prefixes(self) -> set[str]:
        found = set()
        for family in ("ipv4", "ipv6"):
            found |= set(vty.show_json(self.leaf.frr_dir, f"show bgp {family} unicast json").get("routes", {}))
        return found

    def _watch(self) -> None:
        while not self.ended.wait(0.03):
            try:
                self.lost |= self.wanted - self.prefixes()
            except (LabError, OSError):
                continue

    def __enter__(self) -> LeafWatch:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
