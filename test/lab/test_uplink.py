"""A rail's cable is pulled at the leaf: the node withdraws the rail's addresses, nobody sends there, the other rail goes on."""

from __future__ import annotations

import pytest
from railcni_lab import kernel, pods, vty
from railcni_lab.layout import LabError, Node, uplink
from world import World, eventually, installed_remotes, settle

RAIL, OTHER = 0, 1


def announced(node: Node) -> set[str]:
    """The prefixes that the node's bgpd has from nobody else."""
    return {r["prefix"] for r in vty.routes(node.frr_dir) if r["as_path"] in ("", "Local")}


def rail_view(world: World, node: Node, rail: int) -> dict[str, object]:
    return next(r for r in world.railctl(node, "get", "rails")["rails"] if r["name"] == f"rail{rail}")


def carriers(world: World, node: Node) -> dict[int, float]:
    found = world.metrics(node)
    return {rail: found[f'railcni_rail_carrier{{rail="rail{rail}"}}'] for rail in (RAIL, OTHER)}


def test_rail_without_a_carrier_is_not_announced(world: World) -> None:
    lab = world.lab
    near, far = lab.find_node("n2"), lab.find_node("n1")
    settle(world)
    lost, kept = world.port("a2", RAIL), world.port("a2", OTHER)
    prefixes, others = {f"{lost.ipv4}/32", f"{lost.ipv6}/128"}, {f"{kept.ipv4}/32", f"{kept.ipv6}/128"}
    assert prefixes | others <= announced(near)
    assert {lost.ipv4, lost.ipv6} <= installed_remotes(world, far, RAIL)

    kernel.run(["ip", "-n", lab.leaf(RAIL).namespace, "link", "set", near.name, "down"])
    try:
        eventually("the rail's addresses withdrawn, the other rail's not", lambda: announced(near),
                   lambda a: not prefixes & a and others <= a)
        for rail in (RAIL, OTHER):
            eventually(f"nothing of the rail at leaf {rail}", lambda r=rail: world.leaf_prefixes(r), lambda p: not prefixes & p)
            eventually(f"no rules for it on rail {rail} elsewhere", lambda r=rail: installed_remotes(world, far, r),
                       lambda found: not {lost.ipv4, lost.ipv6} & found)
        eventually("railctl says so", lambda: rail_view(world, near, RAIL), lambda r: not r.get("carrier"))
        assert rail_view(world, near, OTHER)["carrier"]
        assert carriers(world, near) == {RAIL: 0, OTHER: 1}, "the metrics say so"
        pod = next(p for p in pods.all_pods(lab) if p.name == "a2")
        with pytest.raises(LabError, match=f"uplink {uplink(RAIL)} of rail rail{RAIL} has no carrier"):
            pods.chain(lab, near, RAIL).check(pods.attachment(lab, pod, RAIL))
    finally:
        kernel.run(["ip", "-n", lab.leaf(RAIL).namespace, "link", "set", near.name, "up"])
    eventually("the metrics say so", lambda: carriers(world, near), lambda c: c == {RAIL: 1, OTHER: 1})
    eventually("announced again", lambda: announced(near), lambda a: prefixes | others <= a)
    eventually("at the leaf again", lambda: world.leaf_prefixes(RAIL), lambda p: prefixes <= p, seconds=60)
    settle(world, seconds=60)
