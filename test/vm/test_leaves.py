"""The published leaves of mode `vrf`, on a kernel that has VRFs: two of them back to back, a node with two tenants behind each, and the
same addresses in both tenants. A node's side is plain FRR: what is tested is the leaf."""

from __future__ import annotations

import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from railcni_lab import daemons, kernel, vty
from railcni_lab.fabric import frr  # it knows where railcni_leaves is
from railcni_lab.layout import LEAVES, Host
from railcni_leaves.leaf import EVPN, LITE, Leaf
from railcni_leaves.site import read
from world import eventually

ROOT = Path("/run/railcni-leaves")
COMMUNITY = 4200000000
BOTH, ONE = "10.1.0.5", "10.1.0.6"  # of a pod in each tenant behind leaf a; of a pod in team-a alone behind leaf b


@dataclasses.dataclass
class Fabric:
    a: Host
    b: Host
    leaf: Leaf

    def route(self, host: Host, tenant: str, prefix: str) -> dict[str, Any]:
        return vty.show_json(host.frr_dir, f"show bgp vrf {tenant} ipv4 unicast {prefix} json")

    def communities(self, host: Host, tenant: str, prefix: str) -> list[str]:
        return [path.get("largeCommunity", {}).get("string", "") for path in self.route(host, tenant, prefix).get("paths", [])]


def host(name: str, asn: int, router_id: str) -> Host:
    made = Host(name, name, ROOT / name, asn, router_id)
    kernel.run(["ip", "netns", "add", made.namespace])
    kernel.sysctl(made.namespace, {"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
    kernel.links_up(made.namespace, ["lo"])
    return made


def wire(one: Host, port: str, other: Host, other_port: str) -> None:
    kernel.ip_batch([f"link add {port} netns {one.namespace} type veth peer name {other_port} netns {other.namespace}"])
    kernel.links_up(one.namespace, [port])
    kernel.links_up(other.namespace, [other_port])


def start(each: Host, config: str) -> None:
    daemons.prepare(each)
    daemons.start_frr(each)
    file = each.root / "frr.conf"
    file.write_text(config)
    kernel.run(["vtysh", "--vty_socket", str(each.frr_dir), "-f", str(file)])


def node(each: Host, leaf: Leaf, announced: dict[str, list[str]]) -> None:
    """A table, a VLAN and a session for each tenant; `announced`: tenant -> prefixes."""
    lines, config = [], ["ip prefix-list ALL seq 10 permit any", "bgp as-path access-list OWN seq 5 permit ^$"]
    for tenant in leaf.tenants:
        lines += [f"link add {tenant.name} type vrf table {1000 + tenant.vlan}", f"link set {tenant.name} up",
                  f"link add link rail name rail.{tenant.vlan} type vlan id {tenant.vlan}", f"link set rail.{tenant.vlan} master {tenant.name}",
                  f"link set rail.{tenant.vlan} up"]
        lines += [f"addr add {p} dev {tenant.name}" for p in announced[tenant.name] if p.endswith("/32")]
        config += [f"route-map {tenant.name} permit 10", f" set large-community {COMMUNITY}:1:{tenant.vlan}", "exit",
                   f"router bgp {each.asn} vrf {tenant.name}", f" bgp router-id {each.router_id}", " no bgp ebgp-requires-policy",
                   " no bgp network import-check", f" neighbor rail.{tenant.vlan} interface remote-as external",
                   f" neighbor rail.{tenant.vlan} timers 3 9", f" neighbor rail.{tenant.vlan} timers connect 1", " address-family ipv4 unicast",
                   f"  neighbor rail.{tenant.vlan} filter-list OWN out", *(f"  network {p} route-map {tenant.name}" for p in announced[tenant.name]),
                   " exit-address-family", "exit"]
    kernel.ip_batch(lines, each.namespace)
    start(each, "\n".join(config) + "\n")


@pytest.fixture(scope="module", params=[EVPN, LITE])
def fabric(request: pytest.FixtureRequest) -> Iterator[Fabric]:
    site = read(LEAVES / "site.json")
    published = next(leaf for leaf in site.leaves if leaf.between == request.param and leaf.tenants)
    one = site.named(published, lambda n: f"swp{n}")
    other = dataclasses.replace(one, name="b", asn=one.asn + 1, router_id="10.255.1.2", vtep="10.255.3.2" if one.vtep else "")
    short = request.param[:1]
    a, b = host(f"{short}a", one.asn, one.router_id), host(f"{short}b", other.asn, other.router_id)
    nodes = [host(f"{short}n{i}", 4200000000 + i, f"10.255.0.{i}") for i in (1, 2)]
    for each, behind in ((a, nodes[0]), (b, nodes[1])):
        wire(each, "swp1", behind, "rail")
        kernel.ip_batch(["link add swp2 type dummy", "link set swp2 up"], each.namespace)
    for port in one.fabric:
        wire(a, port.name, b, port.name)
    for each, told in ((a, one), (b, other)):
        kernel.run(["ip", "-n", each.namespace, "-batch", "-"], stdin=frr.links(told))
        kernel.sysctl(each.namespace, frr.sysctls(told))
    start(a, (LEAVES / f"frr/{published.name}.conf").read_text())
    start(b, frr.render(other))
    node(nodes[0], one, {"team-a": [f"{BOTH}/32", "10.1.0.0/24", "172.16.0.1/32"], "team-b": [f"{BOTH}/32"]})
    node(nodes[1], one, {"team-a": [f"{ONE}/32"], "team-b": []})
    yield Fabric(a, b, one)
    for each in (a, b, *nodes):
        daemons.end(pid for pid in (daemons.pid_of(each, d) for d in ("zebra", "bgpd")) if pid is not None)


def test_one_address_in_two_tenants_reaches_the_other_leaf_in_each_ones_table(fabric: Fabric) -> None:
    for tenant in fabric.leaf.tenants:
        for where in (fabric.a, fabric.b):
            eventually(f"{where.name}: {BOTH} of {tenant.name} with its own communities",
                       lambda w=where, t=tenant: fabric.communities(w, t.name, f"{BOTH}/32"),
                       lambda found, t=tenant: bool(found) and set(found) == {f"{COMMUNITY}:1:{t.vlan}"}, 60)
    eventually(f"{ONE} of team-a", lambda: fabric.communities(fabric.a, "team-a", f"{ONE}/32"), bool, 60)
    assert not fabric.communities(fabric.a, "team-b", f"{ONE}/32"), "team-b has no such pod"


def test_a_tenants_table_takes_host_routes_of_its_ranges_alone(fabric: Fabric) -> None:
    eventually("what is its own is there", lambda: fabric.communities(fabric.a, "team-a", f"{BOTH}/32"), bool, 60)
    for prefix in ("10.1.0.0/24", "172.16.0.1/32"):
        found = fabric.route(fabric.a, "team-a", prefix)
        assert found.get("prefix") != prefix or not found.get("paths"), found


def pings(namespace: str, tenant: str, address: str) -> bool:
    done = subprocess.run(["ip", "netns", "exec", namespace, "ping", "-c1", "-W1", "-I", tenant, address], capture_output=True, check=False)
    return done.returncode == 0


def test_packets_stay_in_their_tenant(fabric: Fabric) -> None:
    behind_a = fabric.a.name[:1] + "n1"
    eventually("team-a's pods reach each other", lambda: pings(behind_a, "team-a", ONE), bool, 60)
    assert not pings(behind_a, "team-b", ONE), "team-b's pod of the same address does not reach team-a's"
