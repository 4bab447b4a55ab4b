"""FRRouting: the text of frr.conf. The lab's leaves run what this makes (deploy/lab), SONiC's take it as it is.

Fails closed: bgpd takes nothing from a neighbor without a policy (`ebgp-requires-policy`), and a prefix-list that is not there denies."""

from __future__ import annotations

from collections.abc import Iterable

from .leaf import EVPN, FRONT, VRF, FabricPort, Leaf, NodePort, Tenant, host_length, of_family, subinterface

ALL = "RAILCNI-ALL"  # the route-map between switches
TOLD = "RAILCNI-TOLD"  # what nodes of the front end are told
COALESCE_MS = 100  # bgpd's default holds the first routes of a session for 1000 ms and 50 ms for each neighbor
MULTIPATH = 64
FAMILIES = ((4, "ipv4", "ip"), (6, "ipv6", "ipv6"))


def node_list(name: str) -> str:
    return f"RAILCNI-NODE-{name}"


def range_list(tenant: Tenant | None) -> str:
    return f"RAILCNI-{tenant.name}" if tenant else "RAILCNI-NODES"


def render(leaf: Leaf) -> str:
    lines = ["frr defaults traditional", f"hostname {leaf.name}", "!"]
    lines += _lists(leaf)
    lines += [f"route-map {ALL} permit 10", "exit", "!"]
    if leaf.role == VRF:
        if leaf.between == EVPN:
            lines += [line for t in leaf.tenants for line in (f"vrf {t.name}", f" vni {t.vni}", "exit-vrf", "!")]
        lines += _underlay(leaf)
        for tenant in leaf.tenants:
            lines += _instance(leaf, tenant)
    else:
        lines += _instance(leaf, None)
    return "\n".join(lines) + "\n"


def _lists(leaf: Leaf) -> list[str]:
    """Host routes of the ranges that are given, nothing else."""
    named = [(range_list(t), t.accept) for t in leaf.tenants] if leaf.role == VRF else [(range_list(None), leaf.accept)]
    named += [(node_list(n.node), n.blocks) for n in leaf.nodes if n.blocks]
    lines = []
    for name, ranges in named:
        for version, _, word in FAMILIES:
            found = of_family(ranges, version)
            lines += [f"{word} prefix-list {name} seq {10 * i} permit {p} ge {host_length(version)}"
                      if int(p.rpartition("/")[2]) < host_length(version) else f"{word} prefix-list {name} seq {10 * i} permit {p}"
                      for i, p in enumerate(found, 1)]
            lines += [] if found else [f"{word} prefix-list {name} seq 10 deny any"]
    if leaf.role == FRONT:
        for version, _, word in FAMILIES:
            lines += [f"{word} prefix-list {TOLD} seq {10 * i} permit {p}" for i, p in enumerate(of_family(leaf.announce, version), 1)]
    return [*lines, "!"]


def _begin(leaf: Leaf, vrf: str = "") -> list[str]:
    return [f"router bgp {leaf.asn}{vrf and f' vrf {vrf}'}", f" bgp router-id {leaf.router_id}", " bgp ebgp-requires-policy",
            " no bgp default ipv4-unicast", " bgp bestpath as-path multipath-relax", f" coalesce-time {COALESCE_MS}"]


def _group(name: str, members: Iterable[tuple[str, str]], *each: str) -> list[str]:
    """A peer-group of unnumbered neighbors, (port, who is behind it), and what bgpd takes for each of them alone."""
    lines = [f" neighbor {name} peer-group", f" neighbor {name} remote-as external", f" neighbor {name} timers 3 9",
             f" neighbor {name} timers connect 1"]
    for port, behind in members:
        lines += [f" neighbor {port} interface peer-group {name}", f" neighbor {port} description {behind}",
                  *(f" neighbor {port} {words}" for words in each)]
    return lines


def _between_switches(ports: list[tuple[str, str]]) -> list[str]:
    if not ports:
        return []
    return ["  neighbor FABRIC activate", "  neighbor FABRIC send-community all", f"  neighbor FABRIC route-map {ALL} in",
            f"  neighbor FABRIC route-map {ALL} out"]


def _instance(leaf: Leaf, tenant: Tenant | None) -> list[str]:
    """The instance that has the nodes: of a tenant, or the only one."""
    shared = leaf.fabric if tenant is None or leaf.between != EVPN else ()
    switches = [(_name(p, tenant), p.peer) for p in shared]
    lines = _begin(leaf, tenant.name if tenant else "")
    lines += _group("NODES", ((_name(n, tenant), n.node) for n in leaf.nodes), "graceful-restart-helper")
    if switches:
        lines += _group("FABRIC", switches)
    told = f"prefix-list {TOLD} out" if leaf.role == FRONT else f"route-map {ALL} out"
    for _, word, _ in FAMILIES:
        lines += [f" address-family {word} unicast", "  neighbor NODES activate", "  neighbor NODES send-community all",
                  f"  neighbor NODES prefix-list {range_list(tenant)} in", f"  neighbor NODES {told}",
                  f"  neighbor NODES maximum-prefix {leaf.max_prefixes} restart {leaf.restart_minutes}"]
        if tenant is None:
            lines += [f"  neighbor {n.name} prefix-list {node_list(n.node)} in" for n in leaf.nodes if n.blocks]
        lines += [*_between_switches(switches), f"  maximum-paths {MULTIPATH}", " exit-address-family"]
    if tenant and leaf.between == EVPN:
        lines += [" address-family l2vpn evpn", "  advertise ipv4 unicast", "  advertise ipv6 unicast", f"  rd {leaf.router_id}:{tenant.vlan}",
                  *(f"  route-target {way} {leaf.route_target_asn}:{tenant.vni}" for way in ("import", "export")), " exit-address-family"]
    return [*lines, "exit", "!"]


def _underlay(leaf: Leaf) -> list[str]:
    """The role vrf's default instance: no node is in it."""
    switches = [(p.name, p.peer) for p in leaf.fabric]
    lines = [*_begin(leaf), *_group("FABRIC", switches)]
    for version, word, _ in FAMILIES:
        lines += [f" address-family {word} unicast"]
        lines += [f"  network {leaf.vtep}/32"] if version == 4 and leaf.between == EVPN else []
        lines += [*_between_switches(switches), f"  maximum-paths {MULTIPATH}", " exit-address-family"]
    if leaf.between == EVPN:
        lines += [" address-family l2vpn evpn", "  neighbor FABRIC activate", f"  neighbor FABRIC route-map {ALL} in",
                  f"  neighbor FABRIC route-map {ALL} out", "  advertise-all-vni", " exit-address-family"]
    return [*lines, "exit", "!"]


def _name(port: NodePort | FabricPort, tenant: Tenant | None) -> str:
    return subinterface(port.name, tenant.vlan) if tenant else port.name


def links(leaf: Leaf) -> str:
    """The interfaces of the role vrf on a leaf whose kernel is Linux: lines for `ip -batch FILE`."""
    lines = [f"addr add {leaf.vtep}/32 dev lo"] if leaf.between == EVPN else []
    for tenant in leaf.tenants:
        lines += [f"link add {tenant.name} type vrf table {1000 + tenant.vlan}", f"link set {tenant.name} up"]
        for port in leaf.trunks():
            name = _name(port, tenant)
            lines += [f"link add link {port.name} name {name} type vlan id {tenant.vlan}", f"link set {name} master {tenant.name}",
                      f"link set {name} up"]
        if leaf.between == EVPN:
            lines += [f"link add br{tenant.vni} type bridge", f"link set br{tenant.vni} master {tenant.name} addrgenmode none",
                      f"link add vni{tenant.vni} type vxlan id {tenant.vni} local {leaf.vtep} dstport 4789 nolearning",
                      f"link set vni{tenant.vni} master br{tenant.vni} addrgenmode none", f"link set vni{tenant.vni} up",
                      f"link set br{tenant.vni} up"]
    return "\n".join(lines) + "\n"


def sysctls(leaf: Leaf) -> dict[str, int]:
    """What such a leaf's kernel needs: it routes, and it drops an IPv4 source that is not routed to the port where the packet came in
    (rp_filter 1: strict, RFC 3704; the kernel has nothing of the kind for IPv6). Key as below /proc/sys."""
    values = {"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1}
    tenants: list[Tenant | None] = [*leaf.tenants] or [None]
    return values | {f"net/ipv4/conf/{_name(node, tenant)}/rp_filter": 1 for node in leaf.nodes for tenant in tenants}
