"""Arista EOS: a startup configuration. An interface neighbor has no policy of its own, so a node with blocks has its own peer group.

Policies are route-maps, as `missing-policy` asks for them."""

from __future__ import annotations

from collections.abc import Iterator

from .leaf import EVPN, FRONT, VRF, Leaf, NodePort, Tenant, host_length, of_family

ALL, TOLD, PROFILE = "RAILCNI-ALL", "RAILCNI-TOLD", "RAILCNI-ROCE"
MTU = 9214  # the most that EOS takes
FAMILIES = ((4, "ip", "ipv4"), (6, "ipv6", "ipv6"))


def port_name(number: int) -> str:
    return f"Ethernet{number}/1"


def render(leaf: Leaf) -> str:
    return "\n".join(line for part in (_top(leaf), _lists(leaf), _interfaces(leaf), _bgp(leaf)) for line in [*part, "!"]) + "\nend\n"


def _list(tenant: Tenant | None, node: NodePort | None = None) -> str:
    return f"RAILCNI-NODE-{node.node}" if node else f"RAILCNI-{tenant.name}" if tenant else "RAILCNI-NODES"


def _groups(leaf: Leaf, tenant: Tenant | None) -> list[tuple[str, list[NodePort]]]:
    """Peer group (and prefix list) -> its ports."""
    shared = [n for n in leaf.nodes if not n.blocks]
    return [*([(_list(tenant), shared)] if shared else []), *((_list(tenant, n), [n]) for n in leaf.nodes if n.blocks)]


def _top(leaf: Leaf) -> Iterator[str]:
    yield from ("service routing protocols model multi-agent", "!", f"hostname {leaf.name}", "!")
    if leaf.role != FRONT:
        roce = leaf.roce
        for dscp, priority in ((roce.dscp, roce.priority), (roce.cnp_dscp, roce.cnp_priority)):
            yield from (f"qos map dscp {dscp} to traffic-class {priority}", f"qos map traffic-class {priority} to tx-queue {priority}")
        yield from ("!", f"qos profile {PROFILE}", "   qos trust dscp", "   priority-flow-control on",
                    f"   priority-flow-control priority {roce.priority} no-drop", "   !", f"   uc-tx-queue {roce.priority}", "      no priority",
                    "      bandwidth percent 50",
                    f"      random-detect ecn minimum-threshold {roce.ecn_min // 1000} kbytes maximum-threshold {roce.ecn_max // 1000} kbytes "
                    f"max-mark-probability {roce.ecn_percent} weight 0", "   !", f"   uc-tx-queue {roce.cnp_priority}", "      priority strict", "!",
                    "priority-flow-control pause watchdog default timeout 0.20", "priority-flow-control pause watchdog default recovery-time 0.20",
                    "priority-flow-control pause watchdog default polling-interval 0.10", "priority-flow-control pause watchdog action drop", "!")
    for tenant in leaf.tenants:
        yield from (f"vrf instance {tenant.name}", "!")
    yield from ("ip routing", "ip routing ipv6 interfaces", "ipv6 unicast-routing")
    for tenant in leaf.tenants:
        yield from (f"ip routing vrf {tenant.name}", f"ip routing ipv6 interfaces vrf {tenant.name}", f"ipv6 unicast-routing vrf {tenant.name}")


def _lists(leaf: Leaf) -> Iterator[str]:
    named = [(_list(t), t.accept) for t in leaf.tenants] if leaf.role == VRF else [(_list(None), leaf.accept)]
    named += [(_list(None, n), n.blocks) for n in leaf.nodes if n.blocks]
    for name, ranges in named:
        for version, word, _ in FAMILIES:
            yield f"{word} prefix-list {name}"
            length = host_length(version)
            for i, p in enumerate(of_family(ranges, version), 1):
                yield f"   seq {10 * i} permit {p}" + ("" if p.endswith(f"/{length}") else f" ge {length}")
            yield "!"
    if leaf.role == FRONT:
        for version, word, _ in FAMILIES:
            yield f"{word} prefix-list {TOLD}"
            yield from (f"   seq {10 * i} permit {p}" for i, p in enumerate(of_family(leaf.announce, version), 1))
            yield "!"
    for name in [*(name for name, _ in named), *([TOLD] if leaf.role == FRONT else [])]:
        yield from (f"route-map {name} permit 10", f"   match ip address prefix-list {name}", "!", f"route-map {name} permit 20",
                    f"   match ipv6 address prefix-list {name}", "!")
    yield from (f"route-map {ALL} permit 10", "!", "peer-filter RAILCNI-NODE-ASNS", f"   10 match as-range {leaf.node_asns} result accept", "!",
                "peer-filter RAILCNI-ANY-ASN", "   10 match as-range 1-4294967295 result accept")


def _interfaces(leaf: Leaf) -> Iterator[str]:
    yield from ("interface Loopback0", f"   ip address {leaf.router_id}/32", "!")
    ports = [*((n.name, n.node, True) for n in leaf.nodes), *((f.name, f.peer, False) for f in leaf.fabric)]
    for name, behind, node in ports:
        yield from (f"interface {name}", f"   description {behind}", f"   mtu {min(leaf.mtu, MTU)}", "   no switchport", "   ipv6 enable")
        if node and leaf.role != VRF:  # an IPv4 source that is not routed to this port is dropped
            yield "   ip verify unicast source reachable-via rx"
        if leaf.role != FRONT:
            yield f"   service-profile {PROFILE}"
        yield "!"
    for tenant in leaf.tenants:
        for port in leaf.trunks():
            yield from (f"interface {port.name}.{tenant.vlan}", f"   encapsulation dot1q vlan {tenant.vlan}", f"   vrf {tenant.name}",
                        "   ipv6 enable", "!")
    if leaf.role == VRF and leaf.between == EVPN:
        yield from ("interface Loopback1", f"   ip address {leaf.vtep}/32", "!", "interface Vxlan1", "   vxlan source-interface Loopback1",
                    "   vxlan udp-port 4789", *(f"   vxlan vrf {t.name} vni {t.vni}" for t in leaf.tenants))


def _bgp(leaf: Leaf) -> Iterator[str]:
    evpn = leaf.role == VRF and leaf.between == EVPN
    yield from (f"router bgp {leaf.asn}", f"   router-id {leaf.router_id}", "   no bgp default ipv4-unicast", "   maximum-paths 64 ecmp 64",
                "   graceful-restart-helper", "   bgp missing-policy direction in action deny", "   bgp missing-policy direction out action deny")
    for tenant in leaf.tenants or (None,):
        for name, _ in _groups(leaf, tenant):
            yield from _group(leaf, name)
    yield from ("   neighbor FABRIC peer group", "   neighbor FABRIC timers 3 9", "   neighbor FABRIC send-community standard extended large",
                f"   neighbor FABRIC route-map {ALL} in", f"   neighbor FABRIC route-map {ALL} out")
    if evpn:
        yield from ("   neighbor EVPN peer group", "   neighbor EVPN update-source Loopback0", "   neighbor EVPN ebgp-multihop 3",
                    "   neighbor EVPN send-community standard extended large", f"   neighbor EVPN route-map {ALL} in",
                    f"   neighbor EVPN route-map {ALL} out")
        for switch in leaf.fabric:
            yield from (f"   neighbor {switch.loopback} peer group EVPN", f"   neighbor {switch.loopback} remote-as {switch.asn}",
                        f"   neighbor {switch.loopback} description {switch.peer}")
    if leaf.role != VRF:
        yield from _members(leaf, None, "   ")
    yield from (f"   neighbor interface {f.name} peer-group FABRIC peer-filter RAILCNI-ANY-ASN" for f in leaf.fabric)
    if evpn:
        yield from ("   !", "   address-family evpn", "      neighbor EVPN activate")
    for version, _, word in FAMILIES:
        yield from ("   !", f"   address-family {word}")
        if leaf.role != VRF:
            yield from _families(leaf, None, version, "      ")
        yield from _passed_on(version, "      ")
        if version == 4:
            yield from (f"      network {address}/32" for address in (leaf.router_id, leaf.vtep) if address)
    for tenant in leaf.tenants:
        yield from ("   !", f"   vrf {tenant.name}", f"      router-id {leaf.router_id}")
        if evpn:
            target = f"{leaf.route_target_asn}:{tenant.vni}"
            yield from (f"      rd {leaf.router_id}:{tenant.vlan}", f"      route-target import evpn {target}",
                        f"      route-target export evpn {target}")
        yield from _members(leaf, tenant, "      ")
        if not evpn:
            yield from (f"      neighbor interface {f.name}.{tenant.vlan} peer-group FABRIC peer-filter RAILCNI-ANY-ASN" for f in leaf.fabric)
        for version, _, word in FAMILIES:
            yield from ("      !", f"      address-family {word}", *_families(leaf, tenant, version, "         "))
            if not evpn:
                yield from _passed_on(version, "         ")


def _group(leaf: Leaf, name: str) -> list[str]:
    lines = ["peer group", "timers 3 9", "send-community standard extended large", f"idle-restart-timer {60 * leaf.restart_minutes}",
             f"maximum-routes {leaf.max_prefixes}"]
    return [f"   neighbor {name} {line}" for line in lines]


def _members(leaf: Leaf, tenant: Tenant | None, indent: str) -> list[str]:
    tag = f".{tenant.vlan}" if tenant else ""
    return [f"{indent}neighbor interface {n.name}{tag} peer-group {name} peer-filter RAILCNI-NODE-ASNS"
            for name, nodes in _groups(leaf, tenant) for n in nodes]


def _families(leaf: Leaf, tenant: Tenant | None, version: int, indent: str) -> Iterator[str]:
    told = TOLD if leaf.role == FRONT else ALL
    for name, _ in _groups(leaf, tenant):
        yield from (f"{indent}neighbor {name} {words}" for words in ("activate", f"route-map {name} in", f"route-map {told} out"))
        if version == 4:
            yield f"{indent}neighbor {name} next-hop address-family ipv6 originate"


def _passed_on(version: int, indent: str) -> list[str]:
    return [f"{indent}neighbor FABRIC activate", *([f"{indent}neighbor FABRIC next-hop address-family ipv6 originate"] if version == 4 else [])]
