"""`railctl accept` while somebody does what it may not do itself: takes a leaf's port down and up, attaches and detaches pods. Each check passes
where all goes well, and fails by name in a lab in which it does not."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

import pytest
from acceptance_stage import HEAD, Stage, keep_foreign_flows, on_switch, stage
from conftest import lab_of_its_own
from railcni_lab import cabling, kernel, pods
from railcni_lab.chain import Attachment, PluginError
from railcni_lab.layout import Node, Shape, bridge, device
from railcni_lab.speaker import communities, tenant_id
from tables import Tables
from test_learning import Announcer
from world import World, eventually, installed_remotes, sessions_established, settle

PODS = {f"a{number}": (f"n{number}", "tenant-a") for number in (1, 2, 3, 4)}
LONG = 12  # seconds: a fault of 10 is judged
RAIL = 0


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "ao", Shape(nodes=4, rails=2, spines=1, devices=3, units=2), PODS) as world:
        keep_foreign_flows(world)
        settle(world)
        yield world


@pytest.fixture(scope="module")
def accept(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(world, tmp_path_factory.mktemp("accept"), list(PODS)) as made:
        yield made


@pytest.fixture
def node(world: World) -> Iterator[Node]:
    """The node whose port goes down; all is as before when it is up."""
    found = world.lab.find_node("n1")
    try:
        yield found
    finally:
        set_port(world, found, "up")
        settle(world, 60)


def set_port(world: World, node: Node, to: str) -> None:
    leaf = world.lab.leaf(cabling.where(world.lab, node, RAIL))
    kernel.run(["ip", "-n", leaf.namespace, "link", "set", node.name, to])


def take_down(world: World, node: Node) -> None:
    set_port(world, node, "down")
    eventually("raild says so", lambda: world.railctl(node, "get", "rails")["rails"][RAIL], lambda rail: not rail.get("connected"))
    threading.Event().wait(LONG)


def take_up(world: World, node: Node) -> None:
    """Once more where the leaf's bgpd has lost its neighbour by it."""
    set_port(world, node, "up")
    sessions_established(world, node, 40)


def test_a_leafs_port_that_goes_down_and_up_is_measured(world: World, accept: Stage, node: Node, tables: Tables) -> None:
    def happens() -> None:
        take_down(world, node)
        take_up(world, node)

    status, checks = accept.during("failure", 150, happens)
    leaf = world.lab.leaf(RAIL).name
    assert {name: check["verdict"] for name, check in checks.items()} == {
        "failure.withdrawn": "PASS", "failure.devices": "COULD_NOT_MEASURE", "failure.told": "PASS", "failure.back": "PASS"}, checks
    assert status == 3
    for name, check in checks.items():
        [attempt] = check["attempts"]
        assert (attempt["from"], attempt["rail"]) == ("n1", "rail0")
        assert f"leaf {leaf}" in attempt["did"]
        assert "an echo passed" in attempt["control"]
        if check["verdict"] == "PASS":
            assert attempt["unit"] == "s" and 0 < attempt["value"] < 150
        tables.row("accept", HEAD, (name, "a leaf's port goes down and up", check["verdict"], attempt["seen"]))
    assert "3 other nodes" in checks["failure.withdrawn"]["attempts"][0]["seen"]
    assert "uplink-without-carrier" in checks["failure.told"]["attempts"][0]["seen"]
    assert "no device of the rail" in checks["failure.devices"]["why"], "there is no kubelet here"


def test_a_failure_that_nobody_makes_proves_nothing(accept: Stage) -> None:
    status, checks = accept.during("failure", 1, lambda: None)
    assert status == 3 and {check["verdict"] for check in checks.values()} == {"COULD_NOT_MEASURE"}
    assert "take a leaf's port to one of n1, n2, n3, n4 down" in checks["failure.back"]["why"]
    refused = accept.run("--only", "failure")
    assert refused.returncode == 2 and "--failure SECONDS" in refused.stderr


def failed(checks: dict[str, dict]) -> set[str]:
    return {name for name, check in checks.items() if check["verdict"] == "FAIL"}


def test_a_port_that_stays_down_is_named(world: World, accept: Stage, node: Node, tables: Tables) -> None:
    status, checks = accept.during("failure", 20, lambda: take_down(world, node))
    assert status == 1 and failed(checks) == {"failure.back"}
    why = checks["failure.back"]["why"]
    assert f"n1 on rail0 (leaf {world.lab.leaf(RAIL).name}) did not get its session back" in why
    tables.row("accept", HEAD, ("failure.back", "a leaf's port stays down", "FAIL", why))


def test_a_rail_that_is_back_without_traffic_is_named(world: World, accept: Stage, node: Node, tables: Tables) -> None:
    with ExitStack() as sabotage:
        def happens() -> None:
            take_down(world, node)
            sabotage.enter_context(on_switch(world, "n1", f"in_port={world.port('a1').ofport},actions=drop"))
            take_up(world, node)

        status, checks = accept.during("failure", 90, happens)
    assert status == 1 and failed(checks) == {"failure.back"}
    assert "no echo passes between tenant-a/a1 and" in checks["failure.back"]["why"]
    tables.row("accept", HEAD, ("failure.back", "a flow of others drops what a1 sends", "FAIL", checks["failure.back"]["why"]))


def test_an_address_that_is_withdrawn_late_is_seen(world: World, accept: Stage, node: Node, tables: Tables) -> None:
    """Another leaf tells the pod's address, too, for longer than a fault may be unknown."""
    other = Announcer(world.lab.leaf(cabling.where(world.lab, world.lab.find_node("n4"), RAIL)), RAIL)
    assert other.leaf.name != world.lab.leaf(RAIL).name

    def happens() -> None:
        other.announce(f"{world.port('a1').ipv4}/32", communities(tenant_id("namespace/tenant-a"), RAIL))
        take_down(world, node)
        other.withdraw_all()
        for each in map(world.lab.find_node, ("n2", "n3", "n4")):
            eventually(f"{each.name} has lost it", lambda each=each: installed_remotes(world, each, RAIL),
                       lambda remotes: world.port("a1").ipv4 not in remotes)
        take_up(world, node)

    try:
        status, checks = accept.during("failure", 150, happens)
    finally:
        other.close()
    assert status == 1 and failed(checks) == {"failure.withdrawn"}, checks
    why = checks["failure.withdrawn"]["why"]
    assert "3 other nodes had lost its addresses after" in why
    assert checks["failure.withdrawn"]["attempts"][0]["value"] > 10
    tables.row("accept", HEAD, ("failure.withdrawn", "another leaf announces a1's address", "FAIL", why))


# Pods that come and go


@contextmanager
def pod(world: World, name: str = "c1", node: str = "n1") -> Iterator[None]:
    pods.add(world.lab, name, node, "tenant-a", None)
    try:
        yield
    finally:
        pods.delete(world.lab, name)


def come_and_go(world: World, times: int = 3) -> None:
    for _ in range(times):
        with pod(world):
            pass


def test_pods_that_come_and_go_are_measured(world: World, accept: Stage, tables: Tables) -> None:
    status, checks = accept.during("churn", 15, lambda: come_and_go(world))
    assert status == 0, checks
    for verb in ("add", "del"):
        [attempt] = checks[f"churn.{verb}"]["attempts"]
        assert attempt["from"] == "n1" and attempt["unit"] == "ms" and 0 < attempt["value"] <= 5000
        for plugin in ("ovs-provider", "tenant-isolation", "frr-provider"):
            assert f"{plugin}: 6 runs, 0 failed, p50 at most" in attempt["seen"], "three pods on two rails"
    assert {attempt["from"] for attempt in checks["churn.left"]["attempts"]} == {"n1", "n2", "n3", "n4"}
    for name, check in checks.items():
        tables.row("accept", HEAD, (name, "none", check["verdict"], check["attempts"][0]["seen"]))


def test_pods_that_nobody_attaches_prove_nothing(accept: Stage) -> None:
    status, checks = accept.during("churn", 1, lambda: None)
    assert status == 3 and {check["verdict"] for check in checks.values()} == {"COULD_NOT_MEASURE"}
    assert "no ADD" in checks["churn.add"]["why"]


def of_nobody(netns: str) -> Attachment:
    """Of a pod that the lab does not keep."""
    return Attachment(container_id=secrets.token_hex(32), netns=netns, ifname="net1", device_id=device(RAIL, 2),
                      args={"IgnoreUnknown": "true", "K8S_POD_NAMESPACE": "tenant-a", "K8S_POD_NAME": "c9"})


def test_an_add_that_fails_is_seen(world: World, accept: Stage, tables: Tables) -> None:
    node = world.lab.find_node("n1")
    chain, attachment = pods.chain(world.lab, node, RAIL), of_nobody("/run/netns/nowhere")

    def happens() -> None:
        come_and_go(world, 1)
        with pytest.raises(PluginError):
            chain.add(attachment)
        chain.delete(attachment)

    status, checks = accept.during("churn", 10, happens)
    assert status == 1 and failed(checks) == {"churn.add"}, checks
    assert "1 failed" in checks["churn.add"]["why"] and checks["churn.add"]["why"].startswith("1 of 1, the first: n1")
    tables.row("accept", HEAD, ("churn.add", "an ADD in a namespace that is not there", "FAIL", checks["churn.add"]["why"]))


def test_a_del_that_fails_is_seen(world: World, accept: Stage, tables: Tables) -> None:
    node = world.lab.find_node("n1")
    chain = pods.chain(world.lab, node, RAIL)

    def happens() -> None:
        come_and_go(world, 1)
        with pytest.raises(PluginError):
            chain.execute("DEL", {"type": "ovs-provider"}, replace(of_nobody(""), container_id="-"), None)

    status, checks = accept.during("churn", 10, happens)
    assert status == 1 and failed(checks) == {"churn.del"}, checks
    tables.row("accept", HEAD, ("churn.del", "a DEL of a container that has no such name", "FAIL", checks["churn.del"]["why"]))


def test_a_pod_that_stays_is_left(world: World, accept: Stage, tables: Tables) -> None:
    try:
        status, checks = accept.during("churn", 10, lambda: pods.add(world.lab, "c1", "n1", "tenant-a", None))
    finally:
        pods.delete(world.lab, "c1")
    assert status == 1 and failed(checks) == {"churn.left"}, checks
    assert checks["churn.del"]["verdict"] == "COULD_NOT_MEASURE"
    seen = {attempt["from"]: attempt["seen"] for attempt in checks["churn.left"]["attempts"]}
    assert "tenant-a/c1 (net1) is attached; tenant-a/c1 (net2) is attached" in seen["n1"]
    assert "it still sends to" in seen["n4"]
    tables.row("accept", HEAD, ("churn.left", "a pod is not detached", "FAIL", checks["churn.left"]["why"]))


def test_a_port_that_stays_is_left(world: World, accept: Stage, tables: Tables) -> None:
    node = world.lab.find_node("n1")

    def happens() -> None:
        come_and_go(world, 1)
        world.vsctl(node, "add-port", bridge(RAIL), "left0", "--", "set", "Interface", "left0", "type=internal")

    try:
        status, checks = accept.during("churn", 10, happens)
    finally:
        world.vsctl(node, "--if-exists", "del-port", bridge(RAIL), "left0")
    assert status == 1 and failed(checks) == {"churn.left"}, checks
    assert "foreign-port" in checks["churn.left"]["why"] and "left0" in checks["churn.left"]["why"]
    tables.row("accept", HEAD, ("churn.left", "a port is left on a bridge", "FAIL", checks["churn.left"]["why"]))
