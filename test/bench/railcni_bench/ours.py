"""Attaching a pod by the chain, every plugin's execution timed; and the slots that both ways of attaching use."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from railcni_lab import kernel, pods
from railcni_lab.layout import Lab, Node, device, representor

from .measure import BenchError, execute

IFNAME = "net1"
REPOSITORY = Path(__file__).resolve().parents[3]


def cni_environment(binaries: Path, root: Path) -> dict[str, str]:
    """What a container runtime would pass on; the rest of our environment is none of a plugin's business."""
    return {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "RAILCNI_ROOT": str(root),
            "CNI_PATH": f"{binaries}:/usr/lib/cni"}


@dataclass
class Slot:
    """A pod's namespace, made beforehand, and the device that it gets."""

    name: str
    netns: str
    device: str
    representor: str
    mac: str
    container_id: str = ""  # a new one for each ADD
    result: dict[str, Any] = field(default_factory=dict)

    def addresses(self) -> list[str]:
        return [ip["address"].split("/")[0] for ip in self.result["ips"]]


def make_slots(lab: Lab, node: Node, count: int, rail: int = 0) -> list[Slot]:
    """Namespaces of so many pods, for the last devices of the rail: the first ones are for pods of `lab pod add`."""
    last = lab.shape().devices
    slots = []
    for i in range(last - count, last):
        namespace = lab.namespace(f"pod-bench{node.number}x{i}")
        if namespace not in kernel.namespaces():
            kernel.run(["ip", "netns", "add", namespace])
            kernel.links_up(namespace, ["lo"])
        name = device(rail, i)
        link = json.loads(kernel.run(["ip", "-n", node.namespace, "-json", "link", "show", "dev", name]))[0]
        slots.append(Slot(f"bench{i}", str(kernel.NETNS_DIR / namespace), name, representor(rail, i), link["address"]))
    return slots


def shipped_frr_provider() -> dict[str, Any]:
    """As in the network that the manifests ship."""
    name = "manifests/networks/2-rails/nv-ipam/networks.yaml"
    first = (REPOSITORY / name).read_text().split("\n---\n")[0]
    last: dict[str, Any] = json.loads(first.split("config: |", 1)[1])["plugins"][-1]
    if last.get("type") != "frr-provider":
        raise BenchError(f"{name}: frr-provider is not the last of the chain")
    return last


class Ours:
    """The chain of a rail: ovs-provider (with host-local), tenant-isolation, frr-provider."""

    def __init__(self, lab: Lab, node: Node, rail: int, *, tenant: str = "bench", wait_for: str | None = None) -> None:
        self.network = pods.network(node, rail)
        self.network["plugins"][2] = shipped_frr_provider() | ({} if wait_for is None else {"wait_for": wait_for})
        self.binaries, self.tenant, self.ifname = lab.binaries, tenant, IFNAME
        self.environment = cni_environment(lab.binaries, node.root)
        self.cpu_ms: dict[str, list[float]] = {"ADD": [], "DEL": []}  # of each execution

    def add(self, slot: Slot) -> dict[str, float]:
        """Plugin -> milliseconds."""
        slot.container_id = secrets.token_hex(32)
        slot.result = {}
        times = {}
        for plugin in self.network["plugins"]:
            times[plugin["type"]] = self.step("ADD", plugin, slot)
        return times

    def delete(self, slot: Slot) -> dict[str, float]:
        return {plugin["type"]: self.step("DEL", plugin, slot) for plugin in reversed(self.network["plugins"])}

    def step(self, verb: str, plugin: dict[str, Any], slot: Slot, under: list[str] | None = None) -> float:
        """One execution. The caller is in the node's namespace. `under`: a program that runs the plugin."""
        ran = execute([*(under or []), str(self.binaries / plugin["type"])], self._variables(verb, slot),
                      self._config(plugin, slot))
        if verb == "ADD":
            slot.result = json.loads(ran.output)
        self.cpu_ms[verb].append(ran.cpu_ms)
        return float(ran.descriptor3) if under else ran.ms

    def _config(self, plugin: dict[str, Any], slot: Slot) -> str:
        config = {**plugin, "cniVersion": self.network["cniVersion"], "name": self.network["name"], "deviceID": slot.device}
        if slot.result:
            config["prevResult"] = slot.result
        return json.dumps(config)

    def _variables(self, verb: str, slot: Slot) -> dict[str, str]:
        pod = {"IgnoreUnknown": "true", "K8S_POD_NAMESPACE": self.tenant, "K8S_POD_NAME": slot.name,
               "K8S_POD_INFRA_CONTAINER_ID": slot.container_id, "K8S_POD_UID": slot.container_id[:32]}
        return {**self.environment, "CNI_COMMAND": verb, "CNI_CONTAINERID": slot.container_id, "CNI_NETNS": slot.netns,
                "CNI_IFNAME": self.ifname, "CNI_ARGS": ";".join(f"{k}={v}" for k, v in pod.items())}
