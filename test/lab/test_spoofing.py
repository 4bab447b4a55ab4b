"""What a pod may not send does not leave, and is counted. Frames are written on the pod's own interface, raw.

The attacker is a1 (tenant a, node n1, rail 0). Watched: the leaf's side of the node's uplink, and the interfaces of
every other pod of the node on that rail. Every frame ends with a mark of its test."""

from __future__ import annotations

import secrets
import socket
import struct
from dataclasses import dataclass

import pytest
from frames import (BROADCAST, ETHERTYPE_EXPERIMENT, ETHERTYPE_LLDP, arp_request, ethernet, icmpv6, ip, link_local,
                    tcp_syn, udp_frame)
from world import Capture, Port, World, captures, eventually, send_frames

RAIL = 0
COUNT = 20
STRANGE_MAC = "02:00:00:00:00:99"


@dataclass
class Scene:
    world: World
    me: Port
    mate: Port  # same tenant, other node: the address that I may talk to
    neighbour: Port  # other tenant, same node
    stranger: Port  # other tenant, other node
    bystander: Port  # same tenant, same node
    gateway: str
    leaf_mac: str
    bridge_mac: str
    mark: bytes

    def to_mate(self, mac: str | None = None, source: str | None = None, version: int = 4) -> bytes:
        """A datagram as I may send it, but for what is given."""
        mine, theirs = (self.me.ipv4, self.mate.ipv4) if version == 4 else (self.me.ipv6, self.mate.ipv6)
        return udp_frame(mac or self.me.mac, self.gateway, source or mine, theirs, self.mark)


@pytest.fixture
def scene(settled: World) -> Scene:
    me = settled.port("a1", RAIL)
    return Scene(settled, me, settled.port("a2", RAIL), settled.port("b1", RAIL), settled.port("b2", RAIL),
                 settled.port("a3", RAIL), settled.gateway_mac(RAIL), settled.leaf_mac(me.node, RAIL),
                 settled.bridge_mac(me.node, RAIL), secrets.token_bytes(24))


def watch(scene: Scene) -> list[tuple[str, str]]:
    leaf = scene.world.lab.leaf(RAIL)
    return [(leaf.namespace, scene.me.node.name), (scene.neighbour.namespace, scene.neighbour.ifname),
            (scene.bystander.namespace, scene.bystander.ifname)]


def marked(capture: Capture, mark: bytes) -> list[bytes]:
    return [f for f in capture.frames() if mark in f]


def nothing_leaves(scene: Scene, frames: list[bytes], *, dropped_in_table: int = 0) -> None:
    """Sends the frames `COUNT` times each: none arrives anywhere, each is counted."""
    def count() -> int:
        return (scene.world.drops(scene.me) if dropped_in_table == 0
                else scene.world.unknown_destination_drops(scene.me.node, RAIL))

    assert all(scene.mark in f for f in frames)
    sent = frames * COUNT
    before = count()
    with captures(*watch(scene), (scene.me.namespace, scene.me.ifname)) as watched:
        send_frames(scene.me, sent)
        eventually(f"drops of {scene.me.representor} counted (table {dropped_in_table}), from {before}", count,
                   lambda now: now >= before + len(sent))
        for capture in watched:
            assert not marked(capture, scene.mark), f"came out at {capture.where}"
        # The eyes were open: what is allowed is seen at the leaf.
        send_frames(scene.me, [scene.to_mate()])
        assert eventually("an allowed frame at the leaf", lambda: marked(watched[0], scene.mark), bool)


def test_changed_mac(scene: Scene) -> None:
    nothing_leaves(scene, [scene.to_mate(mac=STRANGE_MAC), scene.to_mate(mac=scene.bridge_mac),
                           scene.to_mate(mac=STRANGE_MAC, version=6)])


def test_changed_source_address(scene: Scene) -> None:
    nothing_leaves(scene, [scene.to_mate(source="10.0.1.200"), scene.to_mate(source="192.0.2.1"),
                           scene.to_mate(source="fd52:4149:0:1::c8", version=6)])


def test_changed_mac_and_source_address(scene: Scene) -> None:
    nothing_leaves(scene, [scene.to_mate(mac=STRANGE_MAC, source="10.0.1.200"),
                           scene.to_mate(mac=scene.bystander.mac, source=scene.bystander.ipv4),
                           scene.to_mate(mac=scene.bystander.mac, source=scene.bystander.ipv6, version=6)])


def test_address_of_another_tenant(scene: Scene) -> None:
    me, you = scene.neighbour, scene.stranger
    nothing_leaves(scene, [udp_frame(mac, scene.gateway, source, target, scene.mark)
                           for mac in (scene.me.mac, me.mac)
                           for source, target in ((me.ipv4, you.ipv4), (me.ipv6, you.ipv6), (you.ipv4, me.ipv4))])


def test_own_address_on_the_other_rail(scene: Scene) -> None:
    other = scene.world.port("a1", 1)
    nothing_leaves(scene, [scene.to_mate(source=other.ipv4), scene.to_mate(mac=other.mac, source=other.ipv4)])


def test_arp(scene: Scene) -> None:
    """Nobody needs it: the gateway is a permanent neighbour in the pod."""
    gateway = "10.0.1.1"
    nothing_leaves(scene, [arp_request(scene.me.mac, scene.me.mac, scene.neighbour.ipv4, gateway, scene.mark),
                           arp_request(scene.me.mac, scene.neighbour.mac, scene.me.ipv4, gateway, scene.mark),
                           arp_request(scene.neighbour.mac, scene.neighbour.mac, scene.neighbour.ipv4, gateway, scene.mark),
                           arp_request(STRANGE_MAC, scene.me.mac, scene.me.ipv4, gateway, scene.mark),
                           arp_request(scene.me.mac, scene.me.mac, scene.me.ipv4, gateway, scene.mark)])


@pytest.mark.parametrize("target", ["leaf", "bridge"])
def test_raw_frames_to_link_local_and_tcp_179(scene: Scene, target: str) -> None:
    mac = scene.leaf_mac if target == "leaf" else scene.bridge_mac
    nothing_leaves(scene, [ethernet(source_mac, mac, *ip(source, link_local(mac), socket.IPPROTO_TCP,
                                                          tcp_syn(source, link_local(mac), 179, scene.mark)))
                           for source_mac, source in ((scene.me.mac, link_local(scene.me.mac)),
                                                      (scene.bridge_mac, link_local(scene.bridge_mac)),
                                                      (scene.leaf_mac, link_local(scene.leaf_mac)))])


@pytest.mark.parametrize("target", ["leaf", "bridge"])
def test_own_address_to_link_local_and_tcp_179(scene: Scene, target: str) -> None:
    mac = scene.leaf_mac if target == "leaf" else scene.bridge_mac
    address = link_local(mac)
    packet = ip(scene.me.ipv6, address, socket.IPPROTO_TCP, tcp_syn(scene.me.ipv6, address, 179, scene.mark))
    nothing_leaves(scene, [ethernet(scene.me.mac, mac, *packet)])
    nothing_leaves(scene, [ethernet(scene.me.mac, scene.gateway, *packet)], dropped_in_table=2)


def test_neighbour_discovery_and_router_advertisement(scene: Scene) -> None:
    source, all_nodes = link_local(scene.me.mac), "ff02::1"
    advertisement = struct.pack("!BBHII", 64, 0, 1800, 0, 0) + scene.mark
    neighbour = struct.pack("!I", 0x20000000) + socket.inet_pton(socket.AF_INET6, link_local(scene.leaf_mac)) + scene.mark
    nothing_leaves(scene, [ethernet(scene.me.mac, "33:33:00:00:00:01",
                                    *ip(source, all_nodes, socket.IPPROTO_ICMPV6, icmpv6(source, all_nodes, kind, body)))
                           for kind, body in ((134, advertisement), (136, neighbour))])


def test_broadcast_flood(scene: Scene) -> None:
    nothing_leaves(scene, [ethernet(scene.me.mac, BROADCAST, ETHERTYPE_EXPERIMENT, scene.mark * 3),
                           ethernet(scene.me.mac, "01:80:c2:00:00:0e", ETHERTYPE_LLDP, scene.mark * 3),
                           ethernet(STRANGE_MAC, BROADCAST, ETHERTYPE_EXPERIMENT, scene.mark * 3),
                           udp_frame(STRANGE_MAC, BROADCAST, scene.me.ipv4, "255.255.255.255", scene.mark)] * 3)


def test_broadcast_flood_from_the_own_address(scene: Scene) -> None:
    targets = ("255.255.255.255", "10.0.1.255", "224.0.0.1")
    nothing_leaves(scene, [udp_frame(scene.me.mac, BROADCAST, scene.me.ipv4, t, scene.mark) for t in targets] * 3)
    nothing_leaves(scene, [udp_frame(scene.me.mac, scene.gateway, scene.me.ipv4, t, scene.mark) for t in targets] * 3,
                   dropped_in_table=2)


def test_tagged_frames(scene: Scene) -> None:
    nothing_leaves(scene, [udp_frame(scene.me.mac, scene.gateway, scene.me.ipv4, scene.mate.ipv4, scene.mark, vlan=100),
                           udp_frame(scene.me.mac, scene.gateway, scene.me.ipv6, scene.mate.ipv6, scene.mark, vlan=100)])


def test_frames_between_tenants_are_stopped_on_the_way_in_too(scene: Scene) -> None:
    """As if node n1's pipeline had let it pass: the leaf hands n2 a frame of tenant a for a pod of tenant b."""
    leaf = scene.world.lab.leaf(RAIL)
    target_mac = scene.world.bridge_mac(scene.stranger.node, RAIL)
    wire = Port("leaf", RAIL, scene.stranger.node, leaf.namespace, scene.stranger.node.name, "", "", "", "", 0)
    with captures((scene.stranger.namespace, scene.stranger.ifname), (scene.mate.namespace, scene.mate.ifname)) as seen:
        send_frames(wire, [udp_frame(scene.leaf_mac, target_mac, source, scene.stranger.ipv4, scene.mark)
                           for source in (scene.me.ipv4, "10.0.99.99", "192.0.2.1")] * COUNT)
        send_frames(wire, [udp_frame(scene.leaf_mac, target_mac, scene.me.ipv4, scene.mate.ipv4, scene.mark)])
        assert eventually("a frame of the same tenant", lambda: marked(seen[1], scene.mark), bool)
        assert not marked(seen[0], scene.mark)
