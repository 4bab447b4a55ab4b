"""node.json of a node that runs: what raild takes of it at once, what waits, and what no change costs pods that run."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from conftest import lab_of_its_own
from railcni_lab import daemons, kernel
from railcni_lab.layout import LabError, Node, Shape, write_json
from test_tenants import tenant_of
from traffic import Traffic
from world import World, eventually, settle

PODS = {"a1": ("n1", "team-a"), "a2": ("n2", "team-a"), "b1": ("n1", "team-b"), "b2": ("n2", "team-b")}
TALK = [("a1", "a2"), ("a2", "a1"), ("b1", "b2"), ("b2", "b1")]
SOON = 20  # seconds


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "j", Shape(nodes=2, rails=1, spines=0, devices=4), PODS) as world:
        settle(world)
        yield world


@pytest.fixture(scope="module")
def node(world: World) -> Node:
    return world.lab.find_node("n1")


@contextmanager
def edited(node: Node, edit: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    """node.json with a change, in place of what was there; what was there is put back."""
    before = node.config_file.read_text()
    config = json.loads(before)
    edit(config)
    write_json(node.config_file, config)
    try:
        yield
    finally:
        node.config_file.write_text(before)


def findings(world: World, node: Node) -> dict[str, dict[str, str]]:
    """Of node.json, by id; those that follow from others, too."""
    asked = subprocess.run([str(world.lab.binaries / "railctl"), "doctor", "-o", "json"], capture_output=True, text=True, timeout=30, check=False,
                           env={**os.environ, "RAILCNI_ROOT": str(node.root)})
    if not asked.stdout:
        return {"no answer": {"what": asked.stderr}}

    def every(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for each in found:
            yield each
            yield from every(each.get("follows", []))

    return {f["id"]: f for f in every(json.loads(asked.stdout)["findings"]) if f["subject"] == "node.json"}


def finds(world: World, node: Node, wanted: set[str]) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = eventually(f"findings of node.json: {wanted or 'none'}", lambda: findings(world, node),
                                                  lambda f: set(f) == wanted, SOON)
    return found


def status(world: World, node: Node) -> dict[str, Any]:
    """What raild says of itself; {} while it begins anew."""
    try:
        shown: dict[str, Any] = world.railctl(node, "get", "node")["node"]
    except LabError:
        return {}
    return shown


def problem_of_file(world: World, node: Node) -> str | None:
    """Why raild does not run by node.json as it is; "": it does; None: it says nothing."""
    return next((str(p["problem"]) for p in status(world, node).get("health", []) if p["part"] == "node.json"), None)


def bgpd_runs_by(node: Node, limit: int) -> None:
    eventually("bgpd has the limit of node.json", lambda: kernel.run(["vtysh", "--vty_socket", str(node.frr_dir), "-c", "show running-config"]),
               lambda text: f"maximum-prefix {limit} warning-only" in text, SOON)


def test_a_valid_change_is_taken_by_the_raild_that_runs_and_loses_no_packet(world: World, node: Node) -> None:
    pid = daemons.pid_of(node, "raild")
    with Traffic(TALK, world) as traffic:
        traffic.flows_again()
        for limit in (1000, 2000):
            with edited(node, lambda config, limit=limit: config["bgp"].update(max_prefixes=limit)):
                bgpd_runs_by(node, limit)
                finds(world, node, set())
        bgpd_runs_by(node, 256000)
        finds(world, node, set())
        traffic.flows_again()
        assert traffic.lost() == 0
    assert daemons.pid_of(node, "raild") == pid
    assert problem_of_file(world, node) == ""


def test_tenants_move_running_pods_without_a_restart(world: World, node: Node) -> None:
    pids = [daemons.pid_of(each, "raild") for each in world.lab.nodes()]
    for tenants, expected in (({"crew": ["team-a", "team-b"]}, "crew"), ({}, "team-a")):
        for each in world.lab.nodes():
            config = json.loads(each.config_file.read_text())
            config["tenancy"]["tenants"] = tenants
            write_json(each.config_file, config)
        for pod in ("a1", "a2"):
            eventually(f"{pod} is of {expected}", lambda pod=pod: tenant_of(world, pod), lambda t, e=expected: t == e, SOON)
        for each in world.lab.nodes():  # who moves is in both tenants for 10 s
            eventually(f"nobody leaves a tenant on {each.name}", lambda each=each: world.leaving_rules(each, 0),
                       lambda found: not found, SOON)
        across = [("a1", "b2"), ("b2", "a1")]
        with Traffic(TALK + (across if tenants else []), world, [] if tenants else across) as traffic:
            traffic.flows_again()
            assert not traffic.breaches()
    assert [daemons.pid_of(each, "raild") for each in world.lab.nodes()] == pids


def test_a_broken_file_changes_nothing_and_is_named(world: World, node: Node) -> None:
    text = node.config_file.read_text()
    with Traffic(TALK, world) as traffic:
        traffic.flows_again()
        node.config_file.write_text(text[:-20])
        try:
            found = finds(world, node, {"config-unreadable"})["config-unreadable"]
            assert "line" in found["what"] and found["severity"] == "CRITICAL"
            said = eventually("raild has seen it", lambda: problem_of_file(world, node), bool, SOON)
            assert "raild goes on as before" in said
            node.config_file.unlink()
            assert "No such file" in finds(world, node, {"config-unreadable"})["config-unreadable"]["what"]
        finally:
            node.config_file.write_text(text)
        finds(world, node, set())
        eventually("raild has seen it, too", lambda: problem_of_file(world, node), lambda problem: problem == "", SOON)
        assert traffic.lost() == 0


def test_what_may_cut_off_pods_waits_for_a_restart(world: World, node: Node) -> None:
    started = status(world, node)["started"]
    with edited(node, lambda config: config["bgp"].update(asn=config["bgp"]["asn"] + 100, max_prefixes=77)):
        eventually("raild has seen it", lambda: problem_of_file(world, node), bool, SOON)
        found = finds(world, node, {"config-newer-than-raild"})["config-newer-than-raild"]
        assert "bgp.asn" in found["what"] and "bgp.max_prefixes" in found["what"]
        assert "systemctl restart raild" in found["fix"]
        assert status(world, node)["started"] == started
    finds(world, node, set())


def test_what_raild_cannot_start_with_gives_way_to_what_was_there(world: World, node: Node) -> None:
    pid = daemons.pid_of(node, "raild")
    with kernel.inside(node.namespace):
        taken = socket.create_server(("127.0.0.1", 0))
    with taken, edited(node, lambda config: config.update(metrics={"listen": f"127.0.0.1:{taken.getsockname()[1]}"})):
        said = eventually("raild says why", lambda: problem_of_file(world, node), lambda p: "another program has it" in (p or ""), SOON)
        assert "goes on as before" in said
        assert "another program has it" in finds(world, node, {"config-newer-than-raild"})["config-newer-than-raild"]["why"]
    finds(world, node, set())
    eventually("raild runs by the file again", lambda: problem_of_file(world, node), lambda problem: problem == "", SOON)
    assert daemons.pid_of(node, "raild") == pid


def test_a_stop_ends_a_raild_that_has_begun_anew(world: World, node: Node) -> None:
    with edited(node, lambda config: config["bgp"].update(max_prefixes=3000)):
        bgpd_runs_by(node, 3000)
        daemons.end([pid for pid in [daemons.pid_of(node, "raild")] if pid is not None])
        assert "stopped; rules, ports and announcements stay" in (node.log_dir / "raild.log").read_text().splitlines()[-1]
    daemons.start_raild(world.lab, node)
    eventually("raild answers", lambda: daemons.raild_answers(node), bool, SOON)


def test_a_signal_that_comes_while_raild_begins_anew_ends_it(world: World) -> None:
    """One daemon gives way to the next after this line of the log, which takes some milliseconds; raild is asked to end at any of them."""
    node = world.lab.find_node("n1")
    log = node.log_dir / "raild.log"
    for milliseconds in range(12):
        said = log.stat().st_size
        pid = daemons.pid_of(node, "raild")
        assert pid is not None
        with edited(node, lambda config, number=milliseconds: config["bgp"].update(max_prefixes=5000 + number)):
            deadline = time.monotonic() + 40
            while b"beginning anew" not in log.read_bytes()[said:]:
                assert time.monotonic() < deadline, "raild does not follow node.json"
            time.sleep(milliseconds / 1000)
            daemons.kill(pid, signal.SIGTERM)  # fails where it does not end
        daemons.start_raild(world.lab, node)
        eventually("raild answers", lambda: daemons.raild_answers(node), bool, 20)
