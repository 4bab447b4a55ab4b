"""Silent ways to break a switch: a rule of somebody else that lets a tenant into another, and a representor that is set down."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from causes import Named
from railcni_lab import fabric, kernel
from railcni_lab.layout import Node, bridge
from tables import Tables
from traffic import Traffic
from world import World, eventually, settle

OURS = 0x5241494C
SECONDS = 5  # generous: the table says what was measured
REMOVED = 'railcni_repairs_total{cause="foreign flow"}'
RAISED = 'railcni_repairs_total{cause="representor"}'


def mended_by_raild(fault: str, seconds: float, said: str) -> tuple[str, ...]:
    return fault, f"{seconds:.1f}", "none: right again before anybody asks", "raild", f"its log: {said}"


@pytest.fixture
def node(world: World) -> Node:
    settle(world, seconds=45)
    return world.lab.find_node("n1")


def all_rules(world: World, node: Node) -> list[tuple[int, int, str, str, int]]:
    return sorted((f["table"], f["priority"], f["match"], f["actions"], f["cookie"]) for f in world.flows(node, 0))


def others(world: World, node: Node) -> list[str]:
    return [f["match"] for f in world.flows(node, 0) if f["cookie"] >> 32 != OURS]


def let_in(world: World) -> str:
    """Whoever sends to a1 reaches it, of whatever tenant."""
    a1 = world.port("a1")
    return f"table=0,priority=60000,ip,nw_dst={a1.ipv4},actions=mod_dl_dst:{a1.mac},output:{a1.ofport}"


def log_of(node: Node) -> Callable[[], str]:
    """What raild says from now on."""
    log = node.log_dir / "raild.log"
    size = log.stat().st_size
    return lambda: log.read_bytes()[size:].decode()


def test_a_rule_that_lets_another_tenant_in_goes_by_its_event(world: World, node: Node, tables: Tables) -> None:
    wanted, said, before = all_rules(world, node), log_of(node), world.metrics(node).get(REMOVED, 0)
    with Traffic([("a3", "a1")], world, forbidden=[("b1", "a1")]) as traffic:
        traffic.flows_again()
        world.run_on_switch(node, 0, "add-flow", let_in(world))
        began = time.monotonic()
        eventually("it is gone", lambda: others(world, node), lambda found: not found, SECONDS)
        took = time.monotonic() - began
        traffic.flows_again()
        late = [arrival for arrival in traffic.arrivals[1] if arrival > began + took + 0.2]
        assert not late, f"{len(late)} datagrams of another tenant after the rule had gone"
    tables.row("repairs", ("what was broken", "right again after"), ("rule of others that opens the isolation", f"{took * 1000:.0f} ms"))
    assert all_rules(world, node) == wanted
    # raild says so once in 10 s for each bridge: the line may be due yet.
    eventually("raild says which", said, lambda text: re.search(
        rf"rail rail0: .*1 flows of others removed from {bridge(0)}, .*priority=60000,cookie=0x0,ip,nw_dst={world.port('a1').ipv4}", text)
        is not None, 45)
    assert eventually("it is counted", lambda: world.metrics(node).get(REMOVED, 0), lambda n: n > before) == before + 1


def test_a_flood_of_rules_goes_at_once_and_traffic_goes_on(world: World, node: Node, tables: Tables) -> None:
    wanted = all_rules(world, node)
    flood = node.root / "flood"
    flood.write_text("".join(f"cookie={n << 34:#x},table={n % 200},priority={n},in_port=77,actions=drop\n" for n in range(1, 5001)))
    with Traffic([("a3", "a1")], world) as traffic:
        traffic.flows_again()
        began = time.monotonic()
        world.run_on_switch(node, 0, "add-flows", str(flood))
        eventually("all are gone", lambda: others(world, node), lambda found: not found, 20)
        took = time.monotonic() - began
        traffic.flows_again()
        assert traffic.gap_ms(began) < 1000
    assert all_rules(world, node) == wanted
    tables.row("repairs", ("what was broken", "right again after"), ("5000 rules of others, each of its own cookie", f"{took * 1000:.0f} ms"))


def test_where_they_stay_everybody_says_so(world: World, node: Node) -> None:
    gauge = 'railcni_rail_foreign_flows{rail="rail0"}'
    with fabric.foreign_flows_stay(world.lab, node):
        said = log_of(node)
        world.run_on_switch(node, 0, "add-flow", let_in(world))
        try:
            eventually("the metric", lambda: world.metrics(node)[gauge], lambda n: n == 1, SECONDS)
            [rail] = [r for r in world.railctl(node, "get", "rails")["rails"] if r["name"] == "rail0"]
            assert int(rail["foreign_flows"]) == 1
            assert "can go around the isolation, as table=0,priority=60000" in said()
            assert len(others(world, node)) == 1
        finally:
            world.run_on_switch(node, 0, "del-flows", "cookie=0/-1")
        eventually("the metric", lambda: world.metrics(node)[gauge], lambda n: n == 0, SECONDS)


def test_a_representor_that_is_set_down_is_set_up_again(world: World, node: Node, tables: Tables) -> None:
    name, before, said = world.port("a1").representor, world.metrics(node).get(RAISED, 0), log_of(node)
    with Traffic([("a3", "a1"), ("a1", "a3")], world) as traffic:
        traffic.flows_again()
        began = time.monotonic()
        kernel.run(["ip", "-n", node.namespace, "link", "set", name, "down"])
        eventually("it is up", lambda: "UP" in kernel.run(["ip", "-n", node.namespace, "link", "show", name]).split("<")[1].split(">")[0].split(","),
                   bool, SECONDS)
        took = time.monotonic() - began
        traffic.flows_again()
    tables.row("repairs", ("what was broken", "right again after"), ("representor set down", f"{took * 1000:.0f} ms"))
    line = f"1 representors were down, set up again: {name} of tenant-a/"
    assert line in said()
    tables.row("causes", Named.HEAD, mended_by_raild("representor set down", took, line))
    assert eventually("it is counted", lambda: world.metrics(node).get(RAISED, 0), lambda n: n > before) == before + 1
    settle(world, seconds=45)


def test_repairs_of_rules_are_in_the_log_with_whose_they_are(world: World, node: Node, tables: Tables) -> None:
    a1 = world.port("a1")
    wanted = all_rules(world, node)
    said = log_of(node)
    began = time.monotonic()
    world.run_on_switch(node, 0, "del-flows", f"table=0,in_port={a1.ofport}")
    eventually("right again", lambda: all_rules(world, node), lambda found: found == wanted, SECONDS)
    took = time.monotonic() - began
    line = rf"rail rail0: flows of {bridge(0)} put right that others had changed: \d+ missing.*; of tenant-a/a1 \S+ \(tenant tenant-a\)"
    found = re.search(line, eventually("the log", said, lambda text: re.search(line, text) is not None, 45))
    assert found is not None
    tables.row("causes", Named.HEAD, mended_by_raild("a pod's flows deleted", took, found[0]))
