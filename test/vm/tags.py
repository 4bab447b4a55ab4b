"""Datagrams with tags that a pod or a leaf could send and no kernel would."""

from __future__ import annotations

import socket
import struct

from frames import ip, mac_bytes, udp
from railcni_lab import kernel

TOS = 26 << 2 | 2  # DSCP 26, ECT(0)


def tag(vlan: int, kind: int = 0x8100, priority: int = 0) -> bytes:
    return struct.pack("!HH", kind, priority << 13 | vlan)


def datagram(to_mac: str, from_mac: str, source: str, target: str, words: bytes, tags: bytes = b"") -> bytes:
    """`tags` stand before the Ethernet type."""
    kind, packet = ip(source, target, socket.IPPROTO_UDP, udp(source, target, words), TOS)
    return mac_bytes(to_mac) + mac_bytes(from_mac) + tags + struct.pack("!H", kind) + packet


def send(namespace: str, link: str, frames: list[bytes]) -> None:
    with kernel.inside(namespace), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((link, 0))
        for frame in frames:
            s.send(frame)


def mac_of(namespace: str, link: str) -> str:
    return kernel.run(["ip", "netns", "exec", namespace, "cat", f"/sys/class/net/{link}/address"]).strip()


# What a pod could put before its frame: name -> the tags, of its own VLAN and another tenant's.
HOPS = {"its own tenant's tag": lambda own, other: tag(own), "another tenant's tag": lambda own, other: tag(other),
        "a priority tag": lambda own, other: tag(0, priority=5), "a tag of nobody": lambda own, other: tag(999),
        "two tags": lambda own, other: tag(own) + tag(other), "a service tag": lambda own, other: tag(other, kind=0x88a8),
        "a service tag and a tag": lambda own, other: tag(own, kind=0x88a8) + tag(other)}
