"""Faults of the node: its links and the settings of Open vSwitch, its disk and its record, networks that are written wrong, the cluster
that cannot be asked."""

from __future__ import annotations

import ipaddress
import json
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

from causes import Row, Stage
from frames import udp_frame
from railcni_lab import daemons, kernel, pods
from railcni_lab.chain import Attachment, Chain
from railcni_lab.layout import Node, bridge, uplink, write_json
from world import eventually, send_frames, send_frames_on, settle

STATE = ("state.db", "state.db-wal", "state.db-shm")


def on_node(fault: str, mend: str, *, breaks_bgp: bool = False) -> Callable[[Stage], AbstractContextManager[None]]:
    """Shell commands on the node. {uplink}, {bridge}: of the rail. What the remedy has mended is mended once more without harm. A
    session that the fault has broken may end later: it ends at once, and comes back."""

    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        words = {"uplink": uplink(stage.rail), "bridge": bridge(stage.rail)}
        stage.run_on_node(fault.format(**words))
        try:
            yield
        finally:
            stage.run_on_node(mend.format(**words))
            if breaks_bgp:
                stage.run_on_node("vtysh -c 'clear bgp *'")
                settle(stage.world, 60)

    return make


# Networks that are written wrong


def chain(stage: Stage, kinds: tuple[str, ...]) -> Chain:
    """The rail's network with these plugins alone."""
    network: dict[str, Any] = pods.network(stage.node, stage.rail)
    network["plugins"] = [plugin for plugin in network["plugins"] if plugin["type"] in kinds]
    return Chain(network, path=pods.chain(stage.world.lab, stage.node, stage.rail).path, cache=stage.world.lab.folder / "cni/causes",
                 environment={"RAILCNI_ROOT": str(stage.node.root)}, namespace=stage.node.namespace)


@contextmanager
def attached(stage: Stage, name: str, kinds: tuple[str, ...]) -> Iterator[Attachment]:
    """A pod of tenant-a beside the others, on the last of the node's devices."""
    lab = stage.world.lab
    namespace = pods.namespace(lab, name)
    kernel.run(["ip", "netns", "add", namespace])
    container = name.ljust(64, "0")
    attachment = Attachment(container, str(kernel.NETNS_DIR / namespace), "net1", f"vf{stage.rail}x{lab.shape().devices - 1}",
                            {"IgnoreUnknown": "true", "K8S_POD_NAMESPACE": "tenant-a", "K8S_POD_NAME": name,
                             "K8S_POD_INFRA_CONTAINER_ID": container, "K8S_POD_UID": name})
    its = chain(stage, kinds)
    try:
        its.add(attachment)
        yield attachment
    finally:
        its.delete(attachment)
        kernel.delete_namespace(namespace)


@contextmanager
def without_tenant_isolation(stage: Stage) -> Iterator[None]:
    with attached(stage, "nobodys", ("ovs-provider",)):
        yield


@contextmanager
def without_frr_provider(stage: Stage) -> Iterator[None]:
    with attached(stage, "unheard", ("ovs-provider", "tenant-isolation")):
        yield


@contextmanager
def add_that_died(stage: Stage) -> Iterator[None]:
    """Five minutes ago, as the record says. The next plugin would have gone on; it never came."""
    with attached(stage, "halfway", ("ovs-provider",)) as attachment:
        with closing(sqlite3.connect(f"{stage.node.root}/var/lib/railcni/state.db", timeout=10)) as db, db:
            db.execute("UPDATE attachment SET phase = 'adding', created_ms = ? WHERE container_id = ?",
                       (int(time.time() * 1000) - 300_000, attachment.container_id))
        yield


# The record and its disk


def restart_raild(stage: Stage, meanwhile: Callable[[], object], **environment: str) -> None:
    pid = daemons.pid_of(stage.node, "raild")
    if pid is not None:
        daemons.kill(pid, signal.SIGTERM)
    meanwhile()
    daemons.start_raild(stage.world.lab, stage.node)
    eventually("raild answers", lambda: daemons.raild_answers(stage.node), bool, 30)


@contextmanager
def small_disk(stage: Stage) -> Iterator[None]:
    """The record's folder is a file system of 32 MB."""
    folder = stage.node.root / "var/lib/railcni"

    def shrink() -> None:
        copy = folder.with_name("railcni.copy")
        shutil.copytree(folder, copy)
        kernel.run(["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(folder)])
        shutil.copytree(copy, folder, dirs_exist_ok=True)
        shutil.rmtree(copy)

    restart_raild(stage, shrink)
    try:
        yield
    finally:
        restart_raild(stage, lambda: kernel.run(["umount", str(folder)]))
        settle(stage.world, 60)


@contextmanager
def record_lost(stage: Stage) -> Iterator[None]:
    """Somebody has taken the record away while pods live; it comes back from a copy."""
    folder = stage.node.root / "var/lib/railcni"
    there = [name for name in STATE if (folder / name).exists()]

    def back() -> None:
        for name in STATE:
            (folder / name).unlink(missing_ok=True)
        for name in there:
            (folder / f"{name}.kept").rename(folder / name)

    restart_raild(stage, lambda: [(folder / name).rename(folder / f"{name}.kept") for name in there])
    try:
        yield
    finally:
        restart_raild(stage, back)
        settle(stage.world, 60)


# node.json


@contextmanager
def configured(stage: Stage, change: Callable[[dict[str, Any]], None]) -> Iterator[None]:
    before = stage.node.config_file.read_text()
    config = json.loads(before)
    change(config)
    restart_raild(stage, lambda: write_json(stage.node.config_file, config))
    try:
        yield
    finally:
        restart_raild(stage, lambda: write_json(stage.node.config_file, json.loads(before)))
        settle(stage.world, 60)


@contextmanager
def api_server_never_answered(stage: Stage) -> Iterator[None]:
    """The port of an address of the node's own at which nobody listens. The pods' tenants stay as they are."""

    def ask_for_labels(config: dict[str, Any]) -> None:
        config["kubernetes"] = {"tenants": True, "report": False, "api": "http://127.0.0.1:9"}

    with configured(stage, ask_for_labels):
        yield


@contextmanager
def tenant_misspelt(stage: Stage) -> Iterator[None]:
    with configured(stage, lambda config: config["tenancy"].update(tenants={"training": ["team-trianing"]})):
        yield


# The datapath


@contextmanager
def flood(stage: Stage) -> Iterator[None]:
    """1,500 frames to as many addresses that nobody has: a datapath flow each, that drops."""
    a1 = stage.port("a1")
    send_frames(a1, [udp_frame(a1.mac, stage.world.gateway_mac(a1.rail), a1.ipv4, f"10.98.{number >> 8}.{number & 255}", b"flood")
                     for number in range(1500)])
    try:
        yield
    finally:
        stage.world.appctl(stage.node, "dpctl/del-flows", "netdev@ovs-netdev")


@contextmanager
def masks(stage: Stage) -> Iterator[None]:
    """A leaf that lets forged sources through: each differs from a known address by another bit."""
    world, a1, a2 = stage.world, stage.port("a1"), stage.port("a2")
    known = int(ipaddress.ip_address(a2.ipv6))
    macs = world.leaf_mac(stage.node, 0), world.bridge_mac(stage.node, 0)
    frames = [udp_frame(*macs, str(ipaddress.IPv6Address(known ^ 1 << bit)), a1.ipv6, b"masks") for bit in range(100)]
    send_frames_on(world.lab.leaf(0).namespace, stage.node.name, frames)
    try:
        yield
    finally:
        world.appctl(stage.node, "dpctl/del-flows", "netdev@ovs-netdev")


ROWS: list[Row] = [
    Row("uplink has an address", "uplink-has-address", "rail0",
        on_node("ip address add 192.0.2.1/24 dev {uplink}", "ip address flush dev {uplink} to 192.0.2.1/24"), "ip address del"),
    Row("IPv6 enabled on the uplink", "uplink-ipv6-enabled", "rail0",
        on_node("sysctl -qw net.ipv6.conf.{uplink}.disable_ipv6=0", "sysctl -qw net.ipv6.conf.{uplink}.disable_ipv6=1"), "sysctl -w"),
    Row("bridge without a link-local address", "local-no-link-local", "rail0",
        on_node("ip -6 address flush dev {bridge} scope link", "ip link set {bridge} down && ip link set {bridge} up", breaks_bgp=True),
        "addrgenmode"),
    Row("IPv6 disabled on the bridge", "local-ipv6-disabled", "rail0",
        on_node("sysctl -qw net.ipv6.conf.{bridge}.disable_ipv6=1", "sysctl -qw net.ipv6.conf.{bridge}.disable_ipv6=0",
                breaks_bgp=True), "sysctl -w"),
    Row("datapath flows kept for 10 minutes", "max-idle-long", "Open vSwitch",
        on_node("ovs-vsctl set Open_vSwitch . other_config:max-idle=600000",
                "ovs-vsctl remove Open_vSwitch . other_config max-idle"), "ovs-vsctl set"),
    Row("a pod floods the datapath", "pod-floods", "tenant-a/a1", flood),
    Row("a leaf makes many masks", "masks-many", uplink(0), masks),
    Row("network without tenant-isolation", "no-tenant", "tenant-a/nobodys", without_tenant_isolation),
    Row("network without frr-provider", "not-announced", "tenant-a/unheard", without_frr_provider),
    Row("an ADD that has died", "add-died", "tenant-a/halfway", add_that_died),
    Row("record's disk nearly full", "record-no-space", "", small_disk),
    Row("record lost while pods live", "record-lost", "state.db", record_lost),
    Row("API server never answered", "tenants-not-known", "", api_server_never_answered),
    Row("namespace misspelt in node.json", "tenant-unused", "training", tenant_misspelt),
]
