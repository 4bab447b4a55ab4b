"""Pods: a network namespace each, attached to its rails by the real chain."""

from __future__ import annotations

import ipaddress
import json
import os
import re
import secrets
import time
import uuid
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from . import fabric, kernel
from .chain import Attachment, Chain
from .layout import Lab, LabError, Node, device, rail_name, subnets, write_json

WAIT_MS = 5000


@dataclass
class Pod:
    name: str
    node: str
    tenant: str
    uid: str
    container_id: str
    devices: dict[int, str]  # rail -> deviceID
    results: dict[int, dict[str, Any]] = field(default_factory=dict)  # rail -> CNI result, once attached

    def addresses(self, rail: int) -> dict[int, str]:
        """IP version -> the pod's address on a rail; empty when the pod is not attached to it."""
        found: dict[int, str] = {}
        for entry in self.results.get(rail, {}).get("ips", []):
            address = ipaddress.ip_interface(entry["address"]).ip
            found.setdefault(address.version, str(address))
        return found


def ifname(rail: int) -> str:
    return f"net{rail + 1}"


def namespace(lab: Lab, name: str) -> str:
    return lab.namespace(f"pod-{name}")


def _file(lab: Lab, name: str) -> Path:
    return lab.pods_dir / f"{name}.json"


def _load(path: Path) -> Pod:
    data = json.loads(path.read_text())
    for key in ("devices", "results"):
        data[key] = {int(rail): value for rail, value in data[key].items()}
    return Pod(**data)


def _save(lab: Lab, pod: Pod) -> None:
    write_json(_file(lab, pod.name), asdict(pod))


def all_pods(lab: Lab) -> list[Pod]:
    lab.shape()
    return [_load(path) for path in sorted(lab.pods_dir.glob("[a-z0-9]*.json"))]


def find(lab: Lab, name: str) -> Pod:
    lab.shape()
    try:
        return _load(_file(lab, name))
    except FileNotFoundError:
        there = ", ".join(p.name for p in all_pods(lab)) or "none"
        raise LabError(f"no pod {name!r} in this lab; there are: {there}") from None


def devices_in_use(lab: Lab, node: Node) -> set[str]:
    return {d for p in all_pods(lab) if p.node == node.name for d in p.devices.values()}


def network(node: Node, rail: int, name: str = "") -> dict[str, Any]:
    """The network attachment of a rail. The ranges differ by node, as a node's IPAM pool does."""
    ipam = {"type": "host-local", "dataDir": str(node.ipam_dir),
            "ranges": [[{"subnet": subnet}] for subnet in subnets(rail, node.number)]}
    name = name or f"rail{rail}"
    return {"cniVersion": "1.0.0", "name": name,
            "plugins": [{"type": "ovs-provider", "rail": name, "ipam": ipam},
                        {"type": "tenant-isolation"},
                        {"type": "frr-provider", "wait_ms": WAIT_MS}]}


def chain(lab: Lab, node: Node, rail: int) -> Chain:
    return Chain(network(node, rail, rail_name(lab.shape(), rail)), path=[lab.binaries, Path("/usr/lib/cni")], cache=lab.folder / "cni" / node.name,
                 environment={"RAILCNI_ROOT": str(node.root)}, namespace=node.namespace)


def attachment(lab: Lab, pod: Pod, rail: int) -> Attachment:
    path = kernel.NETNS_DIR / namespace(lab, pod.name)
    return Attachment(container_id=pod.container_id, netns=str(path) if path.exists() else "", ifname=ifname(rail),
                      device_id=pod.devices[rail],
                      args={"IgnoreUnknown": "true", "K8S_POD_NAMESPACE": pod.tenant, "K8S_POD_NAME": pod.name,
                            "K8S_POD_INFRA_CONTAINER_ID": pod.container_id, "K8S_POD_UID": pod.uid})


def add(lab: Lab, name: str, node_name: str, tenant: str, rails: list[int] | None) -> Pod:
    """Makes the pod and runs ADD on every rail. A failure leaves nothing of the pod behind."""
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?", name):
        raise LabError(f"{name!r} is no pod name: lower-case letters, digits and '-', 32 at most")
    if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", tenant):
        raise LabError(f"{tenant!r} is no Kubernetes namespace")
    shape, node = lab.shape(), lab.find_node(node_name)
    rails = list(range(shape.rails)) if rails is None else sorted(set(rails))
    wrong = [r for r in rails if not 0 <= r < shape.rails]
    if wrong or not rails:
        raise LabError(f"rails {wrong or 'none'}: this lab has 0 to {shape.rails - 1}")
    with lab.locked():
        if _file(lab, name).exists():
            raise LabError(f"pod {name} is there already: `lab pod del {name}` first")
        used = devices_in_use(lab, node)
        fabric.mend_devices(node, shape, used)
        devices = {}
        for rail in rails:
            free = [d for d in (device(rail, i) for i in range(shape.devices)) if d not in used]
            if not free:
                raise LabError(f"all {shape.devices} devices of rail {rail} on {node.name} are in use: delete a pod, "
                               "or bring the lab up with more --devices")
            devices[rail] = free[0]
        pod = Pod(name, node.name, tenant, str(uuid.uuid4()), secrets.token_hex(32), devices)
        _save(lab, pod)
    try:
        kernel.run(["ip", "netns", "add", namespace(lab, name)])
        kernel.links_up(namespace(lab, name), ["lo"])
        for rail in rails:
            pod.results[rail] = chain(lab, node, rail).add(attachment(lab, pod, rail))
        _save(lab, pod)
    except BaseException:
        _undo(lab, pod)
        raise
    return pod


def _undo(lab: Lab, pod: Pod) -> None:
    try:
        delete(lab, pod.name)
    except LabError as error:
        print(f"lab: after the failed ADD: {error}", flush=True)


def delete(lab: Lab, name: str) -> None:
    """Runs DEL on every rail and removes the pod. An error keeps the record, so that it can be repeated."""
    pod, errors = find(lab, name), []
    node = lab.find_node(pod.node)
    for rail in reversed(pod.devices):
        try:
            chain(lab, node, rail).delete(attachment(lab, pod, rail))
        except LabError as error:
            errors.append(f"rail {rail}: {error}")
    if errors:
        raise LabError(f"pod {name} is not wholly deleted, repeat `lab pod del {name}`\n" +
                       "\n".join(f"  - {e}" for e in errors))
    kernel.delete_namespace(namespace(lab, name))
    with lab.locked():
        _file(lab, name).unlink(missing_ok=True)
        fabric.mend_devices(node, lab.shape(), devices_in_use(lab, node))


def execute(lab: Lab, name: str, command: list[str]) -> None:
    """Becomes `command` in the pod's namespace; does not return."""
    find(lab, name)
    if not command:
        raise LabError("no command: lab exec NAME -- CMD...")
    os.execvp("ip", ["ip", "netns", "exec", namespace(lab, name), *command])


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """What `action` returned, and the milliseconds that it took."""
    started = time.monotonic()
    value = action()
    return value, (time.monotonic() - started) * 1000
