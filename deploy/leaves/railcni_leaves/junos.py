"""Junos (Evolved, QFX): lines for `load set`. A group has one import policy, so a node with blocks has its own group."""

from __future__ import annotations

from collections.abc import Iterator

from .leaf import EVPN, FRONT, VRF, Leaf, NodePort, Tenant, host_length, of_family

ALL, TOLD = "RAILCNI-ALL", "RAILCNI-TOLD"
QUEUE_ROCE, QUEUE_CNP = 4, 3  # of QFX: queues 3 and 4 may be lossless
FILL = (45, 90)  # per cent of the queue's buffer, where other makers count bytes


def port_name(number: int) -> str:
    return f"et-0/0/{number - 1}"


def render(leaf: Leaf) -> str:
    parts = (_interfaces(leaf), _policies(leaf), _bgp(leaf), () if leaf.role == FRONT else _qos(leaf))
    return "\n".join(f"set {line}" for part in parts for line in part) + "\n"


def _list(tenant: Tenant | None, node: NodePort | None = None) -> str:
    return f"RAILCNI-NODE-{node.node}" if node else f"RAILCNI-{tenant.name}" if tenant else "RAILCNI-NODES"


def _groups(leaf: Leaf, tenant: Tenant | None) -> list[tuple[str, list[NodePort]]]:
    shared = [n for n in leaf.nodes if not n.blocks]
    return [*([(_list(tenant), shared)] if shared else []), *((_list(tenant, n), [n]) for n in leaf.nodes if n.blocks)]


def _interfaces(leaf: Leaf) -> Iterator[str]:
    yield f"system host-name {leaf.name}"
    yield f"interfaces lo0 unit 0 family inet address {leaf.router_id}/32"
    if leaf.vtep:
        yield f"interfaces lo0 unit 0 family inet address {leaf.vtep}/32"
    trunks = {p.name for p in leaf.trunks()} if leaf.role == VRF else set()
    for name, behind, node in [*((n.name, n.node, True) for n in leaf.nodes), *((f.name, f.peer, False) for f in leaf.fabric)]:
        yield from (f"interfaces {name} description {behind}", f"interfaces {name} mtu {leaf.mtu}")
        if name in trunks:
            yield f"interfaces {name} flexible-vlan-tagging"
        if name not in trunks:
            # An IPv4 source that is not routed to this port is dropped.
            yield from (f"interfaces {name} unit 0 family inet{' rpf-check' if node else ''}", f"interfaces {name} unit 0 family inet6")
            yield f"protocols router-advertisement interface {name}.0"
    for tenant in leaf.tenants:
        for port in leaf.trunks():
            unit = f"{port.name} unit {tenant.vlan}"
            yield from (f"interfaces {unit} vlan-id {tenant.vlan}", f"interfaces {unit} family inet", f"interfaces {unit} family inet6",
                        f"protocols router-advertisement interface {port.name}.{tenant.vlan}")
        for port in leaf.fabric if leaf.role == VRF and leaf.between != EVPN else ():
            yield from (f"interfaces {port.name} unit {tenant.vlan} description {port.peer}",)


def _policies(leaf: Leaf) -> Iterator[str]:
    named = [(_list(t), t.accept) for t in leaf.tenants] if leaf.role == VRF else [(_list(None), leaf.accept)]
    named += [(_list(None, n), n.blocks) for n in leaf.nodes if n.blocks]
    for name, ranges in named:
        at = f"policy-options policy-statement {name}"
        for version, family in ((4, "inet"), (6, "inet6")):
            length = host_length(version)
            found = of_family(ranges, version)
            for p in found:
                yield f"{at} term {family} from route-filter {p} prefix-length-range /{length}-/{length}"
            if found:
                yield f"{at} term {family} then accept"
        yield f"{at} term rest then reject"
    if leaf.role == FRONT:
        at = f"policy-options policy-statement {TOLD}"
        for p in leaf.announce:
            yield f"{at} term told from route-filter {p} exact"
        yield from (f"{at} term told then accept", f"{at} term rest then reject")
    yield from (f"policy-options policy-statement {ALL} term bgp from protocol [ bgp evpn ]",
                f"policy-options policy-statement {ALL} term bgp then accept",
                f"policy-options policy-statement {ALL} term loopback from interface lo0.0",
                f"policy-options policy-statement {ALL} term loopback then accept", f"policy-options policy-statement {ALL} term rest then reject",
                "policy-options policy-statement RAILCNI-ECMP then load-balance per-packet",
                f"policy-options as-list RAILCNI-NODE-ASNS members {leaf.node_asns}")
    yield from (f"policy-options as-list RAILCNI-FABRIC-ASNS members {asn}" for asn in sorted({f.asn for f in leaf.fabric}))
    yield from (f"routing-options autonomous-system {leaf.asn}", f"routing-options router-id {leaf.router_id}",
                "routing-options forwarding-table export RAILCNI-ECMP")


def _bgp(leaf: Leaf) -> Iterator[str]:
    # A helper of graceful restart is what Junos is without a line.
    evpn = leaf.role == VRF and leaf.between == EVPN
    if leaf.role != VRF:
        yield from _sessions(leaf, None, "protocols bgp")
    if leaf.role != VRF or evpn:
        yield from _switches([f"{f.name}.0" for f in leaf.fabric], "protocols bgp")
    if evpn:
        at = "protocols bgp group EVPN"
        yield from (f"{at} type external", f"{at} multihop ttl 3", f"{at} local-address {leaf.router_id}", f"{at} family evpn signaling")
        for switch in leaf.fabric:
            yield from (f"{at} neighbor {switch.loopback} peer-as {switch.asn}", f"{at} neighbor {switch.loopback} description {switch.peer}")
        yield "switch-options vtep-source-interface lo0.0"
    for tenant in leaf.tenants:
        at = f"routing-instances {tenant.name}"
        yield from (f"{at} instance-type vrf", f"{at} route-distinguisher {leaf.router_id}:{tenant.vlan}",
                    f"{at} vrf-target target:{leaf.route_target_asn}:{tenant.vni}")
        yield from (f"{at} interface {port.name}.{tenant.vlan}" for port in leaf.trunks())
        yield from _sessions(leaf, tenant, f"{at} protocols bgp")
        if evpn:
            kind = f"{at} protocols evpn ip-prefix-routes"
            yield from (f"{kind} advertise direct-nexthop", f"{kind} encapsulation vxlan", f"{kind} vni {tenant.vni}", f"{kind} export {ALL}")
        else:
            yield from _switches([f"{f.name}.{tenant.vlan}" for f in leaf.fabric], f"{at} protocols bgp")


def _sessions(leaf: Leaf, tenant: Tenant | None, bgp: str) -> Iterator[str]:
    unit = tenant.vlan if tenant else 0
    for name, nodes in _groups(leaf, tenant):
        at = f"{bgp} group {name}"
        yield from (f"{at} type external", f"{at} hold-time 9", f"{at} import {name}", f"{at} export {TOLD if leaf.role == FRONT else ALL}",
                    f"{at} multipath multiple-as", f"{at} peer-as-list RAILCNI-NODE-ASNS", f"{at} family inet unicast extended-nexthop")
        for family in ("inet", "inet6"):
            limit = f"{at} family {family} unicast accepted-prefix-limit"
            yield from (f"{limit} maximum {leaf.max_prefixes}", f"{limit} teardown 80 idle-timeout {leaf.restart_minutes}")
        peers = f"{at} dynamic-neighbor nodes peer-auto-discovery"
        yield from (f"{peers} family inet6 ipv6-nd", *(f"{peers} interface {n.name}.{unit}" for n in nodes))


def _switches(interfaces: list[str], bgp: str) -> Iterator[str]:
    if not interfaces:
        return
    at = f"{bgp} group FABRIC"
    yield from (f"{at} type external", f"{at} hold-time 9", f"{at} export {ALL}", f"{at} multipath multiple-as",
                f"{at} peer-as-list RAILCNI-FABRIC-ASNS", f"{at} family inet unicast extended-nexthop", f"{at} family inet6 unicast",
                f"{at} dynamic-neighbor switches peer-auto-discovery family inet6 ipv6-nd")
    yield from (f"{at} dynamic-neighbor switches peer-auto-discovery interface {name}" for name in interfaces)


def _qos(leaf: Leaf) -> Iterator[str]:
    cos, roce = "class-of-service", leaf.roce
    yield from (f"{cos} forwarding-classes class RAILCNI-ROCE queue-num {QUEUE_ROCE} no-loss pfc-priority {roce.priority}",
                f"{cos} forwarding-classes class RAILCNI-CNP queue-num {QUEUE_CNP}",
                f"{cos} classifiers dscp RAILCNI forwarding-class RAILCNI-ROCE loss-priority low code-points {roce.dscp:06b}",
                f"{cos} classifiers dscp RAILCNI forwarding-class RAILCNI-CNP loss-priority low code-points {roce.cnp_dscp:06b}",
                f"{cos} congestion-notification-profile RAILCNI input dscp code-point {roce.dscp:06b} pfc",
                f"{cos} drop-profiles RAILCNI interpolate fill-level [ {FILL[0]} {FILL[1]} ] drop-probability [ 0 {roce.ecn_percent} ]",
                f"{cos} schedulers RAILCNI-ROCE transmit-rate percent 50", f"{cos} schedulers RAILCNI-ROCE explicit-congestion-notification",
                f"{cos} schedulers RAILCNI-ROCE drop-profile-map loss-priority any protocol any drop-profile RAILCNI",
                f"{cos} schedulers RAILCNI-CNP priority strict-high", f"{cos} schedulers RAILCNI-REST transmit-rate percent 40",
                f"{cos} scheduler-maps RAILCNI forwarding-class RAILCNI-ROCE scheduler RAILCNI-ROCE",
                f"{cos} scheduler-maps RAILCNI forwarding-class RAILCNI-CNP scheduler RAILCNI-CNP",
                f"{cos} scheduler-maps RAILCNI forwarding-class best-effort scheduler RAILCNI-REST",
                f"{cos} scheduler-maps RAILCNI forwarding-class network-control scheduler RAILCNI-REST")
    units = [t.vlan for t in leaf.tenants]
    trunks = {p.name for p in leaf.trunks()} if leaf.role == VRF else set()
    for port in (*leaf.nodes, *leaf.fabric):
        at = f"{cos} interfaces {port.name}"
        yield from (f"{at} congestion-notification-profile RAILCNI", f"{at} scheduler-map RAILCNI")
        yield from (f"{at} unit {unit} classifiers dscp RAILCNI" for unit in (units if port.name in trunks else [0]))
