"""SONiC: what is added to config_db.json. BGP is FRR's own file (frr.py), which `split-unified` leaves to the operator.

Tables and fields: sonic-buildimage, src/sonic-yang-models and files/build_templates/qos_config.j2."""

from __future__ import annotations

import json
from typing import Any

from .leaf import EVPN, FRONT, VRF, Leaf, subinterface

MAP = "RAILCNI"
TRANSIT_VLAN = 4094  # of the first tenant, and down from there: SONiC binds an L3 VNI to a VLAN of its own
Table = dict[str, Any]


def vrf_name(tenant: str) -> str:
    return f"Vrf-{tenant}"  # SONiC takes names that begin with Vrf


def port_name(number: int, lanes: int) -> str:
    return f"Ethernet{(number - 1) * lanes}"


def render(leaf: Leaf) -> str:
    ports = [p.name for p in (*leaf.nodes, *leaf.fabric)]
    tables: Table = {
        "DEVICE_METADATA": {"localhost": {"hostname": leaf.name, "bgp_asn": str(leaf.asn), "docker_routing_config_mode": "split-unified"}},
        "LOOPBACK_INTERFACE": {"Loopback0": {}, f"Loopback0|{leaf.router_id}/32": {}},
        "PORT": {p.name: {"admin_status": "up", "mtu": str(min(leaf.mtu, 9216)), "description": d} for p, d in
                 [*((n, n.node) for n in leaf.nodes), *((f, f.peer) for f in leaf.fabric)]},
        "INTERFACE": {name: {"ipv6_use_link_local_only": "enable"} for name in ports},
    }
    if leaf.role == VRF:
        tables |= _tenants(leaf)
    return json.dumps(tables | ({} if leaf.role == FRONT else _qos(leaf, ports)), indent=2) + "\n"


def _tenants(leaf: Leaf) -> Table:
    evpn = leaf.between == EVPN
    trunks = [p.name for p in leaf.trunks()]
    tables: Table = {
        "VRF": {t.name: {"vni": str(t.vni)} if evpn else {} for t in leaf.tenants},
        "VLAN_SUB_INTERFACE": {subinterface(port, t.vlan): {"admin_status": "up", "vlan": str(t.vlan), "vrf_name": t.name,
                                                            "ipv6_use_link_local_only": "enable"} for t in leaf.tenants for port in trunks},
    }
    if evpn:
        transit = {t.name: f"Vlan{TRANSIT_VLAN - i}" for i, t in enumerate(leaf.tenants)}
        tables["LOOPBACK_INTERFACE"] = {"Loopback0": {}, f"Loopback0|{leaf.router_id}/32": {}, "Loopback1": {},
                                        f"Loopback1|{leaf.vtep}/32": {}}
        tables |= {"VLAN": {name: {"vlanid": name[4:]} for name in transit.values()},
                   "VLAN_INTERFACE": {vlan: {"vrf_name": tenant} for tenant, vlan in transit.items()},
                   "VXLAN_TUNNEL": {"vtep": {"src_ip": leaf.vtep}}, "VXLAN_EVPN_NVO": {"nvo": {"source_vtep": "vtep"}},
                   "VXLAN_TUNNEL_MAP": {f"vtep|map_{t.vni}_{transit[t.name]}": {"vlan": transit[t.name], "vni": str(t.vni)}
                                        for t in leaf.tenants}}
    return tables


def _qos(leaf: Leaf, ports: list[str]) -> Table:
    """DSCP alone decides: RoCE lossless, CNP strictly first, all else by weight. Buffers are the platform's (`config qos reload`)."""
    roce = leaf.roce
    to_class = {roce.dscp: roce.priority, roce.cnp_dscp: roce.cnp_priority}
    same = {str(i): str(i) for i in range(8)}
    wred = {"ecn": "ecn_all"}
    for colour in ("green", "yellow", "red"):
        wred |= {f"wred_{colour}_enable": "true", f"{colour}_min_threshold": str(roce.ecn_min),
                 f"{colour}_max_threshold": str(roce.ecn_max), f"{colour}_drop_probability": str(roce.ecn_percent)}
    queues: Table = {}
    for port in ports:
        for queue in range(8):
            queues[f"{port}|{queue}"] = {"scheduler": f"{MAP}-{'cnp' if queue == roce.cnp_priority else 'weighted'}"}
        queues[f"{port}|{roce.priority}"] = {"scheduler": f"{MAP}-roce", "wred_profile": f"{MAP}-lossless"}
    one = str(roce.priority)
    return {
        "DSCP_TO_TC_MAP": {MAP: {str(d): str(to_class.get(d, 0)) for d in range(64)}},
        "TC_TO_QUEUE_MAP": {MAP: same},
        "TC_TO_PRIORITY_GROUP_MAP": {MAP: {str(i): one if i == roce.priority else "0" for i in range(8)}},
        "MAP_PFC_PRIORITY_TO_QUEUE": {MAP: same},
        "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": {MAP: {one: one}},
        "SCHEDULER": {f"{MAP}-cnp": {"type": "STRICT"}, f"{MAP}-roce": {"type": "DWRR", "weight": "50"},
                      f"{MAP}-weighted": {"type": "DWRR", "weight": "10"}},
        "WRED_PROFILE": {f"{MAP}-lossless": wred},
        "PORT_QOS_MAP": {port: {"dscp_to_tc_map": MAP, "tc_to_queue_map": MAP, "tc_to_pg_map": MAP, "pfc_to_queue_map": MAP,
                                "pfc_to_pg_map": MAP, "pfc_enable": one, "pfcwd_sw_enable": one} for port in ports},
        "BUFFER_PG": {f"{port}|{one}": {"profile": "NULL"} for port in ports},  # dynamic buffer model: the profile follows speed and cable
        "QUEUE": dict(sorted(queues.items())),
        "PFC_WD": {"GLOBAL": {"POLL_INTERVAL": "200"},
                   **{port: {"action": "drop", "detection_time": "200", "restoration_time": "200"} for port in ports}},
    }
