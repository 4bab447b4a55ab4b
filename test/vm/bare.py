"""A node that is the guest itself, with the machine's own NIC: a physical device that loses its namespace returns to the
first one, so that is where its node has to be. No leaf: bgp is nobody's."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railcni_lab import daemons, fabric, kernel, pods
from railcni_lab.chain import Chain
from railcni_lab.layout import Lab, Node, Shape, bridge, write_json
from world import World

MTU = 1500
TENANT = "tenant-a"
IPAM_FOLDER = Path("/run/railcni-vm-ipam")  # plugins of a test's own


@dataclass
class Bare:
    world: World
    node: Node

    @property
    def lab(self) -> Lab:
        return self.world.lab

    def pod(self, name: str, device: str) -> pods.Pod:
        """A pod that is to get `device`; its namespace is made, nothing is attached."""
        pod = pods.Pod(name, self.node.name, TENANT, secrets.token_hex(8), secrets.token_hex(32), {0: device})
        kernel.run(["ip", "netns", "add", pods.namespace(self.lab, name)])
        return pod

    def chain(self, ipam: str = "host-local", **keys: Any) -> Chain:
        """ovs-provider, with `keys` in its configuration, and tenant-isolation."""
        network = pods.network(self.node, 0)
        network["plugins"] = network["plugins"][:2]
        network["plugins"][0]["ipam"]["type"] = ipam
        network["plugins"][0] |= keys
        return Chain(network, path=[IPAM_FOLDER, self.lab.binaries, Path("/usr/lib/cni")],
                     cache=self.lab.folder / "cni", environment={"RAILCNI_ROOT": str(self.node.root)},
                     namespace=self.node.namespace)

    def add(self, pod: pods.Pod, **keys: Any) -> dict[str, Any]:
        return self.chain(**keys).add(pods.attachment(self.lab, pod, 0))

    def delete(self, pod: pods.Pod) -> None:
        self.chain().delete(pods.attachment(self.lab, pod, 0))

    def inside(self, pod: pods.Pod) -> dict[str, dict[str, Any]]:
        return links(pods.namespace(self.lab, pod.name))

    def recorded(self, pod: pods.Pod) -> dict[str, int]:
        return self.world.record(self.node, pod.container_id)


def start(rail: dict[str, Any], mode: str = "namespace") -> Bare:
    """Open vSwitch and raild in the first namespace; `rail`: keys of the rail in node.json besides its name."""
    lab = Lab("vm", Lab.from_environment().binaries)
    lab.create(Shape(nodes=1, rails=1, spines=0, datapath="system"))
    node = lab.node(1)
    kernel.run(["ip", "netns", "attach", node.namespace, "1"])
    daemons.prepare(node)
    for folder in ("etc/railcni", "run/railcni", "var/lib/railcni"):
        (node.root / folder).mkdir(parents=True)
    (node.root / "etc/railcni/tenant.key").write_text(secrets.token_hex(32))
    (node.root / "etc/railcni/tenant.key").chmod(0o600)
    config = fabric.node_config(lab, node)
    config["rails"] = [{"name": "rail0", "index": 0, "bridge": bridge(0), "mtu": MTU, **rail}]
    config["bgp"]["manage"] = False
    config["tenancy"]["mode"] = mode
    write_json(node.config_file, config)
    daemons.start_ovs(node, "system")
    daemons.start_raild(lab, node)
    fabric.wait_for_bridges(node, 1)
    return Bare(World(lab), node)


def links(namespace: str | None = None) -> dict[str, dict[str, Any]]:
    """Name -> what `ip -details -json link show` says; of this namespace when none is named."""
    where = [] if namespace is None else ["-n", namespace]
    return {link["ifname"]: link for link in json.loads(kernel.run(["ip", *where, "-details", "-json", "link", "show"]))}


def on_bus(namespace: str | None, address: str) -> dict[str, Any] | None:
    """The link of a PCI device in a namespace."""
    return next((link for link in links(namespace).values() if link.get("parentdev") == address), None)
