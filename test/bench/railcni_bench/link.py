"""The kernel's part of an attachment: a link moved into another network namespace, by one netlink message."""

from __future__ import annotations

import os
import socket
import struct
import time

from railcni_lab import kernel

from .measure import BenchError

RTM_NEWLINK, NLM_F_REQUEST, NLM_F_ACK, NLMSG_ERROR = 16, 1, 4, 2
IFLA_IFNAME, IFLA_NET_NS_FD = 3, 28  # linux/if_link.h


def _attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def move(name: str, to: str, new_name: str) -> float:
    """Moves a link of the calling thread's namespace into the namespace `to`; how many milliseconds the kernel took."""
    namespace = os.open(kernel.NETNS_DIR / to, os.O_RDONLY | os.O_CLOEXEC)
    try:
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
            body = struct.pack("BxHiII", socket.AF_UNSPEC, 0, socket.if_nametoindex(name), 0, 0)
            body += _attribute(IFLA_NET_NS_FD, struct.pack("I", namespace)) + _attribute(IFLA_IFNAME, new_name.encode() + b"\0")
            message = struct.pack("IHHII", 16 + len(body), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0) + body
            began = time.perf_counter_ns()
            netlink.send(message)
            answer = netlink.recv(65536)
            took = time.perf_counter_ns() - began
    finally:
        os.close(namespace)
    kind, error = struct.unpack_from("H", answer, 4)[0], struct.unpack_from("i", answer, 16)[0]
    if kind != NLMSG_ERROR or error != 0:
        raise BenchError(f"move {name} into {to}: {os.strerror(-error)}")
    return took / 1e6


def there_and_back(name: str, home: str, pod: str, ifname: str) -> list[float]:
    """The two moves of an attachment's life, by the kernel alone. The calling thread is in `home`."""
    there = move(name, pod, ifname)
    with kernel.inside(pod):
        return [there, move(ifname, home, name)]
