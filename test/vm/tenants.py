"""Two nodes and a leaf in mode `vrf`: the real raild, the real plugins, bgpd's instances, and a leaf that runs the published FRR
configuration. Every tenant brings the same addresses."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frames import ROCE_PORT
from railcni_lab import cabling, daemons, fabric, kernel, vty
from railcni_lab.chain import Attachment, Chain, PluginError
from railcni_lab.fabric import frr  # it knows where railcni_leaves is
from railcni_lab.layout import Host, Lab, Node, Shape, bridge, device, write_json
from railcni_leaves.leaf import LITE, VRF, Leaf, NodePort, Tenant
from switched import MAX_IDLE_MS, OVS_COUNTS_PROCESSORS_AFTER

FIRST_VLAN = 101
WAIT_MS = 20_000  # for the session of a tenant's first pod, on a kernel that is emulated
LATER = 11  # CNI's error "try again later"
ASKED_FOR = 300  # s; a kubelet asks for ever


def vlan_of(tenant: str) -> int:
    return FIRST_VLAN + int(tenant.removeprefix("team"))


@dataclass
class Pod:
    """Pods of different tenants with the same index on the same node have the same address."""

    site: Site
    node: Node
    tenant: str
    index: int  # which of the node's devices
    address: str = ""

    @property
    def name(self) -> str:
        return f"{self.tenant}-{self.node.name}-{self.index}"

    @property
    def namespace(self) -> str:
        return self.site.lab.namespace(self.name)

    @property
    def chain(self) -> Chain:
        ipam = {"type": "host-local", "dataDir": str(self.node.ipam_dir / self.tenant),
                "ranges": [[{"subnet": f"10.0.{self.node.number}.0/24"}]]}
        network = {"cniVersion": "1.0.0", "name": f"rail0-{self.tenant}",
                   "plugins": [{"type": "ovs-provider", "rail": "rail0", "ipam": ipam}, {"type": "tenant-isolation"},
                               {"type": "frr-provider", "wait_ms": WAIT_MS}]}
        return Chain(network, [self.site.lab.binaries, Path("/usr/lib/cni")], self.site.lab.folder / "cni",
                     {"RAILCNI_ROOT": str(self.node.root)}, self.node.namespace)

    @property
    def attachment(self) -> Attachment:
        return Attachment(container_id=f"container-{self.name}", netns=str(kernel.NETNS_DIR / self.namespace), ifname="net1",
                          device_id=device(0, self.index),
                          args={"IgnoreUnknown": "true", "K8S_POD_NAMESPACE": f"ns-{self.tenant}", "K8S_POD_NAME": self.name,
                                "K8S_POD_UID": f"uid-{self.name}", "K8S_POD_INFRA_CONTAINER_ID": f"container-{self.name}"})

    def add(self) -> Pod:
        kernel.run(["ip", "netns", "add", self.namespace])
        result = self.ask()
        self.address = result["ips"][0]["address"].split("/")[0]
        self.site.pods.append(self)
        return self

    def ask(self) -> dict[str, Any]:
        """ADD; as a runtime does, DEL and ADD again where the error says that it may go later: a guest may stand still for seconds."""
        ends = time.monotonic() + ASKED_FOR
        while True:
            try:
                return self.chain.add(self.attachment)
            except PluginError as error:
                if error.code != LATER or time.monotonic() > ends:
                    raise
                print(f"{self.name}: asked again: {error}")
                self.site.asked_again += 1
                self.chain.delete(self.attachment)

    def refused(self) -> PluginError:
        """Why there is no such pod. The runtime has called DEL and the pod's namespace is gone."""
        kernel.run(["ip", "netns", "add", self.namespace])
        try:
            self.chain.add(self.attachment)
        except PluginError as error:
            return error
        finally:
            self.chain.delete(self.attachment)
            kernel.delete_namespace(self.namespace)
        raise AssertionError(f"{self.name} was attached")

    def check(self) -> None:
        self.chain.check(self.attachment)

    def delete(self) -> None:
        self.chain.delete(self.attachment)
        kernel.delete_namespace(self.namespace)
        self.site.pods.remove(self)


@dataclass
class Site:
    lab: Lab
    leaf: Host
    tenants: list[str]
    pods: list[Pod] = field(default_factory=list)
    asked_again: int = 0  # ADDs

    @property
    def nodes(self) -> list[Node]:
        return self.lab.nodes()

    def bgp(self, host: Host, command: str) -> dict[str, Any]:
        return vty.show_json(host.frr_dir, f"show bgp {command} json")

    def leaf_routes(self, tenant: str) -> dict[str, Any]:
        return self.bgp(self.leaf, f"vrf {tenant} ipv4 unicast").get("routes", {})

    def sessions(self, host: Host) -> dict[str, str]:
        """Interface -> state, of all instances."""
        found: dict[str, str] = {}
        for instance in self.bgp(host, "vrf all summary").values():
            if isinstance(instance, dict):
                for name, peer in instance.get("ipv4Unicast", {}).get("peers", {}).items():
                    found[name] = peer["state"]
        return found

    def established(self, host: Host, but: int = 0) -> int:
        """Sessions that are up, but those of a VLAN."""
        return sum(state == "Established" and not name.endswith(f".{but}") for name, state in self.sessions(host).items())

    def links(self, node: Node) -> dict[str, dict[str, Any]]:
        return {link["ifname"]: link for link in json.loads(kernel.run(["ip", "-n", node.namespace, "-d", "-j", "link", "show"]))}

    def vsctl(self, node: Node, *words: str) -> str:
        return kernel.run(["ovs-vsctl", f"--db=unix:{node.ovs_dir}/db.sock", *words])


def leaf_of(lab: Lab, tenants: list[str]) -> Leaf:
    """The role `vrf` of deploy/leaves, with this lab's ports and tenants."""
    host = lab.leaf(0)
    return Leaf(name=host.name, role=VRF, asn=host.asn, router_id=host.router_id,
                nodes=tuple(NodePort(port, node.name) for port, node in cabling.nodes_ports(lab, 0)), fabric=(), max_prefixes=64,
                tenants=tuple(Tenant(t, vlan_of(t), 10_000 + vlan_of(t), ("10.0.0.0/8", "fd52:4149::/32")) for t in tenants),
                between=LITE, mtu=4200)


def node_config(lab: Lab, node: Node, tenants: list[str]) -> dict[str, object]:
    tenancy = {"mode": "vrf", "tenants": {t: [f"ns-{t}"] for t in tenants}, "vlans": {t: vlan_of(t) for t in tenants}}
    return fabric.node_config(lab, node) | {"tenancy": tenancy}


def build(devices: int, count: int, railds: dict[str, Path] | None = None) -> Site:
    """`count` tenants, whom the leaf knows; none has a pod yet. `railds`: node -> another program than the lab's."""
    time.sleep(max(0.0, OVS_COUNTS_PROCESSORS_AFTER - time.monotonic()))
    lab = Lab("vm", Lab.from_environment().binaries)
    shape = Shape(nodes=2, rails=1, spines=0, devices=devices, datapath="system")
    lab.create(shape)
    tenants = [f"team{i}" for i in range(count)]
    fabric.make_network(lab, shape, [*lab.nodes(), lab.leaf(0)])
    host, told = lab.leaf(0), leaf_of(lab, tenants)
    daemons.prepare(host)
    kernel.run(["ip", "-n", host.namespace, "-batch", "-"], stdin=frr.links(told))
    kernel.sysctl(host.namespace, frr.sysctls(told))
    daemons.start_frr(host, frr.render(told))
    for node in lab.nodes():
        daemons.prepare(node)
        for folder in ("etc/railcni", "run/railcni", "var/lib/railcni"):
            (node.root / folder).mkdir(parents=True)
        write_json(node.config_file, node_config(lab, node, tenants))
        daemons.start_ovs(node, "system")
        daemons.start_frr(node, bmp=True)
        daemons.start_raild(lab, node, (railds or {}).get(node.name))
    for node in lab.nodes():
        fabric.wait_for_bridges(node, 1)
    site = Site(lab, host, tenants)
    for node in lab.nodes():
        site.vsctl(node, "set", "Open_vSwitch", ".", f"other_config:max-idle={MAX_IDLE_MS}")
    return site


@contextmanager
def ears(pods: list[Pod]) -> Iterator[dict[str, socket.socket]]:
    """A UDP socket in each pod, by the pod's name."""
    sockets: dict[str, socket.socket] = {}
    try:
        for pod in pods:
            with kernel.inside(pod.namespace):
                s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.bind((pod.address, ROCE_PORT))
            sockets[pod.name] = s
        yield sockets
    finally:
        for s in sockets.values():
            s.close()


def drain(s: socket.socket, seconds: float) -> set[str]:
    heard, until = set(), time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        s.settimeout(left)
        try:
            heard.add(s.recv(2048).decode())
        except TimeoutError:
            break
    return heard


def reached(pods: list[Pod], seconds: float = 3, tries: int = 3) -> dict[tuple[str, str], set[str]]:
    """(sender, address) -> the pods that have heard it. Each pod sends to each address that any other pod has."""
    addresses = sorted({pod.address for pod in pods})
    with ears(pods) as sockets:
        for _ in range(tries):
            for pod in pods:
                for address in addresses:
                    if address != pod.address:
                        sockets[pod.name].sendto(f"{pod.name} {address}".encode(), (address, ROCE_PORT))
            time.sleep(0.3)
        found: dict[tuple[str, str], set[str]] = {(p.name, a): set() for p in pods for a in addresses if a != p.address}
        for pod in pods:
            for words in drain(sockets[pod.name], seconds / len(pods)):
                sender, address = words.split()
                found[sender, address].add(pod.name)
    return found


def expected(pods: list[Pod]) -> dict[tuple[str, str], set[str]]:
    """The tenant's own pod of that address, and nobody else."""
    addresses = sorted({pod.address for pod in pods})
    return {(p.name, a): {q.name for q in pods if q.tenant == p.tenant and q.address == a}
            for p in pods for a in addresses if a != p.address}


def usage(host: Host, daemon: str) -> tuple[float, float]:
    """Resident memory in MB, and seconds of CPU so far."""
    pid = daemons.pid_of(host, daemon)
    status = Path(f"/proc/{pid}/status").read_text()
    memory = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return memory, (int(words[11]) + int(words[12])) / 100


def remove(site: Site, node: Node) -> str:
    """`raild --remove`, as an operator runs it when raild has ended."""
    with kernel.inside(node.namespace):
        done = subprocess.run([str(site.lab.binaries / "raild"), "--remove"], capture_output=True, text=True, timeout=120, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "RAILCNI_ROOT": str(node.root)})
    left = " ".join(line for line in done.stdout.splitlines() if line.startswith("LEFT"))  # first: a summary shows one line
    assert done.returncode == 0, left + "\n" + done.stdout + done.stderr + "\nthe end of bgpd's log:\n" + (node.log_dir / "bgpd.log").read_text(errors="replace")[-6000:]
    return done.stdout


def bridge_ports(site: Site, node: Node) -> set[str]:
    return set(site.vsctl(node, "list-ports", bridge(0)).split())
