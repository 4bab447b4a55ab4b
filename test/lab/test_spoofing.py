"""What a pod may not send does not leave, and is counted. Frames are written on the pod's own interface, raw.

The attacker is a1 (tenant a, node n1, rail 0). Watched: the leaf's side of the node's uplink, and the interfaces of
every other pod of the node on that rail. Every frame ends with a mark of its test."""

from __future__ import annotations

import secrets
import socket
import struct
from dataclasses import dataclass, replace

import pytest
from frames import (BROADCAST, ETHERTYPE_EXPERIMENT, ETHERTYPE_LLDP, arp_request, ethernet, icmpv6, ip, link_local,
                    tcp_syn, udp_frame)
from railcni_lab import kernel, pods
from world import Capture, Port, World, captures, eventually, hanging, send_frames

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


def datagrams(frames: list[bytes]) -> set[bytes]:
    """The EtherTypes of those that are UDP. An ICMP error quotes the datagram that it is about."""
    return {f[12:14] for f in frames if f[23 if f[12:14] == b"\x08\x00" else 20] == socket.IPPROTO_UDP}


def test_a_device_that_is_not_in_its_pod_yet_reaches_nobody(scene: Scene) -> None:
    """An ADD makes the pod's flows while the kernel still moves the device. Whoever has the device then, and speaks as the pod, is of no
    tenant: what it sends is dropped, and nobody's frames come to it. The next plugin of the chain opens both ways."""
    lab, node = scene.world.lab, scene.me.node
    pod = pods.add(lab, "early", node.name, "tenant-a", [RAIL])
    chain, attachment = pods.chain(lab, node, RAIL), pods.attachment(lab, pod, RAIL)
    early = scene.world.port("early", RAIL)
    chain.delete(attachment)
    try:
        with hanging(node, "raild"):  # it would put the device back into the pod
            result = chain.execute("ADD", chain.plugins[0], attachment, None)
            assert result is not None
            device = pod.devices[RAIL]
            kernel.run(["ip", "-n", early.namespace, "link", "set", early.ifname, "netns", node.namespace, "name", device])
            kernel.run(["ip", "-n", node.namespace, "link", "set", device, "up"])
            ipv4, ipv6 = sorted((ip["address"].split("/")[0] for ip in result["ips"]), key=lambda address: ":" in address)
            early = replace(early, namespace=node.namespace, ifname=device, ipv4=ipv4, ipv6=ipv6,
                            ofport=scene.world.ofport(node, early.representor))
            mate = scene.bystander  # of the tenant that the pod is to have, on this node

            def between(one: Port, other: Port) -> list[bytes]:
                return [udp_frame(one.mac, scene.gateway, *addresses, scene.mark)
                        for addresses in ((one.ipv4, other.ipv4), (one.ipv6, other.ipv6))]

            def dropped() -> int:
                """In table 1 what comes from a port of no tenant, in table 3 what goes to an address of none."""
                [senders] = [f for f in scene.world.flows(node, RAIL, "table=1") if f["match"] == ""]
                assert senders["actions"] == "drop"
                return int(senders["n_packets"]) + scene.world.unknown_destination_drops(node, RAIL)

            with captures(*watch(scene), (early.namespace, early.ifname)) as watched:
                before = dropped()
                send_frames(early, COUNT * [f for to in (mate, scene.mate, scene.neighbour) for f in between(early, to)])
                send_frames(mate, COUNT * between(mate, early))
                eventually("all are dropped, for one end has no tenant", dropped, lambda now: now == before + COUNT * 8)
                for capture in watched:
                    assert not marked(capture, scene.mark), f"came out at {capture.where}"
                chain.execute("ADD", chain.plugins[1], attachment, result)

                def reaches(sender: Port, receiver: Port, capture: Capture) -> None:
                    """Sends again and again: the datapath goes on to drop until the switch has looked at its megaflows anew."""
                    seen: set[bytes] = set()

                    def kinds() -> set[bytes]:
                        send_frames(sender, between(sender, receiver))
                        seen.update(datagrams(marked(capture, scene.mark)))
                        return seen

                    eventually(f"both families come out at {capture.where}", kinds, lambda found: len(found) == 2)

                reaches(early, mate, watched[2])
                reaches(mate, early, watched[3])
    finally:
        chain.delete(attachment)
        pods.delete(lab, "early")
