"""railfabric over a fleet of 128 nodes in two units: what it says when nodes, leaves and announcements fail."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from fleet import World, eventually, standing, start_fabric

NODES, RAILS, PODS, UNIT = 128, 8, 8, 64


@pytest.fixture(scope="module")
def world(short: Path) -> Iterator[World]:
    with standing(short, NODES, 0) as world:
        eventually(world.is_ready, "railfabric is ready")
        yield world


@pytest.fixture(autouse=True)
def _mended(world: World) -> Iterator[None]:
    yield
    world.tell("mend")
    eventually(lambda: world.railctl("doctor").returncode == 0, "nothing is wrong any more")


def test_all_nodes_rails_and_attachments_are_there(world: World) -> None:
    nodes = world.json("get", "nodes")
    assert [node["name"] for node in nodes["nodes"]] == [f"n{i + 1}" for i in range(NODES)], "in the order of people"
    assert {node["state"] for node in nodes["nodes"]} == {"FLEET_READY"}
    assert nodes["totals"]["rails"] == NODES * RAILS
    assert nodes["totals"]["attachments"] == NODES * PODS * RAILS
    assert len(world.json("get", "rails", "--unit", "su2")["rails"]) == (NODES - UNIT) * RAILS
    assert len(world.json("get", "rails", "--leaf", "su1-leaf3")["rails"]) == UNIT
    assert len(world.json("get", "attachments", "--node", "n7", "--rail", "rail2")["attachments"]) == PODS
    assert len(world.json("get", "attachments")["attachments"]) == NODES * PODS * RAILS, "all pages"


def test_tables_are_for_people(world: World) -> None:
    rails = world.railctl("get", "rails", "--node", "n3").stdout.splitlines()
    assert rails[0].split()[:3] == ["NODE", "RAIL", "UNIT"]
    assert len(rails) == 1 + RAILS
    pods = world.railctl("get", "attachments", "--node", "n3").stdout.splitlines()
    assert pods[0].split()[:3] == ["NODE", "NAMESPACE", "POD"]
    assert len(pods) == 1 + PODS * RAILS
    assert "LEAF" not in pods[0]
    assert "LEAF" in world.railctl("get", "attachments", "--node", "n3", "-o", "wide").stdout.splitlines()[0]
    healthy = world.railctl("doctor")
    assert healthy.returncode == 0
    assert "0 critical, 0 warnings, 0 for information; looked for " in healthy.stdout
    assert f"on {NODES} nodes, 0 of them away, 0 not heard so far" in healthy.stdout


def test_a_broken_leaf_is_one_cause(world: World) -> None:
    with world.watch("get", "rails", "--leaf", "su1-leaf4") as rails:
        for _ in range(UNIT):
            rails.line()  # what is there
        world.tell("break su1-leaf4")
        changed = rails.until(lambda event: event["type"] == "MODIFIED", "a rail of the leaf changes")
        assert changed["rail"]["finding"]
    causes = eventually(lambda: world.json("doctor")["causes"], "the doctor says something")
    assert [cause["subject"] for cause in causes] == ["su1-leaf4"]
    assert causes[0]["nodes_total"] == UNIT
    said = world.railctl("doctor")
    assert said.returncode == 1
    assert "su1-leaf4" in said.stdout.splitlines()[0]


def test_a_node_that_is_away_keeps_its_last_word(world: World) -> None:
    with world.watch("get", "nodes", "--node", "n5") as node:
        node.line()
        world.tell("away n5")
        away = node.until(lambda event: event["node"]["state"] == "FLEET_AWAY", "n5 is away")["node"]
        assert away["away_since"]
        assert "raild at unix:" in away["problem"]
        assert away["rails"] == RAILS, "what it said last stays"
        assert all(rail["away_since"] for rail in world.json("get", "rails", "--node", "n5")["rails"])
        assert world.json("get", "nodes")["totals"]["nodes_away"] == 1
        world.tell("back n5")
        node.until(lambda event: event["node"]["state"] == "FLEET_READY", "n5 is back")
    assert "away_since" not in world.node("n5")


def test_a_job_says_who_cannot_reach_whom(world: World) -> None:
    well = world.json("get", "job", "ns-3/train0")
    assert well["totals"]["pods"] == 10
    assert well["totals"]["pairs"] == RAILS * 10 * 9 // 2
    assert well["totals"]["pairs_unknown"] == 0, "every node was asked what it has learned"
    assert well["pairs_total"] == 0
    one, other = (next(pod for pod in well["pods"] if pod["index"] == index and pod["rail"] == "rail1") for index in (0, 1))
    assert one["node"] != other["node"]
    world.tell(f"unlearn {other['node']} {one['addresses'][0]}")
    broken = world.json("get", "job", "ns-3/train0")
    assert broken["pairs_total"] == 1
    pair = broken["pairs"][0]
    assert {pair["pod"], pair["other_pod"]} == {one["pod"], other["pod"]}
    assert pair["rail"] == "rail1"
    assert pair["why"]
    said = world.railctl("get", "job", "ns-3/train0").stdout
    assert "1 cannot reach each other" in said.splitlines()[-1]
    nobody = world.railctl("get", "job", "ns-3/nobody")
    assert nobody.returncode == 1
    assert "nobody" in nobody.stderr


def test_it_is_alive_and_ready_and_says_what_it_serves(world: World) -> None:
    assert world.railctl("health").stdout == "SERVING\n"
    assert world.railctl("health", "--ready").stdout == "SERVING\n"


def test_it_is_not_ready_before_it_has_looked(world: World) -> None:
    """A raild that accepts and says nothing keeps it waiting; 15 s later it is ready all the same."""
    silent = socket.socket(socket.AF_UNIX)
    path = str(world.folder / "silent")
    silent.bind(path)
    silent.listen()
    where = f"unix:{world.folder}/other.sock"
    fabric = start_fabric(world.folder, {"listen": [where], "nodes": [{"name": "n1", "raild": f"unix:{path}"}]})
    try:
        other = World(world.folder, world.fleet, fabric, ["--fabric", where])
        eventually(lambda: other.railctl("health").returncode == 0, "it is alive")
        early = other.railctl("health", "--ready")
        assert early.returncode == 1
        assert "has not completed its first look at all nodes" in early.stderr
        eventually(other.is_ready, "it is ready")
        assert other.node("n1")["state"] == "FLEET_UNHEARD"
    finally:
        assert fabric.end() == 0
        silent.close()


def test_a_watch_ends_with_railfabric_and_says_so(short: Path) -> None:
    folder = short / "w"
    folder.mkdir()
    with standing(folder, 2, 0) as world:
        eventually(world.is_ready, "railfabric is ready")
        with world.watch("get", "nodes") as nodes:
            nodes.line()
            world.fabric.end()
            assert nodes.popen.wait(timeout=60) == 1
        assert "railfabric is stopping" in (folder / "watch.log").read_text()
