"""Frames made by hand: Ethernet, ARP, IPv4, IPv6, UDP, TCP, ICMPv6 (RFC 826, 791, 8200, 768, 9293, 4861)."""

from __future__ import annotations

import ipaddress
import socket
import struct

BROADCAST = "ff:ff:ff:ff:ff:ff"
ROCE_PORT = 4791
ETHERTYPE_EXPERIMENT = 0x88B5  # IEEE 802: local experiments
ETHERTYPE_LLDP = 0x88CC


def mac_bytes(mac: str) -> bytes:
    return bytes.fromhex(mac.replace(":", ""))


def packed(address: str) -> bytes:
    return ipaddress.ip_address(address).packed


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ethernet(source: str, target: str, kind: int, payload: bytes, vlan: int | None = None) -> bytes:
    tag = b"" if vlan is None else struct.pack("!HH", 0x8100, vlan)
    return mac_bytes(target) + mac_bytes(source) + tag + struct.pack("!H", kind) + payload


def ip(source: str, target: str, protocol: int, payload: bytes, tos: int = 0) -> tuple[int, bytes]:
    """Ethertype and packet, of the family of the addresses."""
    if ":" in source:
        head = struct.pack("!IHBB", 6 << 28 | tos << 20, len(payload), protocol, 255)
        return 0x86DD, head + packed(source) + packed(target) + payload
    head = struct.pack("!BBHHHBBH", 0x45, tos, 20 + len(payload), 1, 0, 64, protocol, 0)
    head += packed(source) + packed(target)
    return 0x0800, head[:10] + struct.pack("!H", checksum(head)) + head[12:] + payload


def with_checksum(source: str, target: str, protocol: int, payload: bytes, offset: int) -> bytes:
    pseudo = packed(source) + packed(target)
    pseudo += struct.pack("!IHBB", len(payload), 0, 0, protocol) if ":" in source else \
        struct.pack("!BBH", 0, protocol, len(payload))
    value = checksum(pseudo + payload) or 0xFFFF
    return payload[:offset] + struct.pack("!H", value) + payload[offset + 2:]


def udp(source: str, target: str, data: bytes, port: int = ROCE_PORT) -> bytes:
    plain = struct.pack("!HHHH", 49152, port, 8 + len(data), 0) + data
    return with_checksum(source, target, socket.IPPROTO_UDP, plain, 6)


def tcp_syn(source: str, target: str, port: int, data: bytes = b"") -> bytes:
    plain = struct.pack("!HHIIBBHHH", 49152, port, 1, 0, 5 << 4, 2, 64240, 0, 0) + data
    return with_checksum(source, target, socket.IPPROTO_TCP, plain, 16)


def icmpv6(source: str, target: str, kind: int, body: bytes) -> bytes:
    plain = struct.pack("!BBH", kind, 0, 0) + body
    return with_checksum(source, target, socket.IPPROTO_ICMPV6, plain, 2)


def udp_frame(source_mac: str, target_mac: str, source: str, target: str, data: bytes, tos: int = 0x6A,
              vlan: int | None = None) -> bytes:
    kind, packet = ip(source, target, socket.IPPROTO_UDP, udp(source, target, data), tos)
    return ethernet(source_mac, target_mac, kind, packet, vlan)


def arp_request(source_mac: str, sender_mac: str, sender: str, wanted: str, trailer: bytes = b"") -> bytes:
    body = struct.pack("!HHBBH", 1, 0x0800, 6, 4, 1) + mac_bytes(sender_mac) + packed(sender) + bytes(6) + packed(wanted)
    return ethernet(source_mac, BROADCAST, 0x0806, body + trailer)


def link_local(mac: str) -> str:
    """The IPv6 link-local address that the kernel makes of a MAC (EUI-64)."""
    b = bytearray(mac_bytes(mac))
    b[0] ^= 2
    return str(ipaddress.IPv6Address(b"\xfe\x80" + bytes(6) + bytes(b[:3]) + b"\xff\xfe" + bytes(b[3:])))
