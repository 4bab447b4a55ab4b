"""A pod that floods its switch with frames that are all different makes no flow of anybody else leave the datapath.

Open vSwitch keeps a megaflow for each kind of frame that it has seen. Above its flow limit it removes every flow that was
idle for 0.1 s. Here the limit is 6,000; the victims are quiet, and a new flow of theirs is timed before and during each
attack. The guard of the pod's representor lets no forged frame reach the switch, and frames to 4,000 addresses at most.
Prints flood.txt: what was sent, what it made, what it cost the victims."""

from __future__ import annotations

import itertools
import random
import re
import secrets
import socket
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import guards
import pytest
from frames import BROADCAST, arp_request, ethernet, udp_frame
from railcni_lab import kernel
from railcni_lab.layout import uplink
from railcni_lab.speaker import Speaker, addresses, announce, communities, tenant_id, withdraw
from tables import Tables
from world import Capture, Port, World, eventually, send_frames

RAIL = 0
FRAMES = 1500
FLOW_LIMIT = 6000
DESTINATIONS = 4000  # that a pod may speak to at a time
FIRST_LIMIT, DEFAULT_LIMIT = 10000, 200000  # of Open vSwitch
SAMPLES = 20
FAR = iter(addresses("10.200.0.1", 1000))  # each is sent to once: its first packet makes a new megaflow
HEAD = ("attack", "frames", "frames/s", "megaflows made", "victims' flows", "evicted", "first packet before, p50 / max",
        "during, p50 / max")


@dataclass
class Stage:
    world: World
    attacker: Port
    victim: Port  # another tenant, same node
    mate: Port  # the victim's, on another node
    tables: Tables
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def mac(self) -> str:
        return ":".join(f"{b:02x}" for b in (self.rng.randrange(256) & 0xFE, *self.rng.randbytes(5)))

    def ipv4(self) -> str:
        return ".".join(str(self.rng.randrange(1, 255)) for _ in range(4))

    def near(self) -> str:
        """Of the pods' own subnets: it differs from addresses that are known in its last bits."""
        found = f"10.{self.rng.choice((0, 200))}.{self.rng.randrange(4)}.{self.rng.randrange(256)}"
        return found if found != self.attacker.ipv4 else self.near()

    def ipv6(self) -> str:
        return "fd52:4149:0:1:" + self.rng.randbytes(8).hex(":", 2)

    def datagram(self, source_mac: str | None = None, target_mac: str | None = None, source: str | None = None,
                 target: str | None = None, vlan: int | None = None) -> bytes:
        me = self.attacker
        mine, theirs = (me.ipv6, self.mate.ipv6) if ":" in (source or target or "") else (me.ipv4, self.mate.ipv4)
        return udp_frame(source_mac or me.mac, target_mac or World.gateway_mac(RAIL), source or mine, target or theirs, b"flood",
                         vlan=vlan)

    def megaflows(self) -> dict[str, str]:
        """Match and port of each megaflow of the node -> its counters and actions."""
        text = self.world.appctl(self.attacker.node, "dpctl/dump-flows", "-m", "--names")
        parts = [re.sub(r"^ufid:\S+,? ?", "", line).partition(", packets:") for line in text.splitlines() if "in_port(" in line]
        return {match: rest for match, _, rest in parts}

    def of_port(self, port: Port) -> int:
        return sum(f"in_port({port.representor})" in match for match in self.megaflows())

    def of_victims(self) -> set[str]:
        """The flows of everybody else on the node."""
        return {match for match in self.megaflows() if f"in_port({self.attacker.representor})" not in match}

    def first_packets(self) -> list[float]:
        """Milliseconds from a pod to the leaf, each to an address that the pod has never sent to."""
        leaf = self.world.lab.leaf(RAIL)
        capture = Capture(leaf.namespace, self.victim.node.name)
        capture.socket.settimeout(5)
        with kernel.inside(self.victim.namespace):
            sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        sender.bind((self.victim.ifname, 0))
        taken = []
        try:
            for target in itertools.islice(FAR, SAMPLES):
                mark = secrets.token_bytes(16)
                frame = udp_frame(self.victim.mac, World.gateway_mac(RAIL), self.victim.ipv4, target, mark)
                began = time.monotonic()
                sender.send(frame)
                while mark not in capture.socket.recv(65536):
                    pass
                taken.append((time.monotonic() - began) * 1000)
                time.sleep(0.01)  # spread over the attack
        finally:
            sender.close()
            capture.close()
        return taken

    def attack(self, name: str, frames: list[bytes]) -> tuple[set[str], int]:
        """The victims' flows that have left the datapath, and how many the attacker has made. A row of flood.txt."""
        victim = self.victim
        send_frames(victim, [udp_frame(victim.mac, World.gateway_mac(RAIL), victim.ipv4, self.mate.ipv4, b"quiet")])
        before = self.first_packets()
        quiet = eventually("the victims' flows are in the datapath", self.of_victims,
                           lambda found: any(self.mate.ipv4 in match for match in found))
        had = self.of_port(self.attacker)
        with flooding(self, frames) as pace:
            during = self.first_packets()
        time.sleep(1.2)  # two rounds of the revalidators, which are what evicts
        made = self.of_port(self.attacker) - had
        evicted = quiet - self.of_victims()
        self.tables.row("flood", HEAD, (
            name, str(pace.frames), f"{pace.frames / pace.seconds:.0f}", str(made), str(len(quiet)), str(len(evicted)),
            f"{statistics.median(before):.1f} / {max(before):.1f} ms", f"{statistics.median(during):.1f} / {max(during):.1f} ms"))
        return evicted, made


@pytest.fixture(scope="module")
def stage(settled: World, tables: Tables) -> Iterator[Stage]:
    attacker, victim = settled.port("a1", RAIL), settled.port("b1", RAIL)
    node = victim.node
    far = addresses("10.200.0.1", 1000)
    speaker = Speaker(settled.lab, settled.lab.leaf(RAIL))
    limits = (f"other_config:flow-limit={FLOW_LIMIT}", "other_config:max-idle=600000")  # earlier tests' flows stay
    try:
        speaker.send(announce(far, communities(tenant_id("namespace/tenant-b"), RAIL)))
        eventually("the victim's tenant has 1,000 addresses elsewhere",
                   lambda: len(settled.flows(node, RAIL, "table=7,ip,nw_src=10.200.0.0/16")), lambda n: n == len(far), 30)
        settled.vsctl(node, "set", "Open_vSwitch", ".", *limits)
        settled.appctl(node, "upcall/set-flow-limit", str(FLOW_LIMIT))
        yield Stage(settled, attacker, victim, settled.port("b2", RAIL), tables)
    finally:
        settled.renew_guard(attacker)
        for limit in limits:
            settled.vsctl(node, "remove", "Open_vSwitch", ".", "other_config", limit.partition(":")[2].partition("=")[0])
        settled.appctl(node, "upcall/set-flow-limit", "10000")
        speaker.send(withdraw(far))
        speaker.close()
        eventually("the addresses are forgotten", lambda: settled.flows(node, RAIL, "table=7,ip,nw_src=10.200.0.0/16"),
                   lambda found: not found, 30)


@dataclass
class Pace:
    frames: int = 0
    seconds: float = 0


@contextmanager
def flooding(stage: Stage, frames: list[bytes]) -> Iterator[Pace]:
    pace = Pace(len(frames))

    def send() -> None:
        began = time.monotonic()
        send_frames(stage.attacker, frames)
        pace.seconds = time.monotonic() - began

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield pace
    finally:
        thread.join()


# Attack -> its frames, and how many megaflows it may make.
ATTACKS: dict[str, tuple[Callable[[Stage], bytes], int]] = {
    "source MACs": (lambda s: s.datagram(source_mac=s.mac()), 0),
    "destination MACs": (lambda s: s.datagram(target_mac=s.mac()), 0),
    "both MACs and IPv4 sources": (lambda s: s.datagram(source_mac=s.mac(), target_mac=s.mac(), source=s.ipv4()), 0),
    "IPv4 sources": (lambda s: s.datagram(source=s.ipv4()), 0),
    "IPv4 sources near known ones": (lambda s: s.datagram(source=s.near()), 0),
    "IPv4 destinations": (lambda s: s.datagram(target=s.ipv4()), FRAMES),
    "IPv6 sources": (lambda s: s.datagram(source=s.ipv6()), 0),
    "IPv6 destinations": (lambda s: s.datagram(target=s.ipv6()), FRAMES),
    "IPv6 sources and source MACs": (lambda s: s.datagram(source=s.ipv6(), source_mac=s.mac()), 0),
    "VLAN tags": (lambda s: s.datagram(vlan=s.rng.randrange(1, 4095)), 0),
    "ARP senders": (lambda s: arp_request(s.mac(), s.mac(), s.ipv4(), s.ipv4()), 0),
    "Ethernet types": (lambda s: ethernet(s.mac(), BROADCAST, s.rng.randrange(0x0600, 0x10000), bytes(46)), 0),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_flood_of_forged_frames_evicts_nobodys_flows(stage: Stage, attack: str) -> None:
    make, most = ATTACKS[attack]
    dropped = stage.world.drops(stage.attacker)
    evicted, made = stage.attack(attack, [make(stage) for _ in range(FRAMES)])
    assert not evicted, evicted
    assert made <= most, [match for match in stage.megaflows() if f"in_port({stage.attacker.representor})" in match][:20]
    if "destinations" not in attack or "MAC" in attack:
        # On a busy machine the socket that Open vSwitch reads loses some: they are sent again.
        def refused() -> int:
            counted = stage.world.drops(stage.attacker) - dropped
            send_frames(stage.attacker, [make(stage) for _ in range(FRAMES - counted)])
            return counted

        eventually("as many frames as were sent are counted as refused", refused, lambda n: n >= FRAMES, 60)


def test_raild_raises_the_flow_limit(stage: Stage) -> None:
    """Open vSwitch begins with a limit of 10,000 flows and raises it by 2,000 a second: too slow where many pods start."""
    world, node = stage.world, stage.attacker.node
    world.vsctl(node, "remove", "Open_vSwitch", ".", "other_config", "flow-limit")
    world.appctl(node, "upcall/set-flow-limit", str(FIRST_LIMIT))
    for length in (999, 1000):  # an event of the uplink, at which raild looks at everything
        kernel.run(["ip", "-n", node.namespace, "link", "set", uplink(RAIL), "txqueuelen", str(length)])
    eventually("raild raises the flow limit", lambda: world.appctl(node, "upcall/show"),
               lambda text: f"(limit {DEFAULT_LIMIT})" in text)
    world.vsctl(node, "set", "Open_vSwitch", ".", f"other_config:flow-limit={FLOW_LIMIT}")
    world.appctl(node, "upcall/set-flow-limit", str(FLOW_LIMIT))


def test_a_pod_makes_no_more_megaflows_than_it_may_have_destinations(stage: Stage) -> None:
    me = stage.attacker
    stage.world.appctl(me.node, "revalidator/purge")
    stage.world.renew_guard(me)
    targets = [f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}" for i in range(0x630000, 0x630000 + DESTINATIONS + FRAMES)]
    targets += [f"fd52:4149:0:99::{i:x}" for i in range(FRAMES)]
    evicted, made = stage.attack("more destinations than a pod may have", [stage.datagram(target=target) for target in targets])
    assert not evicted, evicted
    assert DESTINATIONS // 2 < made <= DESTINATIONS
    counted = guards.refused(me.node.namespace, me.representor)
    assert 0 < counted["destinations"] <= 2 * FRAMES, counted  # the kernel loses some of a burst
    stage.world.renew_guard(me)


def test_after_the_floods_the_attackers_own_traffic_passes(stage: Stage) -> None:
    me, mate = stage.attacker, stage.world.port("a2", RAIL)
    leaf = stage.world.lab.leaf(RAIL)
    mark = secrets.token_bytes(16)
    capture = Capture(leaf.namespace, me.node.name)
    try:
        send_frames(me, [udp_frame(me.mac, World.gateway_mac(RAIL), me.ipv4, mate.ipv4, mark)])
        assert any(mark in frame for frame in capture.frames())
    finally:
        capture.close()
