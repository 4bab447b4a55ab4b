"""CHECK finds whatever is broken: each thing is broken for real, CHECK names it, it is mended, CHECK is content.

Real plugins, Open vSwitch, FRRouting and kernel. raild does not run meanwhile: it would mend before CHECK looks.
"""

from __future__ import annotations

import re
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from railcni_lab import daemons, fabric, kernel, pods, vty
from railcni_lab.chain import Attachment, Chain, PluginError
from railcni_lab.layout import Node, bridge
from world import World, kill_raild

ROUTE = "198.18.0.0/15"  # of IPAM, beside the rail's own
TABLE, METRIC = "524100", "2000"  # of the rail with index 0


@dataclass(frozen=True)
class Attached:
    """The attachment under test, and all that a test needs to break and to mend it."""

    world: World
    node: Node
    chain: Chain
    attachment: Attachment
    result: dict[str, Any]

    @property
    def ipv4(self) -> str:
        return str(self.result["ips"][0]["address"]).split("/")[0]

    @property
    def ipv6(self) -> str:
        return str(self.result["ips"][1]["address"]).split("/")[0]

    def gateway(self, family: str) -> str:
        return str(self.result["ips"][0 if family == "-4" else 1]["gateway"])

    @property
    def mac(self) -> str:
        return str(self.result["interfaces"][1]["mac"])

    @property
    def representor(self) -> str:
        return str(self.result["interfaces"][0]["name"])

    def ip(self, *words: str) -> None:
        subprocess.run(["nsenter", f"--net={self.attachment.netns}", "ip", *words], check=True, capture_output=True, timeout=10)

    def try_ip(self, *words: str) -> None:
        subprocess.run(["nsenter", f"--net={self.attachment.netns}", "ip", *words], check=False, capture_output=True, timeout=10)

    def mend_pod(self) -> None:
        """The inside of the pod as ADD leaves it, by iproute2 alone."""
        mac = self.world.gateway_mac(0)
        self.ip("link", "set", "net1", "mtu", "4200", "up")
        for address, length, family in ((self.ipv4, 32, "-4"), (self.ipv6, 128, "-6")):
            gateway = self.gateway(family)
            default = "0.0.0.0/0" if family == "-4" else "::/0"
            nodad = ["nodad"] if family == "-6" else []
            self.try_ip("address", "add", f"{address}/{length}", "dev", "net1", *nodad)
            self.ip("neighbour", "replace", gateway, "lladdr", mac, "dev", "net1", "nud", "permanent")
            self.ip(family, "route", "replace", default, "via", gateway, "dev", "net1", "onlink", "table", TABLE)
            if f"from {address} lookup {TABLE}" not in self.rules(family):
                self.ip(family, "rule", "add", "pref", "700", "from", address, "lookup", TABLE)
            if f"oif net1 lookup {TABLE}" not in self.rules(family):
                self.ip(family, "rule", "add", "pref", "800", "oif", "net1", "lookup", TABLE)
        for to in (ROUTE, "default"):
            self.ip("route", "replace", to, "via", self.gateway("-4"), "dev", "net1", "onlink", "metric", METRIC)
        self.sysctl("net/ipv4/conf/net1/arp_ignore", "1")

    def rules(self, family: str) -> str:
        return subprocess.run(["nsenter", f"--net={self.attachment.netns}", "ip", family, "rule"], check=True,
                              capture_output=True, text=True, timeout=10).stdout

    def sysctl(self, key: str, value: str) -> None:
        with kernel.inside(pods.namespace(self.world.lab, "checked")):
            Path("/proc/sys", key).write_text(value)

    def ofctl(self, *words: str, rail: int = 0) -> str:
        target = f"unix:{self.node.ovs_dir}/{bridge(rail)}.mgmt"
        command, *rest = words
        options = ["--strict"] if command in ("del-flows", "mod-flows") else []
        return kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "--no-names", "--no-stats", *options, command, target, *rest])

    def state(self, sql: str, *values: str) -> None:
        with closing(sqlite3.connect(self.node.root / "var/lib/railcni/state.db", timeout=10)) as db, db:
            db.execute(sql, values)

    def recorded(self, column: str) -> Any:
        with closing(sqlite3.connect(f"file:{self.node.root}/var/lib/railcni/state.db?mode=ro", uri=True, timeout=10)) as db:
            return db.execute(f"SELECT {column} FROM attachment WHERE container_id = ?",
                              (self.attachment.container_id,)).fetchone()[0]

    def bgp(self, *lines: str) -> None:
        """Lines from bgpd's configuration node, in the default instance."""
        vty.configure(self.node.frr_dir, f"router bgp {self.node.asn}", *lines)

    def check_names(self, plugin: str, named: str) -> None:
        with pytest.raises(PluginError, match=named) as error:
            self.chain.check(self.attachment)
        assert error.value.plugin == plugin


@pytest.fixture(scope="module")
def at(world: World) -> Iterator[Attached]:
    lab, node = world.lab, world.lab.find_node("n1")
    pod = pods.add(lab, "checked", "n1", "tenant-c", [0])
    attachment = pods.attachment(lab, pod, 0)
    chain = pods.chain(lab, node, 0)
    chain.delete(attachment)
    chain.plugins[0]["ipam"]["routes"] = [{"dst": ROUTE}, {"dst": "0.0.0.0/0"}]
    chain.version = "1.0.0"
    result = chain.add(attachment)
    kill_raild(node)
    try:
        yield Attached(world, node, chain, attachment, result)
    finally:
        daemons.start_raild(lab, node)
        daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), 30)
        fabric.wait_for_bridges(node, lab.shape().rails)
        chain.delete(attachment)
        pods.delete(lab, "checked")


@dataclass(frozen=True)
class Fault:
    name: str
    breaks: Callable[[Attached], Any]
    named: Callable[[Attached], str]  # a regular expression
    mends: Callable[[Attached], Any] = Attached.mend_pod
    plugin: str = "ovs-provider"


def delete_port(at: Attached) -> None:
    at.world.vsctl(at.node, "del-port", bridge(0), at.representor)


def add_port(at: Attached, rail: int = 0) -> None:
    at.world.vsctl(at.node, "add-port", bridge(rail), at.representor, "--", "set", "Interface", at.representor,
                   f"ofport_request={at.recorded('ofport')}")


def move_port(at: Attached) -> None:
    delete_port(at)
    add_port(at, rail=1)


def return_port(at: Attached) -> None:
    at.world.vsctl(at.node, "del-port", bridge(1), at.representor)
    add_port(at)


def withdraw(at: Attached) -> None:
    at.bgp("address-family ipv4 unicast", f"no network {at.ipv4}/32 route-map {route_map(at)}")


def announce(at: Attached) -> None:
    at.bgp("address-family ipv4 unicast", f"network {at.ipv4}/32 route-map {route_map(at)}")


def route_map(at: Attached) -> str:
    return f"railcni-rail0-{at.recorded('tenant_id')}"


FAULTS = [
    Fault("address removed", lambda at: at.ip("address", "del", f"{at.ipv4}/32", "dev", "net1"),
          lambda at: f"address {re.escape(at.ipv4)}/32 is missing"),
    Fault("IPv6 address removed", lambda at: at.ip("address", "del", f"{at.ipv6}/128", "dev", "net1"),
          lambda at: f"address {at.ipv6}/128 is missing"),
    Fault("rail's route removed", lambda at: at.ip("route", "del", "default", "table", TABLE),
          lambda at: rf"route 0\.0\.0\.0/0 via {re.escape(at.gateway('-4'))} .*table {TABLE} is missing"),
    Fault("rail's IPv6 route removed", lambda at: at.ip("-6", "route", "del", "default", "table", TABLE),
          lambda at: f"route ::/0 via {at.gateway('-6')} .*table {TABLE} is missing"),
    Fault("IPAM's route removed", lambda at: at.ip("route", "del", ROUTE), lambda at: f"route {re.escape(ROUTE)} .* is missing"),
    Fault("route changed", lambda at: at.ip("route", "replace", ROUTE, "via", at.gateway("-4"), "dev", "net1", "onlink", "metric", METRIC, "mtu", "1400"),
          lambda at: f"route {re.escape(ROUTE)} .* was changed"),
    Fault("pod's default route removed", lambda at: at.ip("route", "del", "default"),
          lambda at: rf"route 0\.0\.0\.0/0 via {re.escape(at.gateway('-4'))} .*table 254 metric {METRIC} is missing"),
    Fault("rule by address removed", lambda at: at.ip("rule", "del", "pref", "700"),
          lambda at: f"policy rule .*{re.escape(at.ipv4)}.* is missing"),
    Fault("rule by interface removed", lambda at: at.ip("rule", "del", "pref", "800"), lambda at: "policy rule .*net1.* is missing"),
    Fault("IPv6 rule by address removed", lambda at: at.ip("-6", "rule", "del", "pref", "700"),
          lambda at: f"policy rule .*{at.ipv6}.* is missing"),
    Fault("neighbour removed", lambda at: at.ip("neighbour", "del", at.gateway("-4"), "dev", "net1"),
          lambda at: f"neighbour entry of gateway {re.escape(at.gateway('-4'))} is missing"),
    Fault("neighbour changed", lambda at: at.ip("neighbour", "replace", at.gateway("-4"), "lladdr", "02:00:00:00:00:99", "dev", "net1",
                                                "nud", "permanent"),
          lambda at: "02:00:00:00:00:99 instead of"),
    Fault("MTU changed", lambda at: at.ip("link", "set", "net1", "mtu", "1500"), lambda at: "MTU is 1500 instead of 4200"),
    Fault("MAC changed", lambda at: at.ip("link", "set", "net1", "address", "02:66:66:66:66:66"),
          lambda at: f"MAC address is 02:66:66:66:66:66 instead of {at.mac}",
          lambda at: (at.ip("link", "set", "net1", "address", at.mac), at.mend_pod())),
    Fault("interface down", lambda at: at.ip("link", "set", "net1", "down"), lambda at: "net1: the interface is down"),
    Fault("interface renamed", lambda at: (at.ip("link", "set", "net1", "down"), at.ip("link", "set", "net1", "name", "other")),
          lambda at: "net1: there is no such interface",
          lambda at: (at.ip("link", "set", "other", "name", "net1"), at.mend_pod())),
    Fault("sysctl changed", lambda at: at.sysctl("net/ipv4/conf/net1/arp_ignore", "0"), lambda at: "arp_ignore is 0 instead of 1"),
    Fault("port removed", delete_port, lambda at: f"representor {at.representor} is not a port of bridge {bridge(0)}", add_port),
    Fault("port on another bridge", move_port, lambda at: f"representor {at.representor} is on bridge {bridge(1)}, not on {bridge(0)}",
          return_port),
    Fault("announcement withdrawn", withdraw, lambda at: f"does not announce {re.escape(at.ipv4)}/32", announce, "frr-provider"),
    Fault("record missing", lambda at: at.state("UPDATE attachment SET ifname = 'hidden' WHERE container_id = ?",
                                                at.attachment.container_id),
          lambda at: "is not in this node's record",
          lambda at: at.state("UPDATE attachment SET ifname = 'net1' WHERE container_id = ?", at.attachment.container_id)),
    Fault("addresses lost in IPAM", lambda at: hide_leases(at, True), lambda at: "ipam host-local: ", lambda at: hide_leases(at, False)),
    Fault("another tenant in the record", lambda at: turn_tenant(at),
          lambda at: "the pod is in tenant tenant-c",
          lambda at: turn_tenant(at), "tenant-isolation"),
]


def turn_tenant(at: Attached) -> None:
    """The id backwards; a second time puts it right again."""
    at.state("UPDATE attachment SET tenant_id = ? WHERE container_id = ?", at.recorded("tenant_id")[::-1], at.attachment.container_id)


def hide_leases(at: Attached, hide: bool) -> None:
    folder = at.node.ipam_dir / at.chain.name
    for address in (at.ipv4, at.ipv6):
        there, hidden = folder / address, folder.parent / f"hidden-{address}"
        (there if hide else hidden).rename(hidden if hide else there)


@pytest.mark.parametrize("fault", FAULTS, ids=[f.name.replace(" ", "-") for f in FAULTS])
def test_b08_check_finds(at: Attached, fault: Fault) -> None:
    at.chain.check(at.attachment)
    fault.breaks(at)
    try:
        at.check_names(fault.plugin, fault.named(at))
    finally:
        fault.mends(at)
    at.chain.check(at.attachment)


def test_b08_check_allows_a_default_route_that_another_interface_has(at: Attached) -> None:
    """What Multus does for `default-route`: it takes those of the other networks away."""
    at.ip("link", "add", "eth0", "type", "veth", "peer", "name", "eth0p")
    at.ip("link", "set", "eth0", "up")
    try:
        at.ip("route", "del", "default", "dev", "net1")
        at.ip("route", "replace", "default", "dev", "eth0")
        at.chain.check(at.attachment)
    finally:
        at.ip("link", "del", "eth0")
        at.mend_pod()
    at.chain.check(at.attachment)


def own_rules(at: Attached) -> list[tuple[str, str, str]]:
    """Every rule that the attachment lives by, as (whole line for add-flow, strict match, actions): its own, its tenant's and the
    bridge's."""
    number, tenant = at.recorded("id"), at.recorded("tenant_id")
    ours = re.compile(rf"cookie=0x5241494c(?:01[0-9a-f]{{6}}|0[23]{number:06x}|04{tenant[-6:]}),", re.I)
    found = []
    for line in at.ofctl("dump-flows").splitlines():
        line = line.strip()
        if "actions=" not in line:
            continue
        head, _, actions = line.partition(" actions=")
        match = ",".join(word.strip() for word in head.split(",") if not word.strip().startswith("cookie="))
        if ours.search(line):
            found.append((line, match, actions))
    return found


def test_b08_check_finds_each_rule_that_is_removed_or_changed(at: Attached) -> None:
    at.chain.check(at.attachment)
    rules = own_rules(at)
    tables = {int(re.search(r"table=(\d+)", match)[1]) if "table=" in match else 0 for _, match, _ in rules}
    assert tables == {0, 1, 2, 3, 4, 5, 6, 7}, "the attachment has rules in every table"
    missed = []
    for whole, match, actions in rules:
        table = re.search(r"table=(\d+)", match)
        named = f"table={table[1] if table else 0},"
        for how, command in (("removed", ["del-flows", match]), ("changed", ["mod-flows", f"{match} actions={changed(actions)}"])):
            at.ofctl(*command)
            try:
                at.chain.check(at.attachment)
                missed.append(f"{how}: {whole}")
            except PluginError as error:
                if "lacks the rule" not in error.message or named not in error.message:
                    missed.append(f"{how}: {whole}: not named by {error.message}")
            finally:
                at.ofctl("del-flows", match)
                at.ofctl("add-flow", whole)
    assert not missed, "\n".join(missed)
    at.chain.check(at.attachment)
    print(f"{len(rules)} rules, each removed and each changed")


def changed(actions: str) -> str:
    return "drop" if actions != "drop" else "IN_PORT"
