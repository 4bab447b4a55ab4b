"""Cumulus Linux: NVUE's startup.yaml. What NVUE has no word for (`coalesce-time`) is a snippet of its frr.conf."""

from __future__ import annotations

import re
from typing import Any

from .frr import COALESCE_MS, MULTIPATH
from .leaf import EVPN, FRONT, VRF, Leaf, NodePort, Tenant, host_length, of_family

Tree = dict[str, Any]
FAMILIES = ((4, "ipv4"), (6, "ipv6"))
ALL, TOLD = "RAILCNI-ALL", "RAILCNI-TOLD"
PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9._/-]*")  # what YAML reads as the word that it is


class Block(str):
    """Text of several lines."""


def port_name(number: int) -> str:
    return f"swp{number}"


def render(leaf: Leaf) -> str:
    vrfs: Tree = {"default": {"router": {"bgp": _bgp(leaf, None)}}}
    for tenant in leaf.tenants:
        vrfs[tenant.name] = {"router": {"bgp": _bgp(leaf, tenant)}}
        if leaf.between == EVPN:
            vrfs[tenant.name]["evpn"] = {"enable": "on", "vni": {str(tenant.vni): {}}}
    tree: Tree = {
        "system": {"hostname": leaf.name, "config": {"snippet": {"frr.conf": Block(_snippet(leaf))}}},
        "interface": _interfaces(leaf),
        "router": {"bgp": {"enable": "on", "autonomous-system": leaf.asn, "router-id": leaf.router_id,
                           "graceful-restart": {"mode": "helper-only"}},
                   "policy": {"prefix-list": _lists(leaf), "route-map": {ALL: {"rule": {"10": {"action": {"permit": {}}}}}}}},
        "vrf": vrfs,
    }
    if leaf.role != FRONT:
        tree["qos"] = {"roce": {"enable": "on", "mode": "lossless"}}  # DSCP 24-31 to priority 3, 48-55 to 6, PFC and ECN on 3
    if leaf.role == VRF and leaf.between == EVPN:
        tree |= {"evpn": {"enable": "on"}, "nve": {"vxlan": {"enable": "on", "source": {"address": leaf.vtep}}}}
    return "\n".join(["- set:", *_yaml(tree, "    ")]) + "\n"


def _snippet(leaf: Leaf) -> str:
    return "".join(f"router bgp {leaf.asn}{vrf and f' vrf {vrf}'}\n coalesce-time {COALESCE_MS}\n" for vrf in ("", *(t.name for t in leaf.tenants)))


def _name(tenant: Tenant | None, node: NodePort | None, version: int) -> str:
    """One list for each family: NVUE's have a type."""
    return (f"RAILCNI-NODE-{node.node}" if node else f"RAILCNI-{tenant.name}" if tenant else "RAILCNI-NODES") + f"-v{version}"


def _lists(leaf: Leaf) -> Tree:
    named: list[tuple[Tenant | None, NodePort | None, tuple[str, ...]]] = [(t, None, t.accept) for t in leaf.tenants] or [(None, None, leaf.accept)]
    named += [(None, n, n.blocks) for n in leaf.nodes if n.blocks]
    lists: Tree = {}
    for version, word in FAMILIES:
        length = host_length(version)
        for tenant, node, ranges in named:
            only = {"min-prefix-len": length, "max-prefix-len": length}
            rules = {str(10 * i): {"action": "permit", "match": {p: {} if p.endswith(f"/{length}") else only}}
                     for i, p in enumerate(of_family(ranges, version), 1)}
            nothing = {"10": {"action": "deny", "match": {"any": {}}}}
            lists[_name(tenant, node, version)] = {"type": word, "rule": rules or nothing}
        if leaf.role == FRONT:
            lists[f"{TOLD}-v{version}"] = {"type": word, "rule": {
                str(10 * i): {"action": "permit", "match": {p: {}}} for i, p in enumerate(of_family(leaf.announce, version), 1)}}
    return lists


def _interfaces(leaf: Leaf) -> Tree:
    found: Tree = {"lo": {"type": "loopback", "ip": {"address": {f"{a}/32": {} for a in (leaf.router_id, leaf.vtep) if a}}}}
    for name, behind in [*((n.name, n.node) for n in leaf.nodes), *((f.name, f.peer) for f in leaf.fabric)]:
        found[name] = {"type": "swp", "description": behind, "link": {"mtu": leaf.mtu, "state": {"up": {}}},
                       **({} if leaf.role == FRONT else {"qos": {"pfc-watchdog": {"state": "enable"}}})}
    for tenant in leaf.tenants:
        for port in leaf.trunks():
            found[f"{port.name}.{tenant.vlan}"] = {"type": "sub", "base-interface": port.name, "vlan": tenant.vlan, "ip": {"vrf": tenant.name}}
    return found


def _bgp(leaf: Leaf, tenant: Tenant | None) -> Tree:
    """The default instance of the role vrf has no nodes."""
    evpn = leaf.role == VRF and leaf.between == EVPN
    tag = f".{tenant.vlan}" if tenant else ""
    switches = [f for f in leaf.fabric if not (tenant and evpn)]
    nodes = leaf.nodes if tenant or leaf.role != VRF else ()
    groups, neighbors = {}, {}
    if nodes:
        groups["NODES"] = _group({f"{word}-unicast": {
            **_family(), "policy": {"inbound": {"prefix-list": _name(tenant, None, version)},
                                    "outbound": {"prefix-list": f"{TOLD}-v{version}"} if leaf.role == FRONT else {"route-map": ALL}},
            "prefix-limits": {"inbound": {"maximum": leaf.max_prefixes, "reestablish-wait": 60 * leaf.restart_minutes}}}
            for version, word in FAMILIES})
    for node in nodes:
        neighbors[node.name + tag] = {"type": "unnumbered", "peer-group": "NODES", "description": node.node}
        if node.blocks:
            neighbors[node.name + tag]["address-family"] = {
                f"{word}-unicast": {"policy": {"inbound": {"prefix-list": _name(None, node, version)}}} for version, word in FAMILIES}
    if switches:
        both = {"policy": {"inbound": {"route-map": ALL}, "outbound": {"route-map": ALL}}}
        families: Tree = {f"{word}-unicast": {**_family(), **both} for _, word in FAMILIES}
        groups["FABRIC"] = _group(families | ({"l2vpn-evpn": {"enable": "on", **both}} if evpn else {}))
        neighbors |= {f.name + tag: {"type": "unnumbered", "peer-group": "FABRIC", "description": f.peer} for f in switches}
    families = {f"{word}-unicast": {"enable": "on", "multipaths": {"ebgp": MULTIPATH}} for _, word in FAMILIES}
    if evpn and not tenant:
        families["ipv4-unicast"]["network"] = {f"{leaf.vtep}/32": {}}
        families["l2vpn-evpn"] = {"enable": "on"}
    bgp: Tree = {"enable": "on", "autonomous-system": leaf.asn, "router-id": leaf.router_id, "address-family": families,
                 "path-selection": {"multipath": {"aspath-ignore": "on"}}, "peer-group": groups, "neighbor": neighbors}
    if evpn and tenant:
        target = {f"{leaf.route_target_asn}:{tenant.vni}": {}}
        for family in families.values():
            family["route-export"] = {"to-evpn": {"enable": "on"}}
        bgp |= {"rd": f"{leaf.router_id}:{tenant.vlan}", "route-export": {"to-evpn": {"route-target": target}},
                "route-import": {"from-evpn": {"route-target": target}}}
    return bgp


def _group(families: Tree) -> Tree:
    return {"remote-as": "external", "timers": {"keepalive": 3, "hold": 9, "connection-retry": 1}, "address-family": families}


def _family() -> Tree:
    return {"enable": "on", "community-advertise": {"regular": "on", "extended": "on", "large": "on"}}


def _yaml(tree: Tree, indent: str) -> list[str]:
    lines = []
    for key, value in tree.items():
        word = key if PLAIN.fullmatch(key) else f"'{key}'"
        if isinstance(value, dict):
            lines += [f"{indent}{word}:", *_yaml(value, indent + "  ")] if value else [f"{indent}{word}: {{}}"]
        elif isinstance(value, Block):
            lines += [f"{indent}{word}: |", *(f"{indent}  {line}" for line in value.splitlines())]
        else:
            text = str(value)
            lines.append(f"{indent}{word}: {text if isinstance(value, int) or PLAIN.fullmatch(text) else repr(text)}")
    return lines
