"""Faults, each with the alerts of deploy/prometheus/alerts.yaml that it must make fire. Most faults are those of the doctor's (cause_rows_*).

Use:     for row in ROWS: with row.make(stage): ... until row.alerts fire of row.instance
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import cause_rows_bgp as bgp
import cause_rows_life as life
import cause_rows_node as of_node
import cause_rows_pod as of_pod
import cause_rows_switch as switch
from api_server import ApiServer
from causes import Stage
from clock import Clock
from frames import udp_frame
from railcni_lab import daemons, frontend, kernel, matrix, pods, vty
from railcni_lab.fabric import METRICS
from railcni_lab.layout import Lab, Node
from world import Port, World, eventually, hanging, killed, send_frames, settle

N1, N2, NIC = METRICS, "127.0.0.1:9478", "127.0.0.1:9479"  # instances, on n1's loopback
REAL, OF_A_NIC = "raild of the lab", "a page of raild's code: no device of the lab counts it"
MOVED_ON = "raild of the lab, its clock moved on by 620 s"
MOVES = "moves"  # a namespace whose label changes; its pod is on n2
LINE_RATE = 1  # Mbit/s, of n2's uplinks
A_LOOK = 240.0  # raild looks at the switch again 100 times as long after a look as it took: on a busy machine that is minutes
Make = Callable[["Theatre"], AbstractContextManager[None]]


@dataclass
class Theatre(Stage):
    """The lab's node n1 as the doctor's faults know it; n2, which asks an API server; and a NIC that only a page has."""

    api: ApiServer = field(kw_only=True)
    nic_trouble: float | None = None  # since when

    @property
    def n2(self) -> Node:
        return self.world.lab.find_node("n2")

    def page_of_n2(self) -> str:
        status, text = self.world.metrics_page(self.n2)
        if status != 200:
            raise OSError(text)
        return text

    def page_of_the_nic(self) -> str:
        seconds = 0 if self.nic_trouble is None else time.monotonic() - self.nic_trouble
        return subprocess.run([str(self.world.lab.binaries.parent / "tests/counted_page"), f"{seconds:.3f}"], capture_output=True, text=True,
                              timeout=10, check=True).stdout


@dataclass(frozen=True)
class AlertRow:
    fault: str
    alerts: tuple[str, ...]
    make: Make
    instance: str = N1
    shown_by: str = REAL
    seconds: float = 60  # until all fire, at most
    ends: bool = True  # once the fault is mended; else it asks for the growth of minutes


# Packets


def send(port: Port, to: str, count: int, size: int, per_second: float) -> None:
    """Datagrams from the pod, one by one."""
    with kernel.inside(port.namespace):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender:
        sender.bind((port.ipv4, 0))  # the pod routes by its own address
        payload, began, sent = bytes(size), time.monotonic(), 0
        while sent < count:
            due = min(count, int((time.monotonic() - began) * per_second) + 1)
            for _ in range(due - sent):
                try:
                    sender.sendto(payload, (to, 4791))
                except OSError:
                    pass  # the fault of a row, most likely
            sent = due
            time.sleep(1 / per_second)


@contextmanager
def steady(port: Port, to: str, size: int = 1400, per_second: float = 2 * LINE_RATE * 1e6 / 8 / 1400) -> Iterator[None]:
    """Until the end; twice LINE_RATE if nothing else is said."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            send(port, to, max(1, int(per_second / 2)), size, per_second)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def nothing(_: Theatre) -> Iterator[None]:
    yield


@contextmanager
def discards(stage: Stage) -> Iterator[None]:
    """The leaf's port has a small MTU: the uplink discards what is larger, of each batch of Open vSwitch the first."""
    with bgp.link_of_the_leaf(stage, "mtu 1500", "mtu 4200"), \
            steady(stage.port("a1"), stage.port("a2").ipv4, size=3000, per_second=800):
        yield
    settle(stage.world, 60)


@contextmanager
def flows_stay(stage: Theatre) -> Iterator[None]:
    stage.world.vsctl(stage.node, "set", "Open_vSwitch", ".", "other_config:max-idle=600000")
    try:
        yield
    finally:
        stage.world.vsctl(stage.node, "remove", "Open_vSwitch", ".", "other_config", "max-idle")
        stage.world.appctl(stage.node, "revalidator/purge")


@contextmanager
def all_talk(stage: Theatre) -> Iterator[None]:
    with flows_stay(stage):
        matrix.measure(stage.world.lab, "udp", wait_seconds=15)
        yield


@contextmanager
def flooded(stage: Theatre) -> Iterator[None]:
    """1,500 flows that drop, where the datapath may have 4,000."""
    world, node = stage.world, stage.node
    world.vsctl(node, "set", "Open_vSwitch", ".", "other_config:flow-limit=4000")
    try:
        with flows_stay(stage), of_node.flood(stage):
            yield
    finally:
        world.vsctl(node, "remove", "Open_vSwitch", ".", "other_config", "flow-limit")


@contextmanager
def too_many_destinations(stage: Theatre) -> Iterator[None]:
    """4,500 of them, again and again: raild's second look sees more refused than its first."""
    a1 = stage.port("a1")
    frames = [udp_frame(a1.mac, stage.world.gateway_mac(a1.rail), a1.ipv4, f"10.97.{number >> 8}.{number & 255}", b"many")
              for number in range(4500)]
    ended = threading.Event()

    def send() -> None:
        while not ended.wait(2):
            send_frames(a1, frames)

    sender = threading.Thread(target=send)
    sender.start()
    try:
        yield
    finally:
        ended.set()
        sender.join()
        stage.world.appctl(stage.node, "revalidator/purge")
        stage.world.renew_guard(a1)


# The switch


@contextmanager
def foreign_flow_that_is_removed(stage: Theatre) -> Iterator[None]:
    stage.world.run_on_switch(stage.node, 0, "add-flow", "cookie=0x77,table=99,priority=3,actions=NORMAL")
    yield


@contextmanager
def rule_deleted(stage: Theatre) -> Iterator[None]:
    stage.world.run_on_switch(stage.node, 0, "del-flows", "cookie=0x5241494c01000000/-1,table=0")
    yield


def without_vswitchd(stage: Theatre) -> AbstractContextManager[None]:
    return switch.until_settled(lambda node: killed(node, "ovs-vswitchd", daemons.start_vswitchd))(stage)


def vswitchd_hangs(stage: Theatre) -> AbstractContextManager[None]:
    return switch.until_settled(lambda node: hanging(node, "ovs-vswitchd"))(stage)


@contextmanager
def del_without_ovsdb(stage: Theatre) -> Iterator[None]:
    pods.add(stage.world.lab, "goes", "n1", "tenant-a", [0])
    with killed(stage.node, "ovsdb-server", daemons.start_ovsdb):
        pods.delete(stage.world.lab, "goes")
        yield
    settle(stage.world, 60)


# The front end


def lines_of_the_front_end(stage: Theatre, make: list[str], mend: list[str]) -> AbstractContextManager[None]:
    return bgp.lines(frontend.leaf(stage.world.lab, 0), make, mend)


def one_session(stage: Theatre) -> AbstractContextManager[None]:
    line = f"neighbor {stage.node.name} shutdown"
    return lines_of_the_front_end(stage, [line], [f"no {line}"])


def no_default_route(stage: Theatre) -> AbstractContextManager[None]:
    ways = ("neighbor NODES default-originate", "neighbor fe1 activate")
    return lines_of_the_front_end(stage, ["address-family ipv4 unicast", *(f"no {way}" for way in ways)],
                                  ["address-family ipv4 unicast", *ways])


@contextmanager
def next_hop_stays(stage: Theatre) -> Iterator[None]:
    """As zebra may leave it: the leaf has no default route any more, and the kernel's still goes there."""
    hops = frontend.nexthops(stage.node)
    with no_default_route(stage):
        eventually("one link", lambda: frontend.kernels_links(stage.node)[0], lambda links: len(links) == 1, 20)
        frontend.replace_default(stage.node, hops)
        yield


@contextmanager
def filter_opened(stage: Theatre) -> Iterator[None]:
    """While raild stands still, somebody lets a pod's address out; raild finds the leak, and its audit shuts it."""
    pid = daemons.pid_of(stage.node, "raild") or 0
    os.kill(pid, signal.SIGSTOP)
    try:
        name = "railcni-frontend_own"
        vty.configure(stage.node.frr_dir, f"no ip prefix-list {name}", f"ip prefix-list {name} seq 5 permit {stage.port('a1').ipv4}/32")
        time.sleep(1)  # bgpd tells the leaf
    finally:
        os.kill(pid, signal.SIGCONT)
    yield


# Tenants, on n2


@contextmanager
def label_that_is_no_tenant(stage: Theatre) -> Iterator[None]:
    stage.api.create("nobodys", "Not_A-Tenant.x" + "x" * 40)
    try:
        yield
    finally:
        stage.api.delete("nobodys")


@contextmanager
def label_changes_while_vswitchd_hangs(stage: Theatre) -> Iterator[None]:
    with hanging(stage.n2, "ovs-vswitchd"):
        stage.api.label(MOVES, "blue")
        try:
            yield
        finally:
            stage.api.label(MOVES, "red")
    settle(stage.world, 60)


@contextmanager
def api_server_away(stage: Theatre) -> Iterator[None]:
    """For as long as n2's raild believes: its clock jumps."""
    clock = Clock(stage.world.lab.folder / "clock", stage.world.lab.binaries)
    stage.api.go_away()
    restarted(stage.world.lab, stage.n2, clock.raild)
    try:
        key = "railcni_tenants_stale_seconds"
        eventually("the list does not follow", lambda: stage.world.metrics(stage.n2)[key], lambda seconds: 0 < seconds < 300, 30)
        clock.set("+620s")
        yield
    finally:
        stage.api.come_back()
        restarted(stage.world.lab, stage.n2)


def restarted(lab: Lab, node: Node, binary: Path | None = None) -> None:
    """As test_tenants does it: raild knows its node's name."""
    if (pid := daemons.pid_of(node, "raild")) is not None:
        daemons.kill(pid, signal.SIGTERM)
    os.environ["NODE_NAME"] = node.name
    try:
        daemons.start_raild(lab, node, binary)
    finally:
        del os.environ["NODE_NAME"]
    daemons.wait_until(f"raild of {node.name} answers", lambda: daemons.raild_answers(node), 30)


@contextmanager
def nic_in_trouble(stage: Theatre) -> Iterator[None]:
    stage.nic_trouble = time.monotonic()
    yield  # it stays: the dashboards show it


def not_lossless(stage: Theatre) -> AbstractContextManager[None]:
    return life.file_with(lambda config: config.update(lossless={"trust": "dscp", "pfc": [3]}))(stage)


ROWS: list[AlertRow] = [
    AlertRow("a rule of raild's that somebody deletes", ("RailcniRepairsGoOn",), rule_deleted, ends=False),
    AlertRow("a namespace's label is no tenant", ("RailcniTenantLabelInvalid",), label_that_is_no_tenant, N2),
    AlertRow("a label changes while ovs-vswitchd hangs", ("RailcniPodsInOtherTenant",), label_changes_while_vswitchd_hangs, N2),
    AlertRow("leaf's port down", ("RailcniRailDown",), lambda stage: bgp.link_of_the_leaf(stage, "down", "up")),
    AlertRow("BGP neighbor shut down at the leaf", ("RailcniBgpSessionDown",), bgp.shut_down_at_the_leaf),
    AlertRow("ovs-vswitchd killed", ("RailcniRulesMissing", "RailcniPartNotRight"), without_vswitchd),
    AlertRow("ovs-vswitchd hangs", ("RailcniFlowsUnknown",), vswitchd_hangs),
    AlertRow("foreign flow that stays", ("RailcniForeignFlows",), switch.foreign_flow),
    AlertRow("foreign flow that raild removes, its first", ("RailcniForeignFlowsRemoved",), foreign_flow_that_is_removed, ends=False),
    AlertRow("a pod floods the datapath, whose limit is 4,000", ("RailcniPodFloods", "RailcniFlowLimitNear"), flooded, seconds=A_LOOK),
    AlertRow("a pod speaks to 4,500 addresses", ("RailcniDestinationsRefused",), too_many_destinations, ends=False, seconds=A_LOOK),
    AlertRow("all pods talk on a datapath in userspace", ("RailcniNotOffloaded",), all_talk, seconds=A_LOOK),
    AlertRow("lossless asked of uplinks without DCB", ("RailcniRailNotLossless",), not_lossless),
    AlertRow("rates for devices that have none", ("RailcniRatesNotHeld",), switch.rates_without_devlink),
    AlertRow("the pod's device is gone", ("RailcniDeviceLost",), of_pod.device_is_gone),
    AlertRow("record lost while pods live", ("RailcniRecordLost",), of_node.record_lost),
    AlertRow("DEL while ovsdb-server is down", ("RailcniUndoPending",), del_without_ovsdb),
    AlertRow("an ADD that has died", ("RailcniAddStuck",), of_node.add_that_died),
    AlertRow("bgpd without its BMP module", ("RailcniBmpDown",), bgp.without_bmp),
    AlertRow("own address announced for another tenant", ("RailcniContestedAddress", "RailcniAddressAnnouncedElsewhere"),
             bgp.announced_by_the_leaf("tenant-b")),
    AlertRow("front end's session shut down at its leaf", ("RailcniFrontendNotRedundant",), one_session),
    AlertRow("front end's leaf has no default route", ("RailcniFrontendNotUsed",), no_default_route),
    AlertRow("the kernel keeps a next hop whose leaf has no default route", ("RailcniFrontendStrayRoute",), next_hop_stays),
    AlertRow("filter of the front end opened", ("RailcniFrontendLeak",), filter_opened),
    AlertRow("API server never answered", ("RailcniTenantsUnknown",), of_node.api_server_never_answered),
    AlertRow("uplink discards what its leaf's port cannot take", ("RailcniUplinkDiscards",), discards, ends=False),
    AlertRow("raild stopped", ("RailcniDown",), life.stopped),
    AlertRow("a pod sends at line rate for over a minute", ("RailcniUplinkFull",), nothing, N2, seconds=120, ends=False),
    AlertRow("NIC: errors, pauses, slow path, lost packets, a slow rail",
             ("RailcniUplinkErrors", "RailcniPauseStorm", "RailcniSlowPath", "RailcniOutOfSequence", "RailcniRailSlower"), nic_in_trouble,
             NIC, OF_A_NIC, ends=False),
    AlertRow("API server away for 620 s", ("RailcniTenantsStale",), api_server_away, N2, MOVED_ON),
]


def of_world(world: World, api: ApiServer) -> Theatre:
    return Theatre(world, api=api)
