"""What is on the nodes and at the leaves that no living pod explains: devices, ports, rules, leases, prefixes, records, files.

Use:     leftovers.none(kube)     waits until nothing is left over, and returns how many things it looked at
"""

from __future__ import annotations

import ipaddress
import json
import re

from kube import Kube, eventually
from railcni_cluster.layout import KubeNode
from railcni_lab import kernel
from railcni_lab.layout import device, representor, uplink

SECONDS = 40


def none(kube: Kube, seconds: float = SECONDS) -> int:
    looked = [0]

    def left() -> list[str]:
        found, looked[0] = look(kube)
        return found

    eventually("nothing is left over", left, lambda found: not found, seconds)
    return looked[0]


def look(kube: Kube) -> tuple[list[str], int]:
    """What is left over, and what is missing, in words; how many things there are."""
    living: dict[str, dict[str, list[str]]] = {}  # node -> pod uid -> addresses by rail
    for pod in kube.items("pods", "-A"):
        text = pod["metadata"].get("annotations", {}).get("k8s.v1.cni.cncf.io/network-status")
        rails = [e for e in json.loads(text) if re.fullmatch(r"default/rail\d+", e["name"])] if text else []
        if rails and pod["status"]["phase"] in ("Running", "Pending") and "deletionTimestamp" not in pod["metadata"]:
            living.setdefault(pod["spec"]["nodeName"], {})[pod["metadata"]["uid"]] = [f"{e['name'][-1]} {ip}" for e in rails for ip in e["ips"]]
    found: list[str] = []
    count = 0
    announced: dict[int, set[str]] = {rail: set() for rail in kube.rails}
    for node in kube.cluster.nodes():
        mine = living.get(node.name, {})
        wanted = {rail: {word[2:] for words in mine.values() for word in words if word[0] == str(rail)} for rail in kube.rails}
        records = kube.records(node)
        count += len(records)
        found += [f"{node.name}: the record has {r['pod_namespace']}/{r['pod_name']} {r['ifname']} ({r['phase']})" for r in records
                  if r["pod_uid"] not in mine or r["phase"] != "ready"]
        found += [f"{node.name}: the record lacks a pod {uid}" for uid in mine if uid not in {r["pod_uid"] for r in records}]
        used = {r["device"] for r in records}
        found += on_node(kube, node, wanted, used)
        for rail in kube.rails:
            announced[rail] |= {str(ipaddress.ip_network(a)) for a in wanted[rail]}
    for rail in kube.rails:
        everywhere = set().union(*announced.values())
        there = kube.leaf_prefixes(rail)
        count += len(there)
        found += [f"leaf{rail}: {p} is still announced" for p in there - everywhere]
        found += [f"leaf{rail}: {p} is not announced" for p in announced[rail] - there]
    return found, count


def on_node(kube: Kube, node: KubeNode, wanted: dict[int, set[str]], used: set[str]) -> list[str]:
    found = []
    links = kernel.links(node.lab_node.namespace)
    for rail in kube.rails:
        pool = {device(rail, i) for i in range(kube.lab.shape().devices)}
        found += [f"{node.name}: device {name} is not back" for name in sorted(pool - used - links)]
        ports = set(kube.vsctl(node, "list-ports", f"br-rail{rail}").split()) if f"br-rail{rail}" in links else set()
        living = {representor(rail, int(name.rpartition("x")[2])) for name in used & pool}
        found += [f"{node.name}: port {name} is left" for name in sorted(ports - living - {uplink(rail)})]
        # The second byte of what follows RAIL in a cookie is the kind: 2 is a rule of an attachment.
        rules = sum("cookie=0x5241494c02" in line for line in kube.flows(node, rail)) if ports else 0
        if bool(rules) != bool(wanted[rail]):
            found.append(f"{node.name}: {rules} rules of attachments on br-rail{rail}, where {len(wanted[rail])} addresses live")
        leases = {f.name for f in (node.store / f"var-lib-cni/networks/rail{rail}").glob("*") if re.fullmatch(r"[0-9a-f.:]+", f.name)}
        canonical = {str(ipaddress.ip_address(name)) for name in leases}
        found += [f"{node.name}: {a} of rail {rail} is still leased" for a in sorted(canonical - wanted[rail])]
    kept = node.store / "var-lib-cni/multus"
    return found + [f"{node.name}: Multus keeps {f.name}" for f in kept.glob("*") if f.is_file() and not _lives(kube, f.name)]


def _lives(kube: Kube, sandbox: str) -> bool:
    """Pods without rails have a file of Multus, too: containerd knows their sandbox."""
    return any((node.store / f"var-lib-containerd/io.containerd.grpc.v1.cri/sandboxes/{sandbox}").exists() for node in kube.cluster.nodes())
