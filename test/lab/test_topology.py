"""Two scalable units of two nodes, two rails and two spines: what `railctl get topology` prints is what was built, each wrong cable is
found and named, and neither the right cabling nor leaves that restart find anything."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from api_server import ApiServer
from cables import HEAD, SECONDS, SETTLED, all_findings, built, findings, found_on, plugged, seen, units
from conftest import lab_of_its_own
from railcni_lab import cabling, daemons, kernel, pods, vty
from railcni_lab.layout import MTU, Host, Node, Shape, uplink, write_json
from tables import Tables
from world import World, eventually

SHAPE = Shape(nodes=4, rails=2, spines=2, devices=1, units=2)
THREE = Shape(nodes=3, rails=2, spines=1, devices=1, swaps=[("n2", 0, 1)])


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "su", SHAPE, {f"p{n}": (f"n{n}", "tenant-a") for n in range(1, 5)}) as world:
        eventually("every node knows all", lambda: [seen(world, n) for n in world.lab.nodes()],
                   lambda all_seen: all(s == built(world) for s in all_seen), SETTLED)
        yield world


def test_what_is_printed_is_what_was_built(world: World, tables: Tables) -> None:
    assert all_findings(world) == {f"n{n}": [] for n in range(1, 5)}
    names = units(world)
    assert names["n1"] == names["n2"] != names["n3"] == names["n4"], names
    assert all(name.startswith("su-") for name in names.values())
    first, third = world.lab.find_node("n1"), world.lab.find_node("n3")
    rails = world.railctl(first, "get", "rails")["rails"]
    assert [r["leaf"] for r in rails] == [{"asn": world.lab.leaf(i).asn, "router_id": world.lab.leaf(i).router_id,
                                           "name": f"leaf{i}", "heard": True} for i in (0, 1)]
    wanted = {world.port(pod, rail).ipv4: (distance, path) for pod, rail, distance, path in (
        ("p2", 0, "SAME_LEAF", [world.lab.leaf(0).asn, world.lab.find_node("n2").asn]),
        ("p2", 1, "SAME_LEAF", [world.lab.leaf(1).asn, world.lab.find_node("n2").asn]),
        ("p3", 0, "ACROSS_SPINE", [world.lab.leaf(0).asn, world.lab.spine(0).asn, world.lab.leaf(2).asn, third.asn]),
        ("p3", 1, "ACROSS_SPINE", [world.lab.leaf(1).asn, world.lab.spine(0).asn, world.lab.leaf(3).asn, third.asn]))}
    eventually("the way to each, over its own rail", lambda: {
        r["address"]: (r["distance"], r["as_path"]) for r in world.railctl(first, "get", "remotes")["remotes"]
        if r["address"] in wanted}, lambda ways: ways == wanted)
    text = kernel.run([str(world.lab.binaries / "railctl"), "--socket", str(first.raild_socket), "get", "topology"])
    assert f"unit {names['n1']} (this node's)" in text and "rail0    leaf0 (AS 4200010001, 10.255.1.1)" in text, text
    dot = kernel.run([str(world.lab.binaries / "railctl"), "--socket", str(first.raild_socket), "get", "topology", "-o", "dot"])
    assert f"node_{third.asn} -- leaf_{world.lab.leaf(2).asn} [label=\"0\"];" in dot
    tables.row("topology", HEAD, ("2 units x 2 nodes x 2 rails x 2 spines", f"as built: {names['n1']}, {names['n3']}", "-", "none"))


def test_trace_says_the_way_through_the_fabric(world: World) -> None:
    node = world.lab.find_node("n1")
    answer = eventually("a trace across", lambda: world.railctl(node, "trace", "p1", world.port("p3", 0).ipv4, "--rail", "rail0"),
                        lambda a: a["verdict"] == "REACHES")
    assert answer["fabric_path"] == (f"leaf0 (AS {world.lab.leaf(0).asn}), 1 spine (AS {world.lab.spine(0).asn}), the leaf AS "
                                     f"{world.lab.leaf(2).asn}, the node AS {world.lab.find_node('n3').asn}: across-spine")
    near = world.railctl(node, "trace", "p1", world.port("p2", 0).ipv4, "--rail", "rail0")
    assert near["fabric_path"] == (f"leaf0 (AS {world.lab.leaf(0).asn}), the node AS {world.lab.find_node('n2').asn}: same-leaf")


def test_two_rails_on_one_leaf(world: World, tables: Tables) -> None:
    node, started = world.lab.find_node("n2"), time.monotonic()
    with plugged(world, {1: "leaf0"}, node):
        remote = {"remote-on-other-leaf"}
        found_on(world, tables, "rail 1 of n2 in leaf0", node, "rails-on-one-leaf",
                 ["rail1 and rail0 lead to one leaf, leaf0", uplink(1)], {"n1": remote, "n3": remote, "n4": remote}, started)


def test_a_rail_in_the_other_unit(world: World, tables: Tables) -> None:
    node, started = world.lab.find_node("n2"), time.monotonic()
    with plugged(world, {1: "leaf3"}, node):
        remote = {"remote-on-other-leaf"}
        found_on(world, tables, "rail 1 of n2 in leaf3", node, "leaf-in-two-units", ["leaf3", "leaf0"],
                 {"n1": remote, "n3": remote, "n4": remote}, started)


def test_two_nodes_that_disagree(world: World, tables: Tables) -> None:
    """Of two nodes nobody can say which is wrong: both are named."""
    node, started = world.lab.find_node("n2"), time.monotonic()
    cabling_text = "rails 0 and 1 of n2 swapped, one neighbour"
    with plugged(world, {0: "leaf1", 1: "leaf0"}, node):
        other = {"address-by-other-rail"}
        found_on(world, tables, cabling_text, node, "address-by-other-rail",
                 [f"of the node AS {world.lab.find_node('n1').asn}", "leaf1"], {"n1": other}, started)


def test_an_mtu_unlike_the_others(world: World, tables: Tables) -> None:
    node, started = world.lab.find_node("n3"), time.monotonic()
    before = node.config_file.read_text()
    config = json.loads(before)
    config["rails"][1]["mtu"] = MTU - 4
    node.config_file.write_text(json.dumps(config))
    daemons.restart_raild(world.lab, node)
    try:
        found_on(world, tables, f"rails[1].mtu of n3 is {MTU - 4}", node, "rail-mtu-unlike-siblings",
                 [f"pods have MTU {MTU - 4} on rail1"], {}, started)
    finally:
        node.config_file.write_text(before)
        daemons.restart_raild(world.lab, node)
    eventually("no finding is left", lambda: all_findings(world), lambda found: not any(found.values()), SETTLED)


def test_an_uplink_slower_than_the_others(world: World, tables: Tables, tmp_path: Path) -> None:
    """A veth pair has one speed, so raild reads a folder in the place of /sys."""
    node, started = world.lab.find_node("n4"), time.monotonic()
    for link, speed in ((uplink(0), 400000), (uplink(1), 200000)):
        (tmp_path / "class/net" / link).mkdir(parents=True)
        (tmp_path / "class/net" / link / "speed").write_text(f"{speed}\n")
    os.environ["RAILCNI_SYSFS"] = str(tmp_path)
    try:
        daemons.restart_raild(world.lab, node)
    finally:
        del os.environ["RAILCNI_SYSFS"]
    try:
        found_on(world, tables, f"{uplink(1)} of n4 at 200 Gbit/s, the other at 400", node, "uplink-speed-unlike-siblings",
                 [f"{uplink(1)} runs at 200000 Mbit/s"], {}, started)
    finally:
        daemons.restart_raild(world.lab, node)
    eventually("no finding is left", lambda: all_findings(world), lambda found: not any(found.values()), SETTLED)


def restart(leaf: Host) -> None:
    pid = daemons.pid_of(leaf, "bgpd")
    assert pid is not None
    daemons.kill(pid, signal.SIGKILL)
    daemons.start_frr_daemon(leaf, "bgpd")


def test_leaves_that_restart_are_no_finding_and_keep_the_unit(world: World, tables: Tables) -> None:
    before, started = units(world), time.monotonic()
    false: set[str] = set()
    names: set[tuple[tuple[str, str], ...]] = set()
    for leaf in (world.lab.leaf(0), world.lab.leaf(3)):
        restart(leaf)
        until = time.monotonic() + 6
        while time.monotonic() < until:
            false |= {f"{name}: {f['id']}" for name, found in all_findings(world).items() for f in found}
            names.add(tuple(sorted(units(world).items())))
    assert names == {tuple(sorted(before.items()))}
    # raild itself as well, while a leaf is away.
    leaf, node = world.lab.leaf(1), world.lab.find_node("n1")
    pid = daemons.pid_of(leaf, "bgpd")
    assert pid is not None
    daemons.kill(pid, signal.SIGKILL)
    daemons.restart_raild(world.lab, node)
    unit = eventually("the unit's name", lambda: world.railctl(node, "get", "topology").get("unit", ""), bool)
    assert unit == before["n1"]
    silent = eventually("the leaf that is away", lambda: world.railctl(node, "get", "rails")["rails"][1].get("leaf", {}),
                        lambda seen_leaf: bool(seen_leaf))
    assert silent["name"] == "leaf1" and not silent.get("heard")
    daemons.start_frr_daemon(leaf, "bgpd")
    eventually("all as it was", lambda: [seen(world, n) for n in world.lab.nodes()],
               lambda all_seen: all(s == built(world) for s in all_seen), SETTLED)
    false |= {f"{name}: {f['id']}" for name, found in all_findings(world).items() for f in found}
    tables.row("topology", HEAD, ("bgpd of leaf0, leaf3, leaf1 restarted, raild of n1 as well", "nothing, as it should be",
                                  f"{time.monotonic() - started:.1f}", ", ".join(sorted(false)) or "none"))
    assert not false


def start_with(world: World, node: Node, keys: dict[str, Any]) -> None:
    """raild anew, with these keys more, as in a pod that knows its node."""
    write_json(node.config_file, json.loads(node.config_file.read_text()) | keys)
    os.environ["NODE_NAME"] = node.name
    try:
        daemons.restart_raild(world.lab, node)
    finally:
        del os.environ["NODE_NAME"]


@contextmanager
def labelled(world: World, node: Node) -> Iterator[ApiServer]:
    """raild writes labels on the node, and takes them away when node.json asks for none."""
    with ApiServer(world.lab.nodes()) as api:
        api.labels[node.name] = {"theirs": "stays"}
        before = node.config_file.read_text()
        start_with(world, node, {"kubernetes": {"api": api.url}, "topology": {"labels": {}}})
        yield api
        without = json.loads(before) | {"kubernetes": {"api": api.url}}
        write_json(node.config_file, without)  # taken at once, in the process that knows the node's name
        eventually("its labels are gone", lambda: api.labels[node.name], lambda labels: labels == {"theirs": "stays"}, 30)
        node.config_file.write_text(before)
        daemons.restart_raild(world.lab, node)


def test_a_node_that_moves_has_the_labels_of_the_other_unit(world: World, tables: Tables) -> None:
    node, names = world.lab.find_node("n2"), units(world)
    with labelled(world, node) as api:
        labels = eventually("its labels", lambda: api.labels[node.name], lambda found: found.get("railcni.io/su") == names["n1"], 30)
        assert set(labels) == {"theirs", "railcni.io/su", "railcni.io/leaf-rail0", "railcni.io/leaf-rail1"}, labels
        leaves = {key: value for key, value in labels.items() if "leaf" in key}
        assert len(set(leaves.values())) == 2
        started = time.monotonic()
        with plugged(world, {0: "leaf2", 1: "leaf3"}, node):
            moved = eventually("the other unit's labels", lambda: api.labels[node.name],
                               lambda found: found.get("railcni.io/su") == names["n3"] and
                               not {found.get(key) for key in leaves} & set(leaves.values()), 30)
            assert set(moved) == set(labels)
            tables.row("topology", HEAD, ("n2 moved to the other unit: its labels", moved["railcni.io/su"],
                                          f"{time.monotonic() - started:.1f}", "none"))
        eventually("its labels as before", lambda: api.labels[node.name], lambda found: found == labels, 30)


def test_claims_can_ask_for_what_a_node_has_and_not_for_what_is_broken(world: World) -> None:
    """raild as the node's DRA driver. No kubelet answers here: its folder is there."""
    node, names = world.lab.find_node("n2"), units(world)
    leaf, kubelet = world.lab.leaf(1), node.root / "kubelet"
    port = ["ip", "-n", leaf.namespace, "link", "set", node.name]  # raild sets its own end up again
    (kubelet / "plugins_registry").mkdir(parents=True)
    before = node.config_file.read_text()

    def devices(api: ApiServer) -> dict[str, dict[str, Any]]:
        return {device["name"]: device for piece in api.slices.values() for device in piece["spec"]["devices"]}

    def tainted(api: ApiServer) -> set[str]:
        return {device["attributes"]["rail"]["string"] for device in devices(api).values() if device.get("taints")}

    try:
        with ApiServer([node]) as api:
            start_with(world, node, {"kubernetes": {"api": api.url},
                                     "kubelet": {"dra": True, "grace_s": 1, "folder": str(kubelet / "device-plugins")}})
            shown = eventually("each rail's device", lambda: devices(api), lambda found: len(found) == 2, 60)
            for device in shown.values():
                rail = int(device["attributes"]["railNumber"]["int"])
                assert device["attributes"]["leaf"]["string"] == world.lab.leaf(rail).router_id
                assert device["attributes"]["su"]["string"] == names["n2"]
            assert [piece["spec"]["nodeName"] for piece in api.slices.values()] == ["n2"]
            eventually("the kubelet is told", lambda: list((kubelet / "plugins_registry").glob("rail.railcni.io-*-reg.sock")), bool, 60)
            eventually("a pod has them by no claim", lambda: tainted(api), lambda rails: rails == {"rail0", "rail1"}, 60)
            pods.delete(world.lab, "p2")
            eventually("they are free", lambda: tainted(api), lambda rails: not rails, 60)
            kernel.run([*port, "down"])
            eventually("rail1 is not for new pods", lambda: tainted(api), lambda rails: rails == {"rail1"}, 60)
            # A leaf of FRRouting 8.4 that hears of a link's end and its return at once may leave the session Idle for ever.
            eventually("the leaf has seen it, too", lambda: vty.sessions(leaf.frr_dir)[node.name], lambda s: s != "Established", 60)
            kernel.run([*port, "up"])
            eventually("it is again", lambda: tainted(api), lambda rails: not rails, 60)
    finally:
        kernel.run([*port, "up"])
        node.config_file.write_text(before)
        daemons.restart_raild(world.lab, node)
        pods.add(world.lab, "p2", node.name, "tenant-a", [0, 1])
        eventually("all as it was", lambda: [seen(world, n) for n in world.lab.nodes()],
                   lambda all_seen: all(s == built(world) for s in all_seen), SETTLED)


def test_a_node_that_moves_has_the_other_units_name(world: World, tables: Tables) -> None:
    node, names, started = world.lab.find_node("n2"), units(world), time.monotonic()
    with plugged(world, {0: "leaf2", 1: "leaf3"}, node):
        eventually("the other unit's name", lambda: world.railctl(node, "get", "topology").get("unit", ""),
                   lambda unit: unit == names["n3"], SECONDS)
        took = time.monotonic() - started
        eventually("no finding", lambda: all_findings(world), lambda found: not any(found.values()), SECONDS)
        tables.row("topology", HEAD, ("n2 moved to the other unit", f"{names['n1']} -> {names['n3']}", f"{took:.1f}", "none"))


def test_rails_that_are_swapped_from_the_beginning(request: pytest.FixtureRequest, tables: Tables) -> None:
    """lab up --swap n2:0,1; two neighbours say that it is n2."""
    pods = {f"p{n}": (f"n{n}", "tenant-a") for n in range(1, 4)}
    with lab_of_its_own(request.config, "sw", THREE, pods) as world:
        node, started = world.lab.find_node("n2"), time.monotonic()
        remote = {"remote-on-other-leaf"}
        found_on(world, tables, "lab up --nodes 3 --swap n2:0,1", node, "rails-swapped",
                 [f"{uplink(0)} leads to leaf1 (AS {world.lab.leaf(1).asn}), which 2 nodes have",
                  f"cables of {uplink(0)} and {uplink(1)}"],
                 {"n1": remote, "n3": remote}, started)
        [finding] = findings(world, world.lab.find_node("n1"))
        assert finding["subject"] == f"AS {node.asn}" and "has rail0 and rail1 swapped" in finding["what"], finding
        cabling.swap(world.lab, node, 0, 1)
        eventually("no finding is left", lambda: all_findings(world), lambda found: not any(found.values()), SETTLED)
