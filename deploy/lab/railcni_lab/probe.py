"""Asks the network who reaches whom: ICMP echoes, or RoCE-like datagrams whose payload and TOS byte are compared.

All pairs at once, from sockets in the pods' namespaces bound to the rail's interface and address. Nothing is believed
from one lost packet: each pair is tried several times, and the whole run is bounded."""

from __future__ import annotations

import os
import secrets
import select
import socket
import struct
import time
from collections.abc import Iterable
from dataclasses import dataclass

from .kernel import inside

ROCE_PORT = 4791
ROCE_TOS = 0x6A  # DSCP 26, ECN 10
ROUND_SECONDS = 0.3
ROUNDS = 4

YES, NO, ALTERED = "yes", "no", "altered"


@dataclass(frozen=True)
class Endpoint:
    """One address of one pod on one rail."""

    pod: str
    namespace: str
    rail: int
    ifname: str
    version: int
    address: str


Pair = tuple[Endpoint, Endpoint]


def _socket(end: Endpoint, kind: int, protocol: int, port: int) -> socket.socket:
    with inside(end.namespace):
        s = socket.socket(socket.AF_INET if end.version == 4 else socket.AF_INET6, kind | socket.SOCK_NONBLOCK, protocol)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, end.ifname.encode() + b"\0")
    s.bind((end.address, port))
    return s


def _checksum(data: bytes) -> int:
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def _send(s: socket.socket, data: bytes, address: str, port: int = 0) -> None:
    try:
        s.sendto(data, (address, port))
    except OSError:
        pass  # no route, or refused: not seen, which is the answer


class _Icmp:
    """Echo requests; a pair is seen when its reply comes back."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.token = secrets.token_bytes(16)
        self.ident = os.getpid() & 0xFFFF
        self.pairs = pairs
        self.sockets = {end: _socket(end, socket.SOCK_RAW,
                                     socket.IPPROTO_ICMP if end.version == 4 else socket.IPPROTO_ICMPV6, 0)
                        for end in {p[0] for p in pairs}}
        self.by_fd = {s.fileno(): end for end, s in self.sockets.items()}

    def send(self, index: int) -> None:
        source, target = self.pairs[index]
        kind = 8 if source.version == 4 else 128
        body = self.token + struct.pack("!I", index)
        packet = struct.pack("!BBHHH", kind, 0, 0, self.ident, index & 0xFFFF) + body
        if source.version == 4:  # the kernel fills in ICMPv6's
            packet = packet[:2] + struct.pack("!H", _checksum(packet)) + packet[4:]
        _send(self.sockets[source], packet, target.address)

    def receive(self, fd: int) -> tuple[int, str] | None:
        end = self.by_fd[fd]
        data, sender = self.sockets[end].recvfrom(2048)
        if end.version == 4:
            data = data[(data[0] & 15) * 4:]
        if len(data) < 28 or data[0] != (0 if end.version == 4 else 129) or data[8:24] != self.token:
            return None
        index = struct.unpack("!I", data[24:28])[0]
        source, target = self.pairs[index]
        return (index, YES) if source == end and sender[0].split("%")[0] == target.address else None

    def close(self) -> None:
        for s in self.sockets.values():
            s.close()


class _Roce:
    """Datagrams to UDP port 4791 with DSCP 26 and ECN 10; a pair is seen when one arrives as it was sent."""

    def __init__(self, pairs: list[Pair]) -> None:
        self.pairs = pairs
        self.payloads = [secrets.token_bytes(1024) for _ in pairs]
        self.index = {payload[:16]: i for i, payload in enumerate(self.payloads)}
        self.senders = {end: _socket(end, socket.SOCK_DGRAM, 0, 0) for end in {p[0] for p in pairs}}
        self.receivers = {end: _socket(end, socket.SOCK_DGRAM, 0, ROCE_PORT) for end in {p[1] for p in pairs}}
        for end, s in self.senders.items():
            if end.version == 4:
                s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ROCE_TOS)
            else:
                s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, ROCE_TOS)
        for end, s in self.receivers.items():
            if end.version == 4:
                s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
            else:
                s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        self.by_fd = {s.fileno(): end for end, s in self.receivers.items()}

    def send(self, index: int) -> None:
        source, target = self.pairs[index]
        _send(self.senders[source], self.payloads[index], target.address, ROCE_PORT)

    def receive(self, fd: int) -> tuple[int, str] | None:
        end = self.by_fd[fd]
        data, ancillary, _, sender = self.receivers[end].recvmsg(4096, 64)
        index = self.index.get(data[:16])
        if index is None:
            return None
        source, target = self.pairs[index]
        tos = next((value[0] if level == socket.IPPROTO_IP else struct.unpack("i", value[:4])[0]
                    for level, _, value in ancillary if level in (socket.IPPROTO_IP, socket.IPPROTO_IPV6)), None)
        intact = (data == self.payloads[index] and tos == ROCE_TOS and target == end
                  and sender[0].split("%")[0] == source.address)
        return index, YES if intact else ALTERED

    def close(self) -> None:
        for s in (*self.senders.values(), *self.receivers.values()):
            s.close()


def run(kind: str, pairs: Iterable[Pair]) -> list[str]:
    """YES, NO or ALTERED for each pair; `kind` is "icmp" or "udp". Ends early when every pair has answered."""
    wanted = list(pairs)
    if not wanted:
        return []
    probe = _Icmp(wanted) if kind == "icmp" else _Roce(wanted)
    seen = [NO] * len(wanted)
    try:
        poll = select.poll()
        for fd in probe.by_fd:
            poll.register(fd, select.POLLIN)
        for _ in range(ROUNDS):
            for index, answer in enumerate(seen):
                if answer == NO:
                    probe.send(index)
            deadline = time.monotonic() + ROUND_SECONDS
            while NO in seen and (left := deadline - time.monotonic()) > 0:
                for fd, _ in poll.poll(left * 1000):
                    try:
                        answer = probe.receive(fd)
                    except OSError:
                        continue
                    if answer is not None and seen[answer[0]] != ALTERED:
                        seen[answer[0]] = answer[1]
            if NO not in seen:
                break
    finally:
        probe.close()
    return seen
