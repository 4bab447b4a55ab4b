"""Faults of the switch: rules of others, daemons of Open vSwitch that end or hang, bridges and uplinks that somebody changes.

What raild mends by its event before anybody can ask is no row: a representor or an uplink that is set down, a bridge or a port that is
removed, a fail mode that is changed, a rule of others on a bridge that raild made. test_repair.py and test_foreign_flows.py measure those.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from causes import Row, Stage
from railcni_lab import daemons, fabric
from railcni_lab.layout import Node, bridge, write_json
from world import eventually, hanging, killed, settle


@contextmanager
def foreign_flow(stage: Stage) -> Iterator[None]:
    """Whoever sends to a1 reaches it; raild is told to leave it."""
    world, node, a1 = stage.world, stage.node, stage.port("a1")
    with fabric.foreign_flows_stay(world.lab, node):
        settle(world, seconds=60)
        world.run_on_switch(node, stage.rail, "add-flow",
                            f"table=0,priority=60000,ip,nw_dst={a1.ipv4},actions=mod_dl_dst:{a1.mac},output:{a1.ofport}")
        try:
            yield
        finally:
            world.run_on_switch(node, stage.rail, "del-flows", "cookie=0/-1,table=0")
    settle(world, seconds=60)


@contextmanager
def foreign_flow_in_a_high_table(stage: Stage) -> Iterator[None]:
    with fabric.foreign_flows_stay(stage.world.lab, stage.node):
        settle(stage.world, seconds=60)
        stage.world.run_on_switch(stage.node, stage.rail, "add-flow", "cookie=0x77,table=99,priority=3,actions=NORMAL")
        try:
            yield
        finally:
            stage.world.run_on_switch(stage.node, stage.rail, "del-flows", "cookie=0x77/-1")
    settle(stage.world, seconds=60)


@contextmanager
def in_band_control(stage: Stage) -> Iterator[None]:
    """On a bridge that raild does not keep, somebody allows Open vSwitch rules of its own."""
    world, node, name = stage.world, stage.node, bridge(stage.rail)
    with fabric.bridges_are_others(world.lab, node):
        settle(world, seconds=60)
        world.vsctl(node, "remove", "Bridge", name, "other_config", "disable-in-band")
        try:
            yield
        finally:
            world.vsctl(node, "set", "Bridge", name, "other_config:disable-in-band=true")
    settle(world, seconds=60)


def until_settled(fault: Callable[[Node], AbstractContextManager[None]]) -> Callable[[Stage], AbstractContextManager[None]]:
    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        with fault(stage.node):
            yield
        settle(stage.world, seconds=60)
    return make


@contextmanager
def foreign_port(stage: Stage) -> Iterator[None]:
    world, node, name = stage.world, stage.node, bridge(stage.rail)
    world.vsctl(node, "add-port", name, "theirs0", "--", "set", "Interface", "theirs0", "type=internal")
    try:
        yield
    finally:
        world.vsctl(node, "--if-exists", "del-port", name, "theirs0")
        eventually("the port is gone", lambda: world.vsctl(node, "list-ports", name).split(), lambda ports: "theirs0" not in ports)


@contextmanager
def policed(stage: Stage) -> Iterator[None]:
    port, rate = stage.port("a1").representor, ("ingress_policing_rate", "ingress_policing_burst")
    stage.world.vsctl(stage.node, "set", "Interface", port, f"{rate[0]}=10000000", f"{rate[1]}=1000000")
    try:
        yield
    finally:
        stage.world.vsctl(stage.node, "set", "Interface", port, f"{rate[0]}=0", f"{rate[1]}=0")


@contextmanager
def rates_without_devlink(stage: Stage) -> Iterator[None]:
    """The lab's devices are no VFs; raild takes the change while it runs."""
    before = stage.node.config_file.read_text()
    write_json(stage.node.config_file, {**json.loads(before), "rates": {"default": {"max": "200gbit"}}})
    try:
        yield
    finally:
        stage.node.config_file.write_text(before)
        eventually("raild has taken the file back", stage.doctor, lambda lines: not lines)


ROWS: list[Row] = [
    Row("Open vSwitch polices a pod's port", "ingress-policing", "tenant-a/a1", policed, "ovs-vsctl set Interface"),
    Row("rates for devices that have none", "rates-refused", "rail0", rates_without_devlink),
    Row("foreign flow lets another tenant in", "foreign-flows", "rail0", foreign_flow, "ovs-ofctl"),
    Row("foreign flow in a table of its own", "foreign-flows", "rail0", foreign_flow_in_a_high_table, "ovs-ofctl"),
    Row("hidden rules are allowed on a bridge of others", "in-band-rules", "rail0", in_band_control, "ovs-vsctl set Bridge"),
    Row("ovs-vswitchd killed", "vswitchd-down", "vswitchd", until_settled(lambda node: killed(node, "ovs-vswitchd", daemons.start_vswitchd))),
    Row("ovs-vswitchd hangs", "vswitchd-down", "vswitchd", until_settled(lambda node: hanging(node, "ovs-vswitchd"))),
    Row("ovsdb-server killed", "ovsdb-down", "ovsdb", until_settled(lambda node: killed(node, "ovsdb-server", daemons.start_ovsdb))),
    Row("ovsdb-server hangs", "ovsdb-down", "ovsdb", until_settled(lambda node: hanging(node, "ovsdb-server"))),
    Row("port of somebody else on the bridge", "foreign-port", "rail0", foreign_port, "ovs-vsctl del-port"),
]
