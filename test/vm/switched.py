"""A lab inside a guest: the kernel's datapath with hardware offload on, and what its megaflows say."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from railcni_lab import fabric, kernel, pods
from railcni_lab.layout import Lab, Node, Shape
from tables import Tables
from world import World

# ovs-vswitchd counts its processors anew when its last count is 10 s old, on a clock that begins at boot: in the first 10 s
# of a machine it has none, starts no handler thread and loses every upcall (lib/ovs-thread.c, count_cpu_cores).
OVS_COUNTS_PROCESSORS_AFTER = 10.5
MAX_IDLE_MS = 600_000


@contextmanager
def lab_of(pods_wanted: dict[str, tuple[str, str]], more: int = 0) -> Iterator[World]:
    """Two nodes, one rail; the pods: name -> (node, tenant). `more`: devices for pods that come later. Nothing is taken down: the machine ends with it."""
    time.sleep(max(0.0, OVS_COUNTS_PROCESSORS_AFTER - time.monotonic()))
    lab = Lab("vm", Lab.from_environment().binaries)
    fabric.up(lab, Shape(nodes=2, rails=1, spines=0, devices=len(pods_wanted) + more, datapath="system"))
    world = World(lab)
    for node in lab.nodes():  # so that a megaflow is there to be looked at when its traffic has ended
        world.vsctl(node, "set", "Open_vSwitch", ".", f"other_config:max-idle={MAX_IDLE_MS}")
    for name, (node, tenant) in pods_wanted.items():
        pods.add(lab, name, node, tenant, None)
    yield world


@dataclass(frozen=True)
class Megaflow:
    """A line of `dpctl/dump-flows -m`."""

    text: str
    in_port: str
    datapath: str  # "tc" or "ovs"
    actions: str
    packets: int
    source: str  # IP addresses, "" when not matched on
    target: str


def megaflows(node: Node) -> list[Megaflow]:
    text = kernel.run(["ovs-appctl", "-t", f"{node.ovs_dir}/ovs-vswitchd.ctl", "dpctl/dump-flows", "-m", "--names"])
    return [parse(line) for line in text.splitlines() if "in_port(" in line]


def parse(line: str) -> Megaflow:
    def one(pattern: str) -> str:
        found = re.search(pattern, line)
        return found[1] if found else ""

    network = r"ipv[46]\(src=([^,/)]+)(?:/[^,)]*)?,dst=([^,/)]+)"
    ends = re.search(network, line)
    return Megaflow(line, one(r"in_port\(([^)]*)\)"), one(r"dp:(\w+)"), one(r"actions:(.*)$"),
                    int(one(r"packets:(\d+)") or 0), ends[1] if ends else "", ends[2] if ends else "")


def on_pod_path(world: World, node: Node) -> list[Megaflow]:
    """The megaflows of IP between pods, whichever their tenants: what a NIC is to do by itself."""
    addresses = {a for pod in pods.all_pods(world.lab) for rail in pod.results for a in pod.addresses(rail).values()}
    found = [m for m in megaflows(node) if m.source in addresses and m.target in addresses]
    in_tc = sum(m.datapath == "tc" for m in found)
    print(f"{node.name}: {len(found)} megaflows between pods, {in_tc} of them dp:tc", flush=True)
    for m in found:
        print(f"  {m.source} -> {m.target}: {m.packets} packets, dp:{m.datapath}, actions:{m.actions}")
    return found


def row_of(tables: Tables, where: str, found: list[Megaflow]) -> None:
    """The table of megaflows: how many of those between pods each datapath has."""
    cells = [str(sum(m.datapath == datapath for m in found)) for datapath in ("tc", "ovs")]
    tables.row("megaflows", ("guest, node", "megaflows of pods", "dp:tc", "dp:ovs", "packets"),
               (where, str(len(found)), *cells, str(sum(m.packets for m in found))))
