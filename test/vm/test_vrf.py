"""Mode `vrf` on Open vSwitch's kernel datapath: two tenants with identical addresses, a VLAN each, everything between pods in tc.

Two nodes and a leaf in one guest. The bridges have the rules that lib/engine/attach/pipeline makes (print_vlan_rules), and nothing else of RailCNI
is there: what fails here is a rule's or the kernel's fault. test_vlans.py has the same questions for raild and the plugins."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from ears import Ears, listening
from railcni_lab import daemons, kernel
from railcni_lab.layout import Lab, Node
from switched import MAX_IDLE_MS, OVS_COUNTS_PROCESSORS_AFTER, Megaflow, megaflows
from tables import Tables
from tags import HOPS, TOS, datagram, mac_of, send, tag

RULES = Path(__file__).resolve().parents[2] / "build/tests/print_vlan_rules"
GATEWAY_MAC = "02:52:41:49:4c:00"
VLANS = {"red": 101, "blue": 102}
UPLINK, FIRST_POD, FIRST_VLAN = 1, 10, 100  # OpenFlow port numbers


@dataclass(frozen=True)
class Pod:
    """Of each tenant one on each node; those of a node have the same address."""

    node: str
    tenant: str

    @property
    def name(self) -> str:
        return f"{self.tenant}-{self.node}"

    @property
    def namespace(self) -> str:
        return self.name

    @property
    def address(self) -> str:
        return f"10.0.0.{self.node[1:]}"

    @property
    def number(self) -> int:
        return list(VLANS).index(self.tenant)

    @property
    def mac(self) -> str:
        return f"02:00:00:00:0{self.node[1:]}:0{self.number}"


@dataclass
class Fabric:
    nodes: list[Node]
    macs: dict[str, str]  # of each bridge, and of the leaf's port to it ("leaf-n1")
    pods: list[Pod] = field(default_factory=list)

    def mate(self, pod: Pod) -> Pod:
        return next(p for p in self.pods if p.tenant == pod.tenant and p.node != pod.node)

    def rival(self, pod: Pod) -> Pod:
        return next(p for p in self.pods if p.tenant != pod.tenant and p.node == pod.node)


def vsctl(node: Node, *words: str) -> None:
    kernel.run(["ovs-vsctl", f"--db=unix:{node.ovs_dir}/db.sock", *words])


def make_leaf(nodes: list[Node]) -> None:
    """A VRF for each tenant, a VLAN of each on every port, and a route to each pod."""
    kernel.run(["ip", "netns", "add", "leaf"])
    for node in nodes:
        kernel.run(["ip", "link", "add", "uplink", "netns", node.namespace, "type", "veth", "peer", "name", node.name,
                    "netns", "leaf"])
        kernel.checksums_by_software("leaf", [node.name])
    lines = [f"link set {node.name} up" for node in nodes]
    for tenant, vlan in VLANS.items():
        lines += [f"link add {tenant} type vrf table {vlan}", f"link set {tenant} up"]
        for node in nodes:
            port = f"{node.name}.{vlan}"
            lines += [f"link add link {node.name} name {port} type vlan id {vlan}", f"link set {port} master {tenant} up"]
    kernel.ip_batch(lines, "leaf")
    kernel.sysctl("leaf", {"net/ipv4/ip_forward": 1, "net/ipv4/conf/all/rp_filter": 0})


def make_node(node: Node) -> dict[str, str]:
    """The bridge with the uplink, a port for each tenant's VLAN, and the pods; returns the MACs."""
    kernel.checksums_by_software(node.namespace, ["uplink"])
    kernel.links_up(node.namespace, ["lo", "uplink"])
    daemons.prepare(node)
    daemons.start_ovs(node, "system")
    mac = mac_of(node.namespace, "uplink")
    vsctl(node, "set", "Open_vSwitch", ".", f"other_config:max-idle={MAX_IDLE_MS}")
    vsctl(node, "add-br", "br", "--", "set", "bridge", "br", "fail_mode=secure", f'other_config:hwaddr="{mac}"', "--",
          "add-port", "br", "uplink", "--", "set", "interface", "uplink", f"ofport_request={UPLINK}")
    for number, tenant in enumerate(VLANS):
        vsctl(node, "add-port", "br", tenant, "--", "set", "interface", tenant, "type=internal", f'mac="{mac}"',
              f"ofport_request={FIRST_VLAN + number}")
        pod = Pod(node.name, tenant)
        kernel.run(["ip", "netns", "add", pod.name])
        kernel.run(["ip", "link", "add", f"rep-{tenant}", "netns", node.namespace, "type", "veth", "peer", "name", "net1",
                    "netns", pod.name])
        kernel.links_up(node.namespace, [f"rep-{tenant}", tenant])
        kernel.checksums_by_software(node.namespace, [f"rep-{tenant}"])
        kernel.checksums_by_software(pod.name, ["net1"])
        kernel.ip_batch([f"link set net1 address {pod.mac}", "link set net1 up", f"addr add {pod.address}/32 dev net1",
                         f"neigh add 169.254.1.1 lladdr {GATEWAY_MAC} dev net1 nud permanent",
                         "route add default via 169.254.1.1 dev net1 onlink"], pod.name)
        vsctl(node, "add-port", "br", f"rep-{tenant}", "--", "set", "interface", f"rep-{tenant}",
              f"ofport_request={FIRST_POD + number}")
    return {node.name: mac, f"leaf-{node.name}": mac_of("leaf", node.name)}


def give_rules(fabric: Fabric, node: Node, tenants: list[str]) -> None:
    words = [str(UPLINK), fabric.macs[node.name], GATEWAY_MAC]
    for number, tenant in enumerate(VLANS):
        if tenant not in tenants:
            continue
        pod = Pod(node.name, tenant)
        words += ["tenant", str(42 + number), str(VLANS[tenant]), str(FIRST_VLAN + number), fabric.macs[f"leaf-{node.name}"],
                  "pod", str(1 + number), str(FIRST_POD + number), pod.mac, pod.address, "remote", fabric.mate(pod).address]
    kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "--bundle", "replace-flows", f"unix:{node.ovs_dir}/br.mgmt", "-"],
               stdin=kernel.run([str(RULES), *words]))
    # Megaflows follow the rules at the revalidators' next round.
    kernel.run(["ovs-appctl", "-t", f"{node.ovs_dir}/ovs-vswitchd.ctl", "revalidator/wait"])


@pytest.fixture(scope="module")
def fabric() -> Fabric:
    time.sleep(max(0.0, OVS_COUNTS_PROCESSORS_AFTER - time.monotonic()))
    lab = Lab("vrf", Lab.from_environment().binaries)
    nodes = [lab.node(number) for number in (1, 2)]
    for node in nodes:
        kernel.run(["ip", "netns", "add", node.namespace])
    make_leaf(nodes)
    fabric = Fabric(nodes, {})
    for node in nodes:
        fabric.macs |= make_node(node)
    fabric.pods = [Pod(node.name, tenant) for node in nodes for tenant in VLANS]
    lines = []
    for pod in fabric.pods:
        port = f"{pod.node}.{VLANS[pod.tenant]}"
        lines += [f"neigh add 169.254.1.1 lladdr {fabric.macs[pod.node]} dev {port} nud permanent",
                  f"route add {pod.address}/32 via 169.254.1.1 dev {port} onlink table {VLANS[pod.tenant]}"]
    kernel.ip_batch(lines, "leaf")
    for node in nodes:
        give_rules(fabric, node, list(VLANS))
    return fabric


@pytest.fixture()
def ears(fabric: Fabric) -> Iterator[Ears]:
    with listening(fabric.pods) as ears:
        yield ears


def exchange(fabric: Fabric, ears: Ears) -> None:
    """Every pod to its mate, which has the address that the other tenant's pod over there has as well."""
    for pod in fabric.pods:
        for attempt in range(3):
            words = f"{pod.name} {attempt}"
            ears.say(pod, fabric.mate(pod).address, words)
            assert ears.heard(fabric.mate(pod), 5) == (words, TOS), f"{pod.name}: payload, DSCP and ECN as they were sent"
    for pod in fabric.pods:
        assert ears.heard(pod, 0.2) is None, f"{pod.name} hears its mate alone"


def raw(pod: Pod, frames: list[bytes]) -> None:
    send(pod.name, "net1", frames)


def frame(pod: Pod, target: str, words: bytes, tags: bytes = b"", mac: str | None = None, source: str | None = None) -> bytes:
    return datagram(GATEWAY_MAC, mac or pod.mac, source or pod.address, target, words, tags)


def test_identical_addresses_of_two_tenants_reach_their_own_alone(fabric: Fabric, ears: Ears) -> None:
    exchange(fabric, ears)


def test_every_megaflow_is_in_tc_and_tags_towards_the_leaf(fabric: Fabric, ears: Ears, tables: Tables) -> None:
    exchange(fabric, ears)
    addresses = {pod.address for pod in fabric.pods}
    for node in fabric.nodes:
        found = [m for m in megaflows(node) if m.source in addresses and m.target in addresses]
        in_tc = sum(m.datapath == "tc" for m in found)
        tables.row("megaflows", ("guest, node", "megaflows of pods", "dp:tc", "dp:ovs", "packets"),
                   (f"vrf, {node.name}", str(len(found)), str(in_tc), str(len(found) - in_tc), str(sum(m.packets for m in found))))
        assert len(found) == 2 * len(VLANS), f"one for each tenant and direction: {[m.text for m in found]}"
        for m in found:
            assert_offloaded(m)
        for number, (tenant, vlan) in enumerate(VLANS.items()):
            out = [m for m in found if m.in_port == f"rep-{tenant}"]
            assert len(out) == 1 and out[0].actions.endswith(f"push_vlan(vid={vlan},pcp=0),uplink"), out
            back = [m for m in found if m.in_port == "uplink" and f"vlan(vid={vlan}," in m.text]
            assert len(back) == 1 and back[0].actions.endswith(f"pop_vlan,rep-{tenant}"), (number, back)


def assert_offloaded(m: Megaflow) -> None:
    assert m.datapath == "tc" and m.packets > 0, m.text
    assert m.actions.startswith("set(eth(src="), m.text
    for part in ("proto=0/0", "tos=0/0,ttl=0/0", "frag=no"):
        assert part in m.text, m.text


@pytest.mark.parametrize("kind", sorted(HOPS))
def test_a_pod_that_tags_its_frames_reaches_nobody(fabric: Fabric, ears: Ears, kind: str) -> None:
    pod = fabric.pods[0]
    own, other = VLANS[pod.tenant], VLANS[fabric.rival(pod).tenant]
    raw(pod, [frame(pod, fabric.mate(pod).address, b"hop", HOPS[kind](own, other))] * 3)
    for each in fabric.pods:
        assert ears.heard(each, 0.2) is None, f"{each.name} has heard {kind}"
    raw(pod, [frame(pod, fabric.mate(pod).address, b"plain")])  # the frame is right but for its tags
    assert ears.heard(fabric.mate(pod), 5) == ("plain", TOS)


def test_a_forged_sender_reaches_nobody(fabric: Fabric, ears: Ears) -> None:
    pod = fabric.pods[0]
    mate, rival = fabric.mate(pod), fabric.rival(pod)
    raw(pod, [frame(pod, mate.address, b"mac", mac=rival.mac), frame(pod, mate.address, b"ip", source=mate.address),
              frame(pod, mate.address, b"unknown", source="10.0.0.77")] * 3)
    for each in fabric.pods:
        assert ears.heard(each, 0.2) is None


def test_the_leaf_reaches_a_pod_in_its_tenants_vlan_alone(fabric: Fabric, ears: Ears) -> None:
    """What a leaf that lies may send: a source of the other node, for a pod here, in a VLAN, in none, in two."""
    pod = fabric.pods[0]
    mate = fabric.mate(pod)
    own = VLANS[pod.tenant]

    def lie(tags: bytes) -> None:
        macs = fabric.macs[pod.node], fabric.macs[f"leaf-{pod.node}"]
        send("leaf", pod.node, [datagram(*macs, mate.address, pod.address, b"leaf", tags)])

    lie(tag(own))
    assert ears.heard(pod, 5) == ("leaf", TOS)
    assert all(ears.heard(each, 0.2) is None for each in fabric.pods), "nobody else has heard it"
    for tags in (b"", tag(0), tag(999)):
        lie(tags)
        assert all(ears.heard(each, 0.2) is None for each in fabric.pods), tags
    lie(tag(VLANS[fabric.rival(pod).tenant]))
    assert ears.heard(fabric.rival(pod), 5) == ("leaf", TOS), "the other tenant's pod of the same address"
    assert ears.heard(pod, 0.2) is None


def test_a_tenant_that_leaves_takes_nothing_of_the_other(fabric: Fabric, ears: Ears) -> None:
    node = fabric.nodes[0]
    red, blue = (Pod(node.name, tenant) for tenant in VLANS)
    give_rules(fabric, node, ["blue"])
    ears.say(red, fabric.mate(red).address, "gone")
    assert ears.heard(fabric.mate(red), 0.3) is None
    ears.say(blue, fabric.mate(blue).address, "stays")
    assert ears.heard(fabric.mate(blue), 5) == ("stays", TOS)
    give_rules(fabric, node, list(VLANS))
    exchange(fabric, ears)
