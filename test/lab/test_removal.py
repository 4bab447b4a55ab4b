"""`raild --remove` takes RailCNI from a node: everything that can be asked of Open vSwitch, FRRouting and the kernel is compared with what
it said before RailCNI was there; of an uplink alone it says what stays, and the operator sets it. n1 belongs to somebody: a bridge with
rules beside ours, a BGP instance with a neighbor, IPv6 on an uplink. n2 has nothing of all this."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import LAB
from railcni_lab import daemons, fabric, kernel, pods, vty
from railcni_lab.layout import MTU, Lab, Node, Shape, bridge, representor, uplink
from world import World, eventually

REMOVED, REFUSED, SOME_IS_LEFT = 0, 1, 3
# What Open vSwitch itself writes all the time.
VOLATILE = {"_version", "next_cfg", "cur_cfg", "statistics", "status", "link_resets", "link_state", "link_speed", "ifindex",
            "duplex", "mac_in_use", "datapath_id", "datapath_version", "manager_options", "db_version", "last_change"}


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """2 nodes, 2 rails, and no raild yet."""
    lab = Lab(f"x{os.getpid()}", Lab.from_environment().binaries)
    before, request.config.stash[LAB] = request.config.stash.get(LAB, None), lab
    try:
        fabric.require(lab)
        lab.create(Shape(nodes=2, rails=2, spines=0, devices=2))
        fabric.make_network(lab, lab.shape(), [*lab.nodes(), *lab.leaves()])
        for node in lab.nodes():
            prepare(lab, node)
        for rail in range(lab.shape().rails):
            fabric.start_leaf(lab, rail)
        own(lab.find_node("n1"))
        yield lab
    finally:
        if "RAILCNI_TEST_KEEP_LAB" not in os.environ:
            fabric.down(lab)
        if before is not None:
            request.config.stash[LAB] = before


@pytest.fixture(scope="module")
def before(lab: Lab) -> dict[str, dict[str, Any]]:
    return {node.name: snapshot(lab, node) for node in lab.nodes()}


def prepare(lab: Lab, node: Node) -> None:
    daemons.prepare(node)
    daemons.start_ovs(node, lab.shape().datapath)
    daemons.start_frr(node, bmp=True)


def own(node: Node) -> None:
    """What somebody else has on n1."""
    ip = ["ip", "-n", node.namespace]
    kernel.sysctl(node.namespace, {f"net/ipv6/conf/{uplink(0)}/accept_dad": 0, f"net/ipv6/conf/{uplink(0)}/disable_ipv6": 0})
    kernel.run([*ip, "address", "add", "2001:db8:7::1/64", "dev", uplink(0), "nodad"])
    kernel.run([*ip, "link", "add", "theirs0", "type", "veth", "peer", "name", "theirs1"])
    vsctl(node, "set", "Open_vSwitch", ".", "other_config:max-idle=30000", "external_ids:theirs=1")
    vsctl(node, "add-br", "br-theirs", "--", "set", "Bridge", "br-theirs", "datapath_type=netdev", "external_ids:whose=theirs", "--",
          "add-port", "br-theirs", "theirs1")
    ofctl(node, "add-flow", "br-theirs", "priority=7,cookie=0x77,in_port=42,actions=drop")
    vty.configure(node.frr_dir, "route-map theirs permit 10", "exit", f"router bgp {node.asn}", f"bgp router-id {node.router_id}",
                  "bgp graceful-restart", "neighbor 192.0.2.1 remote-as 65000", "address-family ipv4 unicast", "network 192.0.2.0/24",
                  "exit-address-family", "exit")


def vsctl(node: Node, *words: str) -> str:
    return kernel.run(["ovs-vsctl", f"--db=unix:{node.ovs_dir}/db.sock", "--timeout=10", *words])


def ofctl(node: Node, command: str, bridge_name: str, *words: str) -> str:
    return kernel.run(["ovs-ofctl", "-O", "OpenFlow15", command, f"unix:{node.ovs_dir}/{bridge_name}.mgmt", *words])


def frr_config(node: Node, daemon: str = "bgpd") -> str:
    [text] = vty.session(node.frr_dir, ["show running-config"], daemon)
    assert "frr version" in text, text
    return "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("!"))


def snapshot(lab: Lab, node: Node) -> dict[str, Any]:
    """All that can be asked, but for what changes by itself."""
    seen: dict[str, Any] = {}
    for table in ("Open_vSwitch", "Bridge", "Port", "Interface", "Flow_Table", "Controller", "Mirror", "QoS"):
        answer = json.loads(vsctl(node, "-f", "json", "list", table))
        for row in answer["data"]:
            columns = {c: v for c, v in zip(answer["headings"], row, strict=True) if c not in VOLATILE}
            seen[f"{table} {columns.get('name', '')} {columns['_uuid'][1]}"] = columns
    for name in vsctl(node, "list-br").split():
        flows = ofctl(node, "dump-flows", name, "--no-stats").splitlines()
        seen[f"rules of {name}"] = sorted(line.strip() for line in flows if "OFPST" not in line)
    for daemon in ("bgpd", "zebra"):
        seen[daemon] = frr_config(node, daemon)
    seen["sysctls"] = sysctls(node)
    for family in ("-4", "-6"):
        seen[f"routes {family}"] = kernel.run(["ip", "-n", node.namespace, family, "route", "show", "table", "all"])
        seen[f"rules {family}"] = kernel.run(["ip", "-n", node.namespace, family, "rule"])
    for link in json.loads(kernel.run(["ip", "-n", node.namespace, "-d", "-j", "address"])):
        kept = ["ifname", "mtu", "address", "promiscuity", "linkinfo"]
        # ovs-vswitchd reads and writes the flags of a port that it lets go while a DEL sets the representor down: either may win.
        if not link["ifname"].startswith(("rep", "vf")):
            kept += ["flags", "operstate"]
        seen[f"link {link['ifname']}"] = {key: link.get(key) for key in kept} | {
            "addresses": sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])}
    seen["files"] = sorted(str(p.relative_to(node.root)) for part in ("etc", "var", "run/railcni") for p in
                           (node.root / part).rglob("*") if "openvswitch" not in p.parts and "cni" not in p.parts)
    return seen


def sysctls(node: Node) -> dict[str, str]:
    with kernel.inside(node.namespace):
        text = subprocess.run(["sysctl", "-a", "-r", r"^net\.ipv[46]\.(conf|neigh)\."], capture_output=True, text=True,
                              check=False).stdout
    return dict(line.split(" = ", 1) for line in text.splitlines() if " = " in line)


def differences(now: dict[str, Any], was: dict[str, Any]) -> list[str]:
    return [f"{key}:\n  was {was.get(key)}\n  is  {now.get(key)}" for key in sorted({*now, *was}) if now.get(key) != was.get(key)]


def as_told(node: Node, text: str) -> None:
    """What the operator is told to see to."""
    for name in re.findall(r"stays: uplink (\S+) keeps its MTU; IPv6 is as by default", text):
        set_up(node, name)


def set_up(node: Node, name: str) -> None:
    """An uplink, as it was."""
    kernel.run(["ip", "-n", node.namespace, "link", "set", name, "mtu", str(MTU)])
    if (node.name, name) == ("n1", uplink(0)):
        kernel.run(["ip", "-n", node.namespace, "address", "add", "2001:db8:7::1/64", "dev", name, "nodad"])
    else:
        kernel.sysctl(node.namespace, {f"net/ipv6/conf/{name}/disable_ipv6": 1})


def as_before(lab: Lab, node: Node, before: dict[str, dict[str, Any]]) -> None:
    """bgpd and the kernel take a moment to end what was removed."""
    eventually(f"{node.name} is as before", lambda: differences(snapshot(lab, node), before[node.name]), lambda d: not d, 10)


def start(lab: Lab, node: Node) -> None:
    (node.root / "etc/railcni").mkdir(parents=True, exist_ok=True)
    (node.root / "run/railcni").mkdir(parents=True, exist_ok=True)
    node.config_file.write_text(json.dumps(fabric.node_config(lab, node)))
    daemons.start_raild(lab, node)
    fabric.wait_for_bridges(node, 2)
    eventually(f"{node.name}'s sessions", lambda: vty.sessions(node.frr_dir), lambda s: all(
        s.get(bridge(r)) == "Established" for r in range(2)), 30)


def stop(node: Node) -> None:
    pid = daemons.pid_of(node, "raild")
    assert pid is not None
    daemons.end([pid])


def command(lab: Lab, node: Node, *words: str) -> subprocess.Popen[str]:
    with kernel.inside(node.namespace):
        return subprocess.Popen([str(lab.binaries / "raild"), "--remove", *words], stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env={**os.environ, "RAILCNI_ROOT": str(node.root)})


def remove(lab: Lab, node: Node, *words: str) -> tuple[int, str]:
    process = command(lab, node, *words)
    text, _ = process.communicate(timeout=120)
    as_told(node, text)
    return process.returncode, text


def with_pods(lab: Lab, node: Node) -> None:
    start(lab, node)
    for name, tenant in (("a", "tenant-a"), ("b", "tenant-b")):
        pods.add(lab, f"{name}-{node.name}", node.name, tenant, None)


def delete_pods(lab: Lab) -> None:
    for pod in pods.all_pods(lab):
        pods.delete(lab, pod.name)
    for node in lab.nodes():  # what IPAM and libcni keep by themselves
        kernel.run(["rm", "-rf", str(node.root / "var/lib/cni")])


@pytest.mark.parametrize("name", ["n1", "n2"])
def test_a_node_is_given_back(lab: Lab, before: dict[str, dict[str, Any]], name: str) -> None:
    node = lab.find_node(name)
    with_pods(lab, node)
    status, text = remove(lab, node)
    assert status == REFUSED and "does raild run?" in text, text
    stop(node)
    running = snapshot(lab, node)
    status, text = remove(lab, node)
    assert status == REFUSED and f"lives: pod tenant-a/a-{name} net1 on rail0 (device vf0x" in text, text
    assert "4 attachments live" in text, text
    assert not differences(snapshot(lab, node), running), "it refused and changed something"
    delete_pods(lab)
    status, text = remove(lab, node)
    assert status == REMOVED, text
    as_before(lab, node, before)
    status, text = remove(lab, node)
    assert status == REMOVED and "nothing of RailCNI is on this node" in text, text
    as_before(lab, node, before)


def test_pods_lose_their_network_by_force_and_their_dels_still_work(lab: Lab, before: dict[str, dict[str, Any]]) -> None:
    node = lab.find_node("n1")
    with_pods(lab, node)
    stop(node)
    status, text = remove(lab, node, "--force")
    assert status == SOME_IS_LEFT, text
    assert "LEFT: pod tenant-a/a-n1 has lost its network and still has its sandbox" in text, text
    links = kernel.links(node.namespace)
    assert {f"vf{r}x{i}" for r in range(2) for i in range(2)} <= links, "the devices are at home"
    assert bridge(1) not in vsctl(node, "list-br").split()
    delete_pods(lab)
    status, text = remove(lab, node)
    assert status == REMOVED, text
    as_before(lab, node, before)


def test_a_removal_that_is_killed_goes_on(lab: Lab, before: dict[str, dict[str, Any]]) -> None:
    node = lab.find_node("n2")
    with_pods(lab, node)
    stop(node)
    delete_pods(lab)
    switch = daemons.pid_of(node, "ovs-vswitchd")
    assert switch is not None
    os.kill(switch, signal.SIGSTOP)
    try:
        process = command(lab, node)
        # It waits for ovs-vswitchd to let the first bridge go.
        eventually("the first bridge", lambda: vsctl(node, "list-br").split(), lambda names: bridge(0) not in names)
        assert process.poll() is None
        process.kill()
        process.communicate()
    finally:
        os.kill(switch, signal.SIGCONT)
    assert bridge(1) in vsctl(node, "list-br").split(), "in the middle"
    set_up(node, uplink(0))  # it did not come to say so
    status, text = remove(lab, node)
    assert status == REMOVED, text
    as_before(lab, node, before)


def test_what_cannot_be_asked_is_left_for_the_next_try(lab: Lab, before: dict[str, dict[str, Any]]) -> None:
    node = lab.find_node("n2")
    start(lab, node)
    stop(node)
    pid = daemons.pid_of(node, "ovsdb-server")
    assert pid is not None
    daemons.kill(pid)
    status, text = remove(lab, node)
    assert status == SOME_IS_LEFT, text
    assert re.search(r"LEFT: bridges of Open vSwitch: connect to .*db\.sock", text), text
    assert "router bgp" not in frr_config(node), "bgpd's part stands alone"
    assert not node.config_file.exists(), "no plugin begins anything now"
    daemons.start_ovsdb(node)
    status, text = remove(lab, node)
    assert status == REMOVED, text
    as_before(lab, node, before)


def test_others_keep_what_they_did_meanwhile(lab: Lab, before: dict[str, dict[str, Any]]) -> None:
    node = lab.find_node("n2")
    start(lab, node)
    stop(node)
    vty.configure(node.frr_dir, f"router bgp {node.asn}", "neighbor 192.0.2.9 remote-as 65009", "exit")
    kernel.run(["ip", "-n", node.namespace, "link", "add", "late0", "type", "veth", "peer", "name", "late1"])
    vsctl(node, "add-port", bridge(0), "late0")
    status, text = remove(lab, node)
    assert status == SOME_IS_LEFT, text
    assert "it has ports of others: late0" in text, text
    config = frr_config(node)
    assert "neighbor 192.0.2.9 remote-as 65009" in config and "railcni" not in config and bridge(0) not in config, config
    vsctl(node, "del-port", bridge(0), "late0")
    kernel.run(["ip", "-n", node.namespace, "link", "del", "late0"])
    status, text = remove(lab, node)
    assert status == REMOVED, text
    vty.configure(node.frr_dir, f"no router bgp {node.asn}")
    as_before(lab, node, before)


def test_a_node_of_a_version_without_a_record_keeps_what_may_be_somebody_elses(lab: Lab, before: dict[str, dict[str, Any]]) -> None:
    node = lab.find_node("n2")
    start(lab, node)
    stop(node)
    (node.root / "var/lib/railcni/origin.json").unlink()
    start(lab, node)  # the new version finds what the old one has made
    stop(node)
    status, text = remove(lab, node)
    assert status == REMOVED, text
    assert "stays: bgpd: a version that kept no record" in text, text
    assert vsctl(node, "list-br").split() == [], "the mark says whose the bridges were"
    assert "railcni" not in frr_config(node)
    vty.configure(node.frr_dir, f"no router bgp {node.asn}")  # what the operator is told to do
    as_before(lab, node, before)


@pytest.mark.parametrize("fail_mode", ["standalone", "secure"])
def test_a_bridge_of_others_is_not_changed(lab: Lab, fail_mode: str) -> None:
    node, world = lab.find_node("n2"), World(lab)
    vsctl(node, "add-br", bridge(0), "--", "set", "Bridge", bridge(0), "datapath_type=netdev", f"fail_mode={fail_mode}")
    ofctl(node, "add-flow", bridge(0), "priority=7,cookie=0x77,in_port=42,actions=drop")
    flows = ofctl(node, "dump-flows", bridge(0), "--no-stats")
    (node.root / "etc/railcni").mkdir(parents=True, exist_ok=True)
    (node.root / "run/railcni").mkdir(parents=True, exist_ok=True)
    node.config_file.write_text(json.dumps(fabric.node_config(lab, node)))
    log = node.log_dir / "raild.log"
    before = len(log.read_text()) if log.exists() else 0
    daemons.start_raild(lab, node)
    try:
        said = f"bridge {bridge(0)} is there and raild has not made it, so raild changes nothing of it"
        eventually("raild says so", lambda: log.read_text()[before:], lambda text: said in text)
        assert ofctl(node, "dump-flows", bridge(0), "--no-stats") == flows
        assert world.vsctl(node, "get", "Bridge", bridge(0), "fail_mode") == fail_mode
    finally:
        stop(node)
    status, text = remove(lab, node)
    assert status == REMOVED, text
    assert ofctl(node, "dump-flows", bridge(0), "--no-stats") == flows
    vsctl(node, "del-br", bridge(0))
