"""Which leaf each node's rail is plugged into, right or wrong, and plugging a cable in elsewhere while the lab runs."""

from __future__ import annotations

import re

from . import kernel, vty
from .layout import MTU, Host, Lab, LabError, Node, Shape, uplink


def parse_swap(text: str) -> tuple[str, int, int]:
    """n2:0,1"""
    found = re.fullmatch(r"(n\d+):(\d+),(\d+)", text)
    if not found:
        raise ValueError(f"{text!r}: a node and two rails, such as n2:0,1")
    return found[1], int(found[2]), int(found[3])


def right_leaf(shape: Shape, node: Node, rail: int) -> int:
    """The number of the leaf that the plan has for the node's rail: each unit has a leaf for each rail."""
    return (node.number - 1) * shape.units // shape.nodes * shape.rails + rail


def first_leaf(shape: Shape, node: Node, rail: int) -> int:
    """Where the lab plugs it in when it is built, with --swap."""
    for name, one, other in shape.swaps:
        if name == node.name and rail in (one, other):
            return right_leaf(shape, node, other if rail == one else one)
    return right_leaf(shape, node, rail)


def port(shape: Shape, node: Node, rail: int, leaf: int) -> str:
    """The leaf's end of the cable: the node's name, and where the rail has no business there also the rail's number."""
    return node.name if leaf == right_leaf(shape, node, rail) else f"{node.name}r{rail}"


def nodes_ports(lab: Lab, leaf: int) -> list[tuple[str, Node]]:
    """The ports of a leaf to nodes, as the lab is built, and the node behind each."""
    shape = lab.shape()
    return [(port(shape, node, rail, leaf), node) for node in lab.nodes() for rail in range(shape.rails)
            if first_leaf(shape, node, rail) == leaf]


def plug(lab: Lab, node: Node, rail: int, to: Host) -> None:
    """Pulls the cable of the node's rail, wherever it is, and plugs it into another leaf."""
    shape, number = lab.shape(), int(to.name.removeprefix("leaf"))
    before = where(lab, node, rail)
    if before == number:
        return
    host, name = lab.leaf(before), port(shape, node, rail, before)
    new = port(shape, node, rail, number)
    between = f"{node.name}move{rail}"  # the new leaf may have a port of the old one's name
    kernel.run(["ip", "-n", host.namespace, "link", "set", name, "down"])
    kernel.run(["ip", "-n", host.namespace, "link", "set", name, "name", between])
    kernel.run(["ip", "-n", host.namespace, "link", "set", between, "netns", to.namespace])
    kernel.run(["ip", "-n", to.namespace, "link", "set", between, "name", new, "mtu", str(MTU)])
    if new not in vty.show(to.frr_dir, "show running-config"):
        vty.configure(to.frr_dir, f"router bgp {to.asn}", f"neighbor {new} interface peer-group NODES")
    kernel.checksums_by_software(to.namespace, [new])
    kernel.links_up(to.namespace, [new])


def swap(lab: Lab, node: Node, one: int, other: int) -> None:
    """Swaps two cables; again: as they were."""
    leaves = lab.leaves()
    at = {rail: where(lab, node, rail) for rail in (one, other)}
    plug(lab, node, one, leaves[at[other]])
    plug(lab, node, other, leaves[at[one]])


def where(lab: Lab, node: Node, rail: int) -> int:
    """The number of the leaf into which the rail's cable is plugged."""
    shape = lab.shape()
    for number, host in enumerate(lab.leaves()):
        name = port(shape, node, rail, number)
        if name in kernel.links(host.namespace):
            return number
    raise LabError(f"the cable of {node.name}'s {uplink(rail)} is in no leaf")
