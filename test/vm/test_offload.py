"""Open vSwitch's kernel datapath with hw-offload=true: everything between pods is tc's, nothing is left to Open vSwitch. `railctl accept` then
has a stand-in of an eSwitch (railcni_vm/railcni_eswitch.c), which says of tc's flows that it has taken them."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from acceptance_stage import HEAD, Stage, keep_foreign_flows, on_switch, stage
from frames import udp_frame
from railcni_lab import kernel, matrix, pods
from railcni_lab.layout import Node
from switched import Megaflow, lab_of, on_pod_path, row_of
from tables import Tables
from test_masks import ATTACKS, MOST, Scene, mask_of
from world import World, eventually, send_frames, send_frames_on

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "versions"))
import seen

PODS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "a3": ("n1", "tenant-a"), "b1": ("n1", "tenant-b"),
        "b2": ("n2", "tenant-b")}
FAMILIES = (4, 6)
Flows = dict[str, list[Megaflow]]  # of each node


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with lab_of(PODS) as world:
        yield world


@pytest.fixture(scope="module")
def flows(world: World) -> Flows:
    """The megaflows between pods, after every pod has sent to every other."""
    matrix.measure(world.lab, "udp", wait_seconds=60)
    return {node.name: on_pod_path(world, node) for node in world.lab.nodes()}


def test_install_md_names_the_version_that_offloads(world: World) -> None:
    program = ["chroot", folder, "/usr/lib/openvswitch-switch/ovs-vswitchd"] if (folder := os.environ.get("RAILCNI_OVS")) else ["ovs-vswitchd"]
    asked_for = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")[0]
    for node in world.lab.nodes():
        assert world.appctl(node, "version").split("\n")[0] == asked_for
    assert seen.names("Open vSwitch", asked_for), asked_for


@pytest.mark.parametrize("kind", ["udp", "icmp"])
def test_same_tenant_reachable_and_other_tenant_never(world: World, kind: str) -> None:
    # udp: port 4791, DSCP 26 with ECN bits, payload and TOS byte compared at the other end
    cells = matrix.measure(world.lab, kind, wait_seconds=60)
    assert all(c.right for c in cells), matrix.table(cells, kind)


def test_there_is_a_megaflow_for_every_pair_and_each_is_in_tc(world: World, flows: Flows, tables: Tables) -> None:
    for node in world.lab.nodes():
        row_of(tables, f"offload, {node.name}", flows[node.name])
        found = sorted((m.source, m.target) for m in flows[node.name])
        assert found == sorted(pairs_through(world, node)), f"{node.name}: one megaflow for each pair, no more and no less"
        assert not [m.text for m in flows[node.name] if m.datapath != "tc"]


def test_the_other_tenant_is_dropped_in_tc(world: World, flows: Flows) -> None:
    owner = owners(world)
    for node in world.lab.nodes():
        foreign = [m for m in flows[node.name] if PODS[owner[m.source]][1] != PODS[owner[m.target]][1]]
        assert foreign
        assert all(m.datapath == "tc" and m.actions == "drop" and m.packets > 0 for m in foreign), foreign


def test_a_tenants_megaflow_sets_macs_and_outputs_and_asks_nothing_else(world: World, flows: Flows) -> None:
    owner = owners(world)
    for m in (m for found in flows.values() for m in found):
        if PODS[owner[m.source]][1] == PODS[owner[m.target]][1]:
            assert m.actions.startswith("set(eth(src=") and m.actions.count(",") == 2, m.text
        for field in ("proto=0/0", "frag=no", "tos=0/0,ttl=0/0" if ":" not in m.source else "tclass=0/0,hlimit=0/0"):
            assert field in m.text, m.text


def test_the_question_for_a_vlan_tag_stays_in_tc(world: World, flows: Flows) -> None:
    for name in PODS:
        port = world.port(name)
        asked = [f for f in world.flows(port.node, 0, f"table=5,in_port={port.ofport}") if "vlan_tci=0x0000" in f["match"]]
        assert asked, f"{port.representor}: its rules in table 5 ask for frames without a tag"
        mine = [m for m in flows[port.node.name] if m.in_port == port.representor]
        assert mine and all(m.datapath == "tc" for m in mine)


def test_attacks_make_few_priorities_in_tc(world: World, tables: Tables) -> None:
    """tc keeps the flows of a device by priority, one for each mask of a protocol, and asks one priority after another."""
    me = world.port("a1")
    scene = Scene(world, me, world.port("a2"), world.port("b1"), world.port("b2"), tables)
    frames = [frame for make in ATTACKS.values() for frame in make(scene)]
    send_frames(me, frames)
    last = udp_frame(me.mac, world.gateway_mac(0), me.ipv4, "10.98.0.1", b"last")

    def filters() -> list[Any]:
        send_frames(me, [last])
        out = kernel.run(["tc", "-n", me.node.namespace, "-j", "filter", "show", "dev", me.representor, "ingress"])
        return [one for one in json.loads(out) if "options" in one]

    found = eventually("the last frame's flow is in tc", filters, lambda found: "10.98.0.1" in json.dumps(found), 60)
    priorities = Counter(protocol for protocol, _ in {(one["protocol"], one["pref"]) for one in found})
    masks = scene.masks()
    others = sum(priorities.values()) - priorities["ip"] - priorities["ipv6"]
    tables.row("masks", ("guest, representor", "frames", "flows in tc", "priorities of IPv4", "of IPv6", "of others", "masks of IPv4", "of IPv6"),
               (f"offload, {me.representor}", str(len(frames)), str(len(found)), str(priorities["ip"]), str(priorities["ipv6"]), str(others),
                str(masks["ipv4"]), str(masks["ipv6"])))
    assert len(found) > 100, "the attacks on destinations have made none"
    assert 0 < priorities["ip"] <= MOST["ipv4"] and 0 < priorities["ipv6"] <= MOST["ipv6"] and others == 0, priorities
    assert all(masks[family] <= most for family, most in MOST.items()), masks


def owners(world: World) -> dict[str, str]:
    """Address -> pod."""
    return {address: pod.name for pod in pods.all_pods(world.lab) for address in pod.addresses(0).values()}


def pairs_through(world: World, node: Node) -> list[tuple[str, str]]:
    """Source and target of all that a node's switch gets to see: what its pods send, to whomever, and what the other node's
    pods send to pods of their own tenant here; the rest is dropped there."""
    everybody = pods.all_pods(world.lab)
    return [(source.addresses(0)[family], target.addresses(0)[family]) for family in FAMILIES
            for source in everybody for target in everybody if source.name != target.name and
            (source.node == node.name or (target.node == node.name and source.tenant == target.tenant))]


# `railctl accept`, with a stand-in of an eSwitch

TAKES = Path("/sys/module/railcni_eswitch/parameters/takes")
OFFLOAD = ["offload.ready", "offload.hardware", "offload.one-megaflow", "offload.masks"]
MOST_MASKS = 32  # kMostMasks of lib/inspect/megaflow.h
SET_UP = {"max-idle": "60000", "min-revalidate-pps": "0"}  # as the doctor wants it


@contextmanager
def parameter(file: Path, value: str) -> Iterator[None]:
    before = file.read_text().strip()
    file.write_text(value)
    try:
        yield
    finally:
        file.write_text(before)


@pytest.fixture(scope="module")
def accept(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """From here on the eSwitch takes flows."""
    keep_foreign_flows(world)
    for node in world.lab.nodes():
        world.vsctl(node, "set", "Open_vSwitch", ".", *(f"other_config:{key}={value}" for key, value in SET_UP.items()))
    with parameter(TAKES, "Y"), stage(world, tmp_path_factory.mktemp("accept"), ["a1", "a2", "b1", "b2"]) as made:
        yield made


@pytest.fixture
def flows_anew(world: World, accept: Stage) -> Stage:
    """No megaflow of another test is left."""
    for node in world.lab.nodes():
        world.appctl(node, "revalidator/purge")
    return accept


def in_hardware(world: World, node: Node) -> list[str]:
    """Matches of megaflows that Open vSwitch itself says are offloaded."""
    text = world.appctl(node, "dpctl/dump-flows", "-m", "--names")
    return [re.sub(r"^ufid:\S+,? ?", "", line).partition(", packets:")[0] for line in text.splitlines() if "offloaded:yes" in line]


def test_accept_passes_where_flows_are_in_hardware(world: World, flows_anew: Stage, tables: Tables) -> None:
    status, checks = flows_anew.verdicts("--only", "offload")
    assert {name: check["verdict"] for name, check in checks.items()} == dict.fromkeys(OFFLOAD, "PASS"), checks
    assert status == 0
    masks = {a["from"]: a["value"] for a in checks["offload.masks"]["attempts"]}
    assert set(masks) == {"n1", "n2"} and all(0 < count <= MOST_MASKS for count in masks.values()), masks
    for name in OFFLOAD:
        tables.row("accept", HEAD, (name, "none", "PASS", checks[name]["why"]))
    for node in world.lab.nodes():
        def counted(node: Node = node) -> tuple[int, int]:
            said = world.railctl(node, "get", "flows")
            return said["masks_in_hardware"], len({mask_of(match) for match in in_hardware(world, node)})

        eventually("raild counts what Open vSwitch has", counted, lambda both: both[0] == both[1] > 0, 60)


@contextmanager
def set_up(world: World, node_name: str, key: str, value: str, then: str) -> Iterator[None]:
    node = world.lab.find_node(node_name)
    world.vsctl(node, "set", "Open_vSwitch", ".", f"other_config:{key}={value}")
    try:
        yield
    finally:
        world.vsctl(node, "set", "Open_vSwitch", ".", f"other_config:{key}={then}")


@contextmanager
def many_masks(world: World, node_name: str) -> Iterator[None]:
    """A leaf that lets forged sources through: each differs from a known address by another bit."""
    node, a1, a2 = world.lab.find_node(node_name), world.port("a1"), world.port("a2")
    known = int(ipaddress.ip_address(a2.ipv6))
    macs = world.leaf_mac(node, 0), world.bridge_mac(node, 0)
    frames = [udp_frame(*macs, str(ipaddress.IPv6Address(known ^ 1 << bit)), a1.ipv6, b"masks") for bit in range(100)]
    send_frames_on(world.lab.leaf(0).namespace, node_name, frames)
    eventually("their flows are in hardware", lambda: len({mask_of(m) for m in in_hardware(world, node)}), lambda n: n > MOST_MASKS, 60)
    try:
        yield
    finally:
        world.appctl(node, "revalidator/purge")


def rewritten(world: World) -> AbstractContextManager[None]:
    """A flow of others writes the DSCP of what comes for a2: tc can do it, this eSwitch cannot."""
    a2 = world.port("a2")
    return on_switch(world, "n2", f"ip,nw_dst={a2.ipv4},actions=mod_nw_tos:32,mod_dl_dst:{a2.mac},output:{a2.ofport}")


SABOTAGES: dict[str, tuple[str, Callable[[World], AbstractContextManager[None]], str, set[str]]] = {
    "n1 is not set up to offload": ("offload.ready", lambda w: set_up(w, "n1", "hw-offload", "false", "true"), "hw-offload-off", set()),
    "an action that the eSwitch cannot do": ("offload.hardware", rewritten, "not in hardware", set()),
    "an eSwitch that takes nothing": ("offload.hardware", lambda _: parameter(TAKES, "N"), "not in hardware", {"offload.masks"}),
    "a leaf makes many masks": ("offload.masks", lambda w: many_masks(w, "n1"), "masks in the eSwitch", set()),
}


@pytest.mark.parametrize("what", SABOTAGES)
def test_accept_fails_by_name(world: World, flows_anew: Stage, what: str, tables: Tables) -> None:
    name, begin, says, not_measured = SABOTAGES[what]
    with begin(world):
        status, checks = flows_anew.verdicts("--only", "offload")
    assert status == 1
    assert {check: found["verdict"] for check, found in checks.items()} == \
        dict.fromkeys(OFFLOAD, "PASS") | {name: "FAIL"} | dict.fromkeys(not_measured, "COULD_NOT_MEASURE"), checks
    assert says in checks[name]["why"]
    tables.row("accept", HEAD, (name, what, "FAIL", checks[name]["why"]))
    assert all("no flow of" in a["seen"] for check in not_measured for a in checks[check]["attempts"]), "why it could not be measured"
