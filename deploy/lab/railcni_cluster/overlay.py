"""The configuration that RailCNI gets in this cluster: a copy of the manifests with an overlay `yours`, as their README asks for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from railcni_lab import fabric
from railcni_lab.layout import COMMUNITY_ASN, REPOSITORY

from .layout import Cluster, KubeNode

Change = Callable[[dict[str, Any]], None]


def copy(cluster: Cluster) -> Path:
    """The folder of the manifests in the cluster's own folder, the overlay in it."""
    folder = cluster.folder / "manifests"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(REPOSITORY / "manifests", folder)
    write(cluster, folder / "overlays/yours")
    return folder


def write(cluster: Cluster, folder: Path, change: Change | None = None) -> None:
    """`change` is applied to every file; it makes a wrong configuration for a test."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {"node.json": for_all(cluster)} if one_file_for_all() else {f"{node.name}.json": for_one(cluster, node) for node in cluster.nodes()}
    for name, value in files.items():
        if change is not None:
            change(value)
        (folder / name).write_text(json.dumps(value, indent=2) + "\n")
    lines = ["apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", "namespace: railcni-system", "bases:", "  - ../../base",
             "configMapGenerator:", "  - name: railcni-node", "    behavior: merge", "    files:", *(f"      - {name}" for name in files)]
    (folder / "kustomization.yaml").write_text("\n".join(lines) + "\n")


def networks(cluster: Cluster, folder: Path) -> Path:
    """The definitions for as many rails as this cluster has, where there is a folder for each number."""
    by_number = folder / f"networks/{cluster.lab.shape().rails}-rails/nv-ipam"
    return by_number if by_number.exists() else folder / "networks"


def one_file_for_all() -> bool:
    """Whether the installer resolves one node.json for every node by rules, or takes a file for each node."""
    return "--resolve-config" in (REPOSITORY / "deploy/install-config.sh").read_text()


def for_one(cluster: Cluster, node: KubeNode) -> dict[str, Any]:
    """The lab's own, by the paths that Open vSwitch and FRRouting have on a node."""
    value: dict[str, Any] = dict(fabric.node_config(cluster.lab, node.lab_node))
    value["ovs"] |= {"db": "unix:/run/openvswitch/db.sock", "run_dir": "/run/openvswitch"}
    value["frr"] = {"run_dir": "/run/frr"}
    return value


def for_all(cluster: Cluster) -> dict[str, Any]:
    value = for_one(cluster, cluster.nodes()[0])
    value["bgp"] |= {"asn": {"base": COMMUNITY_ASN, "from": "node_ip"}, "router_id": {"from": "node_ip"}}
    return value
