"""A RoCE packet is one datapath flow: nothing of its L4, TTL or TOS is looked at, and only its MACs are written."""

from __future__ import annotations

import re

import pytest
from world import Port, World

NOT_LOOKED_AT = re.compile(r"\b(tp_src|tp_dst|nw_ttl|nw_tos|nw_ecn|ip_dscp|udp|tcp|sctp|icmp6?|udp6|tcp6)\b")


def roce(source: Port, target: Port, family: str) -> str:
    if family == "IPv4":
        return f"udp,nw_src={source.ipv4},nw_dst={target.ipv4},nw_tos=104,nw_ecn=2,nw_ttl=64,udp_src=49152,udp_dst=4791"
    return f"udp6,ipv6_src={source.ipv6},ipv6_dst={target.ipv6},nw_tos=104,nw_ecn=2,nw_ttl=64,udp_src=49152,udp_dst=4791"


def one_flow(megaflow: str, actions: str, macs: tuple[str, str]) -> None:
    assert not NOT_LOOKED_AT.search(megaflow), f"the megaflow looks at more than addresses: {megaflow}"
    assert re.fullmatch(rf"set\(eth\(src={macs[0]},dst={macs[1]}\)\),\d+", actions), actions


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("rail", [0, 1])
def test_from_a_pod_to_the_leaf(settled: World, rail: int, family: str) -> None:
    a1, a2 = settled.port("a1", rail), settled.port("a2", rail)
    megaflow, actions = settled.trace(a1.node, rail, f"in_port={a1.ofport},dl_src={a1.mac},"
                                      f"dl_dst={settled.gateway_mac(rail)},{roce(a1, a2, family)}")
    one_flow(megaflow, actions, (settled.bridge_mac(a1.node, rail), settled.leaf_mac(a1.node, rail)))


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
@pytest.mark.parametrize("rail", [0, 1])
def test_from_the_leaf_to_a_pod(settled: World, rail: int, family: str) -> None:
    a1, a2 = settled.port("a1", rail), settled.port("a2", rail)
    megaflow, actions = settled.trace(a1.node, rail, f"in_port={settled.uplink_ofport(a1.node, rail)},"
                                      f"dl_src={settled.leaf_mac(a1.node, rail)},dl_dst={settled.bridge_mac(a1.node, rail)},"
                                      f"{roce(a2, a1, family)}")
    one_flow(megaflow, actions, (settled.gateway_mac(rail), a1.mac))


@pytest.mark.parametrize("family", ["IPv4", "IPv6"])
def test_between_two_pods_of_a_node(settled: World, family: str) -> None:
    a1, a3 = settled.port("a1"), settled.port("a3")
    megaflow, actions = settled.trace(a1.node, 0, f"in_port={a1.ofport},dl_src={a1.mac},dl_dst={settled.gateway_mac(0)},"
                                      f"{roce(a1, a3, family)}")
    one_flow(megaflow, actions, (settled.gateway_mac(0), a3.mac))


@pytest.mark.parametrize("target", ["b1", "b2"])
def test_to_another_tenant_is_a_drop_of_the_same_shape(settled: World, target: str) -> None:
    a1, other = settled.port("a1"), settled.port(target)
    megaflow, actions = settled.trace(a1.node, 0, f"in_port={a1.ofport},dl_src={a1.mac},dl_dst={settled.gateway_mac(0)},"
                                      f"{roce(a1, other, 'IPv4')}")
    assert not NOT_LOOKED_AT.search(megaflow), megaflow
    assert actions == "drop"
