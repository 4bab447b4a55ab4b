"""Every daemon dies and comes back, the node too, the leaf changes, while pods talk: what that costs, as one table.

The lab is one of its own, two nodes and one rail; the faults are n1's. Asserted is that everything is right again; the numbers
are in the table, whose budget is design.md's."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from clock import Clock
from conftest import lab_of_its_own
from railcni_lab import daemons, fabric, kernel, pods, vty
from railcni_lab.layout import Lab, LabError, Node, Shape, bridge
from tables import Tables
from test_repair import OURS, rules
from traffic import LeafWatch, Traffic
from world import World, eventually, link_mac

TENANTS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "a3": ("n1", "tenant-a")}
MANY = 20_000  # remotes of a tenant that is present: a rule each
FLAP_SECONDS = 60  # 2 to 3 s, most often; a bound for a loaded machine, not a measure
MANY_SUBNET = "10.99.0.0/16"
HEAD = ("fault", "traffic gap", "rules right again", "rules lost", "addresses lost at the leaf")


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with lab_of_its_own(request.config, "r", Shape(nodes=2, rails=1, spines=0, devices=3), TENANTS) as world:
        yield world


@pytest.fixture(scope="module")
def node(world: World) -> Node:
    return world.lab.find_node("n1")


@pytest.fixture(scope="module")
def traffic(world: World) -> Iterator[Traffic]:
    with Traffic([("a1", "a2"), ("a2", "a1"), ("a3", "a1")], world) as traffic:
        yield traffic


class Fault:
    def __init__(self) -> None:
        self.back = self.began = time.monotonic()

    def over(self) -> None:
        """What had failed is there again: from here on it is raild's turn."""
        self.back = time.monotonic()


@pytest.fixture
def fault(world: World, node: Node, traffic: Traffic, tables: Tables):  # noqa: ANN201
    """`with fault("bgpd killed") as f: ...; f.over()`: waits until all is as before, and adds the table's row."""
    @contextmanager
    def run(name: str, seconds: float = 30, right: set[tuple[object, ...]] | None = None,
            lossless: bool = False, renewed: bool = False) -> Iterator[Fault]:
        traffic.flows_again()
        sessions_up(world, node, name)
        wanted_rules = places(world, node) if right is None else right
        announced, leaf = addresses(world), world.lab.leaf(0)
        eventually("the leaf has every address", LeafWatch(leaf, announced).prefixes, lambda p: announced <= p, 30)
        with LeafWatch(leaf, announced) as watch:
            f = Fault()
            yield f
            eventually(f"{name}: {len(wanted_rules)} rules", lambda: count(node), lambda n: n == len(wanted_rules), seconds)
            took = time.monotonic() - f.back
            if renewed:  # pods that are added again have other addresses
                wanted_rules, announced = places(world, node), addresses(world)
            eventually(f"{name}: every rule", lambda: places(world, node), lambda now: now == wanted_rules, seconds)
            if right is not None:
                took = time.monotonic() - f.back
            traffic.flows_again(seconds)
            eventually(f"{name}: every address at the leaf", watch.prefixes, lambda p: announced <= p, seconds)
            sessions_up(world, node, name)
        lost = len(wanted_rules - places(world, node))
        tables.row("restarts", HEAD, (name, f"{traffic.gap_ms(f.began):.0f} ms", f"{took * 1000:.0f} ms", str(lost),
                                      str(len(watch.lost))))
        assert not lossless or not watch.lost, f"{name}: the leaf lost {sorted(watch.lost)}"
    return run


def sessions_up(world: World, node: Node, name: str, seconds: float = 30) -> None:
    """At both ends: a leaf takes a session for Established for 9 s after the node's end of it has gone. And both have told all:
    what a leaf has not heard again when the next session ends is no longer kept (RFC 4724, section 4.2)."""
    for host in (node, world.lab.leaf(0)):
        eventually(f"{name}: sessions of {host.name}", lambda h=host: vty.sessions(h.frr_dir),
                   lambda s: bool(s) and all(state == "Established" for state in s.values()), seconds)
        eventually(f"{name}: {host.name} has heard all of its neighbours", lambda h=host: vty.ends_heard(h.frr_dir),
                   lambda ends: bool(ends) and all(ends.values()), seconds)


def addresses(world: World) -> set[str]:
    """Of every pod, as the leaf should have them."""
    return {f"{a}/{32 if v == 4 else 128}" for p in pods.all_pods(world.lab) for v, a in p.addresses(0).items()}


def places(world: World, node: Node) -> set[tuple[object, ...]]:
    """Our rules without what a port's number or an attachment's id decides."""
    return {(table, priority, match, actions) for table, priority, match, actions, _ in rules(world, node)}


def count(node: Node) -> int:
    """Rules of ours, counted by the switch; 0 while it is not there."""
    try:
        text = kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "dump-aggregate", f"unix:{node.ovs_dir}/{bridge(0)}.mgmt",
                           f"cookie=0x{OURS:x}00000000/0xffffffff00000000"])
    except LabError:
        return 0
    return int(text.partition("flow_count=")[2].split()[0])


def kill(node: Node, *names: str, how: signal.Signals = signal.SIGKILL) -> None:
    for name in names:
        pid = daemons.pid_of(node, name)
        assert pid is not None, f"{name} of {node.name} does not run"
        daemons.kill(pid, how)


# The control plane of the switch


def test_ovs_vswitchd(world: World, node: Node, fault) -> None:  # noqa: ANN001
    with fault("ovs-vswitchd killed, back at once") as f:
        kill(node, "ovs-vswitchd")
        daemons.start_vswitchd(node)
        f.over()
        fabric.wait_for_bridges(node, 1)


def test_ovsdb_server(node: Node, fault) -> None:  # noqa: ANN001
    with fault("ovsdb-server killed, back after 1 s", lossless=True) as f:
        kill(node, "ovsdb-server")
        time.sleep(1)
        daemons.start_ovsdb(node)
        f.over()


def test_both(world: World, node: Node, fault) -> None:  # noqa: ANN001
    with fault("ovsdb-server and ovs-vswitchd killed, back at once") as f:
        kill(node, "ovs-vswitchd", "ovsdb-server")
        daemons.start_ovsdb(node)
        daemons.start_vswitchd(node)
        f.over()
        fabric.wait_for_bridges(node, 1)


# The control plane of the addresses


@pytest.mark.parametrize("seconds", [0, 2])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_bgpd(world: World, node: Node, fault, how: signal.Signals, seconds: int) -> None:  # noqa: ANN001
    """Each session but the first has come up by a graceful restart itself."""
    times = 3
    with fault(f"bgpd ended by {how.name} {times} times, back after {seconds} s", lossless=True) as f:
        for _ in range(times):
            sessions_up(world, node, "bgpd is back")
            kill(node, "bgpd", how=how)
            time.sleep(seconds)
            daemons.start_frr_daemon(node, "bgpd", bmp=True)
            f.over()


def test_zebra(node: Node, fault) -> None:  # noqa: ANN001
    with fault("zebra killed, back after 1 s") as f:
        kill(node, "zebra")
        time.sleep(1)
        daemons.start_frr_daemon(node, "zebra")
        f.over()
    # bgpd looks for zebra every 10 s, and until then nobody advertises the node: a leaf that comes back meanwhile waits for that.
    eventually("bgpd has found zebra again", lambda: vty.session(node.frr_dir, [f"show interface {bridge(0)}"], "zebra")[0],
               lambda told: "router advertisements are sent every" in told, 60)


# raild itself


def test_raild_upgraded(world: World, node: Node, fault, tmp_path: Path) -> None:  # noqa: ANN001
    with fault("raild upgraded", lossless=True) as f:
        kill(node, "raild", how=signal.SIGTERM)
        another = Path(shutil.copy(world.lab.binaries / "raild", tmp_path / "raild"))
        daemons.start_raild(world.lab, node, another)
        f.over()
        daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), 30)
    assert len(world.railctl(node, "get", "attachments")["attachments"]) == 2


@pytest.fixture
def clock(world: World, node: Node, tmp_path: Path) -> Iterator[Clock]:
    """raild with a time of day of its own, which is set by days ("+1d")."""
    its = Clock(tmp_path, world.lab.binaries, steady=True)

    def end() -> None:
        kill(node, "raild", how=signal.SIGTERM)

    end()
    daemons.start_raild(world.lab, node, its.raild)
    daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), 30)
    yield its
    end()
    days = int(its.offset.removesuffix("d"))
    date = time.strftime("%Y-%m-%d", time.gmtime(time.time() + days * 86400))
    last = (node.log_dir / "raild.log").read_text().splitlines()[-1]
    assert last.startswith(date), f"raild's clock did not jump: its last word is of {last[:10]}, not of {date}"
    daemons.start_raild(world.lab, node)
    daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), 30)


def test_clock_jumps(node: Node, fault, clock: Clock) -> None:  # noqa: ANN001
    """A day on, two days back: nothing is lost, and what is removed meanwhile is repaired by its event as ever."""
    mgmt = f"unix:{node.ovs_dir}/{bridge(0)}.mgmt"
    for text in ("+1d", "-1d"):
        with fault(f"the clock jumps to {text}, all rules of remotes are removed", lossless=True) as f:
            before = count(node)
            clock.set(text)
            kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "del-flows", mgmt, f"cookie=0x{OURS:x}05000000/0xffffffffff000000"])
            f.over()
            eventually("repaired by the event, not by the audit", lambda: count(node), lambda n: n == before, 10)


# The other end


def flap(world: World, node: Node) -> None:
    leaf = world.lab.leaf(0).namespace
    kernel.run(["ip", "-n", leaf, "link", "set", "dev", node.name, "down"])
    time.sleep(1)
    kernel.run(["ip", "-n", leaf, "link", "set", "dev", node.name, "up"])


def test_link_flaps(world: World, node: Node, traffic: Traffic, fault) -> None:  # noqa: ANN001
    times = 3
    with fault(f"the uplink's link is down for 1 s, {times} times") as f:
        for _ in range(times):
            flap(world, node)
            f.over()
            # 1 to 2 s of it are the leaf's own (duplicate address detection).
            sessions_up(world, node, "the link is back", seconds=FLAP_SECONDS)
            traffic.flows_again()


def test_leaf_changes_its_mac(world: World, node: Node, fault) -> None:  # noqa: ANN001
    leaf = world.lab.leaf(0).namespace
    new = "02:1e:af:00:00:99"
    right = {(t, p, m, a.replace(world.leaf_mac(node, 0), new)) for t, p, m, a in places(world, node)}
    with fault("the leaf's MAC changes", right=right, seconds=60) as f:
        kernel.run(["ip", "-n", leaf, "link", "set", "dev", node.name, "address", new])
        f.over()


def test_leaf_comes_back_as_another(world: World, node: Node, traffic: Traffic, fault) -> None:  # noqa: ANN001
    """As when a leaf's line card is replaced: the MAC of the test before is another link-local address when the link is up again."""
    with fault("the leaf comes back with another MAC and address") as f:
        flap(world, node)
        f.over()
        sessions_up(world, node, "the leaf is back", seconds=FLAP_SECONDS)
        traffic.flows_again()


# 20,000 rules


def leaf_announces(world: World, count: int, tenant: list[str]) -> None:
    """The leaf tells of `count` addresses of a tenant elsewhere, or of none."""
    leaf = world.lab.leaf(0)
    prefixes = [f"10.99.{i // 250}.{i % 250 + 1}/32" for i in range(MANY)]
    lines = ["route-map many permit 10", f"set large-community {' '.join(tenant)}", "exit", f"router bgp {leaf.asn}",
             "no bgp network import-check", "address-family ipv4 unicast"]
    lines += [f"network {p} route-map many" if count else f"no network {p} route-map many" for p in prefixes]
    vty.configure(leaf.frr_dir, *lines)


@pytest.fixture(scope="module")
def many(world: World, node: Node, traffic: Traffic) -> Iterator[None]:
    """Enough remotes for 20,000 rules on n1."""
    address = f"{world.port('a1').ipv4}/32"
    tenant = next(r["large_communities"] for r in vty.routes(world.lab.leaf(0).frr_dir) if r["prefix"] == address)
    leaf_announces(world, MANY, tenant)
    eventually("the rules of every remote", lambda: len(rules(world, node)), lambda n: n > MANY, 60)
    yield
    leaf_announces(world, 0, tenant)


def test_ovs_vswitchd_with_20000_rules(world: World, node: Node, many: None, fault) -> None:  # noqa: ANN001
    with fault(f"ovs-vswitchd killed, back at once, {MANY} rules") as f:
        kill(node, "ovs-vswitchd")
        daemons.start_vswitchd(node)
        f.over()
        fabric.wait_for_bridges(node, 1)


def test_raild_killed_during_its_commits(world: World, node: Node, many: None, fault) -> None:  # noqa: ANN001
    """Each new raild finds 20,000 rules missing and is killed while it puts them back; the last one is left alone."""
    seed = int(os.environ.get("RAILCNI_SEED", time.time_ns() % 1_000_000))
    print(f"RAILCNI_SEED={seed}")
    moments = random.Random(seed)
    mgmt = f"unix:{node.ovs_dir}/{bridge(0)}.mgmt"
    with fault(f"raild killed 5 times during a bundle of {MANY} rules", lossless=True, seconds=60) as f:
        for _ in range(5):
            kill(node, "raild")
            kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "del-flows", mgmt, f"table=7,ip,nw_src={MANY_SUBNET}"])
            daemons.start_raild(world.lab, node)
            time.sleep(moments.uniform(0.05, 1.0))
        f.over()


# The whole node


def added_again(lab: Lab, pod: pods.Pod) -> None:
    """As the kubelet does it: an ADD that fails, as bgpd has not come up yet, is tried again."""
    deadline = time.monotonic() + 40
    while True:
        try:
            pods.add(lab, pod.name, pod.node, pod.tenant, None)
            return
        except LabError:
            if time.monotonic() > deadline:
                raise


def test_node_reboots(world: World, node: Node, traffic: Traffic, fault) -> None:  # noqa: ANN001
    """Every process and namespace is gone, files are kept; then the runtime deletes what was there and adds the pods again."""
    lab, mine = world.lab, [p for p in pods.all_pods(world.lab) if p.node == node.name]
    hardware = {p.devices[0]: link_mac(pods.namespace(lab, p.name), pods.ifname(0)) for p in mine}
    with fault("the node reboots; its pods are added again", seconds=60, renewed=True) as f:
        for name in ("raild", "bgpd", "zebra", "ovs-vswitchd", "ovsdb-server"):
            kill(node, name)
        traffic.close({pod.name for pod in mine})
        for pod in mine:
            kernel.delete_namespace(pods.namespace(lab, pod.name))
        for socket in (*node.ovs_dir.iterdir(), *node.frr_dir.iterdir()):
            socket.unlink()
        gone = {name.replace("vf", "rep") for name in hardware}
        eventually("the pods' devices went with them", lambda: kernel.links(node.namespace), lambda there: not gone & there)
        fabric.mend_devices(node, lab.shape(), set())
        for name, mac in hardware.items():  # the lab's devices are new ones; a NIC keeps its address
            kernel.run(["ip", "-n", node.namespace, "link", "set", "dev", name, "address", mac])
        daemons.start_ovs(node)
        for daemon in ("zebra", "bgpd"):
            daemons.start_frr_daemon(node, daemon, bmp=True)
        daemons.start_raild(lab, node)
        f.over()
        fabric.wait_for_bridges(node, 1)
        for pod in mine:
            pods.delete(lab, pod.name)
        for pod in mine:
            added_again(lab, pod)
        traffic.open({pod.name for pod in mine})
    assert len(world.railctl(node, "get", "attachments")["attachments"]) == len(mine)
