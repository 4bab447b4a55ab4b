"""Tenants from the labels of namespaces, with traffic running: a label changes, the API server goes away, a namespace is made anew.

The lab is one of its own, two nodes and one rail. Asserted is who reaches whom, and that nothing arrives that must not; the numbers are
in build/reports/lab/tenants.txt."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator

import pytest
from api_server import ApiServer
from conftest import lab_of_its_own
from railcni_lab import daemons, pods
from railcni_lab.layout import LabError, Node, Shape, write_json
from tables import Tables
from traffic import Traffic
from world import World, eventually

# Three pods that move together, two that stay, and one of the tenant into which they move, on two nodes.
PODS = {"m1": ("n1", "moves"), "m2": ("n2", "moves"), "s1": ("n1", "stays"), "s2": ("n2", "stays"),
        "m3": ("n1", "moves"), "t2": ("n2", "target")}
HEAD = ("what", "lost between pods that stay together", "longest silence", "first packet of the new tenant", "last of the old",
        "packets that must not arrive")
TWO_IDS = 10  # seconds for which who has moved is in both tenants (lib/engine/attach/tenant_move.h)
GENEROUS_MS = 10000  # below a second in a lab of its own; a bound for a loaded machine


@pytest.fixture(scope="module")
def api(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    with lab_of_its_own(request.config, "k", Shape(nodes=2, rails=1, spines=0, devices=4), {}) as world, \
            ApiServer(world.lab.nodes()) as api:
        api.create("moves", "red")
        api.create("stays", "red")
        api.create("target", "blue")
        for node in world.lab.nodes():
            config = json.loads(node.config_file.read_text())
            config["kubernetes"] = {"tenants": True, "report": True, "api": api.url}
            write_json(node.config_file, config)
            restart(world, node)
        for node in world.lab.nodes():
            eventually(f"{node.name} has the list", (node.root / "var/lib/railcni/tenants.json").exists, bool, 20)
        for name, (node_name, namespace) in PODS.items():
            pods.add(world.lab, name, node_name, namespace, None)
        api.world = world  # type: ignore[attr-defined]
        yield api


@pytest.fixture(scope="module")
def world(api: ApiServer) -> World:
    return api.world  # type: ignore[attr-defined, no-any-return]


def restart(world: World, node: Node) -> None:
    pid = daemons.pid_of(node, "raild")
    if pid is not None:
        daemons.kill(pid, signal.SIGTERM)
    os.environ["NODE_NAME"] = node.name
    try:
        daemons.start_raild(world.lab, node)
    finally:
        del os.environ["NODE_NAME"]
    eventually(f"raild of {node.name} answers", lambda: daemons.raild_answers(node), bool, 20)


def tenant_of(world: World, pod: str) -> str:
    node = world.lab.find_node(pods.find(world.lab, pod).node)
    shown = world.railctl(node, "get", "attachments")
    return next(a["tenant"]["name"] for a in shown["attachments"] if a["pod"]["name"] == pod)


def megaflow(world: World, source: str, target: str) -> tuple[str, str]:
    """What the sender's switch makes of a packet between the two pods."""
    a, b = world.port(source), world.port(target)
    return world.trace(a.node, 0, f"in_port={a.ofport},dl_src={a.mac},dl_dst={world.gateway_mac(0)},udp,nw_src={a.ipv4},nw_dst={b.ipv4},"
                                  f"udp_src=1,udp_dst=2,nw_ttl=64")


def test_a_label_moves_running_pods(world: World, api: ApiServer, tables: Tables) -> None:
    """Of what moves together nothing is lost, on one node and between nodes. For 10 s it is in both tenants, and nobody else is."""
    moving = ("m1", "m2", "m3")
    together = [(a, b) for a in moving for b in moving if a != b] + [("s1", "s2"), ("s2", "s1")]
    to_target = [("m1", "t2"), ("t2", "m1"), ("m2", "t2"), ("t2", "m2")]
    to_old = [("m1", "s1"), ("s1", "m1"), ("m1", "s2"), ("s2", "m2")]
    never = [("s1", "t2"), ("t2", "s1"), ("s2", "t2"), ("t2", "s2")]
    with Traffic(together, world, to_target + to_old + never) as traffic:
        traffic.flows_again()
        index = {pair: i for i, pair in enumerate(traffic.pairs)}

        def newest(pairs: list[tuple[str, str]]) -> float:
            return max(traffic.arrivals[index[p]][-1] for p in pairs)

        eventually("red's pods reach each other", lambda: all(traffic.arrivals[index[p]] for p in to_old), bool, 20)
        assert not any(traffic.arrivals[index[p]] for p in to_target), "blue was reached before the move"
        lost = traffic.lost()
        assert lost == 0, f"{lost} packets are lost before the move"
        megaflows = {pair: megaflow(world, *pair) for pair in together}
        began = time.monotonic()
        api.label("moves", "blue")
        eventually("the pods that have moved reach blue", lambda: all(traffic.arrivals[index[p]] for p in to_target), bool, 20)
        leaving = world.leaving_rules(world.lab.find_node("n1"), 0)
        assert leaving or time.monotonic() > began + TWO_IDS, "no address on n1 has the tenant that it is leaving"
        first = max(traffic.arrivals[index[p]][0] for p in to_target) - began
        for pod in moving:
            eventually(f"{pod} has moved", lambda pod=pod: tenant_of(world, pod), lambda name: name == "blue", 20)  # type: ignore[misc]
        for pair, before in megaflows.items():
            assert megaflow(world, *pair) == before, f"{pair}: the second tenant is a part of the megaflow"
        eventually("the old tenant is left", lambda: time.monotonic() - newest(to_old), lambda silent: silent > 1, 60)
        left = newest(to_old) - began
        time.sleep(1)  # what would still arrive from the old tenant
        late = sum(1 for p in to_old for t in traffic.arrivals[index[p]] if t > began + left)
        traffic.flows_again()
        gap, lost, sent = traffic.gap_ms(began), traffic.lost(), sum(traffic.sent[:traffic.allowed])
        tables.row("tenants", HEAD, ("label of a namespace changed", f"{lost} of {sent}", f"{gap:.0f} ms", f"{first * 1000:.0f} ms",
                                     f"{left:.1f} s", str(late)))
        assert lost == 0, f"{lost} of {sent} packets between pods that moved together, or stayed together"
        assert late == 0, f"{late} packets between the old tenant's pods and pods that had left it"
        assert {pair: megaflow(world, *pair) for pair in together} == megaflows
        assert TWO_IDS - 1 < left < TWO_IDS + GENEROUS_MS / 1000
        assert not any(traffic.arrivals[index[p]] for p in never), "pods that did not move have met pods of the other tenant"
        now = time.monotonic()
        eventually("blue is reached still", lambda: newest(to_target), lambda arrival: arrival > now, 30)


def test_a_label_that_is_no_tenant_moves_nobody_and_lets_nobody_in(world: World, api: ApiServer) -> None:
    before = tenant_of(world, "m1")
    api.label("moves", "Not_A-Tenant.x" + "x" * 40)
    node = world.lab.find_node("n1")
    eventually("the label is counted", lambda: world.metrics_page(node)[1],
               lambda page: "railcni_tenants_invalid_labels 1\n" in page, 20)
    eventually("a label is no trouble of the node", lambda: world.metrics_page(node, "/healthz"), lambda page: page == (200, "ok\n"), 20)
    assert tenant_of(world, "m1") == before
    with pytest.raises(LabError, match="cannot be a tenant"):
        pods.add(world.lab, "late", "n1", "moves", None)
    api.label("moves", before)
    eventually("the label is right", lambda: world.metrics_page(node)[1],
               lambda page: "railcni_tenants_invalid_labels 0\n" in page, 20)


def test_why_a_pod_is_not_attached_is_an_event_of_the_pod(world: World, api: ApiServer) -> None:
    with pytest.raises(LabError, match="has not heard of the namespace"):
        pods.add(world.lab, "early", "n1", "unheard-of", None)
    events = eventually("an event of the pod", lambda: [e for e in api.events if e["involvedObject"]["name"] == "early"], bool, 20)
    assert events[0]["metadata"]["namespace"] == "unheard-of"
    assert events[0]["type"] == "Warning"
    assert "has not heard of the namespace" in events[0]["message"]


def test_without_the_api_server_pods_start_and_labels_wait(world: World, api: ApiServer) -> None:
    api.go_away()
    try:
        pods.add(world.lab, "alone", "n1", "stays", None)
        assert tenant_of(world, "alone") == "red"
        api.label("stays", "green")
    finally:
        api.come_back()
    eventually("the label is followed", lambda: tenant_of(world, "alone"), lambda t: t == "green", 60)
    api.label("stays", "red")
    eventually("and back", lambda: tenant_of(world, "alone"), lambda t: t == "red", 20)
    pods.delete(world.lab, "alone")


def test_a_namespace_made_anew_does_not_take_the_pods_of_the_old_one(world: World, api: ApiServer) -> None:
    api.delete("stays")
    api.create("stays", "blue", created=time.time() + 1)
    node = world.lab.find_node("n1")
    eventually("the node knows the new namespace",
               lambda: json.loads((node.root / "var/lib/railcni/tenants.json").read_text())["namespaces"].get("stays", {}),
               lambda n: n.get("label") == "blue", 20)
    restart(world, node)
    assert tenant_of(world, "s1") == "red"
    api.delete("stays")
    api.create("stays", "red")


def test_tenants_of_node_json_move_running_pods(world: World, api: ApiServer) -> None:
    """Both ways: named there, and no more."""
    for tenants, expected in (({"crew": ["moves"]}, "crew"), ({}, "blue")):
        for node in world.lab.nodes():
            config = json.loads(node.config_file.read_text())
            config["tenancy"]["tenants"] = tenants
            write_json(node.config_file, config)
            restart(world, node)
        for pod in ("m1", "m2"):
            eventually(f"{pod} is of {expected}", lambda pod=pod: tenant_of(world, pod), lambda t, e=expected: t == e, 20)
        with Traffic([("m1", "m2"), ("m2", "m1")], world) as traffic:
            traffic.flows_again()


def test_the_node_has_a_condition(world: World, api: ApiServer) -> None:
    for node in world.lab.nodes():
        eventually(f"{node.name}'s condition", lambda node=node: api.conditions.get(node.name, {}),
                   lambda c: c.get("status") == "True" and c.get("message") == "1/1", 40)
