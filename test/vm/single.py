"""One node whose host is the guest itself: the kernel returns a device of a dead namespace to the initial one, and to no
other, so a node with physical devices cannot be a namespace of a lab."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railcni_lab import daemons, fabric, kernel
from railcni_lab.chain import Attachment, Chain
from railcni_lab.layout import Lab, Node, Shape, write_json
from world import World

MTU = 1500
BRIDGE = "br-rail0"


@contextmanager
def node_with(rail: dict[str, Any]) -> Iterator[World]:
    """Open vSwitch, FRRouting and raild in the initial namespace; `rail` adds to the rail of node.json."""
    lab = Lab("vm", Lab.from_environment().binaries)
    lab.create(Shape(nodes=1, rails=1, spines=0))
    node = lab.node(1)
    kernel.NETNS_DIR.mkdir(exist_ok=True)
    place = kernel.NETNS_DIR / node.namespace
    place.touch()
    kernel.run(["mount", "--bind", "/proc/1/ns/net", str(place)])
    configure(lab, node, rail)
    daemons.prepare(node)
    daemons.start_ovs(node)
    daemons.start_frr(node, bmp=True)
    daemons.start_raild(lab, node)
    yield World(lab)


def configure(lab: Lab, node: Node, rail: dict[str, Any]) -> None:
    for folder in ("etc/railcni", "run/railcni", "var/lib/railcni"):
        (node.root / folder).mkdir(parents=True, exist_ok=True)
    config = fabric.node_config(lab, node)
    config["rails"] = [{"name": "rail0", "index": 0, "bridge": BRIDGE, "mtu": MTU, **rail}]
    write_json(node.config_file, config)


@dataclass
class Pod:
    """A namespace that `ovs-provider` attaches."""

    world: World
    name: str
    device: str
    settings: dict[str, Any] = field(default_factory=dict)  # of the network's configuration
    plugins: Path | None = None  # before the others: stand-ins for IPAM plugins
    ipam: str = "host-local"
    tenant: str = "tenant-a"

    def __post_init__(self) -> None:
        kernel.run(["ip", "netns", "add", self.namespace])

    @property
    def node(self) -> Node:
        return self.world.lab.node(1)

    @property
    def namespace(self) -> str:
        return self.world.lab.namespace(f"pod-{self.name}")

    @property
    def chain(self) -> Chain:
        ipam = {"type": self.ipam, "dataDir": str(self.node.ipam_dir), "ranges": [[{"subnet": "10.0.1.0/24"}]]}
        network = {"cniVersion": "1.0.0", "name": "rail0",
                   "plugins": [{"type": "ovs-provider", "rail": "rail0", "ipam": ipam, **self.settings},
                               {"type": "tenant-isolation"}]}
        path = [self.world.lab.binaries, *([self.plugins] if self.plugins else []), Path("/usr/lib/cni")]
        return Chain(network, path, self.world.lab.folder / "cni", {"RAILCNI_ROOT": str(self.node.root)}, self.node.namespace)

    @property
    def attachment(self) -> Attachment:
        place = kernel.NETNS_DIR / self.namespace
        return Attachment(container_id=f"container-{self.name}", netns=str(place) if place.exists() else "", ifname="net1",
                          device_id=self.device, args={"IgnoreUnknown": "true", "K8S_POD_NAMESPACE": self.tenant,
                                                       "K8S_POD_NAME": self.name, "K8S_POD_UID": f"uid-{self.name}",
                                                       "K8S_POD_INFRA_CONTAINER_ID": f"container-{self.name}"})

    def add(self) -> dict[str, Any]:
        return self.chain.add(self.attachment)

    def check(self) -> None:
        self.chain.check(self.attachment)

    def delete(self) -> None:
        self.chain.delete(self.attachment)

    def kill_namespace(self) -> None:
        kernel.delete_namespace(self.namespace)

    def link(self) -> dict[str, Any] | None:
        return next((link for link in links("-n", self.namespace) if link["ifname"] == "net1"), None)


def links(*where: str) -> list[dict[str, Any]]:
    return json.loads(subprocess.run(["ip", *where, "-details", "-json", "link", "show"], text=True, capture_output=True,
                                     check=True).stdout)
