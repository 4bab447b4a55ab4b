"""site.json: the leaves of a site. Strict: an unknown key, a wrong type or a contradiction is an error that names the key."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from .leaf import BETWEEN, EVPN, FRONT, RAIL, ROLES, VRF, FabricPort, Leaf, NodePort, Roce, Tenant, family, host_length

WORD = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,30}[A-Za-z0-9])?")
TENANT = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,10}")  # with "Vrf-" before it, the name of a link: 15 characters
ASN_RANGE = re.compile(r"\d{1,10}-\d{1,10}")


class SiteError(Exception):
    """What is wrong, with the key that has it."""


@dataclass(frozen=True)
class Site:
    lanes: int  # SONiC names a port by its first lane
    leaves: tuple[Leaf, ...]  # their ports are numbers, from 1

    def named(self, leaf: Leaf, port: Callable[[int], str], tenant: Callable[[str], str] = str) -> Leaf:
        """The leaf with a maker's own names of ports and VRFs."""
        return replace(leaf, nodes=tuple(replace(n, name=port(int(n.name))) for n in leaf.nodes),
                       fabric=tuple(replace(f, name=port(int(f.name))) for f in leaf.fabric),
                       tenants=tuple(replace(t, name=tenant(t.name)) for t in leaf.tenants))


def read(path: Path) -> Site:
    try:
        top = _object(json.loads(path.read_text(encoding="utf-8")), str(path), ("leaves", "node_asns"),
                      ("mtu", "sonic_lanes", "route_target_asn", "roce"))
    except (OSError, ValueError) as error:
        raise SiteError(f"{path}: {error}") from None
    shared = {"mtu": _number(top, "mtu", 1280, 9216, 9216), "node_asns": _asns(top["node_asns"]),
              "route_target_asn": _number(top, "route_target_asn", 1, 65535, 64512), "roce": _roce(top.get("roce", {}))}
    leaves = tuple(_leaf(each, f"leaves[{i}]", shared) for i, each in enumerate(_list(top["leaves"], "leaves")))
    names = [leaf.name for leaf in leaves]
    for name in names:
        if names.count(name) > 1:
            raise SiteError(f"leaves: {name} is there twice; give each leaf a name of its own")
    return Site(_number(top, "sonic_lanes", 1, 8, 8), leaves)


def _leaf(value: Any, at: str, shared: dict[str, Any]) -> Leaf:
    role = value.get("role") if isinstance(value, dict) else None
    if role not in ROLES:
        raise SiteError(f"{at}.role: must be one of {', '.join(ROLES)}")
    own = {RAIL: ("accept",), FRONT: ("accept", "announce"), VRF: ("tenants", "between")}[role]
    found = _object(value, at, ("name", "role", "asn", "router_id", "max_prefixes", "nodes", *own), ("fabric", "restart_minutes", "vtep"))
    nodes = tuple(_node(each, f"{at}.nodes[{i}]", role) for i, each in enumerate(_list(found["nodes"], f"{at}.nodes")))
    fabric = tuple(_switch(each, f"{at}.fabric[{i}]") for i, each in enumerate(_list(found.get("fabric", []), f"{at}.fabric")))
    _once([p.name for p in (*nodes, *fabric)], f"{at}: port")
    _once([n.node for n in nodes], f"{at}.nodes: node")
    tenants = tuple(_tenant(each, f"{at}.tenants[{i}]") for i, each in enumerate(_list(found.get("tenants", []), f"{at}.tenants")))
    for what in ("name", "vlan", "vni"):
        _once([str(getattr(t, what)) for t in tenants], f"{at}.tenants: {what}")
    between = found.get("between", EVPN)
    if between not in BETWEEN:
        raise SiteError(f"{at}.between: must be one of {', '.join(BETWEEN)}")
    if role == VRF and between == EVPN and "vtep" not in found:
        raise SiteError(f"{at}.vtep: is missing; give the address of the leaf's end of EVPN's tunnels")
    leaf = Leaf(name=_word(found, "name", at), role=role, asn=_number(found, "asn", 1, 4294967295, 0, at),
                router_id=_address(found["router_id"], f"{at}.router_id"), nodes=nodes, fabric=fabric,
                max_prefixes=_number(found, "max_prefixes", 1, 65535, 0, at), accept=_prefixes(found.get("accept", []), f"{at}.accept"),
                announce=_prefixes(found.get("announce", []), f"{at}.announce"), tenants=tenants, between=between,
                vtep=_address(found["vtep"], f"{at}.vtep") if "vtep" in found else "",
                restart_minutes=_number(found, "restart_minutes", 1, 65535, 5, at), **shared)
    for node in nodes:
        for block in node.blocks:
            if not any(family(r) == family(block) and ipaddress.ip_network(block).subnet_of(ipaddress.ip_network(r))  # type: ignore[arg-type]
                       for r in leaf.accept):
                raise SiteError(f"{at}.nodes: the block {block} of {node.node} is in none of {at}.accept")
    return leaf


def _node(value: Any, at: str, role: str) -> NodePort:
    found = _object(value, at, ("node", "port"), ("blocks",) if role != VRF else ())
    return NodePort(_port(found, at), _word(found, "node", at), _prefixes(found.get("blocks", []), f"{at}.blocks"))


def _switch(value: Any, at: str) -> FabricPort:
    found = _object(value, at, ("peer", "port", "asn", "loopback"), ())
    return FabricPort(_port(found, at), _word(found, "peer", at), _number(found, "asn", 1, 4294967295, 0, at),
                      _address(found["loopback"], f"{at}.loopback"))


def _tenant(value: Any, at: str) -> Tenant:
    found = _object(value, at, ("name", "vlan", "vni", "accept"), ())
    if not isinstance(found["name"], str) or not TENANT.fullmatch(found["name"]):
        raise SiteError(f"{at}.name: must be letters, digits and '-', 11 at most: it is part of the name of a link")
    return Tenant(found["name"], _number(found, "vlan", 1, 4094, 0, at), _number(found, "vni", 1, 16777215, 0, at),
                  _prefixes(found["accept"], f"{at}.accept"))


def _roce(value: Any) -> Roce:
    limits = {"dscp": (0, 63), "cnp_dscp": (0, 63), "priority": (0, 7), "cnp_priority": (0, 7), "ecn_min": (1, 1 << 31),
              "ecn_max": (1, 1 << 31), "ecn_percent": (1, 100)}
    found = _object(value, "roce", (), tuple(limits))
    roce = Roce(**{f.name: _number(found, f.name, *limits[f.name], f.default, "roce") for f in fields(Roce)})
    if roce.dscp == roce.cnp_dscp or roce.priority == roce.cnp_priority or roce.ecn_min >= roce.ecn_max:
        raise SiteError("roce: RoCE and CNP need a DSCP and a priority each, and ecn_min must be less than ecn_max")
    return roce


def _object(value: Any, at: str, wanted: tuple[str, ...], more: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise SiteError(f"{at}: must be an object")
    for key in wanted:
        if key not in value:
            raise SiteError(f"{at}.{key}: is missing")
    for key in value:
        if key not in (*wanted, *more):
            raise SiteError(f"{at}.{key}: unknown key; there are {', '.join((*wanted, *more))}")
    return value


def _list(value: Any, at: str) -> list[Any]:
    if not isinstance(value, list):
        raise SiteError(f"{at}: must be a list")
    return value


def _number(found: dict[str, Any], key: str, low: int, high: int, default: int, at: str = "site") -> int:
    value = found.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise SiteError(f"{at}.{key}: must be a number from {low} to {high}")
    return value


def _port(found: dict[str, Any], at: str) -> str:
    return str(_number(found, "port", 1, 512, 0, at))


def _word(found: dict[str, Any], key: str, at: str) -> str:
    if not isinstance(found[key], str) or not WORD.fullmatch(found[key]):
        raise SiteError(f"{at}.{key}: must be a name of letters, digits and '-', 32 at most")
    return str(found[key])


def _asns(value: Any) -> str:
    if not isinstance(value, str) or not ASN_RANGE.fullmatch(value) or not 1 <= int(value.split("-")[0]) <= int(value.split("-")[1]) <= 4294967295:
        raise SiteError("node_asns: must be FIRST-LAST, two AS numbers")
    return value


def _address(value: Any, at: str) -> str:
    try:
        return str(ipaddress.IPv4Address(value))
    except ValueError:
        raise SiteError(f"{at}: must be an IPv4 address") from None


def _prefixes(value: Any, at: str) -> tuple[str, ...]:
    for each in _list(value, at):
        try:
            net = ipaddress.ip_network(each)
        except (ValueError, TypeError):
            raise SiteError(f"{at}: {each!r} is no prefix such as 10.0.0.0/16 (no bit may be set behind its length)") from None
        if not isinstance(each, str) or net.prefixlen > host_length(net.version) or "/" not in each:
            raise SiteError(f"{at}: {each!r} is no prefix such as 10.0.0.0/16")
    return tuple(str(ipaddress.ip_network(each)) for each in value)


def _once(values: list[str], at: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise SiteError(f"{at} {value} is there twice")
