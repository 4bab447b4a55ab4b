"""The leaf's port by LLDP, from a real lldpd on each leaf: shown as lldpd itself says it, gone when it goes, and another one after the cable
is plugged in elsewhere."""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cables import HEAD, SETTLED, findings
from conftest import lab_of_its_own
from railcni_lab import cabling, daemons, kernel, vty
from railcni_lab.layout import Host, Node, Shape, uplink
from tables import Tables
from world import World, eventually

SHAPE = Shape(nodes=1, rails=2, spines=1, devices=1)
# Seconds. bgpd of the leaf doubles the time for which a session stays Idle each time that it fails, up to two minutes: cables that move often
# are such failures.
BACK_AT_LAST = 180
SETTINGS = "configure lldp portidsubtype ifname\nconfigure lldp tx-interval 2\n"


def start(leaf: Host) -> subprocess.Popen[bytes]:
    settings = leaf.root / "etc/lldpd.conf"
    settings.write_text(SETTINGS)
    process = daemons.start_lldpd(leaf, settings)
    eventually(f"lldpd of {leaf.name} listens", (leaf.root / "run/lldpd.sock").exists, bool, 20)
    return process


def chassis(leaf: Host) -> str:
    """As lldpd says it of itself."""
    words = ["lldpcli", "-u", str(leaf.root / "run/lldpd.sock"), "-f", "json0", "show", "chassis"]
    answer = json.loads(kernel.run(words))
    return str(answer["local-chassis"][0]["chassis"][0]["id"][0]["value"])


@pytest.fixture(scope="module")
def leaves() -> dict[str, subprocess.Popen[bytes]]:
    return {}


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest, leaves: dict[str, subprocess.Popen[bytes]]) -> Iterator[World]:
    with lab_of_its_own(request.config, "ll", SHAPE, {"p1": ("n1", "tenant-a")}) as world:
        for leaf in world.lab.leaves():
            leaves[leaf.name] = start(leaf)
        try:
            yield world
        finally:
            for process in leaves.values():
                end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def node(world: World) -> Node:
    return world.lab.find_node("n1")


def shown(world: World) -> list[dict[str, Any]]:
    return [r.get("lldp", {}) for r in world.railctl(node(world), "get", "rails")["rails"]]


def wait_for(world: World, ports: list[tuple[int, str]]) -> float:
    """Until each rail shows this leaf (by its number) and port, as its lldpd names them. Returns the seconds that took."""
    started = time.monotonic()
    names = [leaf.name for leaf in world.lab.leaves()]
    wanted = [(chassis(world.lab.leaf(number)), names[number], port) for number, port in ports]
    eventually("the leaves' ports", lambda: [(s.get("chassis"), s.get("system_name"), s.get("port")) for s in shown(world)],
               lambda found: found == wanted, SETTLED)
    return time.monotonic() - started


def sessions_are_back(world: World) -> None:
    """Each rail has spoken with its own leaf: what a session says of a leaf stays until the next one says otherwise."""
    names = [leaf.name for leaf in world.lab.leaves()]
    eventually("each rail's session with its leaf", lambda: [(r.get("bgp_state"), r.get("leaf", {}).get("name"), r.get("leaf", {}).get("heard"))
                                                             for r in world.railctl(node(world), "get", "rails")["rails"]],
               lambda found: found == [("Established", name, True) for name in names], BACK_AT_LAST)


def railctl_text(world: World, *words: str) -> str:
    return kernel.run([str(world.lab.binaries / "railctl"), "--socket", str(node(world).raild_socket), *words])


def test_each_rail_shows_the_leaf_and_its_port(world: World, tables: Tables) -> None:
    wait_for(world, [(0, "n1"), (1, "n1")])
    header, rail0, *_ = (re.split(r" {3,}", line.rstrip()) for line in railctl_text(world, "get", "rails", "-o", "wide").splitlines())
    cells = dict(zip(header, rail0, strict=True))
    assert cells["LEAF-PORT"] == "n1" and cells["LEAF-CHASSIS"] == chassis(world.lab.leaf(0)), cells
    assert "port n1" in railctl_text(world, "get", "topology")
    assert "port n1" in railctl_text(world, "describe", "rail", "rail1") and chassis(world.lab.leaf(1)) in railctl_text(
        world, "describe", "rail", "rail1")
    metrics = world.metrics(node(world))
    assert metrics[f'railcni_rail_lldp_info{{rail="rail1",system="leaf1",port="n1",chassis="{chassis(world.lab.leaf(1))}"}}'] == 1
    tables.row("topology", HEAD, ("LLDP of a real lldpd on leaf0 and leaf1", "chassis, name and port of both, as lldpcli says", "-", "none"))


def test_a_cable_that_is_plugged_in_elsewhere_shows_the_other_leaf(world: World, tables: Tables) -> None:
    cabling.swap(world.lab, node(world), 0, 1)
    took = wait_for(world, [(1, "n1r0"), (0, "n1r1")])
    tables.row("topology", HEAD, ("LLDP: the cables of rails 0 and 1 swapped", "leaf1 port n1r0, leaf0 port n1r1", f"{took:.1f}", "none"))
    cabling.swap(world.lab, node(world), 0, 1)
    wait_for(world, [(0, "n1"), (1, "n1")])
    sessions_are_back(world)


def test_bgp_says_nothing_of_a_port_without_a_session_and_lldp_does(world: World, tables: Tables) -> None:
    host, leaf = node(world), world.lab.leaf(0)
    vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "neighbor n1r1 interface peer-group NODES", "neighbor n1r1 shutdown")
    started = time.monotonic()
    cabling.plug(world.lab, host, 1, leaf)
    try:
        eventually("the other leaf's port", lambda: shown(world)[1].get("port"), lambda port: port == "n1r1", 30)
        [finding] = eventually("the cable is named", lambda: [f for f in findings(world, host) if f["id"] == "cable-in-other-leaf"], bool, 30)
        assert finding["subject"] == "rail1"
        assert f"the cable of {uplink(1)} is in leaf0 (AS {leaf.asn}) port n1r1, the leaf of rail0 (n1)" in finding["what"], finding
        tables.row("topology", HEAD, ("rail 1 of n1 in a port of leaf0 that has no session", f"n1: {finding['what']}",
                                      f"{time.monotonic() - started:.1f}", "none"))
    finally:
        cabling.plug(world.lab, host, 1, world.lab.leaf(1))
        vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "no neighbor n1r1 shutdown")
    wait_for(world, [(0, "n1"), (1, "n1")])
    eventually("no finding is left", lambda: findings(world, host), lambda found: not found, BACK_AT_LAST)


def test_a_leaf_that_says_no_more_is_forgotten(world: World, leaves: dict[str, subprocess.Popen[bytes]]) -> None:
    end(leaves["leaf1"])  # it says that it goes
    eventually("leaf1 is forgotten", lambda: shown(world), lambda found: found[1] == {} and found[0] != {}, 10)
    leaves["leaf1"] = start(world.lab.leaf(1))
    wait_for(world, [(0, "n1"), (1, "n1")])


def test_it_is_known_while_open_vswitch_is_down_and_after_raild_restarts(world: World) -> None:
    host = node(world)
    pid = daemons.pid_of(host, "ovs-vswitchd")
    assert pid is not None
    daemons.kill(pid)
    try:
        daemons.restart_raild(world.lab, host)
        wait_for(world, [(0, "n1"), (1, "n1")])
    finally:
        daemons.start_ovs(host, which=("ovs-vswitchd",))
    sessions_are_back(world)


def test_a_port_without_carrier_shows_no_neighbour(world: World) -> None:
    leaf = world.lab.leaf(1)
    kernel.run(["ip", "-n", leaf.namespace, "link", "set", "n1", "down"])
    try:
        eventually("nothing is shown", lambda: shown(world)[1], lambda found: found == {}, 10)
    finally:
        kernel.links_up(leaf.namespace, ["n1"])
    wait_for(world, [(0, "n1"), (1, "n1")])
