"""The fleet in one view: 4 nodes in 2 units. For each fault, the first line names the cause and nothing healthy is accused; on leaves and
spines, too. The table is build/reports/lab/fabric.txt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

import pytest
from cause_rows_bgp import (announced_by_the_leaf, another_as_at_the_leaf, firewall, frr_killed, lines, link_of_the_leaf,
                            no_neighbor_at_the_leaf, shut_down_at_the_leaf, shut_down_here, strips_communities, without_bmp)
from cause_rows_life import stopped
from cause_rows_node import api_server_never_answered, record_lost
from cause_rows_pod import device_is_gone
from cause_rows_switch import foreign_flow, rates_without_devlink, until_settled
from causes import Stage
from conftest import lab_of_its_own
from fleet import HEAD, UNIT_OF, Fleet, Row, quiet, railfabric, run
from railcni_lab import daemons
from railcni_lab.layout import Host, Shape
from tables import Tables
from world import World, eventually, hanging, killed, settle

SHAPE = Shape(nodes=4, rails=2, spines=2, devices=2, units=2)
PODS = {f"{tenant}{number}": (f"n{number}", f"tenant-{tenant}") for tenant in "ab" for number in (1, 2, 3, 4)}


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    with lab_of_its_own(request.config, "fb", SHAPE, PODS) as world:
        settle(world, 60)
        yield Stage(world)


@pytest.fixture(scope="module")
def fleet(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with railfabric(stage.world, tmp_path_factory.mktemp("fabric")) as made:
        yield made


Fault = Callable[[Stage], AbstractContextManager[None]]


def leaf_gone(number: int) -> Fault:
    return lambda stage: frr_killed(stage.world.lab.leaf(number), "bgpd", bmp=False)


def shut_down(host: Callable[[World], Host], neighbors: Callable[[World], list[str]]) -> Fault:
    """The host's BGP with these neighbours."""
    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        these = neighbors(stage.world)
        with lines(host(stage.world), [f"neighbor {name} shutdown" for name in these], [f"no neighbor {name} shutdown" for name in these]):
            yield
    return make


def settled(fault: Fault) -> Fault:
    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        with fault(stage):
            yield
        settle(stage.world, 60)
    return make


def together(*faults: Fault) -> Fault:
    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        with ExitStack() as stack:
            for fault in faults:
                stack.enter_context(fault(stage))
            yield
    return make


def spines_of(world: World) -> list[str]:
    return [f"spine{number}" for number in range(world.lab.shape().spines)]


ROWS = [
    # Leaves and spines first: raild keeps what a leaf no longer tells for two minutes after a session that was lost.
    Row("a leaf has lost its spines", "leaf-without-spines", "leaf0", settled(shut_down(lambda w: w.lab.leaf(0), spines_of))),
    Row("BGP neighbor shut down here", "session-down", "n1/rail0", shut_down_here),
    Row("BGP neighbor shut down at the leaf", "session-down", "n1/rail0", shut_down_at_the_leaf),
    Row("leaf has no neighbor for the port", "session-down", "n1/rail0", no_neighbor_at_the_leaf),
    Row("leaf's firewall drops BGP", "session-down", "n1/rail0", lambda s: firewall(s.world.lab.leaf(0), "n1")),
    Row("leaf expects another AS", "session-down", "n1/rail0", another_as_at_the_leaf),
    Row("leaf's port down", "cable-down", "n1/rail0", lambda s: link_of_the_leaf(s, "down", "up")),
    Row("leaf strips large communities", "leaf-strips-communities", "leaf0", strips_communities),
    Row("a leaf's bgpd killed", "leaf-down", "leaf0", leaf_gone(0)),
    Row("a leaf's bgpd hangs", "leaf-down", "leaf1", lambda s: hanging(s.world.lab.leaf(1), "bgpd")),
    Row("both leaves of a unit killed", "unit-down", f"{UNIT_OF}n1", together(leaf_gone(0), leaf_gone(1))),
    Row("the leaves of a rail killed", "rail-down", "rail0", together(leaf_gone(0), leaf_gone(2))),
    Row("bgpd killed", "node-links-down", "n1", lambda s: frr_killed(s.node, "bgpd", bmp=True)),
    Row("bgpd hangs", "node-links-down", "n1", lambda s: hanging(s.node, "bgpd")),
    Row("bgpd without its BMP module", "bmp-down", "n1", without_bmp),
    Row("own address announced for another tenant", "address-announced-elsewhere", "10.0.1.2", announced_by_the_leaf("tenant-b")),
    Row("foreign flow lets another tenant in", "rail-foreign-flows", "n1/rail0", foreign_flow),
    Row("rates for devices that have none", "rates-refused", "n1", rates_without_devlink),
    Row("the NIC was reset, the pod's device is gone", "pods-without-device", "n1/rail0", device_is_gone),
    Row("API server never answered", "tenants-not-known", "n1", api_server_never_answered),
    Row("record lost while pods live", "rail-record-lost", "n1", record_lost),
    Row("raild dead", "nodes-away", "n1", stopped),
    Row("ovs-vswitchd killed", "rail-unseen", "n1", until_settled(lambda node: killed(node, "ovs-vswitchd", daemons.start_vswitchd))),
    Row("ovs-vswitchd hangs", "node-links-down", "n1", until_settled(lambda node: hanging(node, "ovs-vswitchd"))),
]


@pytest.mark.parametrize("row", [pytest.param(row, id=row.fault.replace(" ", "-")) for row in ROWS])
def test_the_first_line_names_the_cause(fleet: Fleet, stage: Stage, tables: Tables, row: Row) -> None:
    tables.row("fabric", HEAD, run(fleet, stage, row))


def test_a_job_is_shown_with_the_pairs_that_cannot_reach_each_other(fleet: Fleet, stage: Stage) -> None:
    quiet(fleet, "before the job is asked for", 180)
    world = stage.world
    one = fleet.ask("get", "job", "tenant-a/a1")
    assert {(p["pod"], p["node"], p["rail"]) for p in one["pods"]} == {("a1", "n1", "rail0"), ("a1", "n1", "rail1")}
    assert {address for p in one["pods"] for address in p["addresses"]} == \
        {address for rail in (0, 1) for address in (world.port("a1", rail).ipv4, world.port("a1", rail).ipv6)}
    assert fleet.call("get", "job", "tenant-a/none").returncode != 0


def test_what_is_away_is_said_and_a_new_replica_has_all(fleet: Fleet, stage: Stage) -> None:
    quiet(fleet, "before a node is away", 180)
    with stopped(stage):
        [node] = eventually("n1 is away", lambda: [n for n in fleet.ask("get", "nodes")["nodes"] if n["name"] == "n1"],
                            lambda found: found[0]["state"] == "FLEET_AWAY", 60)
        assert node["rails"] == 2 and node["away_since"], "as it said last, and since when"
        fleet.stop()
        fleet.start()
        states = {n["name"]: n["state"] for n in fleet.ask("get", "nodes")["nodes"]}
        assert states == {"n1": "FLEET_UNHEARD", "n2": "FLEET_READY", "n3": "FLEET_READY", "n4": "FLEET_READY"}
    eventually("all are there", lambda: {n["state"] for n in fleet.ask("get", "nodes")["nodes"]}, lambda found: found == {"FLEET_READY"}, 60)
