"""What a lab's cabling is, what railctl says it is, and cables that are plugged in elsewhere for a while."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from railcni_lab import cabling, vty
from railcni_lab.layout import LabError, Node
from tables import Tables
from world import World, eventually

SECONDS = 10  # within which a wrong cable is found
SETTLED = 60
CABLING = {"rails-swapped", "rails-on-one-leaf", "rail-on-other-leaf", "address-by-other-rail", "leaf-in-two-units",
           "remote-on-other-leaf", "leaf-as-unlike-siblings", "rail-mtu-unlike-siblings", "uplink-speed-unlike-siblings",
           "cable-in-other-leaf", "rail-in-other-plane", "leaf-in-two-planes", "planes-unlike-elsewhere", "planes-out-of-order"}
HEAD = ("cabling", "found", "seconds", "false findings")


def built(world: World) -> set[tuple[frozenset[tuple[int, int]], frozenset[int]]]:
    """Units as pairs: leaves (rail, AS), and nodes (AS)."""
    units: dict[int, tuple[set[tuple[int, int]], set[int]]] = {}
    shape = world.lab.shape()
    for node in world.lab.nodes():
        for rail in range(shape.rails):
            number = cabling.right_leaf(shape, node, rail)
            leaves, nodes = units.setdefault(number // shape.rails, (set(), set()))
            leaves.add((rail, world.lab.leaf(number).asn))
            nodes.add(node.asn)
    return {(frozenset(leaves), frozenset(nodes)) for leaves, nodes in units.values()}


def seen(world: World, node: Node) -> set[tuple[frozenset[tuple[int, int]], frozenset[int]]]:
    answer = world.railctl(node, "get", "topology")
    return {(frozenset((leaf.get("rail_index", 0), leaf["leaf"]["asn"]) for leaf in unit.get("leaves", [])),
             frozenset(n["asn"] for n in unit["nodes"])) for unit in answer["units"]}


def findings(world: World, node: Node) -> list[dict[str, Any]]:
    """Those about cables, wherever they hang in the tree."""
    found: list[dict[str, Any]] = []
    answer = subprocess.run([str(world.lab.binaries / "railctl"), "--socket", str(node.raild_socket), "-o", "json", "doctor"],
                            capture_output=True, text=True, timeout=30, check=False)  # 1: it has found something
    if answer.returncode not in (0, 1) or not answer.stdout:
        raise LabError(answer.stderr)
    rest = json.loads(answer.stdout).get("findings", [])
    while rest:
        one = rest.pop()
        rest += one.get("follows", [])
        if one["id"] in CABLING:
            found.append(one)
    return found


def all_findings(world: World) -> dict[str, list[dict[str, Any]]]:
    return {node.name: findings(world, node) for node in world.lab.nodes()}


def units(world: World) -> dict[str, str]:
    return {node.name: world.railctl(node, "get", "topology").get("unit", "") for node in world.lab.nodes()}


@contextmanager
def plugged(world: World, cables: dict[int, str], node: Node) -> Iterator[None]:
    """The node's rails in other leaves, then as they were."""
    # bgpd counts whole seconds: a session younger than one cannot be told from one that came after the cable was pulled.
    eventually("sessions that have stood for a while", lambda: vty.youngest_session(node.frr_dir), lambda age: age >= 2, SETTLED)
    leaves = {leaf.name: leaf for leaf in world.lab.leaves()}
    before = {rail: world.lab.leaf(cabling.where(world.lab, node, rail)) for rail in cables}
    names = units(world)
    try:
        for rail, leaf in cables.items():
            cabling.plug(world.lab, node, rail, leaves[leaf])
        yield
    finally:
        for rail, host in before.items():
            cabling.plug(world.lab, node, rail, host)
        eventually("all as it was", lambda: [seen(world, n) for n in world.lab.nodes()],
                   lambda all_seen: all(s == built(world) for s in all_seen), SETTLED)
        eventually("no finding is left", lambda: all_findings(world), lambda found: not any(found.values()), SETTLED)
        eventually("the units have their names", lambda: units(world), lambda now: now == names, SETTLED)


def found_on(world: World, tables: Tables, cabling_text: str, node: Node, kind: str, words: list[str],
             also: dict[str, set[str]], started: float) -> None:
    """Waits for the finding; whatever else is found about cables, but `also`, is false."""
    finding = eventually(f"{node.name} finds {kind}", lambda: [f for f in findings(world, node) if f["id"] == kind],
                         lambda found: any(all(w in f["what"] + f["fix"] for w in words) for f in found), SECONDS)[0]
    took = time.monotonic() - started
    time.sleep(2)  # a false one has its chance
    false = [f"{name}: {f['id']} {f['subject']}" for name, all_of in all_findings(world).items() for f in all_of
             if f["id"] not in also.get(name, set()) | ({kind} if name == node.name else set())]
    tables.row("topology", HEAD, (cabling_text, f"{node.name}: {finding['what']}", f"{took:.1f}", ", ".join(false) or "none"))
    assert not false
