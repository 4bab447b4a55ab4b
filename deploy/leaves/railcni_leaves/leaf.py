"""What a leaf is told, whoever has made it. Pure; every maker's file is rendered from this."""

from __future__ import annotations

from dataclasses import dataclass

RAIL, FRONT, VRF = ROLES = ("rail", "front", "vrf")  # the pods' network; the nodes' own; a VRF for each tenant
EVPN, LITE = BETWEEN = ("evpn", "vrf-lite")  # how leaves pass on what stands in a tenant's VRF


@dataclass(frozen=True)
class NodePort:
    """A port with a node behind it. `blocks`: all that this node may announce; without any: what the leaf accepts."""

    name: str
    node: str
    blocks: tuple[str, ...] = ()


@dataclass(frozen=True)
class FabricPort:
    """A port with another switch of the fabric behind it."""

    name: str
    peer: str
    asn: int = 0
    loopback: str = ""  # where makers hold EVPN's sessions that FRR holds on the port itself


@dataclass(frozen=True)
class Tenant:
    """A VRF: the tag of its frames on the nodes' ports, its VNI between leaves (EVPN), the ranges of its pods."""

    name: str
    vlan: int
    vni: int
    accept: tuple[str, ...]


@dataclass(frozen=True)
class Roce:
    """DSCP of RoCE and of its congestion notifications (CNP), the priorities (and queues) that the switch gives them, and the marking
    of a queue: from `ecn_min` bytes on with a rising chance, `ecn_percent` at `ecn_max` bytes."""

    dscp: int = 26
    cnp_dscp: int = 48
    priority: int = 3
    cnp_priority: int = 6
    ecn_min: int = 1_000_000
    ecn_max: int = 2_000_000
    ecn_percent: int = 5


@dataclass(frozen=True)
class Leaf:
    name: str
    role: str
    asn: int
    router_id: str
    nodes: tuple[NodePort, ...]
    fabric: tuple[FabricPort, ...]
    max_prefixes: int  # of each family and node: more end the session
    node_asns: str = "1-4294967295"  # FIRST-LAST: for makers that need a range where FRR says `external`
    accept: tuple[str, ...] = ()  # ranges of which nodes announce host routes; of the role vrf: the tenants' own
    announce: tuple[str, ...] = ()  # of the role front: all that nodes are told
    tenants: tuple[Tenant, ...] = ()
    between: str = EVPN
    vtep: str = ""  # the address of the leaf's end of tunnels
    route_target_asn: int = 64512
    restart_minutes: int = 5  # after which a session that was ended for too many prefixes may try again
    mtu: int = 9216
    roce: Roce = Roce()

    def trunks(self) -> tuple[NodePort | FabricPort, ...]:
        """The ports that carry a VLAN for each tenant."""
        return (*self.nodes, *(self.fabric if self.between == LITE else ()))


def family(prefix: str) -> int:
    return 6 if ":" in prefix else 4


def of_family(prefixes: tuple[str, ...], version: int) -> list[str]:
    return [p for p in prefixes if family(p) == version]


def host_length(version: int) -> int:
    return 128 if version == 6 else 32


LINK_NAME = 15  # characters, at most (linux/if.h, IFNAMSIZ)


def subinterface(port: str, vlan: int) -> str:
    """SONiC knows a short form of its names, for where the long one does not fit."""
    long = f"{port}.{vlan}"
    return long if len(long) <= LINK_NAME else long.replace("Ethernet", "Eth")
