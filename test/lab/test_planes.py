"""Rails with planes: two units of two nodes with two rails of two planes each, and a spine for each plane. What railctl prints is what was
built, and each cable in the wrong plane is found and named."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from cables import HEAD, SETTLED, all_findings, built, findings, found_on, plugged, seen, units
from conftest import lab_of_its_own
from railcni_lab import daemons, fabric, kernel, matrix, vty
from railcni_lab.layout import Node, Shape, uplink, write_json
from railcni_leaves import frr
from tables import Tables
from world import World, eventually

SHAPE = Shape(nodes=4, rails=4, spines=1, devices=1, units=2, planes=2)
NAMES = ["rail0p0", "rail0p1", "rail1p0", "rail1p1"]
PLACES = [(0, 0), (0, 1), (1, 0), (1, 1)]


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "pl", SHAPE, {f"p{n}": (f"n{n}", "tenant-a") for n in range(1, 5)}) as world:
        eventually("every node knows all", lambda: [seen(world, n) for n in world.lab.nodes()],
                   lambda all_seen: all(s == built(world) for s in all_seen), SETTLED)
        yield world


def railctl_text(world: World, node: Node, *words: str) -> str:
    return kernel.run([str(world.lab.binaries / "railctl"), "--socket", str(node.raild_socket), *words])


def test_what_is_printed_is_what_was_built(world: World, tables: Tables) -> None:
    assert all_findings(world) == {f"n{n}": [] for n in range(1, 5)}
    names, node = units(world), world.lab.find_node("n1")
    assert names["n1"] == names["n2"] != names["n3"] == names["n4"], names
    rails = world.railctl(node, "get", "rails")["rails"]
    assert [r["name"] for r in rails] == NAMES
    assert [(r.get("number", 0), r["plane"]) for r in rails] == PLACES
    assert [r["leaf"]["name"] for r in rails] == [f"leaf{i}" for i in range(4)]
    attachments = world.railctl(node, "get", "attachments")["attachments"]
    assert sorted((a["rail"], a["rail_number"], a["plane"]) for a in attachments) == \
        [(name, *place) for name, place in zip(NAMES, PLACES, strict=True)]
    # Each plane has a fabric of its own: an address is learned on its own plane alone, over its own spine.
    wanted = {world.port("p3", rail).ipv4: (NAMES[rail], *PLACES[rail], [world.lab.leaf(rail).asn, world.lab.spine(rail % 2).asn,
                                                                         world.lab.leaf(4 + rail).asn, world.lab.find_node("n3").asn])
              for rail in range(4)}
    eventually("the planes of remotes", lambda: {
        r["address"]: (r["rail"], r["rail_number"], r["plane"], r["as_path"])
        for r in world.railctl(node, "get", "remotes")["remotes"] if r["address"] in wanted}, lambda found: found == wanted)
    text = railctl_text(world, node, "get", "topology")
    assert f"rail1p0  leaf2 (AS {world.lab.leaf(2).asn}, 10.255.1.3), rail 1 plane 0\n" in text, text
    assert f"1/0:AS {world.lab.leaf(2).asn}, 1/1:AS {world.lab.leaf(3).asn}]" in text, text
    wide = railctl_text(world, node, "get", "rails", "-o", "wide").splitlines()
    assert [line.split()[0] for line in wide[1:]] == NAMES and "PLANE" in wide[0]
    dot = railctl_text(world, node, "get", "topology", "-o", "dot")
    assert f"node_{world.lab.find_node('n3').asn} -- leaf_{world.lab.leaf(7).asn} [label=\"1/1\"];" in dot
    metrics = world.metrics(node)
    assert metrics['railcni_rail_info{rail="rail1p0",bridge="br-rail2",uplink="rail2p",number="1",plane="0"}'] == 1
    tables.row("topology", HEAD, ("2 units x 2 nodes x 2 rails x 2 planes, a spine for each plane",
                                  f"as built: {names['n1']}, {names['n3']}", "-", "none"))


def test_communities_say_rail_and_plane_beside_the_index(world: World) -> None:
    address = world.port("p1", 3).ipv4
    [route] = [r for r in vty.routes(world.lab.leaf(3).frr_dir) if r["prefix"] == f"{address}/32"]
    assert {"4200000000:1375731712:3", "4200000000:1342177280:257"} <= set(route["large_communities"]), route


def test_pods_reach_each_other_on_each_plane(world: World) -> None:
    cells = matrix.measure(world.lab, "icmp", 20)
    assert len({c.rail for c in cells}) == 4
    assert all(c.right for c in cells), [c for c in cells if not c.right]


def test_a_plane_in_the_leaf_of_the_other(world: World, tables: Tables) -> None:
    node, started = world.lab.find_node("n2"), time.monotonic()
    with plugged(world, {1: "leaf0"}, node):
        remote = {"remote-on-other-leaf"}
        found_on(world, tables, "rail0p1 of n2 in leaf0, of plane 0", node, "rail-in-other-plane",
                 ["rail0p1 (plane 1) leads to leaf0", "on rail0p0 (plane 0)", uplink(1)], {"n1": remote, "n3": remote, "n4": remote}, started)


def test_two_planes_swapped(world: World, tables: Tables) -> None:
    """Of two nodes nobody can say which is wrong: both are named."""
    node, started = world.lab.find_node("n2"), time.monotonic()
    with plugged(world, {0: "leaf1", 1: "leaf0"}, node):
        found_on(world, tables, "planes 0 and 1 of rail 0 of n2 swapped, one neighbour", node, "leaf-in-two-planes",
                 [f"of the node AS {world.lab.find_node('n1').asn}", "leaf1", "(plane 0) here"], {"n1": {"leaf-in-two-planes"}}, started)


def test_two_rails_of_one_plane_on_one_leaf(world: World, tables: Tables) -> None:
    node, started = world.lab.find_node("n2"), time.monotonic()
    with plugged(world, {2: "leaf0"}, node):
        remote = {"remote-on-other-leaf"}
        found_on(world, tables, "rail1p0 of n2 in leaf0, of rail 0 and the same plane", node, "rails-on-one-leaf",
                 ["rail1p0 and rail0p0 lead to one leaf, leaf0"], {"n1": remote, "n3": remote, "n4": remote}, started)


@contextmanager
def with_as(world: World, number: int, asn: int) -> Iterator[None]:
    """A leaf with another AS number; its bgpd is started anew for it."""
    host, told = world.lab.leaf(number), fabric.leaf(world.lab, number)

    def speaks(asn: int) -> None:
        pid = daemons.pid_of(host, "bgpd")
        assert pid is not None
        daemons.kill(pid, signal.SIGKILL)
        daemons.start_frr(host, frr.render(replace(told, asn=asn)), ["bgpd"])

    speaks(asn)
    try:
        yield
    finally:
        speaks(told.asn)
        eventually("all as it was", lambda: [seen(world, n) for n in world.lab.nodes()],
                   lambda all_seen: all(s == built(world) for s in all_seen), SETTLED)
        eventually("no finding is left", lambda: all_findings(world), lambda found: not any(found.values()), SETTLED)


def test_a_leaf_with_the_as_of_another(world: World, tables: Tables) -> None:
    """Of two leaves with one AS nobody can say whose it is by the plan: both are named, by both nodes there, and nothing else is found."""
    node, started = world.lab.find_node("n1"), time.monotonic()
    kind = "leaf-as-unlike-siblings"
    with with_as(world, 3, world.lab.leaf(2).asn):
        found_on(world, tables, "leaf3 has the AS of leaf2", node, kind,
                 [f"the leaf of rail1p1 has the AS {world.lab.leaf(2).asn}, as another leaf here has"], {"n2": {kind}}, started)


@contextmanager
def told_otherwise(world: World, node: Node) -> Iterator[None]:
    """node.json of one node calls planes 0 and 1 of rail 0 the other way round; taken at once."""
    before = node.config_file.read_text()
    config = json.loads(before)
    for rail in config["rails"][:2]:
        rail["plane"] = 1 - rail["plane"]
    write_json(node.config_file, config)
    try:
        yield
    finally:
        write_json(node.config_file, json.loads(before))
        eventually("no finding is left", lambda: all_findings(world), lambda found: not any(found.values()), SETTLED)


def test_a_node_json_that_numbers_planes_otherwise(world: World, tables: Tables) -> None:
    node, started = world.lab.find_node("n3"), time.monotonic()
    also = {f"n{n}": {"planes-unlike-elsewhere"} for n in (1, 2, 4)}
    with told_otherwise(world, node):
        found_on(world, tables, "node.json of n3 has planes 0 and 1 of rail 0 the other way round", node, "planes-unlike-elsewhere",
                 ["is rail 0 plane 1 here, and rail 0 plane 0 of the node AS"], also, started)


def test_leaves_that_restart_are_no_finding(world: World, tables: Tables) -> None:
    before, started, false = units(world), time.monotonic(), set[str]()
    for leaf in (world.lab.leaf(1), world.lab.leaf(4)):
        pid = daemons.pid_of(leaf, "bgpd")
        assert pid is not None
        daemons.kill(pid, signal.SIGKILL)
        daemons.start_frr_daemon(leaf, "bgpd")
        until = time.monotonic() + 5
        while time.monotonic() < until:
            false |= {f"{name}: {f['id']}" for name, found in all_findings(world).items() for f in found}
    assert units(world) == before
    eventually("all as it was", lambda: [seen(world, n) for n in world.lab.nodes()],
               lambda all_seen: all(s == built(world) for s in all_seen), SETTLED)
    assert findings(world, world.lab.find_node("n1")) == []
    tables.row("topology", HEAD, ("planes: bgpd of leaf1 and leaf4 restarted", "nothing, as it should be",
                                  f"{time.monotonic() - started:.1f}", ", ".join(sorted(false)) or "none"))
    assert not false
