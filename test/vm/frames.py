"""Ethernet frames by hand: what a pod or a leaf could send that no kernel would."""

from __future__ import annotations

import socket
import struct

from railcni_lab import kernel

PORT = 4791
TOS = 26 << 2 | 2  # DSCP 26, ECT(0)


def tag(vlan: int, kind: int = 0x8100, priority: int = 0) -> bytes:
    return struct.pack("!HH", kind, priority << 13 | vlan)


def datagram(to_mac: str, from_mac: str, source: str, target: str, words: bytes, tags: bytes = b"") -> bytes:
    """UDP without a checksum; `tags` stand before the Ethernet type."""
    udp = struct.pack("!HHHH", PORT, PORT, 8 + len(words), 0) + words
    header = struct.pack("!BBHHHBBH4s4s", 0x45, TOS, 20 + len(udp), 0, 0, 64, 17, 0, socket.inet_aton(source), socket.inet_aton(target))
    total = sum(struct.unpack("!10H", header))
    header = header[:10] + struct.pack("!H", ~(total + (total >> 16)) & 0xffff) + header[12:]
    ethernet = bytes.fromhex(to_mac.replace(":", "")) + bytes.fromhex(from_mac.replace(":", ""))
    return ethernet + tags + b"\x08\x00" + header + udp


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
