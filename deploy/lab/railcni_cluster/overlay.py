"""The configuration that RailCNI gets in this cluster: a copy of the manifests with an overlay `yours`, as their README asks for."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from railcni_lab import fabric
from railcni_lab.layout import COMMUNITY_ASN, REPOSITORY

from .layout import Cluster

Change = Callable[[dict[str, Any]], None]


def copy(cluster: Cluster) -> Path:
    """The folder of the manifests in the cluster's own folder, the overlay in it."""
    folder = cluster.folder / "manifests"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(REPOSITORY / "manifests", folder)
    write(cluster, folder / "overlays/yours")
    return folder


def write(cluster: Cluster, folder: Path, change: Change | None = None) -> None:
    """`change` is applied to node.json; it makes a wrong configuration for a test, or one that asks for more."""
    folder.mkdir(parents=True, exist_ok=True)
    config = node_json(cluster)
    if change is not None:
        change(config)
    (folder / "node.json").write_text(json.dumps(config, indent=2) + "\n")
    (folder / "wait.yaml").write_text(WAIT)
    wanted = [f"  - ../../components/{name}" for name, key in (("api-server", "kubernetes"), ("device-plugin", "device_plugin"), ("dra", "dra"))
              if f'"{key}"' in json.dumps(config)]
    components = ["components:", *wanted] if wanted else []
    (folder / "kustomization.yaml").write_text("\n".join([
        "apiVersion: kustomize.config.k8s.io/v1beta1", "kind: Kustomization", "namespace: railcni-system", "resources:", "  - ../../base",
        *components, "patches:", "  - path: wait.yaml", "configMapGenerator:", "  - name: railcni-node", "    behavior: merge", "    files:", "      - node.json"]) + "\n")


# The links of this cluster are there before its nodes are: the installer need not give them time.
WAIT = """apiVersion: apps/v1
kind: DaemonSet
metadata:
  name: raild
spec:
  template:
    spec:
      initContainers:
        - name: install-config
          env:
            - { name: WAIT, value: "3" }
"""


def networks(cluster: Cluster, folder: Path) -> Path:
    """The definitions for as many rails as this cluster has."""
    return folder / f"networks/{cluster.lab.shape().rails}-rails/nv-ipam"


def node_json(cluster: Cluster) -> dict[str, Any]:
    """One file for all nodes: the lab's own, by the paths that Open vSwitch and FRRouting have on a node."""
    value: dict[str, Any] = dict(fabric.node_config(cluster.lab, cluster.nodes()[0].lab_node))
    value["ovs"] |= {"db": "unix:/run/openvswitch/db.sock", "run_dir": "/run/openvswitch"}
    value["frr"] = {"run_dir": "/run/frr"}
    value["bgp"] |= {"asn": {"base": COMMUNITY_ASN, "from": "node_ip"}, "router_id": {"from": "node_ip"}}
    return value
