"""How a node learns of pods elsewhere: bgpd pushes (BMP); what is ours, what is not, and what survives a break."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from typing import Any

import pytest
from railcni_lab import daemons, fabric, kernel, vty
from railcni_lab.layout import COMMUNITY_ASN, Host, Node, bridge
from railcni_lab.speaker import ADDRESS, Large, Speaker, announce, communities, tenant_id, withdraw
from railcni_leaves.frr import COALESCE_MS
from world import World, eventually, kill_raild, settle


def bmp_is_up(world: World, node: Node) -> bool:
    return bool(world.railctl(node, "get", "node")["node"]["bmp_up"])


def remotes(world: World, node: Node) -> dict[str, str]:
    """Address -> id of its tenant."""
    return {r["address"]: r["tenant"]["id"] for r in world.railctl(node, "get", "remotes").get("remotes", [])}


def rules_about(world: World, node: Node, rail: int, address: str) -> list[str]:
    return [f"{f['match']} {f['actions']}" for f in world.flows(node, rail) if f"={address}" in f["match"]]


def id_of(tenant: str) -> int:
    return tenant_id(f"namespace/{tenant}")


class Announcer:
    """Announces addresses at a leaf, as a node behind it would."""

    def __init__(self, leaf: Host, rail: int) -> None:
        self.leaf, self.rail, self.given = leaf, rail, {}
        self.maps: set[str] = set()

    def announce(self, prefix: str, marks: list[Large]) -> None:
        name = "test-" + "-".join(f"{m.asn:x}.{m.first:x}.{m.second:x}" for m in marks) if marks else "test-none"
        if name not in self.maps:
            vty.configure(self.leaf.frr_dir, f"route-map {name} permit 10",
                          *([f"set large-community {' '.join(map(str, marks))}"] if marks else []))
            self.maps.add(name)
        family = "ipv6" if ":" in prefix else "ipv4"
        # The route need not be in the leaf's kernel to be announced.
        vty.configure(self.leaf.frr_dir, f"router bgp {self.leaf.asn}", "no bgp network import-check",
                      f"address-family {family} unicast", f"network {prefix} route-map {name}")
        self.given[prefix] = name

    def withdraw(self, prefix: str) -> None:
        family = "ipv6" if ":" in prefix else "ipv4"
        vty.configure(self.leaf.frr_dir, f"router bgp {self.leaf.asn}", f"address-family {family} unicast",
                      f"no network {prefix} route-map {self.given.pop(prefix)}")

    def withdraw_all(self) -> None:
        for prefix in list(self.given):
            self.withdraw(prefix)

    def close(self) -> None:
        self.withdraw_all()
        for name in self.maps:
            vty.configure(self.leaf.frr_dir, f"no route-map {name}")


@pytest.fixture
def announcers(world: World) -> Iterator[list[Announcer]]:
    made = [Announcer(leaf, rail) for rail, leaf in enumerate(world.lab.leaves())]
    try:
        yield made
    finally:
        for one in made:
            one.close()


def test_bgpd_pushes(world: World) -> None:
    for node in world.lab.nodes():
        eventually(f"bgpd of {node.name} pushes", lambda n=node: bmp_is_up(world, n), bool, 30)
    settle(world)


def test_announced_and_withdrawn(world: World, announcers: list[Announcer]) -> None:
    node = world.lab.find_node("n1")
    ours = id_of("tenant-a")
    for prefix in ("10.0.99.1/32", "fd52:4149:0:99::1/128"):
        address = prefix.split("/")[0]
        announcers[0].announce(prefix, communities(ours, 0))
        eventually("learned", lambda a=address: remotes(world, node).get(a), lambda t: t == f"{ours:028x}", 30)
        eventually("rules on both rails", lambda a=address: [len(rules_about(world, node, r, a)) for r in (0, 1)],
                   lambda n: n == [1, 1], 30)
        announcers[0].withdraw(prefix)
        eventually("forgotten", lambda a=address: a in remotes(world, node), lambda there: not there, 30)
        eventually("no rules", lambda a=address: [len(rules_about(world, node, r, a)) for r in (0, 1)], lambda n: n == [0, 0], 30)


def test_what_is_not_ours_is_not_learned(world: World, announcers: list[Announcer]) -> None:
    node = world.lab.find_node("n1")
    ours = id_of("tenant-a")
    high, low, rail = communities(ours, 0)
    other_high, other_low, _ = communities(ours ^ (1 << 56 | 1), 0)
    foreign = {"10.0.99.10/32": [], "10.0.99.11/32": [Large(65001, 1, 2)],
               "10.0.99.12/32": [Large(COMMUNITY_ASN + 1, mark.first, mark.second) for mark in (high, low, rail)],
               "10.0.99.13/32": [rail], "10.0.99.14/32": [high, low],
               "10.0.99.15/32": [high, low, other_low, rail], "10.0.99.16/32": [high, other_high, low, rail],
               "10.0.99.17/32": [high, rail], "10.0.99.18/32": [low, rail],
               "10.0.98.0/24": [high, low, rail], "10.0.97.1/32": [high, low, rail]}
    for prefix, marks in foreign.items():
        announcers[0].announce(prefix, marks)
    # The last one is ours: when it is there, those before it have been seen too.
    eventually("the one that is ours", lambda: remotes(world, node), lambda r: "10.0.97.1" in r, 30)
    found = set(remotes(world, node))
    assert not {p.split("/")[0] for p in foreign if p != "10.0.97.1/32"} & found, found
    for prefix in foreign:
        if prefix != "10.0.97.1/32":
            assert not rules_about(world, node, 0, prefix.split("/")[0])


def test_a_prefix_of_two_rails_stays_while_one_has_it(world: World, announcers: list[Announcer]) -> None:
    node, prefix = world.lab.find_node("n1"), "10.0.99.20/32"
    marks = communities(id_of("tenant-a"), 0)
    for one in announcers:
        one.announce(prefix, marks)
    eventually("rules", lambda: len(rules_about(world, node, 0, "10.0.99.20")), lambda n: n == 1, 30)
    announcers[0].withdraw(prefix)
    eventually("the leaf has one path less", lambda: len([r for r in vty.routes(node.frr_dir) if r["prefix"] == prefix]),
               lambda n: n >= 1, 30)
    time.sleep(0.5)  # a withdrawal that is wrongly believed would have come by now
    assert len(rules_about(world, node, 0, "10.0.99.20")) == 1
    announcers[1].withdraw(prefix)
    eventually("gone", lambda: len(rules_about(world, node, 0, "10.0.99.20")), lambda n: n == 0, 30)


def test_a_prefix_changes_its_tenant(world: World, announcers: list[Announcer]) -> None:
    node, prefix, address = world.lab.find_node("n1"), "10.0.99.30/32", "10.0.99.30"
    a, b = id_of("tenant-a"), id_of("tenant-b")
    announcers[0].announce(prefix, communities(a, 0))
    eventually("of a", lambda: remotes(world, node).get(address), lambda t: t == f"{a:028x}", 30)
    announcers[0].announce(prefix, communities(b, 0))
    eventually("of b", lambda: remotes(world, node).get(address), lambda t: t == f"{b:028x}", 30)
    eventually("rules of b alone", lambda: rules_about(world, node, 0, address),
               lambda rules: len(rules) == 1 and all(f"{b:x}" in r for r in rules), 30)


def test_two_tenants_of_one_address_reach_nobody(world: World, announcers: list[Announcer]) -> None:
    node, prefix, address = world.lab.find_node("n1"), "10.0.99.40/32", "10.0.99.40"
    for one, tenant in zip(announcers, ("tenant-a", "tenant-b"), strict=True):
        one.announce(prefix, communities(id_of(tenant), 0))

    def health() -> list[str]:
        return [h.get("problem", "") for h in world.railctl(node, "get", "node")["node"]["health"]]
    eventually("it is said", health, lambda all_of_it: any(address in problem for problem in all_of_it), 30)
    assert not rules_about(world, node, 0, address) and not rules_about(world, node, 1, address)
    announcers[1].withdraw(prefix)
    eventually("one is left", lambda: len(rules_about(world, node, 0, address)), lambda n: n == 1, 30)
    eventually("it is right again", health, lambda all_of_it: not any(address in problem for problem in all_of_it), 30)


def problems(world: World, node: Node) -> list[str]:
    return [h.get("problem", "") for h in world.railctl(node, "get", "node")["node"]["health"]]


def test_a_management_neighbour_joins_no_tenant(world: World) -> None:
    """A BGP neighbour of the node's own, on no rail, whose routes bgpd takes in and keeps as they come (soft-reconfiguration)."""
    node, address = world.lab.find_node("n1"), "10.0.99.45"
    speaker = Speaker(world.lab, node, [f"neighbor {ADDRESS} soft-reconfiguration inbound",
                                        f"neighbor {ADDRESS} route-map railcni-in in"])
    try:
        speaker.send(announce([address], communities(id_of("tenant-a"), 0)))
        eventually("it is said", lambda: problems(world, node),
                   lambda all_of_it: any(ADDRESS in p and address in p and "not believed" in p for p in all_of_it), 30)
        assert address not in remotes(world, node)
        assert not rules_about(world, node, 0, address) and not rules_about(world, node, 1, address)
        speaker.send(withdraw([address]))
        eventually("it is right again", lambda: problems(world, node), lambda all_of_it: not any(all_of_it), 30)
    finally:
        speaker.close()


def test_the_sender_of_a_pod_whose_address_two_announce_hears_of_both(world: World, announcers: list[Announcer]) -> None:
    """The leaf passes on its own route alone, so the sender's node knows one of the two and that it has taken the other's place."""
    node, far = world.lab.find_node("n1"), world.port("a2", 0)
    owner = world.lab.find_node("n2")
    settle(world)
    announcers[0].announce(f"{far.ipv4}/32", communities(id_of("tenant-b"), 0))

    def traced() -> dict[str, Any]:
        return told(world, node, "trace", "tenant-a/a1", far.ipv4, "--rail", "rail0")
    # For a moment the sender hears of both, over two leaves.
    answer = eventually("it is said that two announce it, and who", traced, lambda found: found["reason"] == "CONTESTED" and
                        f"AS {owner.asn} (AS path " in found["sentence"] and f" {owner.asn}, from the leaf" in found["sentence"], 30)
    assert answer["verdict"] != "REACHES" and "isolation" not in answer["advice"], answer
    finding = eventually("the owner's doctor names it", lambda: [f for f in told(world, owner, "doctor")["findings"]
                                                                 if f["id"] == "own-address-announced-elsewhere"], bool, 30)[0]
    assert f"AS {world.lab.leaf(0).asn} (AS path {world.lab.leaf(0).asn}, from the leaf" in finding["what"], finding
    announcers[0].withdraw(f"{far.ipv4}/32")
    eventually("it is reached again", traced, lambda found: found["verdict"] == "REACHES", 30)
    announcers[0].announce(f"{far.ipv4}/32", [])
    answer = eventually("it has no tenant now", traced, lambda found: found["reason"] == "UNKNOWN_DESTINATION", 30)
    assert "without a tenant's communities" in answer["sentence"], answer
    announcers[0].withdraw(f"{far.ipv4}/32")
    eventually("it is reached again", traced, lambda found: found["verdict"] == "REACHES", 30)
    settle(world)


def test_an_address_of_a_pod_here_that_another_tenant_announces_is_contested(world: World, announcers: list[Announcer]) -> None:
    node, port = world.lab.find_node("n1"), world.port("a1", 0)
    address = port.ipv4
    before = rules_about(world, node, 0, address)
    announcers[0].announce(f"{address}/32", communities(id_of("tenant-b"), 0))

    def shown() -> dict[str, Any]:
        found = world.railctl(node, "get", "attachments")["attachments"]
        return next(a for a in found if address in a["addresses"])
    eventually("the attachment is contested", lambda: shown().get("contested", False), bool, 30)
    assert any(f"AS {world.lab.leaf(0).asn}" in sentence for sentence in shown()["announced_elsewhere"])
    assert severities(world, node).get("own-address-announced-elsewhere") == "CRITICAL"
    assert world.metrics(node)['railcni_attachments_announced_elsewhere{rail="rail0"}'] == 1
    traced = world.railctl(node, "trace", "tenant-a/a3", address, "--rail", "rail0")
    assert traced["verdict"] == "REACHES", "on this node it keeps its rules"
    assert any(address in note for note in traced["notes"]), traced
    assert rules_about(world, node, 0, address) == before
    announcers[0].withdraw(f"{address}/32")
    eventually("nobody contests it", lambda: shown().get("contested", False), lambda contested: not contested, 30)
    settle(world)


def test_what_a_lost_session_had_told_holds_nothing_back(world: World, announcers: list[Announcer]) -> None:
    """bgpd 8.4 pushes nothing while what it has queued is of a session that is down: its connection is opened anew."""
    node, leaf = world.lab.find_node("n1"), world.lab.leaf(0)
    marks = communities(id_of("tenant-a"), 1)
    told_by_the_lost = [f"10.0.99.{i}/32" for i in range(100, 120)]
    for prefix in told_by_the_lost:
        announcers[0].announce(prefix, communities(id_of("tenant-a"), 0))
    eventually("all of them", lambda: remotes(world, node), lambda r: {p.split("/")[0] for p in told_by_the_lost} <= set(r), 30)
    log = node.log_dir / "raild.log"
    before = len(log.read_text())
    kernel.run(["ip", "-n", leaf.namespace, "link", "set", node.name, "down"])
    try:
        eventually("the session is lost", lambda: vty.sessions(node.frr_dir)[bridge(0)], lambda s: s != "Established", 30)
        for address in ("10.0.99.121", "10.0.99.122"):
            announcers[1].announce(f"{address}/32", marks)
            eventually("what the other rail's leaf tells is learned", lambda a=address: a in remotes(world, node),
                       lambda there: there, 10)
        # From the loss on: 30 s after one of an earlier test the connection may begin anew, too.
        said = log.read_text()[before:]
        opened = said[said.index(f"bgp session on {bridge(0)}: "):].count("bgpd pushes what it learns")
        assert opened == 1, f"the connection was opened anew {opened} times"
    finally:
        kernel.run(["ip", "-n", leaf.namespace, "link", "set", node.name, "up"])
    eventually("the leaf has told all again", lambda: vty.sessions(node.frr_dir).get(bridge(0)) == "Established"
               and vty.ends_heard(node.frr_dir)[bridge(0)], bool, 60)  # what it does not tell again is held
    for one in announcers:
        one.withdraw_all()
    settle(world, seconds=60)


def test_a_new_raild_drops_nothing(world: World) -> None:
    node = world.lab.find_node("n1")
    eventually("what the tests before this one announced is gone",
               lambda: [a for rail in (0, 1) for a in rules_about(world, node, rail, "10.0.9")], lambda rules: not rules, 30)
    before = {rail: {f["match"] for f in world.flows(node, rail)} for rail in (0, 1)}
    kill_raild(node)
    daemons.start_raild(world.lab, node)
    fabric.wait_for_bridges(node, 2)
    for _ in range(20):
        for rail in (0, 1):
            assert before[rail] <= {f["match"] for f in world.flows(node, rail)}
        time.sleep(0.1)
    eventually("bgpd pushes again", lambda: bmp_is_up(world, node), bool, 30)
    settle(world)


def test_leaves_that_are_silent_at_first_cost_no_remote(world: World, announcers: list[Announcer]) -> None:
    """A leaf with many neighbours holds its first routes for up to 10 s: what was learned before stays until it has told all, and what
    it has not told then is held."""
    node = world.lab.find_node("n1")
    marks = communities(id_of("tenant-a"), 0)
    stays, goes = "10.0.99.50", "10.0.99.51"
    for address in (stays, goes):
        announcers[0].announce(f"{address}/32", marks)
    eventually("learned", lambda: {stays, goes} <= set(remotes(world, node)), bool, 30)
    for leaf in world.lab.leaves():
        vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "coalesce-time 8000")
    try:
        vty.session(node.frr_dir, ["clear bgp *"])
        announcers[0].withdraw(f"{goes}/32")
        eventually("the sessions are there again", lambda: vty.sessions(node.frr_dir),
                   lambda s: all(s.get(bridge(rail)) == "Established" for rail in (0, 1)), 30)
        while not all(vty.ends_heard(node.frr_dir)[bridge(rail)] for rail in (0, 1)):
            assert len(rules_about(world, node, 0, stays)) == 1, "forgotten while its leaves have not told all"
            time.sleep(0.1)
        assert len(rules_about(world, node, 0, stays)) == 1
        assert goes in remotes(world, node), "its leaf may hear of it later, over a session of its own that is not there yet"
    finally:
        for leaf in world.lab.leaves():
            vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", f"coalesce-time {COALESCE_MS}")
    announcers[0].announce(f"{goes}/32", marks)  # else it is held for two minutes
    eventually("heard again from both leaves", lambda: {r["peer"] for r in vty.routes(node.frr_dir) if r["prefix"] == f"{goes}/32"},
               lambda peers: peers == {bridge(0), bridge(1)}, 60)
    for address in (stays, goes):
        announcers[0].withdraw(f"{address}/32")
    settle(world)


def test_without_the_module_nothing_is_learned_nothing_is_lost_and_it_is_said(world: World, announcers: list[Announcer]) -> None:
    """bgpd of a node is started again without its BMP module, raild with it; then bgpd with the module."""
    node = world.lab.find_node("n1")
    marks = communities(id_of("tenant-a"), 0)
    stays, comes = "10.0.99.60", "10.0.99.61"
    announcers[0].announce(f"{stays}/32", marks)
    eventually("rules", lambda: [len(rules_about(world, node, r, stays)) for r in (0, 1)], lambda n: n == [1, 1], 30)
    log = node.log_dir / "raild.log"
    before = len(log.read_text())

    def health() -> list[str]:
        return [h.get("problem", "") for h in world.railctl(node, "get", "node")["node"]["health"]]

    def says_what_to_do() -> bool:
        return any("nothing new is learned" in p and "-M bmp" in p and "/etc/frr/daemons" in p for p in health())
    try:
        restart_bgpd(node, bmp=False)
        eventually("it says what to do", says_what_to_do, bool, 60)
        assert not bmp_is_up(world, node)
        said = [line for line in log.read_text()[before:].splitlines() if "-M bmp" in line]
        assert len(said) == 1, said
        assert severities(world, node).get("bmp-missing") == "CRITICAL"
        kill_raild(node)
        daemons.start_raild(world.lab, node)
        eventually("the new one says it, too", says_what_to_do, bool, 60)
        announcers[0].announce(f"{comes}/32", marks)
        eventually("bgpd has heard it", lambda: [r for r in vty.routes(node.frr_dir) if r["prefix"] == f"{comes}/32"], bool, 30)
        assert not rules_about(world, node, 0, comes), "learned without BMP"
        assert [len(rules_about(world, node, r, stays)) for r in (0, 1)] == [1, 1], "what was in the switch stays"
    finally:
        restart_bgpd(node, bmp=True)
    eventually("bgpd pushes again", lambda: bmp_is_up(world, node), bool, 60)
    eventually("what came meanwhile is learned", lambda: comes in remotes(world, node), bool, 60)
    for one in announcers:
        one.withdraw_all()
    settle(world, seconds=60)


def told(world: World, node: Node, *words: str) -> Any:
    """What railctl answers; its exit status says that something is wrong."""
    done = subprocess.run([str(world.lab.binaries / "railctl"), *words, "-o", "json"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "RAILCNI_ROOT": str(node.root)}, check=False)
    return json.loads(done.stdout)


def severities(world: World, node: Node) -> dict[str, str]:
    return {f["id"]: f["severity"] for f in told(world, node, "doctor")["findings"]}


def restart_bgpd(node: Node, bmp: bool) -> None:
    for daemon in ("bgpd", "zebra"):
        pid = daemons.pid_of(node, daemon)
        if pid is not None:
            daemons.kill(pid)
    daemons.start_frr(node, bmp=bmp)


def test_a_stranger_cannot_feed(world: World) -> None:
    """Somebody else on the node's loopback, and a second connection: neither is listened to."""
    node = world.lab.find_node("n1")
    with kernel.inside(node.namespace):
        stranger = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with stranger:
        stranger.settimeout(20)
        stranger.connect(("127.0.0.1", 11019))
        assert stranger.recv(1) == b"", "it was not closed"
    assert bmp_is_up(world, node)
