"""The name of a cluster is part of its tenants' ids: two clusters on one fabric meet only by mistake, and a cluster gets a name, or
another one, without losing a packet. One node of the lab stands for each cluster, or for each half of a fleet."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from api_server import ApiServer
from conftest import lab_of_its_own
from railcni_lab import pods
from railcni_lab.layout import Node, Shape, write_json
from railcni_lab.speaker import tenant_id
from tables import Tables
from test_config import findings
from test_tenants import restart
from traffic import Traffic
from world import World, eventually, settle

PODS = {"a1": ("n1", "team-a"), "a2": ("n2", "team-a"), "b1": ("n1", "team-b"), "b2": ("n2", "team-b")}
TALK = [("a1", "a2"), ("a2", "a1"), ("b1", "b2"), ("b2", "b1")]
NEVER = [("a1", "b2"), ("b1", "a2"), ("a2", "b1"), ("b2", "a1")]
SOON = 120  # seconds: ten times the 10 s for which who moves is in two tenants
HEAD = ("what", "lost of what pods of a tenant send each other", "longest silence")


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "y", Shape(nodes=2, rails=1, spines=0, devices=4), PODS) as world:
        settle(world)
        yield world


def edit(node: Node, change: Callable[[dict[str, Any]], None]) -> None:
    config = json.loads(node.config_file.read_text())
    change(config)
    write_json(node.config_file, config)


def announced(world: World, node: Node) -> set[str]:
    """The ids of the tenants for which this node's bgpd announces pods, by the names of its route-maps."""
    shown = subprocess.run(["vtysh", "--vty_socket", str(node.frr_dir), "-c", "show running-config"], capture_output=True, text=True, timeout=60, check=True)
    return {line.rpartition("-")[2] for line in shown.stdout.splitlines() if line.strip().startswith("network ")}


def name(world: World, node: Node, cluster: str, *aliases: str) -> None:
    """Gives the node's cluster another name, and waits until raild and bgpd have it and nobody is in two tenants any more."""
    before = json.loads(node.config_file.read_text())["cluster"]
    edit(node, lambda config: config.update(cluster=cluster, cluster_aliases=list(aliases)))
    wanted = {f"{tenant_id(f'namespace/{each}', cluster):028x}" for each in ("team-a", "team-b")}
    eventually(f"{node.name} announces for cluster {cluster!r}", lambda: announced(world, node), lambda ids: ids == wanted, SOON)
    if before != cluster:
        for each in world.lab.nodes():
            eventually(f"nobody leaves a tenant on {each.name}", lambda each=each: world.leaving_rules(each, 0),  # type: ignore[misc]
                       lambda found: not found, SOON)


def never_meet(world: World) -> None:
    with Traffic([], world, TALK + NEVER) as traffic:
        eventually("packets are sent", lambda: min(traffic.sent), lambda n: n > 100, SOON)
        assert not traffic.breaches()


def test_two_clusters_meet_only_where_they_have_one_name(world: World) -> None:
    """The same namespaces, the same community_asn: what two clusters made from the samples have in common."""
    one, other = world.lab.nodes()
    name(world, other, "west")
    never_meet(world)
    name(world, other, json.loads(one.config_file.read_text())["cluster"])
    with Traffic(TALK, world, NEVER) as traffic:
        traffic.flows_again()
        assert not traffic.breaches()


def test_a_cluster_gets_a_name_and_loses_no_packet(world: World, tables: Tables) -> None:
    """The three rollouts of UPGRADE.md, one node after the other, on the way from the ids of a cluster without a name."""
    for node in world.lab.nodes():
        name(world, node, "", "east")
    with Traffic(TALK, world, NEVER) as traffic:
        traffic.flows_again()
        began = time.monotonic()
        for cluster, *aliases in (("east", ""), ("east",)):
            for node in world.lab.nodes():
                name(world, node, cluster, *aliases)
                traffic.flows_again()
        gap, lost, sent = traffic.gap_ms(began), traffic.lost(), sum(traffic.sent[:traffic.allowed])
        tables.row("cluster_name", HEAD, ("a cluster gets a name", f"{lost} of {sent}", f"{gap:.0f} ms"))
        assert lost == 0, f"{lost} of {sent}"
        assert not traffic.breaches()


def of_cluster(world: World, node: Node) -> None:
    def change(config: dict[str, Any]) -> None:
        config["kubernetes"] = {"tenants": True, "api": ApiServer.url}

    edit(node, change)
    restart(world, node)
    eventually(f"{node.name} has the list", (node.root / "var/lib/railcni/tenants.json").exists, bool, SOON)


def test_another_cluster_of_the_same_name_is_named_and_not_believed(world: World) -> None:
    """Each node follows an API server of its own: two clusters whose administrators chose one name."""
    one, other = world.lab.nodes()
    with ApiServer([one]) as here, ApiServer([other]) as there:
        for node, api in ((one, here), (other, there)):
            for namespace in ("kube-system", "team-a", "team-b"):
                api.create(namespace)
            of_cluster(world, node)
        for node in (one, other):
            eventually(f"{node.name} names the other cluster", lambda node=node: findings(world, node),  # type: ignore[misc]
                       lambda found: "is of another cluster" in found.get("cluster-name-taken", {}).get("what", ""), SOON)
        never_meet(world)
        # The administrator of one of them gives it another name: neither hears of the other's tenants any more.
        name(world, other, "west")
        for node in (one, other):
            eventually(f"{node.name} has nothing to say", lambda node=node: findings(world, node),  # type: ignore[misc]
                       lambda found: "cluster-name-taken" not in found, SOON)
        never_meet(world)
