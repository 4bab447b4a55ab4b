"""NetworkAttachmentDefinitions: one for each rail; nv-ipam's pools; the rails of node.json."""

from __future__ import annotations

import json

from .site import Rail, Site
from .text import SITE, indented, kustomization

NODE_RAILS = "node-rails.json"
ABOUT = {
    "nv-ipam": "Addresses by nv-ipam, from the pools in ../cidr-pools.",
    "whereabouts": "Addresses by whereabouts, which has no CHECK: so the list has disableCheck.",
    "host-local": "Addresses by host-local, which knows one node alone: each node's range is in a file on that node\n"
                  "# (`generate.py --host-local`), and Multus reads that file because these definitions have no spec.",
    "ovs-cni": "ovs-cni makes the port and nv-ipam gives the address; ovs-provider adopts both.",
}


def files(site: Site) -> dict[str, str]:
    made = {}
    for size in site.sizes:
        folder, rails = f"networks/{size}-rails", site.rails[:size]
        kinds = [*site.ipam, *(["ovs-cni"] if "nv-ipam" in site.ipam else [])]
        for kind in kinds:
            made[f"{folder}/{kind}/kustomization.yaml"] = kustomization(
                f"{size} rails. {ABOUT[kind]}", ["networks.yaml"])
            made[f"{folder}/{kind}/networks.yaml"] = SITE + "---\n".join(_definition(site, rail, kind) for rail in rails)
        if "nv-ipam" in site.ipam:
            made[f"{folder}/cidr-pools/kustomization.yaml"] = kustomization(
                f"nv-ipam's pools for {size} rails: each node takes a /{site.node_prefix} of each rail's subnet.", ["pools.yaml"])
            made[f"{folder}/cidr-pools/pools.yaml"] = SITE + "---\n".join(_pool(site, rail) for rail in rails)
        made[f"{folder}/{NODE_RAILS}"] = _node_rails(site, rails)
    return made


def chain(site: Site, rail: Rail, kind: str, node: int | None = None) -> str:
    """The conflist of a rail. `node`: the number of the node whose range host-local gives, from 0."""
    provider = {"type": "ovs-provider", "rail": rail.name, "capabilities": {"CNIDeviceInfoFile": True}}
    plugins: list[dict[str, object]] = [provider, {"type": "tenant-isolation"}, {"type": "frr-provider", "wait_ms": site.wait_ms}]
    ipam = _ipam(site, rail, "nv-ipam" if kind == "ovs-cni" else kind, node)
    if kind == "ovs-cni":
        plugins.insert(0, {"type": "ovs", "bridge": rail.bridge, "mtu": site.mtu, "ipam": ipam})
    else:
        provider["ipam"] = ipam
    check = ' "disableCheck": true,' if kind == "whereabouts" else ""
    listed = ",\n".join("  " + _spaced(plugin).replace(', "ipam":', ',\n    "ipam":') for plugin in plugins)
    return f'{{ "cniVersion": "1.0.0", "name": {json.dumps(rail.name)},{check} "plugins": [\n{listed} ] }}\n'


def block(site: Site, rail: Rail, node: int) -> str:
    """The subnet of one node."""
    size = 2 ** (32 - site.node_prefix)
    first = rail.subnet.network_address + node * size
    if node < 0 or first not in rail.subnet:
        raise ValueError(f"{rail.subnet} of {rail.name} has no block {node} of /{site.node_prefix}; blocks are numbered from 0")
    return f"{first}/{site.node_prefix}"


def _spaced(value: object) -> str:
    """JSON with a space inside of braces, as people write it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)}: {_spaced(below)}" for key, below in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_spaced, value)) + "]"
    return json.dumps(value)


def _ipam(site: Site, rail: Rail, kind: str, node: int | None) -> dict[str, object]:
    if kind == "nv-ipam":
        return {"type": kind, "poolName": rail.name, "poolType": "cidrpool"}
    if kind == "whereabouts":
        return {"type": kind, "range": str(rail.subnet)}
    return {"type": kind, "ranges": [[{"subnet": block(site, rail, node or 0)}]]}


def _definition(site: Site, rail: Rail, kind: str) -> str:
    text = f"""apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: {rail.name}
  namespace: {site.networks_namespace}
  annotations:
    # The device plugin's resource that hands out the VFs of this rail; Multus passes the allocated one on as deviceID.
    k8s.v1.cni.cncf.io/resourceName: {site.resource(rail)}
"""
    if kind == "host-local":
        return text
    return text + "spec:\n  config: |\n" + indented(chain(site, rail, kind), 4)


def _pool(site: Site, rail: Rail) -> str:
    # No gateway: ovs-provider has one of its own (169.254.1.1), and the leaf learns each pod's /32.
    return f"""apiVersion: nv-ipam.nvidia.com/v1alpha1
kind: CIDRPool
metadata:
  name: {rail.name}
  namespace: {site.nv_ipam_namespace}
spec:
  cidr: {rail.subnet}
  perNodeNetworkPrefix: {site.node_prefix}
"""


def _place(rail: Rail) -> dict[str, object]:
    return {} if rail.place is None else {"rail": rail.place[0], "plane": rail.place[1]}


def _node_rails(site: Site, rails: tuple[Rail, ...]) -> str:
    lines = ",\n".join("    " + _spaced({"name": r.name, "index": r.index, **_place(r), "pf": r.pf, "bridge": r.bridge,
                                         "mtu": site.mtu, "accept": site.accept()}) for r in rails)
    return f'{{\n  "rails": [\n{lines}\n  ]\n}}\n'
