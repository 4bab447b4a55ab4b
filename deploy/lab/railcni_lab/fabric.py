"""Builds the fabric and the nodes, and takes them down again."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from . import cabling, daemons, frontend, kernel, vty
from .layout import (CLUSTER, COMMUNITY_ASN, LEAVES, MTU, Host, Lab, LabError, Node, Shape, bridge, device, plane_of, rail_name, rail_ranges,
                     representor, subnets, uplink, write_json)

sys.path.insert(0, str(LEAVES))
from railcni_leaves import frr  # noqa: E402  the path above comes first
from railcni_leaves.leaf import RAIL, FabricPort, Leaf, NodePort  # noqa: E402

PRODUCT_BINARIES = ("raild", "ovs-provider", "tenant-isolation", "frr-provider")
READY_SECONDS = 60
UNFINISHED = "new-"  # before the name of a device that is being made
METRICS = "127.0.0.1:9477"  # of every node, in its own namespace


@dataclass
class Progress:
    """Prints what was done and how long it took."""

    started: float = field(default_factory=time.monotonic)

    def __call__(self, text: str) -> None:
        print(f"lab: {time.monotonic() - self.started:5.1f} s  {text}", flush=True)


def require(lab: Lab) -> None:
    """Errors: all that is missing, in one sentence each."""
    problems = []
    if os.geteuid() != 0:
        problems.append("the lab makes network namespaces: run it as root (sudo)")
    problems += [f"not installed: {p}" for p in daemons.missing_programs()]
    absent = [b for b in PRODUCT_BINARIES if not os.access(lab.binaries / b, os.X_OK)]
    if absent:
        problems.append(f"not built: {', '.join(absent)} in {lab.binaries} "
                        "(cmake --preset release && cmake --build --preset product, or set RAILCNI_BIN)")
    if problems:
        raise LabError("cannot run the lab\n" + "\n".join(f"  - {p}" for p in problems))


def up(lab: Lab, shape: Shape) -> None:
    shape.check()
    require(lab)
    left = [n for n in kernel.namespaces() if lab.owns_namespace(n)]
    if lab.folder.exists() or left:
        raise LabError(f"lab '{lab.prefix}' is up already, or something of it is left "
                       f"({lab.folder}{', ' if left else ''}{', '.join(left[:4])}): run `lab down` first")
    progress = Progress()
    lab.create(shape)
    try:
        build(lab, progress)
    except BaseException:
        print(f"lab: not up; what there is stays for a look (logs: {lab.folder}/*/log), `lab down` removes it", flush=True)
        raise


def build(lab: Lab, progress: Progress) -> None:
    shape = lab.shape()
    hosts: list[Host] = [*lab.nodes(), *lab.leaves(), *lab.spines()]
    make_network(lab, shape, hosts)
    if shape.frontend:
        frontend.make_network(lab)
    progress(f"network: {shape.nodes} nodes, {shape.rails} {'rails' if shape.planes == 1 else 'uplinks'}, {len(lab.leaves())} leaves, "
             f"{len(lab.spines())} spines"
             f"{', a front end' if shape.frontend else ''}")

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(start_node, lab, node) for node in lab.nodes()]
        jobs += start_switches(lab, pool)
        jobs += [pool.submit(frontend.start, lab, leaf) for leaf in frontend.leaves(lab)]
        for job in jobs:
            job.result()
    progress("Open vSwitch, FRRouting and raild started")

    for node in lab.nodes():
        wait_for_bridges(node, shape.rails)
    progress("raild answers, bridges are there")
    for leaf in [*lab.leaves(), *frontend.leaves(lab)]:
        daemons.wait_until(f"{leaf.name}: BGP sessions Established (see {leaf.log_dir} and the nodes' log/raild.log)",
                           lambda leaf=leaf: established(leaf), READY_SECONDS, every=0.1)
    progress("BGP sessions Established; the lab is up")


def make_network(lab: Lab, shape: Shape, hosts: list[Host]) -> None:
    kernel.ip_batch(f"netns add {host.namespace}" for host in hosts)
    pairs: list[tuple[str, str, str, str]] = []
    for node in lab.nodes():
        for rail in range(shape.rails):
            number = cabling.first_leaf(shape, node, rail)
            pairs.append((node.namespace, uplink(rail), lab.leaf(number).namespace,
                          cabling.port(shape, node, rail, number)))
    pairs += [(leaf.namespace, spine.name, spine.namespace, leaf.name) for leaf, spine in lab.fabric_links()]
    kernel.ip_batch(f"link add {a} netns {ns_a} mtu {MTU} type veth peer name {b} netns {ns_b} mtu {MTU}"
                    for ns_a, a, ns_b, b in pairs)
    for host in hosts:
        # As on a Kubernetes node and on a router.
        kernel.sysctl(host.namespace, {"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
    for node in lab.nodes():
        for rail in range(shape.rails):
            hide_from_stack(node, uplink(rail))
        add_devices(node, [(rail, i) for rail in range(shape.rails) for i in range(shape.devices)])
    for ns_a, a, ns_b, b in pairs:
        kernel.checksums_by_software(ns_a, [a])
        kernel.checksums_by_software(ns_b, [b])
    for host in hosts:
        mine = [name for ns_a, a, ns_b, b in pairs for ns, name in ((ns_a, a), (ns_b, b)) if ns == host.namespace]
        kernel.links_up(host.namespace, ["lo", *mine])


def hide_from_stack(node: Node, name: str) -> None:
    """The userspace datapath reads a port beside the kernel's own stack, which must not take part: no IPv6 on the
    port, and nothing with an IPv4 source that is not routed there (no source is)."""
    kernel.sysctl(node.namespace, {f"net/ipv6/conf/{name}/disable_ipv6": 1, f"net/ipv4/conf/{name}/rp_filter": 1})


def add_devices(node: Node, which: list[tuple[int, int]]) -> None:
    """The pool of a node: veth pairs, one end a pod's interface to be, the other its representor. They get their names when they are
    whole: raild puts a device back into its pod as soon as it hears of it."""
    pairs = [(device(r, i), representor(r, i)) for r, i in which]
    names = [name for pair in pairs for name in pair]
    kernel.ip_batch(f"link add {UNFINISHED}{one} netns {node.namespace} type veth peer name {UNFINISHED}{other} netns {node.namespace}"
                    for one, other in pairs)
    for _, other in pairs:
        hide_from_stack(node, f"{UNFINISHED}{other}")
    kernel.checksums_by_software(node.namespace, [f"{UNFINISHED}{name}" for name in names])
    kernel.ip_batch((f"link set dev {UNFINISHED}{name} name {name}" for name in names), node.namespace)


def mend_devices(node: Node, shape: Shape, used: set[str]) -> int:
    """Makes again the pairs that died with a pod's namespace, but for the devices `used` by pods that are not deleted
    yet. Returns how many."""
    there = kernel.links(node.namespace)
    dead = [(r, i) for r in range(shape.rails) for i in range(shape.devices)
            if representor(r, i) not in there and device(r, i) not in used]
    if dead:
        add_devices(node, dead)
    return len(dead)


def place(shape: Shape, rail: int) -> dict[str, int]:
    """Which plane of which rail an uplink is, in the words of node.json."""
    return {} if shape.planes == 1 else {"rail": rail // shape.planes, "plane": plane_of(shape, rail)}


def node_config(lab: Lab, node: Node) -> dict[str, object]:
    shape = lab.shape()
    return {
        "rails": [{"name": rail_name(shape, r), "index": r, "pf": uplink(r), "bridge": bridge(r), "mtu": MTU, **place(shape, r),
                   "devices": [{"device": device(r, i), "representor": representor(r, i)} for i in range(shape.devices)]}
                  for r in range(shape.rails)],
        "tenancy": {"mode": "namespace"},
        "cluster": CLUSTER,
        "bgp": {"manage": True, "asn": node.asn, "router_id": node.router_id, "community_asn": COMMUNITY_ASN},
        "ovs": {"db": f"unix:{node.ovs_dir}/db.sock", "run_dir": str(node.ovs_dir), "manage_bridges": True,
                "datapath": shape.datapath},
        "frr": {"run_dir": str(node.frr_dir)},
        "metrics": {"listen": METRICS},
    } | ({"frontend": frontend.node_section(node)} if shape.frontend else {})


def foreign_flows_stay(lab: Lab, node: Node) -> AbstractContextManager[None]:
    """raild leaves OpenFlow rules of others on the node's bridges, though it has made them."""
    return raild_with(lab, node, {"remove_foreign_flows": False})


def bridges_are_others(lab: Lab, node: Node) -> AbstractContextManager[None]:
    """raild takes the node's bridges for somebody else's, and changes nothing of them but its rules and ports."""
    return raild_with(lab, node, {"manage_bridges": False})


@contextmanager
def raild_with(lab: Lab, node: Node, ovs: dict[str, bool]) -> Iterator[None]:
    """`ovs`: keys of node.json's "ovs"."""
    before = node.config_file.read_text()
    config = json.loads(before)
    config["ovs"] |= ovs
    write_json(node.config_file, config)
    daemons.restart_raild(lab, node)
    try:
        yield
    finally:
        node.config_file.write_text(before)
        daemons.restart_raild(lab, node)


def start_node(lab: Lab, node: Node) -> None:
    daemons.prepare(node)
    for folder in ("etc/railcni", "run/railcni", "var/lib/railcni"):
        (node.root / folder).mkdir(parents=True)
    write_json(node.config_file, node_config(lab, node))
    daemons.start_ovs(node, lab.shape().datapath)
    daemons.start_frr(node, bmp=True)
    daemons.start_raild(lab, node)


def leaf(lab: Lab, number: int) -> Leaf:
    """A leaf, in the words of deploy/leaves: a node may announce what its pods get their addresses from, and nothing else. A lab about
    cabling has leaves that take the addresses of all rails: one that filters would hide the wrong cable's addresses."""
    host, shape = lab.leaf(number), lab.shape()
    rails = range(shape.rails) if shape.recabled() else [number % shape.rails]
    return Leaf(name=host.name, role=RAIL, asn=host.asn, router_id=host.router_id,
                accept=tuple(block for rail in rails for block in rail_ranges(rail)),
                nodes=tuple(NodePort(port, node.name, () if shape.recabled() else tuple(subnets(number, node.number)))
                            for port, node in cabling.nodes_ports(lab, number)),
                fabric=tuple(FabricPort(spine.name, spine.name) for end, spine in lab.fabric_links() if end == host), max_prefixes=4 * shape.devices * len(rails))


def start_leaf(lab: Lab, number: int) -> None:
    host, told = lab.leaf(number), leaf(lab, number)
    daemons.prepare(host)
    kernel.sysctl(host.namespace, frr.sysctls(told))
    daemons.start_frr(host, frr.render(told))


def spine_config(host: Host, leaves: list[str]) -> str:
    """An ordinary spine: BGP unnumbered on every port, both families, ECMP, communities passed on."""
    lines = ["frr defaults traditional", f"hostname {host.name}", f"router bgp {host.asn}",
             f" bgp router-id {host.router_id}", " no bgp ebgp-requires-policy", " no bgp default ipv4-unicast",
             " bgp bestpath as-path multipath-relax", " neighbor FABRIC peer-group", " neighbor FABRIC remote-as external",
             " neighbor FABRIC timers 3 9", " neighbor FABRIC timers connect 1"]
    lines += [f" neighbor {name} interface peer-group FABRIC" for name in leaves]
    for family in ("ipv4", "ipv6"):
        lines += [f" address-family {family} unicast", "  neighbor FABRIC activate", "  neighbor FABRIC send-community all",
                  "  maximum-paths 64", " exit-address-family"]
    return "\n".join(lines) + "\n"


def start_spine(lab: Lab, host: Host) -> None:
    daemons.prepare(host)
    daemons.start_frr(host, spine_config(host, [end.name for end, spine in lab.fabric_links() if spine == host]))


def start_switches(lab: Lab, pool: ThreadPoolExecutor) -> list[Future[None]]:
    return [*(pool.submit(start_leaf, lab, number) for number in range(len(lab.leaves()))),
            *(pool.submit(start_spine, lab, spine) for spine in lab.spines())]


def wait_for_bridges(node: Node, rails: int) -> None:
    wanted = {bridge(r) for r in range(rails)}

    def ready() -> bool:
        if daemons.pid_of(node, "raild") is None:
            raise LabError(f"raild of {node.name} ended; its last words:\n{last_lines(node)}")
        return daemons.raild_answers(node) and wanted <= kernel.links(node.namespace)

    daemons.wait_until(f"{node.name}: raild answering at {node.raild_socket} and bridges {', '.join(sorted(wanted))}",
                       ready, READY_SECONDS)
    kernel.checksums_by_software(node.namespace, wanted)


def last_lines(node: Node, count: int = 10) -> str:
    log = node.log_dir / "raild.log"
    lines = log.read_text(errors="replace").splitlines() if log.exists() else []
    return "\n".join(f"  {line}" for line in lines[-count:]) or f"  ({log} is empty)"


def established(switch: Host) -> bool:
    states = vty.sessions(switch.frr_dir)
    return bool(states) and all(state == "Established" for state in states.values())


def down(lab: Lab, say: Callable[[str], None] = print) -> None:
    """Removes every process, namespace and file of this lab; what is not there is no error."""
    if os.geteuid() != 0:
        raise LabError("the lab's namespaces are root's: run `lab down` as root (sudo)")
    mine = [n for n in kernel.namespaces() if lab.owns_namespace(n)]
    pids = set(kernel.processes_in(set(mine)))
    hosts = known_hosts(lab)
    for host in hosts:
        for daemon in daemons.pid_files(host):
            pid = daemons.pid_of(host, daemon)
            if pid is not None:
                pids.add(pid)
    if not mine and not pids and not lab.folder.exists():
        say(f"lab: nothing of lab '{lab.prefix}' is there")
        return
    pids.discard(os.getpid())
    daemons.end(pids)
    for namespace in mine:
        kernel.delete_namespace(namespace)
    for folder in (lab.folder, *map(daemons.frr_folder, hosts)):
        shutil.rmtree(folder, ignore_errors=True)
    say(f"lab: '{lab.prefix}' is down ({len(pids)} processes, {len(mine)} namespaces)")


def known_hosts(lab: Lab) -> list[Host]:
    """The hosts whose folders are there, whatever lab.json says."""
    if not lab.folder.is_dir():
        return []
    found: list[Host] = []
    for kind, make in (("n", lab.node), ("leaf", lab.leaf), ("spine", lab.spine),
                       ("fe", lambda number: frontend.leaf(lab, number))):
        for folder in lab.folder.glob(f"{kind}[0-9]*"):
            number = folder.name[len(kind):]
            if number.isdigit():
                found.append(make(int(number)))
    return found
