"""The lab's leaves run the published configuration (deploy/leaves), and it keeps a node to what is its own."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from frames import ethernet, ip, udp
from railcni_lab import daemons, fabric, kernel, vty
from railcni_lab.layout import LEAVES, Host, Lab, Node, bridge, uplink
from railcni_lab.speaker import communities, tenant_id
from railcni_leaves.frr import COALESCE_MS
from railcni_leaves.site import read
from tables import Tables
from test_learning import Announcer
from world import World, captures, eventually, settle

RAIL = 0
HEAD = ("a node announces", "prefix", "the leaf")


@pytest.fixture(scope="module")
def leaf(settled: World) -> Host:
    return settled.lab.leaf(RAIL)


@pytest.fixture
def lost(settled: World) -> Iterator[Announcer]:
    """n1, as somebody who has taken it announces there: with the communities of a tenant and of the rail, all that its filter asks for."""
    made = Announcer(settled.lab.find_node("n1"), RAIL)
    try:
        yield made
    finally:
        made.close()
        settle(settled)


def marks(tenant: str = "tenant-a") -> list[Any]:
    return communities(tenant_id(f"namespace/{tenant}"), RAIL)


def sent(node: Host) -> set[str]:
    """What the node's bgpd has told the leaf."""
    found: set[str] = set()
    for family in ("ipv4", "ipv6"):
        found |= set(vty.show_json(node.frr_dir, f"show bgp {family} unicast neighbors {bridge(RAIL)} advertised-routes json")["advertisedRoutes"])
    return found


def from_node(leaf: Host, node: str) -> set[str]:
    return {route["prefix"] for route in vty.routes(leaf.frr_dir) if route["peer"] == node}


def neighbor(leaf: Host, node: str) -> dict[str, Any]:
    return vty.show_json(leaf.frr_dir, f"show bgp neighbors {node} json")[node]


TAKEN = [("an address of its own block", "10.0.1.250/32"), ("an address of its own block", "fd52:4149:0:1::fa/128")]
REFUSED = [
    ("an address of another node's block", "10.0.2.250/32"),
    ("an address of another node's block", "fd52:4149:0:2::fa/128"),
    ("an address of another rail", "10.1.1.250/32"),
    ("an address of another rail", "fd52:4149:1:1::fa/128"),
    ("an address of nobody's", "192.0.2.1/32"),
    ("a shorter mask", "10.0.1.248/31"),
    ("a shorter mask", "fd52:4149:0:1::f8/127"),
    ("its whole block", "10.0.1.0/24"),
    ("its whole block", "fd52:4149:0:1::/64"),
    ("the rail's whole range", "10.0.0.0/16"),
    ("a default route", "0.0.0.0/0"),
    ("a default route", "::/0"),
]


def test_a_node_announces_its_own_and_nothing_else(settled: World, leaf: Host, lost: Announcer, tables: Tables) -> None:
    node = settled.lab.find_node("n1")
    before, established = from_node(leaf, "n1"), neighbor(leaf, "n1")["connectionsEstablished"]
    for _, prefix in [*REFUSED, *TAKEN]:
        lost.announce(prefix, marks())
    every = {prefix for _, prefix in [*REFUSED, *TAKEN]}
    eventually("n1 has sent all of them", lambda: sent(node), lambda found: every <= found)
    # Those that it takes were announced last: what is refused was heard before.
    taken = {prefix for _, prefix in TAKEN}
    eventually("the leaf has what it takes", lambda: from_node(leaf, "n1") - before, lambda found: taken <= found)
    found = from_node(leaf, "n1") - before
    for what, prefix in [*TAKEN, *REFUSED]:
        tables.row("leaves", HEAD, (what, prefix, "takes" if prefix in found else "refuses"))
    assert found == taken
    assert neighbor(leaf, "n1")["connectionsEstablished"] == established, "the session stays as it is"


def test_too_many_prefixes_cost_that_node_alone_its_session(settled: World, leaf: Host, lost: Announcer, tables: Tables) -> None:
    limit, others = fabric.leaf(settled.lab, RAIL).max_prefixes, from_node(leaf, "n2")
    mine = from_node(leaf, "n1")
    established = neighbor(leaf, "n2")["connectionsEstablished"]
    try:
        for i in range(limit):  # with those of the pods that are there: too many
            lost.announce(f"10.0.1.{100 + i}/32", marks())
        eventually("the leaf ends the session", lambda: vty.sessions(leaf.frr_dir)["n1"], lambda state: "PfxCt" in state)
        eventually("nothing of n1 is left", lambda: from_node(leaf, "n1"), lambda found: not found)
        assert from_node(leaf, "n2") == others and neighbor(leaf, "n2")["connectionsEstablished"] == established
    finally:
        lost.withdraw_all()
        vty.session(leaf.frr_dir, ["clear bgp n1"])  # or five minutes later, by itself
    eventually("n1's pods are back", lambda: from_node(leaf, "n1"), lambda found: found == mine, 60)
    tables.row("leaves", HEAD, (f"more than {limit} addresses", "", "ends this node's session, no other"))


def test_the_leaf_helps_a_node_that_restarts(settled: World, leaf: Host) -> None:
    """A dead bgpd costs no prefix: the leaf keeps them as stale until the new one has told them again."""
    node = settled.lab.find_node("n1")
    info = neighbor(leaf, "n1")["gracefulRestartInfo"]
    assert info["localGrMode"] == "Helper", "by a line of its own: `Helper*` is the instance's default"
    before = from_node(leaf, "n1")
    assert before
    pid = daemons.pid_of(node, "bgpd")
    assert pid is not None
    daemons.kill(pid)
    try:
        eventually("the session is gone", lambda: vty.sessions(leaf.frr_dir)["n1"], lambda state: state != "Established")
        address = min(p for p in before if "." in p)
        eventually(f"{address} is kept as stale", lambda: vty.show(leaf.frr_dir, f"show bgp ipv4 unicast {address}").lower(),
                   lambda text: "stale" in text)
        assert from_node(leaf, "n1") == before
    finally:
        daemons.start_frr_daemon(node, "bgpd", bmp=True)
    eventually("the session is back", lambda: vty.sessions(leaf.frr_dir)["n1"], lambda state: state == "Established", 60)
    settle(settled)
    assert from_node(leaf, "n1") == before


def forged(world: World, node: Node, source: str, target: str) -> bytes:
    return ethernet(world.bridge_mac(node, RAIL), world.leaf_mac(node, RAIL), *ip(source, target, socket.IPPROTO_UDP, udp(source, target, b"forged")))


def test_the_leaf_drops_a_source_that_is_another_nodes(settled: World, leaf: Host) -> None:
    """Frames straight from n1's uplink, past all rules: as root on the node."""
    node, mine, other = settled.lab.find_node("n1"), settled.port("a1"), settled.port("a2")
    with captures((settled.lab.find_node("n2").namespace, uplink(RAIL))) as [there], kernel.inside(node.namespace):
        with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as raw:
            raw.bind((uplink(RAIL), 0))
            for source in (other.ipv4, "10.0.2.250", "192.0.2.1", mine.ipv4):  # its own is the last
                raw.send(forged(settled, node, source, other.ipv4))
        found = [frame for frame in there.frames(0.5) if b"forged" in frame]
    assert [socket.inet_ntoa(frame[26:30]) for frame in found] == [mine.ipv4]


# The front end: the published file between a node and a switch above it, both plain FRR


def plain(host: Host, port: str, announced: dict[str, list[str]]) -> str:
    """A neighbor that announces what it wants, and takes everything."""
    lines = [f"router bgp {host.asn}", f" bgp router-id {host.router_id}", " no bgp ebgp-requires-policy", " no bgp network import-check",
             f" neighbor {port} interface remote-as external", f" neighbor {port} timers connect 1"]
    for family in ("ipv4", "ipv6"):
        lines += [f" address-family {family} unicast", f"  neighbor {port} activate", *(f"  network {p}" for p in announced[family]),
                  " exit-address-family"]
    return "\n".join([*lines, "exit"]) + "\n"


@pytest.fixture
def front(lab: Lab) -> Iterator[tuple[Host, Host, Host]]:
    """A node, the published leaf, a switch of the fabric above it. Their namespaces have names that `lab down` knows."""
    node, leaf, core = (Host(name, lab.namespace(f"spine{9 - i}"), lab.folder / f"spine{9 - i}", asn, f"10.255.9.{i}")
                        for i, (name, asn) in enumerate((("gpu01", 4200000001), ("front0", 4200030001), ("core1", 4200040001)), 1))
    told = {node: plain(node, "mgmt1", {"ipv4": ["192.0.2.11/32", "192.0.2.12/32", "192.0.2.0/28", "10.0.1.2/32", "0.0.0.0/0"],
                                        "ipv6": ["2001:db8::11/128", "2001:db8::12/128", "fd52:4149:0:1::2/128"]}),
            leaf: (LEAVES / "frr/front0.conf").read_text(),
            core: plain(core, "front0", {"ipv4": ["0.0.0.0/0", "198.51.100.0/24", "10.0.9.1/32"], "ipv6": ["::/0", "2001:db8:9::/48"]})}
    try:
        for host in told:
            kernel.run(["ip", "netns", "add", host.namespace])
            kernel.sysctl(host.namespace, {"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
        for a, one, b, other in ((leaf, "swp1", node, "mgmt1"), (leaf, "swp31", core, "front0")):
            kernel.ip_batch([f"link add {one} netns {a.namespace} type veth peer name {other} netns {b.namespace}"])
            kernel.links_up(a.namespace, [one])
            kernel.links_up(b.namespace, [other])
        for host, config in told.items():
            daemons.prepare(host)
            daemons.start_frr(host)
            (host.root / "frr.conf").write_text(config)
            kernel.run(["vtysh", "--vty_socket", str(host.frr_dir), "-f", str(host.root / "frr.conf")])
        yield node, leaf, core
    finally:
        for host in told:
            daemons.end(pid for pid in (daemons.pid_of(host, d) for d in ("zebra", "bgpd")) if pid is not None)
            kernel.delete_namespace(host.namespace)


def test_the_front_ends_leaf_takes_the_nodes_address_and_tells_it_the_default_route(front: tuple[Host, Host, Host]) -> None:
    node, leaf, core = front
    own = {"192.0.2.11/32", "2001:db8::11/128"}
    eventually("the switch above has the node's addresses", lambda: from_node(core, "front0"), lambda found: own <= found, 40)
    assert from_node(core, "front0") == own
    assert from_node(leaf, "swp1") == own, "no other node's, no pod's, no range, no default route"
    default = {"0.0.0.0/0", "::/0"}
    eventually("the node has the default route", lambda: from_node(node, "mgmt1"), lambda found: default <= found)
    assert from_node(leaf, "swp31") == {*default, "198.51.100.0/24", "10.0.9.1/32", "2001:db8:9::/48"}
    assert from_node(node, "mgmt1") == default, "nothing else of what the leaf knows"


# What is published is what runs


@pytest.fixture(scope="module")
def bench(lab: Lab) -> Iterator[Host]:
    """zebra and bgpd in a namespace with nothing in it: they are told the published files."""
    host = Host("bench", lab.namespace("spine9"), lab.folder / "spine9", 1, "10.255.9.9")
    kernel.run(["ip", "netns", "add", host.namespace])
    kernel.sysctl(host.namespace, {"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
    try:
        yield host
    finally:
        daemons.end(pid for pid in (daemons.pid_of(host, d) for d in ("zebra", "bgpd")) if pid is not None)
        kernel.delete_namespace(host.namespace)


def running(host: Host) -> list[str]:
    text = kernel.run(["vtysh", "--vty_socket", str(host.frr_dir), "-c", "show running-config"])
    return [line.strip() for line in text.splitlines() if line.strip() not in ("", "!", "exit", "end", "exit-address-family", "exit-vrf")]


@pytest.fixture
def told(bench: Host, request: pytest.FixtureRequest) -> Iterator[tuple[Path, list[str]]]:
    """A published file, and what zebra and bgpd say that they run after it."""
    file: Path = request.param
    daemons.prepare(bench)
    daemons.start_frr(bench)
    kernel.run(["vtysh", "--vty_socket", str(bench.frr_dir), "-f", str(file)])
    yield file, running(bench)
    daemons.end(pid for pid in (daemons.pid_of(bench, d) for d in ("zebra", "bgpd")) if pid is not None)


DEFAULT = ("bgp ebgp-requires-policy", "hostname", "neighbor NODES send-community all", "neighbor FABRIC send-community all")  # never printed
FILES = sorted([*LEAVES.glob("frr/*.conf"), *LEAVES.glob("sonic/*.frr.conf")])


@pytest.mark.parametrize("told", FILES, indirect=True, ids=[f"{f.parent.name}-{f.name}" for f in FILES])
def test_frr_takes_every_line_of_every_published_file(told: tuple[Path, list[str]]) -> None:
    file, runs = told
    wanted = [line.strip() for line in file.read_text().splitlines() if line.strip() not in ("", "!", "exit", "exit-address-family", "exit-vrf")]
    assert [line for line in wanted if line not in runs and not line.startswith(DEFAULT)] == []


def in_substance(lines: list[str], leaf: Any) -> set[str]:
    """A running configuration without what is a site's own: names of ports and nodes, numbers, addresses."""
    names = {n.name: "NODE" for n in leaf.nodes} | {f.name: "SWITCH" for f in leaf.fabric} | {f.peer: "SWITCH" for f in leaf.fabric}
    found = set()
    for line in lines:
        if line.startswith(("hostname", "frr version", "Building", "Current", "service integrated")):
            continue
        line = re.sub(r"\b[0-9a-f.:]+/(\d+)\b", r"PREFIX/\1", line)
        line = re.sub(r"RAILCNI-NODE-\S+", "RAILCNI-NODE-x", line)
        words = [names.get(word, word) for word in line.split()]
        if words[0] == "neighbor" and words[2] == "description":
            words[3] = "who"
        found.add(re.sub(r"(router bgp|router-id|maximum-prefix) \S+", r"\1 N", " ".join(words)))
    return found


@pytest.mark.parametrize("told", [LEAVES / "frr/rail0.conf"], indirect=True, ids=["rail0"])
def test_the_lab_runs_the_published_configuration(told: tuple[Path, list[str]], leaf: Host, lab: Lab) -> None:
    site = read(LEAVES / "site.json")
    published = in_substance(told[1], site.named(site.leaves[0], lambda n: f"swp{n}"))
    # Tests that let a leaf announce what it has no route to say so once, for as long as the lab lives.
    lab_runs = in_substance(running(leaf), fabric.leaf(lab, RAIL)) - {"no bgp network import-check"}
    assert lab_runs == published
    assert f"coalesce-time {COALESCE_MS}" in lab_runs and "neighbor NODE graceful-restart-helper" in lab_runs
    sysctls = (LEAVES / "frr/rail0.sysctl").read_text()
    assert "net/ipv4/conf/swp1/rp_filter = 1" in sysctls
    assert kernel.run(["ip", "netns", "exec", leaf.namespace, "cat", "/proc/sys/net/ipv4/conf/n1/rp_filter"]).strip() == "1"
