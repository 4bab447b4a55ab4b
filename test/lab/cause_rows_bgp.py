"""Faults of BGP: of the session, of the leaf, of the daemons, and of an address that two announce."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from causes import Row, Stage
from railcni_lab import daemons, kernel, vty
from railcni_lab.layout import Host, bridge
from railcni_lab.speaker import Large, communities, tenant_id
from world import hanging, killed

Fault = Callable[[Stage], AbstractContextManager[None]]


def leaf_of(stage: Stage) -> Host:
    return stage.world.lab.leaf(stage.rail)


@contextmanager
def lines(host: Host, make: list[str], mend: list[str]) -> Iterator[None]:
    """Lines within the host's `router bgp`, and those that take them back."""
    begin = f"router bgp {host.asn}"
    vty.configure(host.frr_dir, begin, *make)
    try:
        yield
    finally:
        vty.configure(host.frr_dir, begin, *mend)


def shut_down_here(stage: Stage) -> AbstractContextManager[None]:
    name = bridge(stage.rail)
    return lines(stage.node, [f"neighbor {name} shutdown"], [f"no neighbor {name} shutdown"])


def shut_down_at_the_leaf(stage: Stage) -> AbstractContextManager[None]:
    return lines(leaf_of(stage), [f"neighbor {stage.node.name} shutdown"], [f"no neighbor {stage.node.name} shutdown"])


def no_neighbor_at_the_leaf(stage: Stage) -> AbstractContextManager[None]:
    line = f"neighbor {stage.node.name} interface peer-group NODES"
    return lines(leaf_of(stage), [f"no {line}"], [line])


def another_as_at_the_leaf(stage: Stage) -> AbstractContextManager[None]:
    name = stage.node.name
    member, alone = f"neighbor {name} interface peer-group NODES", f"neighbor {name} interface remote-as 65001"
    return lines(leaf_of(stage), [f"no {member}", alone, "address-family ipv4 unicast", f"neighbor {name} activate"],
                 [f"no {alone}", member])


@contextmanager
def too_many_prefixes_for_the_leaf(stage: Stage) -> Iterator[None]:
    bound = f"neighbor {stage.node.name} maximum-prefix 1"
    with lines(leaf_of(stage), ["address-family ipv4 unicast", bound], ["address-family ipv4 unicast", f"no {bound}"]):
        yield
    vty.session(leaf_of(stage).frr_dir, [f"clear bgp {stage.node.name}"])


def strips_communities(stage: Stage) -> AbstractContextManager[None]:
    families = ("address-family ipv4 unicast", "address-family ipv6 unicast")
    said = "neighbor NODES send-community all"
    return lines(leaf_of(stage), [line for family in families for line in (family, f"no {said}", "exit-address-family")],
                 [line for family in families for line in (family, said, "exit-address-family")])


def frr_killed(host: Host, daemon: str, bmp: bool) -> AbstractContextManager[None]:
    return killed(host, daemon, lambda gone: daemons.start_frr_daemon(gone, daemon, bmp))


@contextmanager
def without_bmp(stage: Stage) -> Iterator[None]:
    with frr_killed(stage.node, "bgpd", bmp=False):
        pass
    # raild gives the new bgpd its sessions; until they are up, they are down.
    daemons.wait_until("the sessions of the new bgpd", lambda: set(vty.sessions(stage.node.frr_dir).values()) == {"Established"}, 30)
    try:
        yield
    finally:
        with frr_killed(stage.node, "bgpd", bmp=True):
            pass


@contextmanager
def firewall(host: Host, link: str) -> Iterator[None]:
    """Drops what comes in over the link of BGP, from either side's port."""
    rules = [f"INPUT -i {link} -p tcp --{end}port 179 -j DROP" for end in "sd"]

    def tables(how: str) -> None:
        for rule in rules:
            kernel.run(["ip", "netns", "exec", host.namespace, "ip6tables", "-w", how, *rule.split()])
    tables("-I")
    try:
        yield
    finally:
        tables("-D")


@contextmanager
def link_of_the_leaf(stage: Stage, make: str, mend: str) -> Iterator[None]:
    leaf, port = leaf_of(stage), stage.node.name
    kernel.run(["ip", "-n", leaf.namespace, "link", "set", port, *make.split()])
    try:
        yield
    finally:
        kernel.run(["ip", "-n", leaf.namespace, "link", "set", port, *mend.split()])


def announced_by_the_leaf(tenant: str | None) -> Fault:
    """The leaf announces a1's address, for this tenant or for none. It prefers its own route and passes that on."""
    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        leaf, prefix = leaf_of(stage), f"{stage.port('a1').ipv4}/32"
        marks: list[Large] = communities(tenant_id(f"namespace/{tenant}"), stage.rail) if tenant else []
        vty.configure(leaf.frr_dir, "route-map cause permit 10", *([f"set large-community {' '.join(map(str, marks))}"] if marks else []))
        route = f"network {prefix} route-map cause"
        try:
            with lines(leaf, ["no bgp network import-check", "address-family ipv4 unicast", route],
                       ["address-family ipv4 unicast", f"no {route}"]):
                yield
        finally:
            vty.configure(leaf.frr_dir, "no route-map cause")
    return make


ROWS = [
    Row("BGP neighbor shut down here", "bgp-shutdown-here", "rail0", shut_down_here, "no neighbor br-rail0 shutdown"),
    Row("BGP neighbor shut down at the leaf", "leaf-rejects-bgp", "rail0", shut_down_at_the_leaf),
    Row("leaf has no neighbor for the port", "leaf-rejects-bgp", "rail0", no_neighbor_at_the_leaf),
    Row("leaf's bgpd killed", "leaf-refuses-bgp", "rail0", lambda stage: frr_killed(leaf_of(stage), "bgpd", bmp=False)),
    Row("leaf's firewall drops BGP", "leaf-silent", "rail0", lambda stage: firewall(leaf_of(stage), stage.node.name)),
    Row("the node's firewall drops BGP", "firewall-drops-bgp", "rail0", lambda stage: firewall(stage.node, bridge(stage.rail))),
    Row("leaf expects another AS", "bgp-wrong-as", "rail0", another_as_at_the_leaf),
    Row("leaf bounds the node's prefixes", "bgp-max-prefixes", "rail0", too_many_prefixes_for_the_leaf),
    Row("leaf's bgpd hangs", "bgp-hold-timer", "rail0", lambda stage: hanging(leaf_of(stage), "bgpd")),
    Row("leaf's port down", "uplink-without-carrier", "rail0", lambda stage: link_of_the_leaf(stage, "down", "up")),
    Row("leaf's port has a small MTU", "leaf-mtu-too-small", "rail0", lambda stage: link_of_the_leaf(stage, "mtu 1500", "mtu 4200")),
    Row("leaf strips large communities", "leaf-strips-communities", "rail0", strips_communities),
    Row("zebra killed", "zebra-down", "zebra", lambda stage: frr_killed(stage.node, "zebra", bmp=False)),
    Row("bgpd killed", "bgpd-down", "bgpd", lambda stage: frr_killed(stage.node, "bgpd", bmp=True)),
    Row("bgpd hangs", "bgpd-down", "bgpd", lambda stage: hanging(stage.node, "bgpd")),
    Row("bgpd without its BMP module", "bmp-missing", "bgpd", without_bmp),
    Row("own address announced for another tenant", "own-address-announced-elsewhere", "tenant-a/a1", announced_by_the_leaf("tenant-b")),
    Row("own address announced for its own tenant", "own-address-announced-elsewhere", "tenant-a/a1", announced_by_the_leaf("tenant-a")),
    Row("own address announced for no tenant", "own-address-announced-elsewhere", "tenant-a/a1", announced_by_the_leaf(None)),
]
