"""Somebody removes or edits what raild keeps: it is put right by the event, and what belongs to others is never touched."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator

import pytest
from lone import Lone, representor_of
from railcni_lab import kernel, vty
from railcni_lab.layout import Node, bridge, representor, uplink
from tables import Tables
from world import NOT_YET, World, eventually, hanging, link_mac, settle

OURS = 0x5241494C
SECONDS = 5  # generous: the budget is 1 s, and the table says what was measured
AUDIT_SECONDS = 45  # where nothing tells raild: its audit comes every 30 s
KINDS = {1: "pipeline", 2: "attachment", 3: "tenant", 4: "compare", 6: "leaf", 0x80: "remote"}

Rule = tuple[int, int, str, str, int]


def ofctl(node: Node, *words: str) -> None:
    options, (command, *rest) = [w for w in words if w.startswith("--")], [w for w in words if not w.startswith("--")]
    kernel.run(["ovs-ofctl", "-O", "OpenFlow15", *options, command, f"unix:{node.ovs_dir}/{bridge(0)}.mgmt", *rest])


def rules(world: World, node: Node) -> set[Rule]:
    """Ours."""
    return {(f["table"], f["priority"], f["match"], f["actions"], f["cookie"]) for f in world.flows(node, 0) if f["cookie"] >> 32 == OURS}


def running(node: Node) -> list[str]:
    return [line.strip() for line in vty.session(node.frr_dir, ["show running-config"])[0].splitlines()]


def sessions_up(node: Node) -> None:
    eventually("sessions with the leaves", lambda: vty.sessions(node.frr_dir),
               lambda s: all(s.get(bridge(rail)) == "Established" for rail in (0, 1)), 45)


def leaf_answers(world: World, node: Node) -> None:
    """The leaf has the bridge's MAC, whatever the bridge had in between: what bgpd sends at the end of a session is acknowledged."""
    leaf, mac = world.lab.leaf(0), link_mac(node.namespace, bridge(0))

    def known() -> set[str]:
        found = json.loads(kernel.run(["ip", "-n", leaf.namespace, "-json", "-6", "neigh", "show", "dev", node.name]))
        return {n.get("lladdr", "none") for n in found if n["dst"].startswith("fe80:")}

    eventually(f"the leaf knows {node.name} by {mac}", known, lambda macs: macs == {mac}, 45)


def theirs(world: World, node: Node) -> dict[str, object]:
    """Everything on the node's instances that belongs to somebody else."""
    return {"rules": kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows", f"unix:{node.ovs_dir}/br-theirs.mgmt",
                                 "cookie=0x1234/-1"]),
            "ports": world.vsctl(node, "--columns=name,external_ids", "list", "Port", "theirs0"),
            "bridge": world.vsctl(node, "get", "Bridge", bridge(0), "external_ids:theirs"),
            "other bridge": world.vsctl(node, "--columns=name,fail_mode,external_ids", "list", "Bridge", "br-theirs"),
            "bgpd": [line for line in running(node) if "theirs" in line or "192.0.2." in line]}


@pytest.fixture(scope="module")
def foreign(world: World) -> Iterator[dict[str, object]]:
    """A second BGP neighbour with prefix and route-map, rules, a port, a bridge: of somebody else, on the same instances."""
    node = world.lab.find_node("n1")
    in_bgp = [f"router bgp {node.asn}"]
    vty.configure(node.frr_dir, "route-map theirs permit 10", "set metric 5", "exit", *in_bgp,
                  "neighbor 192.0.2.77 remote-as 65001", "neighbor 192.0.2.77 description theirs",
                  "address-family ipv4 unicast", "neighbor 192.0.2.77 route-map theirs in",
                  "network 192.0.2.0/24 route-map theirs", "exit-address-family", "exit")
    kernel.run(["ip", "-n", node.namespace, "link", "add", "theirs0", "type", "veth", "peer", "name", "theirs1"])
    world.vsctl(node, "add-port", bridge(0), "theirs0", "--", "set", "Port", "theirs0", "external_ids:theirs=1", "--",
                "set", "Bridge", bridge(0), "external_ids:theirs=1", "--",
                "add-br", "br-theirs", "--", "set", "Bridge", "br-theirs", "datapath_type=netdev")
    kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "add-flow", f"unix:{node.ovs_dir}/br-theirs.mgmt",
                "cookie=0x1234,table=0,priority=7,in_port=77,actions=drop"])
    before = theirs(world, node)
    assert len(before["bgpd"]) >= 5, before
    yield before
    world.vsctl(node, "del-br", "br-theirs", "--", "del-port", "theirs0", "--", "remove", "Bridge", bridge(0),
                "external_ids", "theirs")
    kernel.run(["ip", "-n", node.namespace, "link", "del", "theirs0"])
    vty.configure(node.frr_dir, *in_bgp, "no neighbor 192.0.2.77", "address-family ipv4 unicast",
                  "no network 192.0.2.0/24 route-map theirs", "exit-address-family", "exit", "no route-map theirs")


@pytest.fixture
def node(world: World, foreign: dict[str, object]) -> Node:
    settle(world, seconds=45)
    return world.lab.find_node("n1")


@pytest.fixture
def repaired(tables: Tables) -> Callable[[str, Callable[[], object], Callable[[], bool]], None]:
    """Breaks something, waits until it is right again, and writes down how long that took."""
    def measure(what: str, act: Callable[[], object], right: Callable[[], bool], seconds: float = SECONDS) -> None:
        assert right(), f"before `{what}`"
        act()
        began = time.monotonic()
        try:
            seen_wrong = not right()
        except NOT_YET:
            seen_wrong = True
        eventually(what, right, bool, seconds)
        took = f"{(time.monotonic() - began) * 1000:.0f} ms" if seen_wrong else "before it was seen"
        tables.row("repairs", ("what was broken", "right again after"), (what, took))
    return measure


def test_rules(world: World, node: Node, repaired: Callable[..., None]) -> None:
    wanted = rules(world, node)

    def right() -> bool:
        return rules(world, node) == wanted

    for kind, name in KINDS.items():
        table, priority, match, _, _ = next(r for r in sorted(wanted) if r[4] >> 24 & 0xFF == kind)
        where = f"table={table},priority={priority}" + (f",{match}" if match else "")
        repaired(f"rule deleted: {name}", lambda w=where: ofctl(node, "--strict", "del-flows", w), right)
        repaired(f"rule edited: {name}", lambda w=where: ofctl(node, "--strict", "mod-flows", f"{w},actions=in_port"), right)
        repaired(f"rule overwritten by another program: {name}",
                 lambda w=where: ofctl(node, "add-flow", f"cookie=0x77,{w},actions=in_port"), right)
    repaired("a rule that carries our cookie and nobody wants",
             lambda: ofctl(node, "add-flow", f"cookie=0x{OURS:x}02ffffff,table=0,priority=999,in_port=88,actions=drop"), right)
    repaired("all our rules deleted", lambda: ofctl(node, "del-flows", f"cookie=0x{OURS:x}00000000/0xffffffff00000000"), right)
    settle(world)


def test_ports_and_bridges(world: World, node: Node, repaired: Callable[..., None]) -> None:
    port = world.port("a1")
    rep, br, up = port.representor, bridge(0), uplink(0)

    def ids() -> str:
        return world.vsctl(node, "get", "Port", rep, "external_ids")

    wanted_ids, mac = ids(), link_mac(node.namespace, up)

    def on_bridge(name: str) -> bool:
        return name in world.vsctl(node, "list-ports", br).split()

    def working() -> bool:
        """The port is there, with its marks, and the pod's rules name its number."""
        if not on_bridge(rep) or ids() != wanted_ids:
            return False
        return f"in_port={world.ofport(node, rep)}" in {f["match"].split(",")[0] for f in world.flows(node, 0, "table=1")}

    repaired("port deleted", lambda: world.vsctl(node, "del-port", br, rep), working)
    repaired("port moved to another bridge",
             lambda: world.vsctl(node, "del-port", br, rep, "--", "add-port", "br-theirs", rep), working)
    repaired("external_id removed", lambda: world.vsctl(node, "remove", "Port", rep, "external_ids", "railcni"), working)
    repaired("external_id edited", lambda: world.vsctl(node, "set", "Port", rep, "external_ids:railcni=999"), working)
    repaired("fail_mode changed", lambda: world.vsctl(node, "set", "Bridge", br, "fail_mode=standalone"),
             lambda: world.vsctl(node, "get", "Bridge", br, "fail_mode") == "secure")
    repaired("in-band control allowed", lambda: world.vsctl(node, "set", "Bridge", br, "other_config:disable-in-band=false"),
             lambda: world.vsctl(node, "get", "Bridge", br, "other_config:disable-in-band") == '"true"')
    repaired("uplink removed", lambda: world.vsctl(node, "del-port", br, up),
             lambda: on_bridge(up) and world.ofport(node, up) == 1)
    repaired("hwaddr changed", lambda: world.vsctl(node, "set", "Bridge", br, 'other_config:hwaddr="02:00:00:00:00:99"'),
             lambda: world.bridge_mac(node, 0) == mac)
    repaired("a port with our mark and no attachment",
             lambda: world.vsctl(node, "add-port", br, representor(0, 7), "--", "set", "Port", representor(0, 7),
                                 "external_ids:railcni=999"), lambda: not on_bridge(representor(0, 7)))
    settle(world, seconds=45)


def test_a_dead_port_wakes_nobody_and_keeps_nobody_waiting(lone: Lone) -> None:
    """Its device is gone and somebody removes it: raild tries to add it at the pace of its back-off, though each try is two
    transactions that OVSDB tells of, and repairs whatever else happens to the rail as ever."""
    world, node = lone.world, lone.node

    def next_cfg() -> int:
        return int(world.vsctl(node, "get", "Open_vSwitch", ".", "next_cfg"))

    def failing() -> str:
        health = world.railctl(node, "get", "node")["node"]["health"]
        return next(h for h in health if h["part"] == "rail rail0").get("problem", "")

    with lone.dead_port() as (dead, alive):
        gone, there = representor_of(dead), representor_of(alive)
        wanted = {r for r in rules(world, node) if f"in_port={world.ofport(node, there)}" in r[2]}
        assert wanted
        world.vsctl(node, "del-port", bridge(0), gone)
        eventually("raild says so", failing, lambda problem: gone in problem)
        before = next_cfg()
        time.sleep(5)  # not waited for: watched
        raised = next_cfg() - before
        assert 0 < raised <= 20, f"{raised} transactions in 5 s: each try is 2, and the back-off leaves time for 5"
        ofctl(node, "del-flows", f"cookie=0x{OURS:x}00000000/0xffffffff00000000")
        eventually("the other pod's rules", lambda: wanted - rules(world, node), lambda missing: not missing, SECONDS)
        world.vsctl(node, "del-port", bridge(0), there)
        eventually("the other pod's port", lambda: there in world.vsctl(node, "list-ports", bridge(0)).split(), bool, SECONDS)
        assert gone in failing()
    eventually("it is right again", failing, lambda problem: problem == "", 45)


def test_bgp_configuration(world: World, node: Node, repaired: Callable[..., None]) -> None:
    leaf_answers(world, node)
    sessions_up(node)
    wanted = sorted(running(node))
    address = world.port("a1").ipv4
    network = next(line for line in wanted if line.startswith(f"network {address}/32"))

    def break_it() -> None:
        in_bgp, family = f"router bgp {node.asn}", "address-family ipv4 unicast"
        vty.configure(node.frr_dir, in_bgp, family, f"no {network}", "no table-map railcni-nofib", "exit-address-family", "exit",
                      "no route-map railcni-rail0-out", in_bgp, f"no neighbor {bridge(0)}")

    repaired("BGP network, table-map, route-map and neighbour removed", break_it, lambda: sorted(running(node)) == wanted)
    sessions_up(node)
    # Nobody tells raild of an edit of a route-map.
    tenants = network.split()[-1]

    def edit_them() -> None:
        vty.configure(node.frr_dir, f"route-map {tenants} permit 10", "set large-community 1:2:3", "exit",
                      "route-map railcni-rail0-out permit 5", "exit", "route-map railcni-in deny 5", "exit",
                      "route-map railcni-rail1-out permit 10", "match ip address theirs", "exit")

    repaired("BGP route-maps edited", edit_them, lambda: sorted(running(node)) == wanted, AUDIT_SECONDS)
    repaired("a tenant's BGP route-map removed", lambda: vty.configure(node.frr_dir, f"no route-map {tenants}"),
             lambda: sorted(running(node)) == wanted, AUDIT_SECONDS)
    # bgpd pushes not a word of that: the end of the connection tells.
    repaired("BGP neighbour removed", lambda: vty.configure(node.frr_dir, f"router bgp {node.asn}", f"no neighbor {bridge(0)}"),
             lambda: sorted(running(node)) == wanted)
    sessions_up(node)
    settle(world, seconds=45)


def test_what_hangs_delays_nothing_else(world: World, node: Node, repaired: Callable[..., None]) -> None:
    """bgpd stands still: rules are repaired all the same. ovs-vswitchd stands still: bgpd is. The end of the session reaches nobody
    then, so its TCP connection stays and raild sees with its audit what is missing."""
    wanted, configured = rules(world, node), sorted(running(node))
    with hanging(node, "bgpd"):
        repaired("all our rules deleted while bgpd hangs",
                 lambda: ofctl(node, "del-flows", f"cookie=0x{OURS:x}00000000/0xffffffff00000000"),
                 lambda: rules(world, node) == wanted)
    eventually("bgpd answers raild", lambda: world.railctl(node, "get", "rails"),
               lambda rails: all(r.get("bgpState") == "Established" or r.get("bgp_state") == "Established"
                                 for r in rails.get("rails", [])), 45)
    sessions_up(node)
    with hanging(node, "ovs-vswitchd"):
        repaired("BGP neighbour removed while ovs-vswitchd hangs",
                 lambda: vty.configure(node.frr_dir, f"router bgp {node.asn}", f"no neighbor {bridge(0)}"),
                 lambda: sorted(running(node)) == configured, AUDIT_SECONDS)
    settle(world, seconds=45)


def test_what_belongs_to_others_was_never_touched(world: World, node: Node, foreign: dict[str, object]) -> None:
    assert theirs(world, node) == foreign
