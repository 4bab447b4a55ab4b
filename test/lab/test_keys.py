"""The tenant key is replaced, node by node, while pods talk (lib/tenancy/README.md, "Another key"): nobody of a tenant loses the
others at any step, nobody of another tenant gets through, and what is under a key that was removed reaches nobody.

The lab is one of its own, two nodes and one rail. What each step costs is in the table "keys"."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import lab_of_its_own
from railcni_lab import daemons, pods, vty
from railcni_lab.layout import Node, Shape
from speaker import communities, tenant_id
from tables import Tables
from test_explain import findings
from test_learning import Announcer, rules_about
from traffic import LeafWatch, Traffic
from world import World, eventually, kill_raild, settle

TENANTS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "a3": ("n1", "tenant-a"),
           "b1": ("n1", "tenant-b"), "b2": ("n2", "tenant-b")}
SAME = [("a1", "a2"), ("a2", "a1"), ("a3", "a1"), ("b1", "b2"), ("b2", "b1")]
OTHER = [("a1", "b1"), ("b1", "a3"), ("a1", "b2"), ("b2", "a1"), ("a2", "b2"), ("b2", "a2")]
HEAD = ("step", "traffic gap", "done after", "addresses lost at the leaf", "pairs of two tenants let through")


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "k", Shape(nodes=2, rails=1, spines=0, devices=4), TENANTS) as world:
        yield world


@pytest.fixture(scope="module")
def traffic(world: World) -> Iterator[Traffic]:
    with Traffic(SAME, world, OTHER) as traffic:
        yield traffic


def key_file(node: Node, suffix: str = "") -> Path:
    return node.root / f"etc/railcni/tenant.key{suffix}"


def put(file: Path, key: str, mode: int = 0o600) -> None:
    """As `install -m`: never there with another mode or half of its content."""
    new = file.with_name(file.name + ".tmp")
    new.touch(mode=0o600)
    new.write_text(key)
    new.chmod(mode)
    new.rename(file)


def swap(node: Node) -> None:
    """The old key is accepted before the new one takes its place: at every instant both are."""
    shutil.copy2(key_file(node), key_file(node, ".tmp"))
    key_file(node, ".tmp").rename(key_file(node, ".old"))
    key_file(node, ".next").rename(key_file(node))


def keys(world: World, node: Node) -> dict[str, dict[str, Any]]:
    """By the end of the file's name."""
    return {Path(k["file"]).name.removeprefix("tenant.key"): k for k in
            world.railctl(node, "get", "node")["node"].get("tenant_keys", [])}


def under(world: World, node: Node, suffix: str) -> tuple[int, int]:
    key = keys(world, node)[suffix]
    return int(key["attachments"]), int(key["remotes"])


def in_use(world: World, node: Node) -> dict[str, str]:
    """Suffix -> fingerprint of the keys that raild goes by."""
    return {suffix: k["fingerprint"] for suffix, k in keys(world, node).items() if k["fingerprint"]}


def id_under(key: str, tenant: str) -> int:
    return tenant_id(key.encode(), f"namespace/{tenant}")


def ids_of(world: World, node: Node) -> set[str]:
    """Of the tenants of this node's attachments, as recorded."""
    return {a["tenant"]["id"] for a in world.railctl(node, "get", "attachments")["attachments"]}


def ids_at_the_leaf(world: World, node: Node) -> set[str]:
    """Of what the node announces, as the leaf has it."""
    own = {f"{a}/32" for p in pods.all_pods(world.lab) if p.node == node.name for v, a in p.addresses(0).items() if v == 4}
    found = set()
    for route in vty.routes(world.lab.leaf(0).frr_dir):
        if route["prefix"] in own:
            found |= set(route["large_communities"])
    return found


@pytest.fixture
def step(world: World, traffic: Traffic, tables: Tables):  # noqa: ANN201
    @contextmanager
    def run(name: str) -> Iterator[None]:
        traffic.flows_again()
        announced = {f"{a}/{32 if v == 4 else 128}" for p in pods.all_pods(world.lab) for v, a in p.addresses(0).items()}
        with LeafWatch(world.lab.leaf(0), announced) as watch:
            began = time.monotonic()
            yield
            took = time.monotonic() - began
            traffic.flows_again()
            gap = traffic.gap_ms(began)
            settle(world, seconds=30)
            traffic.flows_again()
        tables.row("keys", HEAD, (name, f"{gap:.0f} ms", f"{took * 1000:.0f} ms", str(len(watch.lost)), str(len(traffic.breaches()))))
        assert not traffic.breaches(), f"{name}: {traffic.breaches()}"
        assert not watch.lost, f"{name}: the leaf lost {sorted(watch.lost)}"
        for node in world.lab.nodes():
            world.railctl(node, "check")  # fails when it finds something
    return run


def test_a_key_is_replaced_while_pods_talk(world: World, step: Any) -> None:
    first, second = world.lab.find_node("n1"), world.lab.find_node("n2")
    old, new = key_file(first).read_text(), secrets.token_hex(32)
    old_ids, new_ids = ({f"{id_under(k, t):014x}" for t in ("tenant-a", "tenant-b")} for k in (old, new))
    new_marks, old_marks = ({str(communities(id_under(k, t), 0)[0]) for t in ("tenant-a", "tenant-b")} for k in (new, old))
    with step("nothing"):
        pass
    assert ids_of(world, first) == old_ids and old_marks <= ids_at_the_leaf(world, first)
    before = in_use(world, first)
    assert set(before) == {""} and before == in_use(world, second)

    for node in (first, second):
        with step(f"{node.name} accepts the new key"):
            put(key_file(node, ".next"), new)
            eventually("it is accepted", lambda n=node: set(in_use(world, n)), lambda seen: seen == {"", ".next"}, 60)
        assert under(world, node, ".next") == (0, 0)
        assert "accepted-key-unused" in findings(world, node)
    fingerprint = in_use(world, first)[".next"]

    with step("n1 swaps the keys"):
        swap(first)
        eventually("the record", lambda: ids_of(world, first), lambda ids: ids == new_ids, 60)
        eventually("the leaf", lambda: ids_at_the_leaf(world, first),
                   lambda marks: new_marks <= marks and not old_marks & marks, 60)
    assert in_use(world, first) == {"": fingerprint, ".old": before[""]}
    assert ids_of(world, second) == old_ids
    # Each node sees the other's half under the key that is not its own: two pods of two families each, and three.
    eventually("n1 sees n2 under the old key", lambda: under(world, first, ".old"), lambda seen: seen == (0, 4), 60)
    eventually("n2 sees n1 under the new key", lambda: under(world, second, ".next"), lambda seen: seen == (0, 6), 60)
    assert "4 addresses elsewhere are under it" in findings(world, first)["accepted-key-in-use"][0]["what"]
    remotes = {r["address"]: r for r in world.railctl(second, "get", "remotes")["remotes"]}
    a1 = remotes[world.port("a1").ipv4]
    assert a1["installed"] and a1["tenant"] == {"name": "tenant-a", "id": f"{id_under(new, 'tenant-a'):014x}"}

    with step("pods come between the swaps"):
        pods.add(world.lab, "a4", "n2", "tenant-a", None)
        pods.add(world.lab, "b4", "n1", "tenant-b", None)

    with step("n2 swaps, its raild dead meanwhile"):
        kill_raild(second)
        swap(second)
        pods.add(world.lab, "a5", "n2", "tenant-a", None)  # by the new key; those before it are recorded under the old one
        daemons.start_raild(world.lab, second)
        daemons.wait_until("raild of n2 answers", lambda: daemons.raild_answers(second), 60)
        eventually("the record", lambda: ids_of(world, second), lambda ids: ids == new_ids, 60)
        eventually("the leaf", lambda: ids_at_the_leaf(world, second),
                   lambda marks: new_marks <= marks and not old_marks & marks, 60)
    for node in (first, second):
        eventually("nothing is under the old key", lambda n=node: under(world, n, ".old"), lambda seen: seen == (0, 0), 60)
        assert "accepted-key-unused" in findings(world, node)

    # Somebody who still has the old key.
    announcer, late, good = Announcer(world.lab.leaf(0), 0), "10.0.99.1", "10.0.99.2"
    announcer.announce(f"{late}/32", communities(id_under(old, "tenant-a"), 0))
    announcer.announce(f"{good}/32", communities(id_under(new, "tenant-a"), 0))
    try:
        for node in (first, second):
            eventually("both count", lambda n=node: [len(rules_about(world, n, 0, a)) for a in (late, good)],
                       lambda n: n == [2, 2], 60)
        for node in (first, second):
            with_old = keys(world, node)[".old"]["remotes"]
            assert with_old == "1", with_old
            key_file(node, ".old").unlink()
            eventually("it reaches nobody", lambda n=node: [len(rules_about(world, n, 0, a)) for a in (late, good)],
                       lambda n: n == [0, 2], 60)
            stranger = {r["address"]: r for r in world.railctl(node, "get", "remotes")["remotes"]}[late]
            assert not stranger["installed"] and stranger["tenant"]["name"] == ""
    finally:
        announcer.close()
    for node in (first, second):
        eventually("forgotten", lambda n=node: [a for a in (late, good) if rules_about(world, n, 0, a)], lambda left: not left, 60)
    with step("the old key is gone"):
        pass
    for node in (first, second):
        assert in_use(world, node) == {"": fingerprint}
        assert not {f for f in findings(world, node) if "key" in f or "tenant-id" in f}
    for name in ("a4", "b4", "a5"):
        pods.delete(world.lab, name)
    settle(world, seconds=30)


def test_a_key_file_that_cannot_be_used_changes_nothing(world: World, step: Any) -> None:
    node = world.lab.find_node("n1")
    before, ids = in_use(world, node), ids_of(world, node)
    log = node.log_dir / "raild.log"

    def problem() -> str:
        return next(h["problem"] for h in world.railctl(node, "get", "node")["node"]["health"] if h["part"] == "tenant keys")
    with step("a key that everybody can read"):
        put(key_file(node, ".next"), secrets.token_hex(32), mode=0o644)
        eventually("it is said", problem, lambda p: "tenant.key.next" in p and "0644" in p, 60)
        assert in_use(world, node) == before
    assert "0644" in findings(world, node)["accepted-key-bad"][0]["what"]
    with step("half a key"):
        put(key_file(node, ".next"), "short")
        eventually("it is said", problem, lambda p: "16 to 4096 bytes, this file has 5" in p, 60)
        assert in_use(world, node) == before
    key_file(node, ".next").unlink()
    eventually("right again", problem, lambda p: not p, 60)
    saved = key_file(node).read_text()
    with step("no key at all"):
        key_file(node).unlink()
        eventually("it is said", problem, lambda p: "the keys that were read before stay in use" in p, 60)
        assert in_use(world, node) == before and ids_of(world, node) == ids
        put(key_file(node), saved)
        eventually("right again", problem, lambda p: not p, 60)
    assert ids_of(world, node) == ids
    said = [line for line in log.read_text().splitlines() if "0644" in line]
    assert len(said) == 1, said
