"""A BGP speaker for tests: one session to a leaf, over which it announces as many host routes as a test wants."""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import socket
import struct
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from . import daemons, fabric, kernel, vty
from .layout import CLUSTER, COMMUNITY_ASN, Host, Lab

ASN = 4200099999
ADDRESS, LEAF_ADDRESS, NEXT_HOP = "192.0.2.2", "192.0.2.1", "192.0.2.9"  # TEST-NET-1, on a link of its own
HIGH_MARK, LOW_MARK, RAIL_MARK = 0x54 << 24, 0x55 << 24, 0x52 << 24
MARKER = b"\xff" * 16
OPEN, UPDATE, KEEPALIVE = 1, 2, 4


@dataclass(frozen=True)
class Large:
    asn: int
    first: int
    second: int

    def __str__(self) -> str:
        return f"{self.asn}:{self.first}:{self.second}"


def tenant_id(name: str, cluster: str = CLUSTER) -> int:
    """lib/tenancy/README.md"""
    return int.from_bytes(hashlib.sha256(f"railcni/{cluster and cluster + '/'}{COMMUNITY_ASN}/{name}".encode()).digest()[:14], "big")


def communities(tenant: int, rail: int) -> list[Large]:
    high, low = divmod(tenant, 1 << 56)
    return [Large(COMMUNITY_ASN, HIGH_MARK | high >> 32, high & 0xFFFFFFFF),
            Large(COMMUNITY_ASN, LOW_MARK | low >> 32, low & 0xFFFFFFFF), Large(COMMUNITY_ASN, RAIL_MARK, rail)]


def _message(kind: int, body: bytes) -> bytes:
    return MARKER + struct.pack("!HB", 19 + len(body), kind) + body


def _attribute(flags: int, kind: int, value: bytes) -> bytes:
    return struct.pack("!BBH", flags | 0x10, kind, len(value)) + value


def announce(addresses: Iterable[str], marks: list[Large]) -> Iterator[bytes]:
    """UPDATE messages, as many addresses in each as fit (RFC 4271 section 4.3; RFC 8092)."""
    attributes = (_attribute(0x40, 1, b"\0") + _attribute(0x40, 2, struct.pack("!BBI", 2, 1, ASN)) +
                  _attribute(0x40, 3, socket.inet_aton(NEXT_HOP)))
    if marks:
        attributes += _attribute(0xC0, 32, b"".join(struct.pack("!III", m.asn, m.first, m.second) for m in marks))
    head = struct.pack("!HH", 0, len(attributes)) + attributes
    nlri, most = b"", 4096 - 19 - len(head)
    for address in addresses:
        if len(nlri) + 5 > most:
            yield _message(UPDATE, head + nlri)
            nlri = b""
        nlri += b"\x20" + socket.inet_aton(address)
    if nlri:
        yield _message(UPDATE, head + nlri)


def withdraw(addresses: Iterable[str]) -> Iterator[bytes]:
    every = list(addresses)
    for at in range(0, len(every), 800):
        gone = b"".join(b"\x20" + socket.inet_aton(a) for a in every[at:at + 800])
        yield _message(UPDATE, struct.pack("!H", len(gone)) + gone + struct.pack("!H", 0))


class Speaker:
    """An eBGP neighbour of `leaf`, in a namespace of its own; the leaf passes on what it says, and installs none of it.
    `lines`: how the leaf treats it, in the family IPv4 unicast."""

    def __init__(self, lab: Lab, leaf: Host, lines: Iterable[str] = ("table-map speaker-nofib",)) -> None:
        self.leaf, self.over, self.namespace = leaf, threading.Event(), lab.namespace("pod-speaker")
        self.lines = list(lines)
        kernel.ip_batch([f"netns add {self.namespace}",
                         f"link add speaker netns {leaf.namespace} type veth peer name leaf netns {self.namespace}"])
        for namespace, name, address in ((leaf.namespace, "speaker", LEAF_ADDRESS), (self.namespace, "leaf", ADDRESS)):
            kernel.checksums_by_software(namespace, [name])
            kernel.run(["ip", "-n", namespace, "-batch", "-"],
                       stdin=f"address add {address}/24 dev {name}\nlink set {name} up\n")
        vty.configure(leaf.frr_dir, "route-map speaker-nofib deny 10", "exit", f"router bgp {leaf.asn}",
                      f"neighbor {ADDRESS} remote-as {ASN}", f"neighbor {ADDRESS} passive",
                      "address-family ipv4 unicast", f"neighbor {ADDRESS} activate", f"neighbor {ADDRESS} route-map {fabric.frr.ALL} in",
                      f"neighbor {ADDRESS} route-map {fabric.frr.ALL} out", *self.lines)
        with kernel.inside(self.namespace):
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.settimeout(30)
        self.socket.bind((ADDRESS, 0))
        self.socket.connect((LEAF_ADDRESS, 179))
        # AS_TRANS, hold time 180, and the capabilities IPv4 unicast and 4-byte AS (RFC 4760, 6793)
        capabilities = struct.pack("!BBHBB", 1, 4, 1, 0, 1) + struct.pack("!BBI", 65, 4, ASN)
        parameters = struct.pack("!BB", 2, len(capabilities)) + capabilities
        self.socket.sendall(_message(OPEN, struct.pack("!BHH4sB", 4, 23456, 180, socket.inet_aton(ADDRESS), len(parameters))
                                     + parameters) + _message(KEEPALIVE, b""))
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()
        daemons.wait_until("the speaker's session", self._established, 60)

    def _established(self) -> bool:
        peers = vty.show_json(self.leaf.frr_dir, "show bgp ipv4 unicast summary json").get("peers", {})
        return peers.get(ADDRESS, {}).get("state") == "Established"

    def _drain(self) -> None:
        """Reads what the leaf says and throws it away; keeps the session alive."""
        self.socket.settimeout(20)
        while not self.over.is_set():
            try:
                if not self.socket.recv(1 << 20):
                    return
            except TimeoutError:
                with contextlib.suppress(OSError):
                    self.socket.sendall(_message(KEEPALIVE, b""))
            except OSError:
                return

    def send(self, messages: Iterable[bytes]) -> None:
        for message in messages:
            self.socket.sendall(message)

    def close(self) -> None:
        self.over.set()
        self.socket.close()
        vty.configure(self.leaf.frr_dir, f"router bgp {self.leaf.asn}", "address-family ipv4 unicast",
                      *(f"no {line}" for line in self.lines), "exit-address-family", f"no neighbor {ADDRESS}", "exit",
                      "no route-map speaker-nofib")
        kernel.delete_namespace(self.namespace)


def addresses(first: str, count: int) -> list[str]:
    start = int(ipaddress.IPv4Address(first))
    return [str(ipaddress.IPv4Address(start + i)) for i in range(count)]
