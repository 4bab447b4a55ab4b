"""raild's metrics: true, taken by Prometheus itself, there within a moment whatever has gone, and few."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from frames import ethernet, udp_frame
from judge import ask, prometheus, query
from lone import Lone
from railcni_lab import daemons, kernel, matrix, pods
from railcni_lab.fabric import METRICS
from railcni_lab.layout import Node
from tables import Tables
from world import METRICS_PORT, World, eventually, hanging, send_frames, send_frames_on, settle

SPACING, TIMES_DURATION = 5, 100  # the next look: so many seconds after the last one's end, and so many times its duration
LOOK_AGE, LOOK_DURATION = "railcni_switch_look_age_seconds", "railcni_switch_look_duration_seconds"
SWITCH_FAMILIES = ("railcni_dropped_packets_total", "railcni_datapath_flows", "railcni_datapath_dropping_flows")


@pytest.fixture
def node(settled: World) -> Node:
    return settled.lab.find_node("n1")


def value(found: dict[str, float], name: str, **labels: str) -> float | None:
    written = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return found.get(f"{name}{{{written}}}" if labels else name)


def test_the_page_is_as_prometheus_wants_it(settled: World, node: Node) -> None:
    _, text = settled.metrics_page(node)
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr.strip(), f"promtool would have it otherwise: {done.stderr}"


def test_the_page_says_what_railctl_says(settled: World, node: Node) -> None:
    def differences() -> list[str]:
        found = settled.metrics(node)
        rails = settled.railctl(node, "get", "rails")["rails"]
        attachments = settled.railctl(node, "get", "attachments")["attachments"]
        wanted: dict[str, Any] = {"railcni_remotes": settled.railctl(node, "get", "remotes").get("total", 0),
                                  "railcni_bmp_up": 1, "railcni_learning_complete": 1,
                                  "railcni_contested_addresses": 0}
        for rail in rails:
            name = rail["name"]
            wanted[f'railcni_rail_rules_wanted{{rail="{name}"}}'] = int(rail["rules_wanted"])
            wanted[f'railcni_rail_rules_installed{{rail="{name}"}}'] = int(rail["rules_installed"])
            wanted[f'railcni_rail_carrier{{rail="{name}"}}'] = 1
            wanted[f'railcni_bgp_session_established{{rail="{name}"}}'] = 1
            here = [a for a in attachments if a["rail"] == name]
            wanted[f'railcni_attachments{{rail="{name}",phase="ready"}}'] = len(here)
            wanted[f'railcni_attachments_announced{{rail="{name}"}}'] = len(here)
            wanted[f'railcni_attachments_without_rules{{rail="{name}"}}'] = 0
            for tenant in ("tenant-a", "tenant-b"):
                wanted[f'railcni_tenant_attachments{{rail="{name}",tenant="{tenant}"}}'] = sum(
                    a["tenant"]["name"] == tenant for a in here)
        return [f"{name}: {found.get(name)}, not {want}" for name, want in wanted.items() if found.get(name) != want]

    eventually("the page is what railctl says", differences, lambda found: not found, 45)
    assert settled.metrics_page(node, "/healthz") == (200, "ok\n")
    assert settled.metrics_page(node, "/nowhere")[0] == 404


def test_verbs_are_timed(lone: Lone) -> None:
    def count(plugin: str, verb: str) -> float:
        return value(lone.world.metrics(lone.node), "railcni_cni_duration_seconds_count", plugin=plugin, verb=verb) or 0

    verbs = [(plugin["type"], verb) for plugin in lone.plugins for verb in ("ADD", "CHECK", "DEL")]
    before = {each: count(*each) for each in verbs}
    attachment = lone.attachment("timed", 40)
    chain = lone.chain()
    chain.add(attachment)
    chain.check(attachment)
    chain.delete(attachment)
    eventually("each plugin has told of each verb", lambda: {each: count(*each) - before[each] for each in verbs},
               lambda found: set(found.values()) == {1})


def test_drops_are_counted_by_table_and_tenant(settled: World) -> None:
    mine, mate, stranger = settled.port("a1"), settled.port("a2"), settled.port("b1")
    node, rail = mine.node, "rail0"

    def drops(table: str, tenant: str) -> float:
        return value(settled.metrics(node), "railcni_dropped_packets_total", rail=rail, table=table, tenant=tenant) or 0

    before = drops("guard_address", "tenant-a"), drops("guard_address", "tenant-b"), drops("compare", "")
    false = udp_frame(mine.mac, settled.gateway_mac(0), "10.0.99.99", mate.ipv4, b"metrics")
    foreign = udp_frame(mine.mac, settled.gateway_mac(0), mine.ipv4, stranger.ipv4, b"metrics")
    send_frames(mine, [false] * 20 + [foreign] * 20)
    eventually("the forged frames are its tenant's", lambda: drops("guard_address", "tenant-a"), lambda n: n >= before[0] + 20, 60)
    eventually("those to another tenant are nobody's", lambda: drops("compare", ""), lambda n: n >= before[2] + 20, 60)
    assert drops("guard_address", "tenant-b") == before[1]


def test_flows_of_a_tenant_are_where_the_datapath_has_them(settled: World, node: Node) -> None:
    def in_software() -> float:
        assert all(cell.right for cell in matrix.measure(settled.lab, "udp", wait_seconds=15))
        found = settled.metrics(node)
        assert value(found, "railcni_datapath_flows", rail="rail0", tenant="tenant-a", place="hardware") == 0
        assert found['railcni_switch_look_success{source="flows"}'] == 1
        return value(found, "railcni_datapath_flows", rail="rail0", tenant="tenant-a", place="software") or 0

    eventually("the userspace datapath's flows are in software", in_software, lambda n: n > 0, 60)


# --- what has gone ------------------------------------------------------------------------------------------------------


def looks_at(found: dict[str, float]) -> dict[str, float | None]:
    return {source: value(found, "railcni_switch_look_success", source=source) for source in ("rules", "datapath", "flows")}


def pause_after(page: dict[str, float]) -> float:
    """From the end of the page's look to the next one's start. A look that was told nothing cost the switch nothing."""
    told = looks_at(page)
    cost = page[LOOK_DURATION] if told["rules"] or told["datapath"] else 0
    return max(SPACING, TIMES_DURATION * cost)


def new_look(world: World, node: Node) -> tuple[dict[str, float], float]:
    """The first page with a look that began after this call, and how long the slowest page took until then."""
    called, slowest = time.monotonic(), 0.0
    while True:
        began = time.monotonic()
        page = world.metrics(node)
        ended = time.monotonic()
        slowest = max(slowest, ended - began)
        wait = 0.0  # no look has ended so far
        if LOOK_AGE in page:
            if page[LOOK_AGE] + page[LOOK_DURATION] < began - called:  # the page is of some moment after `began`
                return page, slowest
            wait = pause_after(page) - page[LOOK_AGE]
        assert ended - called < 100, f"no new look within 100 s: {page}"
        time.sleep(max(0.05, wait))


def page_without_the_switch(world: World, node: Node) -> float:
    page, took = new_look(world, node)
    assert not any(looks_at(page).values())
    assert not [name for name in page if name.startswith(SWITCH_FAMILIES)]
    assert page["railcni_start_time_seconds"] > 0
    return took


def whole_page(world: World, node: Node) -> float:
    """Waits for a new look that has seen everything; how long its page took."""
    _, took = eventually("the page is whole", lambda: new_look(world, node), lambda seen: all(looks_at(seen[0]).values()), 60)
    return took


def test_a_page_says_how_old_its_look_at_the_switch_is(settled: World, node: Node) -> None:
    first, _ = new_look(settled, node)
    assert all(looks_at(first).values())
    assert first["railcni_datapath_all_flows"] > 0
    assert 0 <= first[LOOK_AGE] < SPACING
    time.sleep(2)
    second = settled.metrics(node)
    assert second[LOOK_DURATION] == first[LOOK_DURATION]
    assert second[LOOK_AGE] >= first[LOOK_AGE] + 2


def test_without_an_answer_from_the_switch_the_page_comes_without_its_part(lone: Lone, tables: Tables) -> None:
    world, node = lone.world, lone.node
    head = ("metrics", "time of a page")
    tables.row("metrics", head, ("all is well, a new look at the switch", f"{1000 * whole_page(world, node):.0f} ms"))
    began = time.monotonic()
    world.metrics(node)
    tables.row("metrics", head, ("the same look again", f"{1000 * (time.monotonic() - began):.0f} ms"))

    with hanging(node, "ovs-vswitchd"):
        took = page_without_the_switch(world, node)
        tables.row("metrics", head, ("ovs-vswitchd is stopped", f"{1000 * took:.0f} ms"))
        assert took < 60
    daemons.end([daemons.pid_of(node, "ovs-vswitchd") or 0])
    try:
        took = page_without_the_switch(world, node)
        tables.row("metrics", head, ("ovs-vswitchd is gone", f"{1000 * took:.0f} ms"))
        assert took < 60
        eventually("the rail's part says so", lambda: world.metrics(node).get('railcni_up{part="rail rail0"}'), lambda n: n == 0, 60)
        eventually("and to whoever asks for health", lambda: world.metrics_page(node, "/healthz"),
                   lambda answer: answer[0] == 503 and "rail rail0 is not right" in answer[1], 60)
    finally:
        daemons.start_vswitchd(node)
    eventually("well again", lambda: world.metrics(node).get('railcni_up{part="rail rail0"}'), lambda n: n == 1, 60)
    whole_page(world, node)


def test_many_flows_cost_the_switch_a_hundredth_of_its_time(settled: World, tables: Tables) -> None:
    """A leaf that sends frames of all Ethernet types: each is a datapath flow of its own, which drops. A pod cannot make so many."""
    node, some, all_of_them = settled.port("a1").node, 3_000, 20_000
    leaf = settled.lab.leaf(0)
    source, target = settled.leaf_mac(node, 0), settled.bridge_mac(node, 0)  # asked once: each is a program of its own
    frames = [ethernet(source, target, 0x1000 + number, bytes(46)) for number in range(all_of_them)]

    def after_sending(flows: int) -> int:
        """How many are there then: some frames may be lost on the way."""
        send_frames_on(leaf.namespace, node.name, frames[:flows])
        counts = re.search(r"\(current (\d+)\)", settled.appctl(node, "upcall/show"))
        assert counts
        return int(counts[1])

    def look_at(flows: int) -> dict[str, float]:
        eventually(f"{flows} flows", lambda: after_sending(flows), lambda count: count > 0.95 * flows, 60)
        page, _ = new_look(settled, node)
        tables.row("metrics_flows", ("datapath flows", "a look takes", "the next one after"),
                   (f"{page['railcni_datapath_all_flows']:.0f}", f"{1000 * page[LOOK_DURATION]:.0f} ms", f"{pause_after(page):.0f} s"))
        assert all(looks_at(page).values())
        assert page["railcni_datapath_all_flows"] > 0.9 * flows
        return page

    def no_other_during_the_pause_after(look: dict[str, float]) -> None:
        age, until = look[LOOK_AGE], time.monotonic() + pause_after(look) - look[LOOK_AGE] - 0.5
        while time.monotonic() < until:
            page = settled.metrics(node)
            assert page[LOOK_DURATION] == look[LOOK_DURATION] and page[LOOK_AGE] > age, "another look, too early"
            assert page["railcni_datapath_all_flows"] == look["railcni_datapath_all_flows"]
            age = page[LOOK_AGE]
            time.sleep(0.2)

    settled.vsctl(node, "set", "Open_vSwitch", ".", "other_config:max-idle=600000")
    try:
        # By itself the datapath's limit grows from 10,000 by 1,000 in half a second.
        settled.appctl(node, "upcall/set-flow-limit", str(2 * all_of_them))
        first = look_at(some)
        # On a fast machine the pause is the least one, which shows nothing: more flows, first as many as should make it twice as long.
        for flows in (int(some * 2 * SPACING / (TIMES_DURATION * first[LOOK_DURATION])), all_of_them):
            if pause_after(first) < SPACING + 1:
                first = look_at(min(flows, all_of_them))
        assert pause_after(first) > SPACING + 1, f"a look takes {first[LOOK_DURATION]} s: then nothing has been shown here"
        no_other_during_the_pause_after(first)
    finally:
        settled.vsctl(node, "remove", "Open_vSwitch", ".", "other_config", "max-idle")
        settled.appctl(node, "revalidator/purge")


def test_a_crowd_that_says_nothing_takes_no_page_away(lone: Lone) -> None:
    crowd = []
    try:
        for _ in range(200):
            with kernel.inside(lone.node.namespace):
                crowd.append(socket.create_connection(("127.0.0.1", METRICS_PORT), timeout=30))
            crowd[-1].sendall(b"GET /metrics HTTP/1.1\r\nX: ")
        assert lone.world.metrics_page(lone.node)[0] == 200
    finally:
        for each in crowd:
            each.close()


def test_a_port_that_is_taken_is_said_at_the_start(lone: Lone, tmp_path: Path) -> None:
    config = json.loads(lone.node.config_file.read_text())
    for folder in ("etc/railcni", "run/railcni", "var/lib/railcni"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/railcni/node.json").write_text(json.dumps(config))
    with kernel.inside(lone.node.namespace):
        done = subprocess.run([str(lone.lab.binaries / "raild")], capture_output=True, text=True, timeout=60, check=False,
                              env={**os.environ, "RAILCNI_ROOT": str(tmp_path)})
    assert done.returncode == 1
    assert f"metrics.listen of node.json: listen on {METRICS}: another program has it; " in done.stderr


# --- Prometheus itself --------------------------------------------------------------------------------------------------


def test_prometheus_scrapes_and_judges(settled: World, node: Node, tmp_path: Path) -> None:
    """As it is shipped. That each alert fires, and each query of a dashboard has an answer: test_alerts.py."""
    with prometheus(node, tmp_path):
        eventually("the rails' carriers", lambda: query(node, "railcni_rail_carrier"), lambda v: v == {"rail0": 1, "rail1": 1}, 90)
        eventually("the scrape is well", lambda: query(node, 'up{job="railcni"}'), lambda v: v == {"": 1}, 60)
        assert query(node, "sum(railcni_attachments)")[""] == 2 * sum(p.node == node.name for p in pods.all_pods(settled.lab))
        rules = [rule for group in ask(node, "/api/v1/rules")["groups"] for rule in group["rules"]]
        assert len(rules) >= 8
        eventually("each alert is evaluated", lambda: [r["name"] for group in ask(node, "/api/v1/rules")["groups"]
                                                       for r in group["rules"] if r["health"] != "ok"], lambda bad: not bad, 60)
        assert not [r["name"] for r in rules if r["state"] == "firing"]
        kernel.run(["ip", "-n", settled.lab.leaf(1).namespace, "link", "set", node.name, "down"])
        try:
            eventually("Prometheus sees the cable gone", lambda: query(node, "railcni_rail_carrier"),
                       lambda v: v == {"rail0": 1, "rail1": 0}, 60)
            eventually("and will wake somebody", lambda: query(node, 'ALERTS{alertname="RailcniRailDown"}'),
                       lambda v: v == {"rail1": 1}, 60)
        finally:
            kernel.run(["ip", "-n", settled.lab.leaf(1).namespace, "link", "set", node.name, "up"])
        eventually("and there again", lambda: query(node, "railcni_rail_carrier"), lambda v: v == {"rail0": 1, "rail1": 1}, 60)
    settle(settled, seconds=60)
