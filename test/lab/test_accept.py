"""`railctl accept` against the lab: a healthy one passes, and for each check a lab in which it fails, by name, and no other check does.

The lab is one of its own: 4 nodes, 2 rails, 2 units, a pod of each of two tenants on every node. It has no RDMA and forwards in userspace: what
needs either cannot be measured, and says so."""

from __future__ import annotations

import json
import signal
import subprocess
import threading
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from acceptance_stage import HEAD, Stage, keep_foreign_flows, on_switch, stage
from conftest import lab_of_its_own
from frames import mac_bytes, packed
from railcni_lab import daemons, kernel, vty
from railcni_lab.layout import Shape, bridge, uplink
from railcni_lab.speaker import communities, tenant_id
from tables import Tables
from wire import Wire
from world import Port, World, eventually, settle

PODS = {f"{tenant}{number}": (f"n{number}", f"tenant-{tenant}") for tenant in "ab" for number in (1, 2, 3, 4)}
NEEDS_A_NIC = {"isolation.verbs", "qos.pauses", "offload.ready", "offload.hardware", "offload.masks",
               "speed.write-bandwidth", "speed.write-latency"}


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "ac", Shape(nodes=4, rails=2, spines=1, devices=2, units=2), PODS) as world:
        keep_foreign_flows(world)
        settle(world)
        yield world


@pytest.fixture(scope="module")
def accept(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(world, tmp_path_factory.mktemp("accept"), list(PODS)) as made:
        yield made


def reports() -> Path:
    folder = Path(__file__).resolve().parents[2] / "build/reports/accept"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def test_a_healthy_lab_passes_and_says_what_it_cannot_measure(accept: Stage, tables: Tables) -> None:
    files = {name: reports() / f"lab.{name}" for name in ("json", "xml", "html")}
    done = accept.run("--junit-file", str(files["xml"]), "--page", str(files["html"]), json_file=files["json"])
    assert done.returncode == 3, done.stdout + done.stderr
    checks = json.loads(files["json"].read_text())["checks"]
    verdicts = {check["id"]: check["verdict"] for check in checks}
    assert {name for name, verdict in verdicts.items() if verdict != "PASS"} == NEEDS_A_NIC, done.stdout
    assert {verdicts[name] for name in NEEDS_A_NIC} == {"COULD_NOT_MEASURE"}
    for check in checks:
        assert check["attempts"], check["id"]
        assert all(attempt["seen"] for attempt in check["attempts"]), check["id"]
        if check["group"] == "isolation" and check["id"] not in NEEDS_A_NIC:
            assert {(a["rail"], a["from"]) for a in check["attempts"]} == \
                {(f"rail{rail}", f"{namespace}/{pod}") for rail in (0, 1) for pod, (_, namespace) in PODS.items()}, "each pod on each rail tries"
            assert all(attempt["control"] for attempt in check["attempts"])
        tables.row("accept", HEAD, (check["id"], "none", check["verdict"], check["why"]))
    # Every pair of a tenant once, on each rail.
    reached = next(check for check in checks if check["id"] == "speed.reach")["attempts"]
    pairs = [(a["rail"], *sorted((a["from"], a["to"]))) for a in reached]
    assert len(pairs) == len(set(pairs)) == 2 * 2 * 6
    suites = ElementTree.parse(files["xml"]).getroot()
    assert len(suites.findall(".//testcase")) == len(checks)
    assert len(suites.findall(".//skipped")) == len(NEEDS_A_NIC)


# What breaks the lab, so that a check fails


def deliver(target: Port) -> str:
    return f"mod_dl_dst:{target.mac},output:{target.ofport}"


def carried(world: World, wanted: Callable[[Port, bytes], bool]) -> AbstractContextManager[Wire]:
    """A second wire from a1 to everybody on its node and to the pods of n2, for such frames."""
    me = world.port("a1")
    return Wire(me, [world.port(name) for name in ("a2", "a3", "a4", "b1", "b2", "b3", "b4")], lambda frame: wanted(me, frame))


def is_ip_from_another(me: Port, frame: bytes, kind: bytes) -> bool:
    own = packed(me.ipv4) if kind == b"\x08\x00" else packed(me.ipv6)
    at = 26 if kind == b"\x08\x00" else 22
    return frame[12:14] == kind and frame[at:at + len(own)] != own and frame[6:12] == mac_bytes(me.mac) and b"RailCNI accept" in frame


@contextmanager
def leaf_port_mtu(world: World, mtu: int) -> Iterator[None]:
    leaf = world.lab.leaf(0)
    kernel.run(["ip", "-n", leaf.namespace, "link", "set", "n1", "mtu", str(mtu)])
    try:
        yield
    finally:
        kernel.run(["ip", "-n", leaf.namespace, "link", "set", "n1", "mtu", "9216"])


@contextmanager
def other_kernel(accept: Stage) -> Iterator[None]:
    """Under the name of another kernel (personality(2), UNAME26)."""
    accept.stop("a1")
    accept.start("a1", "setarch", "--uname-2.6")
    try:
        yield
    finally:
        accept.stop("a1")
        accept.start("a1")


@contextmanager
def session_down(world: World) -> Iterator[None]:
    leaf = world.lab.leaf(0)
    vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "neighbor n1 shutdown")
    try:
        eventually("the session is down", lambda: vty.sessions(world.lab.find_node("n1").frr_dir)[bridge(0)],
                   lambda state: state != "Established", 30)
        yield
    finally:
        vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "no neighbor n1 shutdown")


@contextmanager
def leaf_answers(world: World) -> Iterator[None]:
    """Two flows of others lead connections to BGP from a1 to the leaf of rail0, and its answers back. bgpd accepts them as it does a node's."""
    me = world.port("a1")
    node, out = me.node, world.uplink_ofport(me.node, 0)
    there = f"mod_dl_src:{world.bridge_mac(node, 0)},mod_dl_dst:{world.leaf_mac(node, 0)},output:{out}"
    with on_switch(world, "n1", f"tcp6,in_port={me.ofport},tp_dst=179,actions={there}"), \
            on_switch(world, "n1", f"tcp6,in_port={out},ipv6_dst={me.ipv6},tp_src=179,actions={deliver(me)}"):
        yield


@contextmanager
def stolen(world: World) -> Iterator[None]:
    """The leaf of rail0 announces b1's address as tenant-a's, as it would what a pod had told it."""
    leaf, prefix = world.lab.leaf(0), f"{world.port('b1').ipv4}/32"
    marks = " ".join(map(str, communities(tenant_id("namespace/tenant-a"), 0)))
    route = f"network {prefix} route-map stolen"
    router = [f"router bgp {leaf.asn}", "no bgp network import-check", "address-family ipv4 unicast"]

    def contested() -> bool:
        return any(a.get("contested") for a in world.railctl(world.lab.find_node("n1"), "get", "attachments")["attachments"])
    try:
        vty.configure(leaf.frr_dir, "route-map stolen permit 10", f"set large-community {marks}")
        vty.configure(leaf.frr_dir, *router, route)
        eventually("b1's address is contested", contested, bool, 30)
        yield
    finally:
        vty.configure(leaf.frr_dir, *router, f"no {route}")
        vty.configure(leaf.frr_dir, "no route-map stolen")
        eventually("nobody contests it", contested, lambda so: not so, 30)
        settle(world)


@contextmanager
def narrow_uplink(world: World) -> Iterator[None]:
    """What n1 sends on rail0 is 20 Mbit/s at most, of which a victim alone needs 2, and waits up to 200 ms in one queue for all."""
    node = world.lab.find_node("n1")
    kernel.run(["tc", "-n", node.namespace, "qdisc", "add", "dev", uplink(0), "root", "tbf", "rate", "20mbit", "burst", "64kb", "latency", "200ms"])
    try:
        yield
    finally:
        kernel.run(["tc", "-n", node.namespace, "qdisc", "del", "dev", uplink(0), "root"])


@dataclass
class Sabotage:
    check: str
    what: str
    begin: Callable[[World, Stage], AbstractContextManager[object]]
    says: str
    also: frozenset[str] = frozenset()  # checks that fail by it with good reason

    @property
    def id(self) -> str:
        return f"{self.check}: {self.what}"


EXPERIMENT, ARP, IPV4, IPV6, TAG = b"\x88\xb5", b"\x08\x06", b"\x08\x00", b"\x86\xdd", b"\x81\x00"
TABLE = [
    Sabotage("isolation.other-tenant", "a flow of others lets everybody reach b1",
             lambda w, _: on_switch(w, "n1", f"ip,nw_dst={w.port('b1').ipv4},actions={deliver(w.port('b1'))}"), "tenant-b/b1 (net1)",
             also=frozenset({"isolation.handmade-rocev2"})),
    Sabotage("isolation.handmade-rocev2", "a flow of others lets UDP port 4791 reach b1",
             lambda w, _: on_switch(w, "n1", f"udp,nw_dst={w.port('b1').ipv4},tp_dst=4791,actions={deliver(w.port('b1'))}"), "tenant-b/b1 (net1)"),
    Sabotage("isolation.forged-source", "a wire carries others' IPv4 sources",
             lambda w, _: carried(w, lambda me, f: is_ip_from_another(me, f, IPV4)), "arrived at"),
    Sabotage("isolation.forged-gid", "a wire carries others' IPv6 sources",
             lambda w, _: carried(w, lambda me, f: is_ip_from_another(me, f, IPV6) and f[20] == 17), "arrived at"),
    Sabotage("isolation.forged-mac", "a wire carries others' MAC addresses",
             lambda w, _: carried(w, lambda me, f: f[6:12] != mac_bytes(me.mac)), "arrived at"),
    Sabotage("isolation.vlan", "a wire carries tagged frames", lambda w, _: carried(w, lambda me, f: f[12:14] == TAG), "arrived at"),
    Sabotage("isolation.arp-nd", "a wire carries ARP", lambda w, _: carried(w, lambda me, f: f[12:14] == ARP), "arrived at"),
    Sabotage("isolation.arp-nd", "a wire carries advertisements", lambda w, _: carried(w, lambda me, f: f[12:14] == IPV6 and f[20] == 58),
             "arrived at"),
    Sabotage("isolation.flood", "a wire carries broadcasts",
             lambda w, _: carried(w, lambda me, f: f[:6] == b"\xff" * 6 and f[12:14] == EXPERIMENT), "arrived at"),
    Sabotage("isolation.announced", "flows of others lead a1's BGP to the leaf and back", lambda w, _: leaf_answers(w), "(the leaf) answers with"),
    Sabotage("isolation.announced", "the leaf announces b1's address for the other tenant", lambda w, _: stolen(w), "announced by two tenants"),
    Sabotage("qos.neighbour", "the uplink of n1 is narrow, and has one queue", lambda w, _: narrow_uplink(w), "beside the noise"),
    Sabotage("qos.dscp", "a flow of others clears the TOS byte before a1",
             lambda w, _: on_switch(w, "n1", f"udp,nw_dst={w.port('a1').ipv4},actions=mod_nw_tos:0,mod_nw_ecn:0,{deliver(w.port('a1'))}"),
             "DSCP 26 ECN 2 arrives as DSCP 0 ECN 0"),
    Sabotage("offload.one-megaflow", "a flow of others looks at UDP source ports",
             lambda w, _: on_switch(w, "n1", "udp,tp_src=7/15,tp_dst=1,actions=drop"), "megaflows of the sender"),
    Sabotage("speed.reach", "a flow of others drops what comes for a2",
             lambda w, _: on_switch(w, "n2", f"ip,nw_dst={w.port('a2').ipv4},actions=drop"), "n2", also=frozenset({"speed.mtu"})),
    Sabotage("speed.mtu", "the leaf's port to n1 takes 1,500 bytes", lambda w, _: leaf_port_mtu(w, 1500), "tenant-a/a"),
    Sabotage("configuration.versions", "the kernel of n1 is another one", lambda _, stage: other_kernel(stage), "2.6."),
    Sabotage("configuration.findings", "a session is shut down at the leaf", lambda w, _: session_down(w), "session"),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.id)
def test_it_can_fail(world: World, accept: Stage, row: Sabotage, tables: Tables) -> None:
    group = row.check.partition(".")[0]
    accept.write(None if group == "speed" else ["a1", "a2", "b1", "b2"])
    try:
        with row.begin(world, accept):
            status, checks = accept.verdicts("--only", group)
    finally:
        accept.write()
    failed = {name for name, check in checks.items() if check["verdict"] == "FAIL"}
    assert status == 1, checks[row.check]
    assert failed == {row.check, *row.also}
    assert row.says in checks[row.check]["why"]
    tables.row("accept", HEAD, (row.check, row.what, "FAIL", checks[row.check]["why"]))


def test_a_wrong_cable_is_found(request: pytest.FixtureRequest, tmp_path: Path, tables: Tables) -> None:
    shape = Shape(nodes=3, rails=2, spines=1, devices=1, swaps=[("n2", 0, 1)])
    with lab_of_its_own(request.config, "aw", shape, {f"a{n}": (f"n{n}", "tenant-a") for n in (1, 2, 3)}) as world, \
            stage(world, tmp_path, ["a1", "a2", "a3"]) as accept:
        for node in world.lab.nodes():
            eventually(f"{node.name} has heard its leaves", lambda node=node: world.railctl(node, "get", "rails")["rails"],
                       lambda rails: all(rail.get("leaf", {}).get("name") for rail in rails), 60)
        found = accept.verdicts("--only", "configuration")[1]["configuration.cabling"]
        assert found["verdict"] == "FAIL"
        assert {(a["from"], a["rail"]) for a in found["attempts"] if a["verdict"] == "FAIL" and a["rail"]} == {("n2", "rail0"), ("n2", "rail1")}
        assert "n2 on rail0: leads to leaf1, which 2 nodes have on rail1" in found["why"]
        tables.row("accept", HEAD, ("configuration.cabling", "two cables of n2 are swapped", "FAIL", found["why"]))
        _, checks = accept.verdicts("--only", "isolation")
        assert {check["verdict"] for check in checks.values()} == {"COULD_NOT_MEASURE"}, "nobody is there from whom to keep anything"


def test_what_cannot_be_shown_is_not_isolated(world: World, accept: Stage) -> None:
    """The receiver hears nobody: that nothing forbidden arrives says nothing."""
    accept.write(["a1", "a3", "b1", "b3"])
    with on_switch(world, "n1", f"ip,nw_dst={world.port('b1').ipv4},actions=drop"):
        status, checks = accept.verdicts("--only", "isolation")
    accept.write()
    assert status == 3
    check = checks["isolation.other-tenant"]
    assert check["verdict"] == "COULD_NOT_MEASURE"
    assert "tenant-b/b1" in check["why"]
    against = {a["to"]: a["verdict"] for a in check["attempts"] if a["rail"] == "rail0"}
    assert against["tenant-b/b1"] == "COULD_NOT_MEASURE"
    assert against["tenant-b/b3"] == "PASS"
    shares = {name: check["seconds"] / len(check["attempts"]) for name, check in checks.items() if name not in ("isolation.verbs", "isolation.announced")}
    assert max(shares.values()) < 1.5 * min(shares.values()), "what was tried together took as long for each"


def test_the_quick_way_names_the_same_culprit(world: World, accept: Stage) -> None:
    with on_switch(world, "n2", f"ip,nw_dst={world.port('a2').ipv4},actions=drop"):
        status, checks = accept.verdicts("--only", "speed", "--quick")
    assert status == 1
    assert "n2" in checks["speed.reach"]["why"]
    assert "n1" not in checks["speed.reach"]["why"]


def test_a_restart_is_measured_while_somebody_makes_it(world: World, accept: Stage) -> None:
    accept.write(["a1", "a2", "a3"])
    try:
        status, checks = accept.during("restart", 4, lambda: daemons.restart_raild(world.lab, world.lab.find_node("n2")))
    finally:
        accept.write()
    silence = checks["restart.silence"]
    assert status == 3 and silence["verdict"] == "PASS", silence
    assert {attempt["control"] for attempt in silence["attempts"]} == {"raild of n2 was started"}
    assert all(attempt["unit"] == "ms" and attempt["value"] <= 1000 for attempt in silence["attempts"])
    assert {attempt["rail"] for attempt in silence["attempts"]} == {"rail0", "rail1"}
    assert checks["restart.queue-pairs"]["verdict"] == "COULD_NOT_MEASURE", "there is no RDMA here"


def test_a_restart_that_nobody_made_proves_nothing(accept: Stage) -> None:
    accept.write(["a1", "a2"])
    try:
        status, checks = accept.during("restart", 1, lambda: None)
    finally:
        accept.write()
    assert status == 3 and checks["restart.silence"]["verdict"] == "COULD_NOT_MEASURE"
    assert "no raild has seen anything restart" in checks["restart.silence"]["why"]
    refused = accept.run("--only", "restart.silence")
    assert refused.returncode == 2 and "--restarts SECONDS" in refused.stderr


def test_a_pod_that_is_silent_for_too_long_is_named(world: World, accept: Stage) -> None:
    """A flow of somebody else drops what a1 sends on rail0, for longer than a restart may take."""
    def silence() -> None:
        with on_switch(world, "n1", f"in_port={world.port('a1').ofport},actions=drop"):
            threading.Event().wait(1.5)

    accept.write(["a1", "a2", "a3"])
    try:
        status, checks = accept.during("restart", 4, silence)
    finally:
        accept.write()
    found = checks["restart.silence"]
    assert status == 1 and found["verdict"] == "FAIL"
    silent = {(a["rail"], a["from"], a["to"]) for a in found["attempts"] if a["verdict"] == "FAIL"}
    assert silent and all(rail == "rail0" and "tenant-a/a1" in pair for rail, *pair in silent)
    assert all(a["value"] > 1000 for a in found["attempts"] if a["verdict"] == "FAIL")


def test_the_plan_tries_nothing(accept: Stage) -> None:
    done = accept.run("--plan")
    assert done.returncode == 0, done.stderr
    for group in ("configuration", "isolation", "qos", "offload", "speed"):
        assert group in done.stdout
    assert "8 pods" in done.stdout
    assert "4 nodes" in done.stdout


def test_a_run_that_was_killed_is_resumed(accept: Stage, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    accept.write(["a1", "a2", "b1", "b2"])
    command = [str(accept.world.lab.binaries / "railctl"), "accept", "--stage", str(accept.file), "--json-file", str(report)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        eventually("a group has ended", lambda: {c["group"] for c in json.loads(report.read_text())["checks"]}, bool, 60)
        process.send_signal(signal.SIGKILL)
    done = {c["id"]: c for c in json.loads(report.read_text())["checks"]}
    assert accept.run("--resume", json_file=report).returncode == 3
    one = tmp_path / "one.json"
    assert accept.run("--only", "offload.one-megaflow", json_file=one).returncode == 0
    assert accept.run("--only", "offload", "--resume", json_file=one).returncode == 3
    assert {c["id"] for c in json.loads(one.read_text())["checks"]} == {"offload.ready", "offload.hardware", "offload.one-megaflow", "offload.masks"}, \
        "one check of a group is not the group"
    accept.write()
    whole = {c["id"]: c for c in json.loads(report.read_text())["checks"]}
    assert len(whole) > len(done)
    for name, check in done.items():
        assert whole[name] == check, "what was done is not done again"


def test_two_reports_are_compared(world: World, accept: Stage, tmp_path: Path) -> None:
    files = [tmp_path / "before.json", tmp_path / "after.json"]
    accept.run("--only", "qos.dscp", json_file=files[0])
    with on_switch(world, "n1", f"udp,nw_dst={world.port('a1').ipv4},actions=mod_nw_tos:0,{deliver(world.port('a1'))}"):
        accept.run("--only", "qos.dscp", json_file=files[1])
    diff = [str(accept.world.lab.binaries / "railctl"), "accept", "diff"]
    worse = subprocess.run([*diff, *map(str, files)], capture_output=True, text=True, timeout=30, check=False)
    assert worse.returncode == 1
    assert "qos.dscp" in worse.stdout
    same = subprocess.run([*diff, str(files[0]), str(files[0])], capture_output=True, text=True, timeout=30, check=False)
    assert same.returncode == 0, same.stdout


def test_a_check_that_nobody_knows_is_refused(accept: Stage) -> None:
    done = accept.run("--only", "isolation.vlans")
    assert done.returncode == 2
    assert "no group and no check isolation.vlans" in done.stderr
    assert "isolation.vlan" in done.stderr


@pytest.mark.parametrize(("change", "says", "status"), [
    (lambda d: d["pods"][0].update(node="n9"), "which is not among the nodes", 2),
    (lambda d: d["pods"][0].update(colour="red"), "pods[0].colour", 2),
    (lambda d: d.update(pods=[]), "pods", 2),
    (lambda d: d["pods"][0].update(agent="unix:/nowhere.sock"), "the agent of pod tenant-a/a1", 3),
], ids=["a node that is not there", "a key that nobody knows", "no pods", "no agent"])
def test_a_wrong_stage_is_refused_before_anything_is_tried(accept: Stage, change: Callable[[dict], None], says: str, status: int) -> None:
    document = json.loads(accept.file.read_text())
    right = accept.file.read_text()
    change(document)
    accept.file.write_text(json.dumps(document))
    try:
        done = accept.run()
    finally:
        accept.file.write_text(right)
    assert done.returncode == status
    assert says in done.stderr
    assert done.stdout == ""
