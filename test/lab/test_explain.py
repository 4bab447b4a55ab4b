"""The product explains itself: trace, flows, check and doctor against what is really so, and after something was broken."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from lone import Lone, representor_of
from railcni_lab import daemons, kernel, vty
from railcni_lab.layout import Node, bridge, uplink
from world import Port, World, eventually, settle

FINE, FOUND, USAGE = 0, 1, 2


def ask(world: World, node: Node, *words: str) -> tuple[int, str]:
    """railctl's exit status and what it prints."""
    done = subprocess.run([str(world.lab.binaries / "railctl"), *words], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "RAILCNI_ROOT": str(node.root)}, check=False)
    return done.returncode, done.stdout if done.returncode != USAGE and done.stdout else done.stderr


def trace(world: World, port: Port, address: str, *words: str) -> dict[str, Any]:
    status, text = ask(world, port.node, "trace", f"{tenant(port)}/{port.pod}", address, "--rail", f"rail{port.rail}",
                       *words, "-o", "json")
    answer = json.loads(text)
    assert status == (FINE if answer["verdict"] == "REACHES" else FOUND), text
    return answer


def tenant(port: Port) -> str:
    return "tenant-a" if port.pod.startswith("a") else "tenant-b"


def causes(world: World, node: Node) -> list[dict[str, Any]]:
    """What the doctor finds, in its order; `follows` of each has what follows from it."""
    _, text = ask(world, node, "doctor", "-o", "json")
    found: list[dict[str, Any]] = json.loads(text).get("findings", [])
    return found


def findings(world: World, node: Node) -> dict[str, list[dict[str, Any]]]:
    """All of that, by id, whether it stands for itself or follows."""
    found: dict[str, list[dict[str, Any]]] = {}
    left = causes(world, node)
    while left:
        finding = left.pop(0)
        for key in ("subject", "what", "why", "fix"):
            assert finding[key], finding
        found.setdefault(finding["id"], []).append(finding)
        left += finding["follows"]
    return found


@contextmanager
def broken(break_it: list[str], mend_it: list[str]) -> Iterator[None]:
    kernel.run(break_it)
    try:
        yield
    finally:
        kernel.run(mend_it)


@pytest.mark.parametrize("family", [4, 6])
@pytest.mark.parametrize("source", ["a1", "b1"])
@pytest.mark.parametrize("target", ["a2", "a3", "b2"])
def test_trace_says_what_packets_do(settled: World, source: str, target: str, family: int) -> None:
    """The same pairs as the matrix: whoever reaches is said to reach, by the rule that compares the tenants."""
    sender, receiver = settled.port(source), settled.port(target)
    answer = trace(settled, sender, receiver.ipv4 if family == 4 else receiver.ipv6)
    assert answer["steps"][answer["deciding_step"]]["table_name"] == "compare", answer
    if tenant(sender) != tenant(receiver):
        assert (answer["verdict"], answer["reason"]) == ("DROPPED", "OTHER_TENANT"), answer
        assert "tenant-a" in answer["sentence"] and "tenant-b" in answer["sentence"], answer
        assert answer["datapath_actions"] == "drop"
        return
    local = sender.node == receiver.node
    assert answer["reason"] == ("DELIVERED_LOCALLY" if local else "SENT_TO_LEAF"), answer
    assert answer["verdict"] == "REACHES" and answer["back"]["admitted"], answer
    assert [s["rule"]["kind"] for s in answer["steps"]] == [
        "attachment", "attachment", "tenant", *(["tenant"] if local else ["pipeline", "remote"]), "compare",
        "attachment" if local else "leaf"], answer


def test_trace_names_what_a_forger_meets(settled: World) -> None:
    a1, a2, a3 = settled.port("a1"), settled.port("a2"), settled.port("a3")
    for words in (["--as-address", a3.ipv4], ["--as-mac", "02:00:00:00:00:99"]):
        answer = trace(settled, a1, a2.ipv4, *words)
        assert (answer["reason"], answer["deciding_step"]) == ("SPOOFED_SOURCE", 2), answer
        assert a1.representor in answer["sentence"], answer


def test_trace_knows_addresses_that_nobody_has(settled: World) -> None:
    a1 = settled.port("a1")
    assert trace(settled, a1, "10.9.9.9")["reason"] == "UNKNOWN_DESTINATION"
    assert trace(settled, a1, "224.0.0.1")["reason"] == "NOT_FOR_PODS"
    assert trace(settled, a1, a1.ipv4)["reason"] == "OWN_ADDRESS"


def test_trace_says_when_the_question_is_wrong(settled: World) -> None:
    node = settled.port("a1").node
    status, text = ask(settled, node, "trace", "nobody", "10.0.0.1")
    assert status == FOUND and "there is no attachment of pod nobody" in text and "tenant-a/a1" in text, text
    assert ask(settled, node, "trace", "a1", "10.0.0")[0] == USAGE
    assert ask(settled, node, "trace", "a1")[0] == USAGE


def test_flows_show_what_was_sent_and_where_it_is_carried_out(settled: World) -> None:
    a1, a3 = settled.port("a1"), settled.port("a3")

    def seen() -> list[dict[str, Any]]:
        kernel.run(["ip", "netns", "exec", a1.namespace, "ping", "-c1", "-W5", "-I", a1.ifname, a3.ipv4])
        flows = settled.railctl(a1.node, "get", "flows", "tenant-a/a1", "--rail", "rail0")
        (mine,) = flows["attachments"]
        assert {r["kind"] for r in mine["rules"]} == {"attachment", "attachment", "tenant", "compare"}
        assert sum(int(r["packets"]) for r in mine["rules"]) > 0
        return [m for m in mine["megaflows"] if f"src={a1.ipv4},dst={a3.ipv4}" in m["match"]]

    (flow,) = eventually("the megaflow of a1 to a3", seen, lambda found: len(found) == 1)
    assert flow["direction"] == "FROM_POD" and flow["place"] == "SOFTWARE", flow
    assert "userspace datapath" in flow["why_not"], flow
    assert flow["actions"].endswith(f",{a3.representor}"), flow
    assert "proto" not in flow["match"] and "tos" not in flow["match"], flow


def test_tenants_are_those_of_the_pods(settled: World) -> None:
    tenants = {t["tenant"]["name"]: t for t in settled.railctl(settled.port("a1").node, "get", "tenants")["tenants"]}
    assert tenants["tenant-a"]["attachments"] == 4 and tenants["tenant-b"]["attachments"] == 2, tenants
    assert tenants["tenant-a"]["rails"] == ["rail0", "rail1"], tenants


def test_check_finds_nothing_and_then_what_was_changed(settled: World) -> None:
    a1 = settled.port("a1")
    status, text = ask(settled, a1.node, "check")
    assert status == FINE, text
    with broken(["ip", "-n", a1.namespace, "link", "set", a1.ifname, "mtu", "1400"],
                ["ip", "-n", a1.namespace, "link", "set", a1.ifname, "mtu", "4200"]):
        status, text = ask(settled, a1.node, "check", "tenant-a/a1")
        assert status == FOUND and "1400" in text, text
    assert ask(settled, a1.node, "check", "tenant-a/a1")[0] == FINE
    assert ask(settled, a1.node, "check", "nobody")[0] == FOUND


# What a lab is by its nature.
OF_A_LAB = {"userspace-datapath", "hw-offload-off", "max-idle-short", "min-revalidate-pps", "rdma-missing", "rdma-shared"}


def test_doctor_says_of_a_healthy_lab_only_what_a_lab_is(settled: World) -> None:
    node = settled.port("a1").node
    found = findings(settled, node)
    assert set(found) <= OF_A_LAB, found
    assert {"userspace-datapath", "hw-offload-off", "max-idle-short"} <= set(found), found


def test_doctor_sees_what_open_vswitch_is_told(settled: World) -> None:
    node = settled.port("a1").node
    with broken([*vsctl(node), "set", "Open_vSwitch", ".", "other_config:max-idle=60000"],
                [*vsctl(node), "remove", "Open_vSwitch", ".", "other_config", "max-idle"]):
        assert not {"max-idle-short", "max-idle-long"} & set(findings(settled, node))
    assert "max-idle-short" in findings(settled, node)


def vsctl(node: Node) -> list[str]:
    return ["ovs-vsctl", "--no-wait", f"--db=unix:{node.ovs_dir}/db.sock"]


def test_doctor_finds_what_somebody_has_added(settled: World) -> None:
    """An address on an uplink, a port on a bridge: neither is raild's to remove."""
    node = settled.port("a1").node
    address = ["dev", uplink(0)]
    with broken(["ip", "-n", node.namespace, "address", "add", "192.0.2.1/24", *address],
                ["ip", "-n", node.namespace, "address", "del", "192.0.2.1/24", *address]):
        (finding,) = findings(settled, node)["uplink-has-address"]
        assert "192.0.2.1/24" in finding["what"] and finding["subject"] == "rail0", finding
    with broken([*vsctl(node), "add-port", bridge(1), "stray0", "--", "set", "Interface", "stray0", "type=internal"],
                [*vsctl(node), "del-port", bridge(1), "stray0"]):
        (finding,) = findings(settled, node)["foreign-port"]
        assert "stray0" in finding["what"] and finding["subject"] == "rail1", finding
    assert set(findings(settled, node)) <= OF_A_LAB


def test_doctor_and_trace_find_a_wire_that_is_out(settled: World) -> None:
    a1, a2 = settled.port("a1", 1), settled.port("a2", 1)
    leaf, wire = settled.lab.leaf(1).namespace, a1.node.name
    with broken(["ip", "-n", leaf, "link", "set", wire, "down"], ["ip", "-n", leaf, "link", "set", wire, "up"]):
        found = eventually("the uplink without carrier", lambda: findings(settled, a1.node),
                           lambda f: "uplink-without-carrier" in f and "bgp-session-down" in f, 30)
        # A leaf of FRRouting 8.4 that hears of a link's end and its return at once may leave the session Idle for ever.
        eventually("the leaf has seen it, too", lambda: vty.sessions(settled.lab.leaf(1).frr_dir)[wire], lambda s: s != "Established", 30)
        assert uplink(1) in found["uplink-without-carrier"][0]["what"]
        assert {f["subject"] for f in found["bgp-session-down"]} == {"rail1"}
        eventually("the wire is the first line, and the session and the pods follow from it", lambda: causes(settled, a1.node)[0],
                   lambda f: f["id"] == "uplink-without-carrier" and
                   {"bgp-session-down", "withdrawn"} <= {below["id"] for below in f["follows"]}, 30)
        _, table = ask(settled, a1.node, "get", "attachments", "--rail", "rail1")
        assert "withdrawn" in table and "announced" not in table, table
        answer = trace(settled, a1, a2.ipv4)
        assert answer["verdict"] != "REACHES", answer
        assert answer["reason"] in ("NO_CARRIER", "BGP_DOWN", "NO_LEAF_MAC", "OTHER_TENANT", "UNKNOWN_DESTINATION"), answer
    settle(settled, 60)
    eventually("the doctor is content again", lambda: set(findings(settled, a1.node)), lambda f: f <= OF_A_LAB, 30)
    assert trace(settled, a1, a2.ipv4)["verdict"] == "REACHES"


def test_trace_says_that_bgpd_is_gone(settled: World) -> None:
    """What was learned stays, and so do its rules: packets still go, and nobody knows for how long."""
    a1, a2 = settled.port("a1"), settled.port("a2")
    pid = daemons.pid_of(a1.node, "bgpd")
    assert pid is not None
    daemons.kill(pid)
    try:
        answer = eventually("the session is not there", lambda: trace(settled, a1, a2.ipv4),
                            lambda found: found["reason"] == "BGP_DOWN", 30)
        assert answer["verdict"] == "DOUBTFUL", answer
        assert {r["bgp_state"] for r in settled.railctl(a1.node, "get", "rails")["rails"]} == {""}
    finally:
        daemons.start_frr_daemon(a1.node, "bgpd", bmp=True)
    settle(settled, 60)
    assert trace(settled, a1, a2.ipv4)["verdict"] == "REACHES"


def test_a_pod_whose_representor_is_gone_is_not_shown_as_healthy(lone: Lone) -> None:
    """Its namespace lives and its rules stand. Open vSwitch's userspace datapath notices when it opens the port anew."""
    world, node = lone.world, lone.node

    def attachments() -> dict[str, Any]:
        return {a["pod"]["name"]: a for a in world.railctl(node, "get", "attachments")["attachments"]}

    with lone.dead_port() as (dead, _):
        # The pair went as a whole: once raild has missed the pod's end of it, that is what the doctor says.
        (finding,) = eventually("the doctor names it", lambda: [f for id, found in findings(world, node).items()
                                                                if id in ("port-not-working", "device-lost") for f in found], bool)
        assert f"no link {representor_of(dead)}" in finding["what"] or f"its device {dead.device_id} is not" in finding["what"], finding
        assert "dead" in finding["subject"], finding
        pid = daemons.pid_of(node, "ovs-vswitchd")
        assert pid is not None
        daemons.kill(pid)
        daemons.start_vswitchd(node)
        seen = eventually("its rules are not in place", attachments,
                          lambda all_of_it: not all_of_it["dead"].get("rules_in_place") and
                          all_of_it["alive"].get("rules_in_place"), 30)
        assert "rules-missing" not in findings(world, node)
        for words in (["alive", seen["dead"]["addresses"][0]], ["dead", seen["alive"]["addresses"][0]]):
            status, text = ask(world, node, "trace", *words, "-o", "json")
            answer = json.loads(text)
            assert (status, answer["verdict"], answer["reason"]) == (FOUND, "DROPPED", "PORT_NOT_WORKING"), text
            assert representor_of(dead) in answer["sentence"], text
    eventually("the doctor is content again", lambda: set(findings(world, node)), lambda f: "port-not-working" not in f, 30)


def test_doctor_says_when_open_vswitch_does_not_answer_and_the_rest_goes_on(settled: World) -> None:
    """ovs-vswitchd is stopped, not ended: its sockets take connections and nothing answers."""
    a1 = settled.port("a1")
    pid = (a1.node.pid_dir / "ovs-vswitchd.pid").read_text().strip()
    with broken(["kill", "-STOP", pid], ["kill", "-CONT", pid]):
        assert "vswitchd-down" in findings(settled, a1.node)
        status, text = ask(settled, a1.node, "trace", "tenant-a/a1", "10.9.9.9", "--rail", "rail0")
        assert status == FOUND and "ofproto/trace" in text, text
        assert ask(settled, a1.node, "get", "rails")[0] == FINE
    settle(settled, 60)  # its session may have ended meanwhile
    assert trace(settled, a1, "10.9.9.9")["reason"] == "UNKNOWN_DESTINATION"


@pytest.mark.parametrize(("daemon", "named"),
                         [("ovs-vswitchd", "vswitchd-down"), ("ovsdb-server", "ovsdb-down"), ("bgpd", "bgpd-down")])
def test_a_daemon_that_hangs_is_the_first_line_and_nobody_else_is_accused(settled: World, daemon: str, named: str) -> None:
    """It is stopped, not ended. At once, and when raild and the leaves have noticed as well."""
    node = settled.port("a1").node
    pid = str(daemons.pid_of(node, daemon))

    def critical() -> list[str]:
        return [f["id"] for f in causes(settled, node) if f["severity"] == "CRITICAL"]
    with broken(["kill", "-STOP", pid], ["kill", "-CONT", pid]):
        began = time.monotonic()
        assert critical() == [named]
        took = time.monotonic() - began
        assert took < 70, f"{took:.1f} s"
        status, text = ask(settled, node, "doctor")
        assert status == FOUND and text.startswith(f"CRITICAL {named}: "), text
        if daemon != "bgpd":
            eventually("raild has noticed that it cannot look", lambda: findings(settled, node),
                       lambda f: len(f.get("rules-unknown", [])) == settled.lab.shape().rails, 60)
            assert critical() == [named]
            assert "rules-missing" not in findings(settled, node)
            _, table = ask(settled, node, "get", "attachments")
            assert "unknown" in table and "missing" not in table, table
    settle(settled, 60)
    eventually("the doctor is content again", lambda: set(findings(settled, node)), lambda f: f <= OF_A_LAB, 60)
