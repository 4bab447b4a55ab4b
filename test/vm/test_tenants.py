"""Mode `vrf` end to end: tenants with identical addresses, and what the mode costs with many of them."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from statistics import median

import pytest
from clock import Clock
from railcni_lab import daemons, kernel, vty
from railcni_lab.layout import REPOSITORY, Lab, Node
from switched import megaflows
from tables import Tables
from tenants import Pod, Site, bridge_ports, build, expected, reached, remove, usage, vlan_of
from world import eventually

MANY = int(os.environ.get("RAILCNI_TENANTS", "8"))
A, B = "team0", "team1"
GONE = f"team{MANY}"  # has one pod, which goes at once
KEPT = 300  # seconds: kTenantKept of lib/engine/attach/tenant_link.h
BEFORE = 45  # seconds before the end, to which raild's clock jumps: more than its audit needs to see that it has (30 s)


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Clock:
    """Of the raild of n2."""
    return Clock(tmp_path_factory.mktemp("clock"), Lab.from_environment().binaries)


@pytest.fixture(scope="module")
def site(clock: Clock) -> Iterator[Site]:
    yield build(devices=MANY + 3, count=MANY + 1, railds={"n2": clock.raild})


@pytest.fixture(scope="module")
def pods(site: Site) -> list[Pod]:
    """Of each tenant a pod with the same address on each node; of the first one more, whose address nobody else has."""
    began = time.monotonic()
    made = [Pod(site, node, tenant, number).add() for node in site.nodes for number, tenant in enumerate((A, B))]
    made.append(Pod(site, site.nodes[1], A, 2).add())
    print(f"five pods attached in {time.monotonic() - began:.1f} s")
    return made


@pytest.fixture(scope="module")
def gone_since(site: Site) -> float:
    """When the only pod of GONE begins to go, on the node whose daemons nobody kills: raild may see it before its last plugin has ended."""
    only = Pod(site, site.nodes[1], GONE, MANY + 2).add()
    since = time.time()
    only.delete()
    return since


def test_the_kernels_vrfs_keep_the_contract() -> None:
    """The cases of lib/netlink that a kernel without VRFs cannot run."""
    program = str(REPOSITORY / "build/tests/netlink_contract_test")
    done = subprocess.run([program, "--gtest_filter=*VrfContract*"], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, "RAILCNI_TEST_VRF": "1"})
    print(done.stdout)
    assert done.returncode == 0 and "SKIPPED" not in done.stdout, done.stdout + done.stderr


def at_once(act: Callable[[Pod], object], pods: list[Pod]) -> None:
    """One pod of a node at a time: of more, a busy guest's ovs-vswitchd answers none in time, and each is undone and asked for again."""
    with ThreadPoolExecutor(2) as pool:
        for job in [pool.submit(act, pod) for pod in pods]:
            job.result()


def right(pods: list[Pod]) -> None:
    """Everybody reaches the own tenant's pod of each address, and nobody else."""
    wanted = expected(pods)
    found = eventually("the matrix is as wanted", lambda: reached(pods), lambda seen: seen == wanted, 90)
    assert found == wanted


def test_identical_addresses_reach_their_own_tenant_alone(site: Site, pods: list[Pod], tables: Tables) -> None:
    assert pods[0].address == pods[1].address and pods[2].address == pods[3].address
    right(pods)
    for (sender, address), heard in sorted(reached(pods).items()):
        tables.row("matrix", ("sender", "to address", "heard by"), (sender, address, ", ".join(sorted(heard)) or "nobody"))
    for pod in pods:
        pod.check()
    for tenant in (A, B):
        eventually(f"the leaf has {tenant}'s addresses in its VRF", lambda t=tenant: set(site.leaf_routes(t)),
                   lambda found, t=tenant: found == {f"{p.address}/32" for p in pods if p.tenant == t}, 30)
    for node in site.nodes:
        flows = [m for m in megaflows(node) if m.source.startswith("10.0.") and m.target.startswith("10.0.")]
        assert flows and all(m.datapath == "tc" for m in flows), [m.text for m in flows if m.datapath != "tc"]


def test_the_vrf_keeps_routes_out_of_the_hosts_tables(site: Site, pods: list[Pod], gone_since: float) -> None:
    for node in site.nodes:
        links = site.links(node)
        for tenant in (A, B):
            vrf, port = links[f"railcni-0-{vlan_of(tenant)}"], links[f"rcvlan-0-{vlan_of(tenant)}"]
            assert vrf["linkinfo"]["info_kind"] == "vrf" and port["master"] == vrf["ifname"]
            assert port["address"] == links["br-rail0"]["address"]
        assert f"rcvlan-0-{vlan_of('team2')}" not in links, "it has no pod here"


def test_the_last_pods_address_goes_and_the_session_stays(site: Site, pods: list[Pod]) -> None:
    last = pods[3]
    interface = f"rcvlan-0-{vlan_of(B)}"
    before = site.bgp(site.nodes[1], f"vrf railcni-0-{vlan_of(B)} neighbors {interface}")[interface]["connectionsEstablished"]
    last.delete()
    eventually("the leaf forgets the address", lambda: set(site.leaf_routes(B)), lambda r: f"{last.address}/32" not in r, 30)
    again = Pod(site, site.nodes[1], B, 3).add()
    eventually("it is back", lambda: set(site.leaf_routes(B)), lambda r: f"{again.address}/32" in r, 30)
    after = site.bgp(site.nodes[1], f"vrf railcni-0-{vlan_of(B)} neighbors {interface}")[interface]
    assert after["bgpState"] == "Established" and after["connectionsEstablished"] == before, "it has not gone down"
    pods[3] = again


def restart(site: Site, node: Node, daemon: str) -> None:
    pid = daemons.pid_of(node, daemon)
    assert pid is not None
    daemons.kill(pid, signal.SIGKILL)
    if daemon == "raild":
        daemons.start_raild(site.lab, node)
    elif daemon == "bgpd":
        daemons.start_frr_daemon(node, "bgpd", bmp=True)
    else:
        daemons.start_vswitchd(node, "system")


@pytest.mark.parametrize("daemon", ["raild", "bgpd", "ovs-vswitchd"])
def test_a_daemon_that_is_killed_loses_nothing(site: Site, pods: list[Pod], tables: Tables, daemon: str) -> None:
    node = site.nodes[0]
    right(pods)
    began = time.monotonic()
    restart(site, node, daemon)
    lost = False
    while time.monotonic() - began < 8:
        lost = lost or any(f"{p.address}/32" not in site.leaf_routes(p.tenant) for p in pods if p.node == node)
        time.sleep(0.2)
    assert not lost, "the leaf has kept the routes of the node"
    right(pods)
    tables.row("restarts", ("killed", "leaf lost a route", "matrix right again after s, measured from the kill"),
               (daemon, "no", f"{time.monotonic() - began:.1f}"))
    for pod in pods:
        eventually(f"CHECK of {pod.name}", lambda p=pod: p.check(), lambda _: True, 60)


def test_what_somebody_removes_comes_back(site: Site, pods: list[Pod]) -> None:
    node, vlan = site.nodes[0], vlan_of(A)
    vty.configure(node.frr_dir, f"no router bgp {node.asn} vrf railcni-0-{vlan}")
    eventually("the instance is back", lambda: site.sessions(node).get(f"rcvlan-0-{vlan}"), lambda s: s == "Established", 60)
    kernel.run(["ip", "-n", node.namespace, "link", "del", f"railcni-0-{vlan}"])
    eventually("the VRF is back and its session too",
               lambda: (f"railcni-0-{vlan}" in site.links(node), site.sessions(node).get(f"rcvlan-0-{vlan}")),
               lambda s: s == (True, "Established"), 90)
    site.vsctl(node, "del-port", f"rcvlan-0-{vlan}")
    eventually("the port is back and its session too",
               lambda: (f"rcvlan-0-{vlan}" in bridge_ports(site, node), site.sessions(node).get(f"rcvlan-0-{vlan}")),
               lambda s: s == (True, "Established"), 90)
    right(pods)


def test_many_tenants_on_two_nodes(site: Site, pods: list[Pod], tables: Tables) -> None:
    few = {node.name: {d: usage(node, d) for d in ("bgpd", "raild")} for node in site.nodes}
    began = time.monotonic()

    took: list[float] = []

    def attach(pod: Pod) -> None:
        start = time.monotonic()
        pod.add()
        took.append(time.monotonic() - start)

    new = [Pod(site, node, tenant, number + 2) for number, tenant in enumerate(site.tenants) if tenant not in (A, B, GONE)
           for node in site.nodes]
    at_once(attach, new)
    attached = time.monotonic() - began
    eventually("all sessions are up", lambda: site.established(site.leaf, but=vlan_of(GONE)), lambda n: n == 2 * MANY, 120)
    up = time.monotonic() - began
    head = ("node", "tenants", "all attached s", "ADD of a first pod s: median", "longest", "ADDs asked again", "all sessions up s",
            "bgpd MB", "before", "raild MB", "before", "bgpd CPU % idle", "raild CPU % idle")
    time.sleep(10)
    start = {node.name: {d: usage(node, d) for d in ("bgpd", "raild")} for node in site.nodes}
    time.sleep(20)
    for node in site.nodes:
        end = {d: usage(node, d) for d in ("bgpd", "raild")}
        idle = {d: (end[d][1] - start[node.name][d][1]) / 20 * 100 for d in end}
        name = node.name if node == site.nodes[0] else f"{node.name}, whose raild pays for a clock that jumps"
        tables.row("vrf", head, (name, str(MANY), f"{attached:.0f}", f"{median(took):.1f}", f"{max(took):.1f}",
                                 str(site.asked_again), f"{up:.0f}", f"{end['bgpd'][0]:.0f}",
                                 f"{few[node.name]['bgpd'][0]:.0f}", f"{end['raild'][0]:.0f}", f"{few[node.name]['raild'][0]:.0f}",
                                 f"{idle['bgpd']:.1f}", f"{idle['raild']:.1f}"))
    sample = [p for p in site.pods if p.tenant in (A, B, "team2", f"team{MANY - 1}")]
    right(sample)


def test_what_a_tenant_needed_goes_five_minutes_after_its_last_pod(site: Site, gone_since: float, clock: Clock, tables: Tables) -> None:
    """By the clock of the node's raild, which jumps to BEFORE the end and stamps what raild says of it."""
    node, vlan = site.nodes[1], vlan_of(GONE)
    vrf, port = f"railcni-0-{vlan}", f"rcvlan-0-{vlan}"

    def left() -> set[str]:
        [config] = vty.session(node.frr_dir, ["show running-config"])
        found = {vrf, port} & (set(site.links(node)) | bridge_ports(site, node))
        return found | {"instance"} if f" vrf {vrf}\n" in config else found

    jump = max(0.0, gone_since + KEPT - BEFORE - time.time())
    if jump > 0:
        assert left() == {vrf, port, "instance"}
    clock.set(f"+{jump:.3f}s")
    eventually("all of it has gone", left, lambda found: found == set(), BEFORE + 120)
    said = [line.split()[0] for line in (node.log_dir / "raild.log").read_text().splitlines()
            if f"VRF {vrf} and port {port} removed" in line or f"instance of VRF {vrf} removed" in line]
    after = [datetime.fromisoformat(stamp).timestamp() - gone_since for stamp in said]
    assert len(after) == 2 and min(after) >= KEPT, said
    assert f"railcni-0-{vlan_of(A)}" in site.links(node), "a tenant that has pods keeps its own"
    tables.row("leaving", ("the last pod has gone", "VRF, port and instance go after s", "of which raild's clock has jumped"),
               (GONE, f"{max(after):.0f}", f"{jump:.0f}"))


def test_removal_takes_all_of_it_out(site: Site, pods: list[Pod]) -> None:
    """Last: the node has no RailCNI any more."""
    node = site.nodes[1]
    vty.configure(node.frr_dir, f"router bgp {node.asn} vrf blue", "neighbor eth9 interface remote-as external")
    at_once(Pod.delete, [p for p in site.pods if p.node == node])
    pid = daemons.pid_of(node, "raild")
    assert pid is not None
    daemons.kill(pid, signal.SIGTERM)
    print(remove(site, node))
    assert not [name for name in site.links(node) if name.startswith(("railcni-", "rcvlan-"))]
    [config] = vty.session(node.frr_dir, ["show running-config"])
    left = [line for line in config.splitlines() if line.strip("! ") and not line.startswith("!")]  # without comments
    assert not [line for line in left if "railcni" in line] and f"router bgp {node.asn} vrf blue" in left, config
