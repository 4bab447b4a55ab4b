"""Mode `vrf` with raild and the plugins: tags that pods forge, a leaf that lies, marks of the packets, what people ask, what is refused.

test_tenants.py has who reaches whom, restarts and costs; test_vrf.py the rules alone."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from ears import Ears, listening
from railcni_lab import cabling, kernel, vty
from railcni_lab.layout import Node, write_json
from switched import megaflows
from tables import Tables
from tags import HOPS, TOS, datagram, mac_of, send, tag
from tenants import Pod, Site, build, node_config, vlan_of
from world import World, eventually

GATEWAY_MAC = "02:52:41:49:4c:00"
A, B, NONE = "team0", "team1", "team2"  # of NONE nobody has a pod


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    yield build(devices=4, count=3)


@pytest.fixture(scope="module")
def pods(site: Site) -> list[Pod]:
    """Of A and B one on each node; those of a node have the same address."""
    made = [Pod(site, node, tenant, number).add() for node in site.nodes for number, tenant in enumerate((A, B))]
    assert made[0].address == made[1].address and made[2].address == made[3].address
    return made


def mate(pods: list[Pod], pod: Pod) -> Pod:
    return next(p for p in pods if p.tenant == pod.tenant and p.node != pod.node)


def rival(pods: list[Pod], pod: Pod) -> Pod:
    return next(p for p in pods if p.tenant != pod.tenant and p.node == pod.node)


@pytest.fixture()
def ears(pods: list[Pod]) -> Iterator[Ears]:
    with listening(pods) as ears:
        yield ears


def nobody_hears(pods: list[Pod], ears: Ears) -> None:
    for pod in pods:
        assert ears.heard(pod, 0.3) is None, pod.name


def exchange(pods: list[Pod], ears: Ears) -> None:
    """Every pod to its mate, until each has heard: the first packets may go before the other node has learned."""
    for number, pod in enumerate(pods):
        words = f"{pod.name} {number}"

        def ask(pod: Pod = pod, words: str = words) -> tuple[str, int] | None:
            ears.say(pod, mate(pods, pod).address, words)
            return ears.heard(mate(pods, pod), 2)

        eventually(f"{pod.name} reaches its mate, with DSCP and ECN as they were sent", ask, lambda h, w=words: h == (w, TOS), 60)
    for pod in pods:  # what was sent more than once
        while ears.heard(pod, 0.3):
            pass


def forged(pod: Pod, target: str, words: bytes, tags: bytes = b"", mac: str | None = None, source: str | None = None) -> bytes:
    return datagram(GATEWAY_MAC, mac or mac_of(pod.namespace, "net1"), source or pod.address, target, words, tags)


def test_packets_keep_their_marks_and_every_megaflow_is_in_tc(site: Site, pods: list[Pod], ears: Ears, tables: Tables) -> None:
    exchange(pods, ears)
    addresses = {pod.address for pod in pods}
    for node in site.nodes:
        found = [m for m in megaflows(node) if m.source in addresses and m.target in addresses]
        in_tc = sum(m.datapath == "tc" for m in found)
        tables.row("megaflows", ("guest, node", "megaflows of pods", "dp:tc", "dp:ovs", "packets"),
                   (f"vlans, {node.name}", str(len(found)), str(in_tc), str(len(found) - in_tc), str(sum(m.packets for m in found))))
        assert len(found) == 4 and in_tc == 4, [m.text for m in found]
        for m in found:
            assert m.actions.startswith("set(eth(src="), m.text
            for part in ("proto=0/0", "tos=0/0,ttl=0/0", "frag=no"):
                assert part in m.text, m.text
        for tenant in (A, B):
            vlan = vlan_of(tenant)
            assert sum(f"push_vlan(vid={vlan},pcp=0)" in m.actions for m in found) == 1
            assert sum(f"vlan(vid={vlan}," in m.text and "pop_vlan" in m.actions for m in found) == 1


@pytest.mark.parametrize("kind", sorted(HOPS))
def test_a_pod_that_tags_its_frames_reaches_nobody(pods: list[Pod], ears: Ears, kind: str) -> None:
    pod = pods[0]
    exchange(pods, ears)
    tags = HOPS[kind](vlan_of(pod.tenant), vlan_of(rival(pods, pod).tenant))
    send(pod.namespace, "net1", [forged(pod, mate(pods, pod).address, b"hop", tags)] * 3)
    nobody_hears(pods, ears)
    send(pod.namespace, "net1", [forged(pod, mate(pods, pod).address, b"plain")])  # the frame is right but for its tags
    assert ears.heard(mate(pods, pod), 5) == ("plain", TOS)


def test_a_forged_sender_reaches_nobody(pods: list[Pod], ears: Ears) -> None:
    pod = pods[0]
    there = mate(pods, pod).address
    send(pod.namespace, "net1", [forged(pod, there, b"mac", mac=mac_of(rival(pods, pod).namespace, "net1")),
                                 forged(pod, there, b"ip", source=there), forged(pod, there, b"unknown", source="10.0.77.77")] * 3)
    nobody_hears(pods, ears)


def test_a_leaf_that_lies_reaches_a_pod_in_its_tenants_vlan_alone(site: Site, pods: list[Pod], ears: Ears) -> None:
    pod = pods[0]
    own, others = vlan_of(pod.tenant), vlan_of(rival(pods, pod).tenant)
    port = next(name for name, node in cabling.nodes_ports(site.lab, 0) if node == pod.node)
    macs = mac_of(pod.node.namespace, "br-rail0"), mac_of(site.leaf.namespace, port)

    def lie(tags: bytes, source: str = "") -> None:
        send(site.leaf.namespace, port, [datagram(*macs, source or mate(pods, pod).address, pod.address, b"leaf", tags)])

    lie(tag(own))
    assert ears.heard(pod, 5) == ("leaf", TOS)
    nobody_hears(pods, ears)
    lie(tag(own, priority=3))
    assert ears.heard(pod, 5) == ("leaf", TOS), "a leaf may write any priority into the tag"
    nobody_hears(pods, ears)
    for tags in (b"", tag(0), tag(0, priority=3), tag(999), tag(vlan_of(NONE)), tag(own) + tag(own), tag(others) + tag(own),
                 tag(own, kind=0x88a8) + tag(own)):
        lie(tags)
        nobody_hears(pods, ears)
    lie(tag(own), source="10.0.77.77")
    nobody_hears(pods, ears)
    lie(tag(others))
    assert ears.heard(rival(pods, pod), 5) == ("leaf", TOS), "the other tenant's pod of the same address"
    nobody_hears(pods, ears)


# What people ask.


def railctl(site: Site, node: Node, *words: str) -> tuple[int, str]:
    done = subprocess.run([str(site.lab.binaries / "railctl"), *words], env={"RAILCNI_ROOT": str(node.root)}, capture_output=True,
                          text=True, timeout=60, check=False)
    return done.returncode, done.stdout + done.stderr


def listed(site: Site, node: Node, *words: str) -> Any:
    status, text = railctl(site, node, *words, "-o", "json")
    assert status == 0, text
    return json.loads(text)


def rows(site: Site, node: Node, *words: str) -> list[list[str]]:
    status, text = railctl(site, node, *words)
    assert status == 0, text
    return [line.split() for line in text.splitlines()]


def test_a_trace_finds_the_own_tenants_pod(site: Site, pods: list[Pod], ears: Ears, tables: Tables) -> None:
    exchange(pods, ears)
    for pod in pods[:2]:
        there, vlan = mate(pods, pod), vlan_of(pod.tenant)
        status, text = railctl(site, pod.node, "trace", f"ns-{pod.tenant}/{pod.name}", there.address)
        print(text)
        assert "REACHES (SENT_TO_LEAF)" in text and f"in VLAN {vlan} to the leaf" in text and status == 0
        assert f"push_vlan(vid={vlan},pcp=0)" in text and "the answer is admitted and delivered" in text
        tables.row("traces", ("tenant", "to", "first line"), (pod.tenant, there.address, text.splitlines()[0]))
    stranger = Pod(site, site.nodes[1], B, 2).add()  # its address is nobody's of A
    try:
        ask = ["trace", f"ns-{A}/{pods[0].name}", stranger.address]
        text = eventually("its address is known to be B's alone", lambda: railctl(site, pods[0].node, *ask)[1],
                          lambda t: "OTHER_TENANT" in t, 30)
        assert f"no pod of tenant {A} has {stranger.address}" in text and B in text
    finally:
        stranger.delete()


def test_lists_have_the_vlan(site: Site, pods: list[Pod]) -> None:
    node = site.nodes[0]
    remotes = rows(site, node, "get", "remotes", "-o", "wide")
    column = remotes[0].index("VLAN")
    assert sorted((row[0], row[1], row[column]) for row in remotes[1:]) == sorted(
        (p.address, p.tenant, str(vlan_of(p.tenant))) for p in pods if p.node != node)
    attachments = rows(site, node, "get", "attachments", "-o", "wide")
    assert attachments[0][-1] == "VLAN" and {row[-1] for row in attachments[1:]} == {str(vlan_of(t)) for t in (A, B)}
    rail = listed(site, node, "get", "rails")["rails"][0]
    assert [(v["vlan"], v["tenant"]["name"], v["port"], v["bgp_state"]) for v in rail["vlans"]] == [
        (vlan_of(t), t, f"rcvlan-0-{vlan_of(t)}", "Established") for t in (A, B)]
    assert rail["bgp_state"] == "Established"
    text = railctl(site, node, "describe", "rail", "rail0")[1]
    assert "VLANs" in text and f"railcni-0-{vlan_of(A)}" in text
    assert [row[-2:] for row in rows(site, node, "check")[1:]] == [["ok", "-"]] * 2
    tenants = rows(site, node, "get", "tenants", "-o", "wide")
    assert {(row[0], row[-1]) for row in tenants[1:]} >= {(t, str(vlan_of(t))) for t in (A, B)}


def test_metrics_have_each_tenants_session(site: Site, pods: list[Pod]) -> None:
    found = World(site.lab).metrics(site.nodes[0])
    for tenant in (A, B):
        labels = f'{{rail="rail0",vlan="{vlan_of(tenant)}",tenant="{tenant}"}}'
        assert found[f"railcni_vlan_port_works{labels}"] == found[f"railcni_vlan_session_established{labels}"] == 1
        assert found[f"railcni_vlan_prefixes_received{labels}"] == 1, "of the pod of the other node"
        assert found[f"railcni_vlan_prefixes_sent{labels}"] == 1
    assert found['railcni_bgp_session_established{rail="rail0"}'] == 1
    assert found['railcni_bgp_prefixes_received{rail="rail0"}'] == 2


def ids(site: Site, node: Node) -> dict[str, str]:
    """What the doctor finds of VLANs: id -> its text."""
    text = railctl(site, node, "doctor", "--all")[1]
    found: dict[str, str] = {}
    for block in text.split("\n\n"):
        for line in block.splitlines():
            words = line.split()
            if len(words) > 1 and words[1].startswith("vlan-"):
                found[words[1].rstrip(":")] = block
    return found


def test_the_doctor_names_the_session_that_the_leaf_has_shut(site: Site, pods: list[Pod], tables: Tables) -> None:
    node, vlan = site.nodes[0], vlan_of(A)
    eventually("nothing is found of VLANs", lambda: ids(site, node), lambda found: found == {}, 60)
    port = next(name for name, n in cabling.nodes_ports(site.lab, 0) if n == node)
    subinterface = next(name for name in site.bgp(site.leaf, f"vrf {A} neighbors") if name.startswith(port))
    instance = f"router bgp {site.leaf.asn} vrf {A}"
    vty.configure(site.leaf.frr_dir, instance, f"neighbor {subinterface} shutdown")
    try:
        found = eventually("the doctor names it", lambda: ids(site, node), lambda f: "vlan-session-down" in f, 60)
        block = found["vlan-session-down"]
        print(block)
        assert f"VLAN {vlan} of tenant {A}" in block and f"VLAN {vlan_of(B)} of" not in block
        tables.row("doctor", ("fault", "finding"), ("the leaf has shut one tenant's neighbor", block.splitlines()[0]))
        text = railctl(site, node, "trace", f"ns-{A}/{pods[0].name}", mate(pods, pods[0]).address)[1]
        assert f"VLAN {vlan} of tenant {A} on rail0" in text, text
        other = railctl(site, node, "trace", f"ns-{B}/{pods[1].name}", mate(pods, pods[1]).address)[1]
        assert "REACHES (SENT_TO_LEAF)" in other, "the other tenant's session is up"
    finally:
        vty.configure(site.leaf.frr_dir, instance, f"no neighbor {subinterface} shutdown")
    eventually("it has gone", lambda: ids(site, node), lambda f: f == {}, 90)


# What is refused.


def test_a_namespace_without_a_vlan_gets_no_pod(site: Site, pods: list[Pod], ears: Ears) -> None:
    why = Pod(site, site.nodes[0], "nobody", 3).refused().message
    assert "ns-nobody" in why and "has no VLAN" in why, why
    exchange(pods, ears)


def test_the_vlan_of_a_tenant_with_pods_and_the_mode_do_not_change(site: Site, pods: list[Pod], ears: Ears) -> None:
    node = site.nodes[0]
    as_it_was = node_config(site.lab, node, site.tenants)
    another = json.loads(json.dumps(as_it_was))
    another["tenancy"]["vlans"][A] = 300
    without = {key: value for key, value in as_it_was.items() if key != "tenancy"}
    for config, refused, words in ((another, A, f"gives tenant {A} VLAN 300"), (without, B, "the mode cannot change while pods run")):
        write_json(node.config_file, config)
        try:
            why = Pod(site, node, refused, 3).refused().message
            assert words in why, why
            text = eventually("raild says so", lambda: railctl(site, node, "doctor", "--all")[1], lambda t, w=words: w in t, 30)
            assert "goes on as before" in text
        finally:
            write_json(node.config_file, as_it_was)
        eventually("raild has the file again", lambda: railctl(site, node, "doctor", "--all")[1], lambda t, w=words: w not in t, 30)
    another = json.loads(json.dumps(as_it_was))
    another["tenancy"]["vlans"][NONE] = 300
    write_json(node.config_file, another)  # it has no pod: taken at once, and nobody notices
    eventually("taken", lambda: railctl(site, node, "doctor", "--all")[1], lambda t: "config-newer" not in t, 30)
    exchange(pods, ears)
    write_json(node.config_file, as_it_was)
