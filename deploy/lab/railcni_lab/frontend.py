"""The front end of `lab up --frontend`: two management links per node, each to a leaf of its own, which announces the default route.
The two leaves have a link between them: what one has lost, the other still reaches."""

from __future__ import annotations

import json
from typing import Any

from . import daemons, kernel
from .layout import COMMUNITY_ASN, Host, Lab, Node

LEAVES = 2
MTU = 1500


def leaf(lab: Lab, number: int) -> Host:
    name = f"fe{number}"
    return Host(name, lab.namespace(name), lab.folder / name, COMMUNITY_ASN + 30001 + number, f"10.255.3.{number + 1}")


def leaves(lab: Lab) -> list[Host]:
    return [leaf(lab, i) for i in range(LEAVES)] if lab.shape().frontend else []


def link(number: int) -> str:
    """The node's end of the link to front-end leaf `number`."""
    return f"mgmt{number + 1}"


def address(node: Node, v6: bool = False) -> str:
    return f"2001:db8::{node.number:x}" if v6 else f"192.0.2.{node.number}"


def node_section(node: Node) -> dict[str, object]:
    """The section "frontend" of a node's node.json."""
    return {"links": [link(i) for i in range(LEAVES)], "addresses": [f"{address(node)}/32", f"{address(node, True)}/128"],
            "accept": ["0.0.0.0/0", "::/0"]}


def make_network(lab: Lab) -> None:
    hosts = leaves(lab)
    kernel.ip_batch(f"netns add {host.namespace}" for host in hosts)
    pairs = [(node.namespace, link(i), host.namespace, node.name) for i, host in enumerate(hosts) for node in lab.nodes()]
    pairs.append((hosts[0].namespace, hosts[1].name, hosts[1].namespace, hosts[0].name))
    kernel.ip_batch(f"link add {a} netns {ns_a} mtu {MTU} type veth peer name {b} netns {ns_b} mtu {MTU}" for ns_a, a, ns_b, b in pairs)
    for host in hosts:
        kernel.sysctl(host.namespace, {"net/ipv4/ip_forward": 1, "net/ipv6/conf/all/forwarding": 1})
        kernel.links_up(host.namespace, ["lo"])
    for node in lab.nodes():  # a stream keeps its path, and two streams take two
        kernel.sysctl(node.namespace, {"net/ipv4/fib_multipath_hash_policy": 1, "net/ipv6/fib_multipath_hash_policy": 1})
    for ns_a, a, ns_b, b in pairs:
        kernel.links_up(ns_a, [a])
        kernel.links_up(ns_b, [b])


def config(lab: Lab, host: Host) -> str:
    """An ordinary leaf: BGP unnumbered on every port, both families, a default route for the nodes."""
    other = next(h for h in leaves(lab) if h != host)
    lines = ["frr defaults traditional", f"hostname {host.name}", f"router bgp {host.asn}", f" bgp router-id {host.router_id}",
             " no bgp ebgp-requires-policy", " no bgp default ipv4-unicast", " bgp bestpath as-path multipath-relax",
             " neighbor NODES peer-group", " neighbor NODES remote-as external", " neighbor NODES timers 3 9",
             " neighbor NODES timers connect 1"]
    lines += [f" neighbor {node.name} interface peer-group NODES" for node in lab.nodes()]
    lines += [f" neighbor {other.name} interface remote-as external", f" neighbor {other.name} timers 3 9",
              f" neighbor {other.name} timers connect 1"]
    for family in ("ipv4", "ipv6"):
        lines += [f" address-family {family} unicast", "  neighbor NODES activate", "  neighbor NODES default-originate",
                  "  neighbor NODES soft-reconfiguration inbound", f"  neighbor {other.name} activate", " exit-address-family"]
    return "\n".join(lines) + "\n"


def start(lab: Lab, host: Host) -> None:
    daemons.prepare(host)
    daemons.start_frr(host, config(lab, host))


def host_routes(node: Node) -> list[dict[str, Any]]:
    """What bgpd has put into the host's table, and every route that goes through a rail's bridge but for link-local ones."""
    found = []
    for family, default in (("-4", "0.0.0.0/0"), ("-6", "::/0")):
        for route in json.loads(kernel.run(["ip", "-n", node.namespace, "-j", family, "route", "show", "table", "main"]) or "[]"):
            hops = route.get("nexthops") or [route]
            of_rail = any(str(hop.get("dev", "")).startswith("br-rail") for hop in hops)
            if route.get("protocol") == "bgp" or (of_rail and not route["dst"].startswith("fe80:")):
                found.append({"dst": default if route["dst"] == "default" else route["dst"], "hops": hops})
    return found


def kernels_links(node: Node) -> list[set[str]]:
    """Where the kernel's default routes of BGP go out: IPv4's, IPv6's. zebra's own answer is wrong after a flap."""
    return [{hop["dev"] for hop in route["hops"]} for route in host_routes(node) if route["dst"] in ("0.0.0.0/0", "::/0")]


def nexthops(node: Node) -> list[list[str]]:
    """Of the IPv4 default route, in words of ip(8). zebra gives an unnumbered neighbour 169.254.0.1 and a permanent MAC, or names its
    link-local address."""
    [route] = [route for route in host_routes(node) if route["dst"] == "0.0.0.0/0"]
    return [["nexthop", "via", *([hop["gateway"]] if "gateway" in hop else [hop["via"]["family"], hop["via"]["host"]]), "dev", hop["dev"],
             "onlink"] for hop in route["hops"]]


def replace_default(node: Node, hops: list[list[str]]) -> None:
    """As zebra would have left the kernel's route."""
    kernel.run(["ip", "-n", node.namespace, "-4", "route", "replace", "default", "proto", "bgp", "metric", "20", *sum(hops, [])])
