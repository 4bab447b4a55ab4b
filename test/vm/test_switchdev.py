"""A NIC with a switch of its own, as netdevsim shows one: raild makes it ready, representors are found, VFs keep their state.

The switch, its ports, devlink and what the PF says of its VFs are the kernel's. netdevsim is no PCI device and its VFs have no
interfaces: those a folder in the place of /sys adds (RAILCNI_SYSFS), with a dummy link as each VF's interface. On a NIC the PF's
number is in the names of its uplink (p0) and of its VFs' ports (pf0vf1); netdevsim counts uplinks from 1, so that name is ours."""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from doctor import named
from netdevsim import DEVICE, REAL, VFS, Sysfs, address, ports, representors, uplink
from priorities import differences, priorities, set_lossless
from railcni_lab import daemons, kernel
from railcni_lab.chain import PluginError
from railcni_lab.layout import REPOSITORY, write_json
from rates import Tree, described, devlink, findings, node_of, tree, want
from single import BRIDGE, Pod, links, node_with
from world import World, eventually, kill_raild

PATIENCE = 120
SETTINGS = {"vlan": 100, "vlanQoS": 3, "spoofchk": "on", "trust": "on", "link_state": "enable"}


def mode() -> str:
    told = json.loads(kernel.run(["devlink", "-j", "dev", "eswitch", "show", f"netdevsim/{DEVICE}"]))
    return told["dev"][f"netdevsim/{DEVICE}"]["mode"]


def nic() -> tuple[str, int, int]:
    """eSwitch mode, number of VFs, number of their representors."""
    return mode(), int((REAL / "sriov_numvfs").read_text()), len(representors())


@pytest.fixture(scope="module")
def sysfs(tmp_path_factory: pytest.TempPathFactory) -> Sysfs:
    Path("/sys/bus/netdevsim/new_device").write_text("10 1")
    eventually("the NIC's port has a link", ports, lambda found: all("netdev" in p for p in found.values()) and found, PATIENCE)
    return Sysfs(tmp_path_factory.mktemp("sysfs"))


@pytest.fixture(scope="module")
def world(sysfs: Sysfs) -> Iterator[World]:
    """A node whose raild is to prepare the NIC; before that it is in legacy mode and has no VFs."""
    assert nic() == ("legacy", 0, 0)
    os.environ["RAILCNI_SYSFS"] = str(sysfs.root)
    with node_with({"pf": uplink(), "manage_sriov": True, "num_vfs": VFS}) as world:
        yield world


@pytest.fixture(scope="module")
def ready(world: World, sysfs: Sysfs) -> World:
    eventually("raild makes the NIC ready", nic, lambda now: now == ("switchdev", VFS, VFS), PATIENCE)
    daemons.wait_until(f"bridge {BRIDGE}", lambda: BRIDGE in kernel.links(world.lab.node(1).namespace), PATIENCE)
    # As udev does it on a node: names that say nothing of the kernel's own.
    for vf, name in representors().items():
        kernel.run(["ip", "link", "set", name, "down", "name", f"ens1f0npf0vf{vf}"])
        kernel.run(["ip", "link", "set", f"ens1f0npf0vf{vf}", "up"])
    sysfs.look()
    return world


def state(vf: int) -> dict[str, Any]:
    """All of a VF that an attachment may change and has to give back."""
    found = {link["ifname"]: link for link in links()}
    own, representor = found.get(f"vf{vf}", {"flags": ()}), found[f"ens1f0npf0vf{vf}"]
    return {"address": own.get("address"), "mtu": own.get("mtu"), "up": "UP" in own["flags"],
            "representor": (representor["mtu"], "UP" in representor["flags"]),
            "by the PF": told_by_pf(vf)}


def told_by_pf(vf: int) -> dict[str, Any]:
    pf = next(link for link in links() if link["ifname"] == uplink())
    return next(v for v in pf["vfinfo_list"] if v["vf"] == vf)


def bridge_ports(world: World) -> set[str]:
    return set(world.vsctl(world.lab.node(1), "list-ports", BRIDGE).split())


@pytest.fixture
def pod(ready: World, sysfs: Sysfs) -> Iterator[Pod]:
    """A pod that is to get VF 1, which is afterwards as it was."""
    before = state(1)
    pod = Pod(ready, f"p{secrets.token_hex(3)}", address(1))
    yield pod
    sysfs.on_bus("netdevsim")
    pod.delete()
    pod.kill_namespace()
    assert state(1) == before


def set_num_vfs(world: World, number: int) -> None:
    """Another num_vfs in node.json, and raild started again with it."""
    node = world.lab.node(1)
    config = json.loads(node.config_file.read_text())
    config["rails"][0]["num_vfs"] = number
    write_json(node.config_file, config)
    kill_raild(node)
    daemons.start_raild(world.lab, node)


def log(world: World) -> str:
    return (world.lab.node(1).log_dir / "raild.log").read_text()


def test_raild_makes_the_nic_ready(ready: World) -> None:
    assert nic() == ("switchdev", VFS, VFS)
    assert "eSwitch legacy -> switchdev" in log(ready) and f"sriov_numvfs 0 -> {VFS}" in log(ready), log(ready)
    assert uplink() in eventually("the uplink is a port of the bridge", lambda: bridge_ports(ready),
                                  lambda found: uplink() in found, PATIENCE)


def test_each_vf_that_raild_makes_has_its_mac_address_by_the_pf(ready: World) -> None:
    own = {link["ifname"]: link["address"] for link in links()}
    assert {vf: told_by_pf(vf)["address"] for vf in range(VFS)} == {vf: own[f"vf{vf}"] for vf in range(VFS)}


def test_raild_started_again_leaves_a_nic_that_is_right_alone(ready: World) -> None:
    before, said = {v: told_by_pf(v) for v in range(VFS)}, log(ready).count("eSwitch legacy")
    set_num_vfs(ready, VFS)
    daemons.wait_until("raild answers", lambda: daemons.raild_answers(ready.lab.node(1)), PATIENCE)
    ready.railctl(ready.lab.node(1), "get", "rails")
    assert nic() == ("switchdev", VFS, VFS) and log(ready).count("eSwitch legacy") == said
    assert {v: told_by_pf(v) for v in range(VFS)} == before


@pytest.mark.parametrize("bus", ["netdevsim", "pci"])
def test_the_representor_is_found(ready: World, sysfs: Sysfs, pod: Pod, bus: str) -> None:
    """By devlink, whatever the representor's name is; where devlink does not know the device (pci), by its files."""
    sysfs.on_bus(bus)
    result = pod.add()
    assert result["interfaces"][0]["name"] == "ens1f0npf0vf1" == representors()[1]
    assert "ens1f0npf0vf1" in bridge_ports(ready)
    link = pod.link()
    assert link is not None and "UP" in link["flags"]
    pod.check()
    pod.delete()
    assert "ens1f0npf0vf1" not in bridge_ports(ready)


def test_settings_are_asked_of_the_pf_and_taken_back(pod: Pod) -> None:
    before = state(1)
    pod.settings = SETTINGS
    pod.add()
    told = told_by_pf(1)
    assert told["address"] == before["address"], told
    assert (told["vlan_list"][0]["vlan"], told["vlan_list"][0]["qos"]) == (100, 3), told
    assert (told["spoofchk"], told["trust"], told["link_state"]) == (True, True, "enable"), told
    pod.check()
    kernel.run(["ip", "link", "set", uplink(), "vf", "1", "trust", "off"])
    with pytest.raises(PluginError, match="trust"):
        pod.check()
    pod.delete()
    assert state(1) == before


def rates() -> dict[str, Any]:
    """What devlink(8) tells of each VF's rates, by its port."""
    shown = json.loads(kernel.run(["devlink", "-j", "port", "function", "rate", "show"]))["rate"]
    return {port: rate for port, rate in shown.items() if rate["type"] == "leaf"}


def test_rates_are_set_by_devlink_and_taken_back(pod: Pod) -> None:
    """netdevsim, as mlx5, refuses rates through the PF in switchdev mode."""
    before = rates()
    pod.settings = {"min_tx_rate": 50, "max_tx_rate": 200}
    pod.add()
    changed = {port: rate for port, rate in rates().items() if rate != before[port]}
    assert [(rate["tx_share"], rate["tx_max"]) for rate in changed.values()] == [(6_250_000, 25_000_000)], changed
    pod.check()
    port = next(iter(changed))
    kernel.run(["devlink", "port", "function", "rate", "set", port, "tx_max", "100mbit"])
    with pytest.raises(PluginError, match="the rate .50 to 100 Mbit/s. is not as the network asks"):
        pod.check()
    pod.delete()
    assert rates() == before


def test_devlinks_rates_are_by_the_kernel_as_by_the_fake(ready: World) -> None:
    """The contract suite on netdevsim."""
    before = rates()
    environment = {**os.environ, "RAILCNI_TEST_RATES": sorted(before)[0]}
    program = str(REPOSITORY / "build/tests/rates_contract_test")
    done = subprocess.run([program], text=True, capture_output=True, env=environment, check=False)
    assert done.returncode == 0 and "RatesContract.ANodeWithALeafStays/Kernel" in done.stdout, done.stdout + done.stderr
    assert rates() == before


def test_what_the_driver_cannot_do_fails_add_and_changes_nothing(pod: Pod) -> None:
    """netdevsim guarantees no more than it limits, as devlink says; the trust that was set before is taken back."""
    before = (state(1), rates())
    pod.settings = {"max_tx_rate": 4_000_000_000, "trust": "on"}
    with pytest.raises(PluginError, match="set the rate of port"):
        pod.add()
    assert (state(1), rates()) == before


RATES = {"default": {"max": "1gbit"}, "tenants": {"tenant-a": {"share": 3, "max": "2gbit"}}}
A, B = node_of("tenant-a"), node_of("tenant-b")


@pytest.fixture
def three(ready: World) -> Iterator[list[Pod]]:
    """Two pods of tenant-a and one of tenant-b, on VFs 0..2. The port of VF 1 is under a rate node of somebody else; afterwards the rates
    are as they were."""
    ports_of = sorted(rates())
    before = rates()
    devlink("add", f"netdevsim/{DEVICE}/admins", "tx_max", "4gbit")
    devlink("set", ports_of[1], "parent", "admins")
    pods = [Pod(ready, f"r{vf}{secrets.token_hex(2)}", address(vf), tenant=f"tenant-{of}") for vf, of in enumerate("aab")]
    yield pods
    for pod in pods:
        pod.delete()
        pod.kill_namespace()
    want(ready, None)
    eventually("raild has given everything back", tree, lambda now: now == ({"admins": (0, 4000)}, {ports_of[1]: "admins"}), PATIENCE)
    devlink("set", ports_of[1], "noparent")
    devlink("del", f"netdevsim/{DEVICE}/admins")
    assert rates() == before


def whole(nodes: dict[str, tuple[int, int]]) -> Tree:
    """Every pod of `three` is there."""
    return {"admins": (0, 4000), **nodes}, dict(zip(sorted(rates()), (A, A, B), strict=False))


def test_tenants_have_shares_and_limits_whatever_happens_to_raild(ready: World, three: list[Pod]) -> None:
    node, (one, two, other) = ready.lab.node(1), three
    first, last = sorted(rates())[0], sorted(rates())[2]
    wanted = whole({A: (3, 2000), B: (1, 1000)})
    want(ready, RATES)
    for pod in three:
        pod.add()
    eventually("raild puts the ports under their tenants", tree, lambda now: now == wanted, PATIENCE)
    one.check()
    told = eventually("raild tells it", lambda: shown(ready), lambda rail: len(rail.get("tenant_rates", [])) == 2, PATIENCE)
    assert {(t["tenant"]["name"], int(t["share"]), int(t["max_mbit"]), t["attachments"]) for t in told["tenant_rates"]} == {
        ("tenant-a", 3, 2000, 2), ("tenant-b", 1, 1000, 1)}, told
    assert f"tenant tenant-a on netdevsim/{DEVICE}: share 3, at most 2000 Mbit/s, for 2 interfaces" in described(ready, "rail", "rail0")
    assert "its tenant's on this NIC: share 3, at most 2000 Mbit/s" in described(ready, "attachment", f"tenant-a/{one.name}")
    devlink("set", f"netdevsim/{DEVICE}/{A}", "tx_max", "3gbit")
    eventually("raild sets again what others change, at devlink's event", tree, lambda now: now == wanted, 20)
    kill_raild(node)
    devlink("set", first, "noparent")
    devlink("set", f"netdevsim/{DEVICE}/{B}", "tx_max", "3gbit")
    with pytest.raises(PluginError, match=f"is under no rate node, not under the rate node {A} of tenant tenant-a"):
        one.check()
    with pytest.raises(PluginError, match="has share 1, at most 3000 Mbit/s, and node.json says share 1, at most 1000"):
        other.check()
    daemons.start_raild(ready.lab, node)
    eventually("raild mends by name what it finds", tree, lambda now: now == wanted, PATIENCE)
    one.check()
    other.delete()
    eventually("the node goes with its last pod", tree, lambda now: B not in now[0] and last not in now[1], PATIENCE)
    two.delete()
    eventually("a port is given back to whom it had", tree, lambda now: now[1] == {first: A, sorted(rates())[1]: "admins"}, PATIENCE)


# What a raild has left that was killed between two of its steps, by what another one sets then.
HALFWAY = [
    [("add", f"netdevsim/{DEVICE}/{node_of('tenant-gone')}")],
    [("set", "{0}", "noparent"), ("set", "{1}", "parent", "admins"),
     ("set", f"netdevsim/{DEVICE}/{A}", "tx_share", "0mbit", "tx_max", "0mbit")],
    [("set", "{2}", "parent", A), ("del", f"netdevsim/{DEVICE}/{B}")],
]


def test_a_raild_that_is_killed_leaves_rates_that_the_next_one_mends(ready: World, three: list[Pod]) -> None:
    node, wanted = ready.lab.node(1), whole({A: (3, 2000), B: (1, 1000)})
    want(ready, RATES)
    for pod in three:
        pod.add()
    kill_raild(node)  # at whatever it was
    for steps in HALFWAY:
        daemons.start_raild(ready.lab, node)
        eventually("as wanted", tree, lambda now: now == wanted, PATIENCE)
        kill_raild(node)
        for step in steps:
            devlink(*(word.format(*sorted(rates())) for word in step))
        assert tree() != wanted
    for pod in three:
        pod.delete()
    daemons.start_raild(ready.lab, node)
    eventually("given back", tree, lambda now: now == ({"admins": (0, 4000)}, {sorted(rates())[1]: "admins"}), PATIENCE)


def test_rates_follow_node_json_and_what_the_nic_refuses_is_a_finding(ready: World, three: list[Pod]) -> None:
    """netdevsim's link has 5 Gbit/s."""
    want(ready, RATES)
    three[0].add()
    eventually("set", lambda: tree()[0].get(A), lambda now: now == (3, 2000), PATIENCE)
    want(ready, {"tenants": {"tenant-a": {"share": 5, "max": "3gbit"}}})
    eventually("changed while raild runs", lambda: tree()[0].get(A), lambda now: now == (5, 3000), PATIENCE)
    want(ready, {"tenants": {"tenant-a": {"max": "200gbit"}}})
    found = eventually("refused", lambda: findings(ready), lambda now: "rates-refused" in now, PATIENCE)
    assert "TX rate value exceed link maximum speed 5000Mbps" in found["rates-refused"], found
    assert "has share 5, at most 3000 Mbit/s still" in found["rates-refused"], found
    assert found["rates-refused"] in shown(ready)["rates_problems"]
    assert tree()[0][A][1] == 3000, "what it had stays"
    want(ready, {"tenants": {"tenant-a": {"max": "1gbit"}}})
    eventually("mended", lambda: (findings(ready), tree()[0].get(A)), lambda now: now == ({}, (1, 1000)), PATIENCE)


def test_a_vf_of_no_pf_of_the_rail_is_refused(ready: World, sysfs: Sysfs) -> None:
    other = sysfs.root / "devices/other"
    (other / "net").mkdir(parents=True)
    (other / "subsystem").symlink_to("/sys/bus/pci")
    folder = sysfs.root / "bus/pci/devices/0000:5e:00.2"
    (folder / "net/vf3").mkdir(parents=True)
    (folder / "physfn").symlink_to(other)
    (other / "virtfn0").symlink_to(folder)
    pod = Pod(ready, "stray", "0000:5e:00.2")
    with pytest.raises(PluginError, match="belongs to PF.*the rail's PF is"):
        pod.add()
    pod.delete()
    pod.kill_namespace()


def shown(world: World) -> dict[str, Any]:
    return world.railctl(world.lab.node(1), "get", "rails")["rails"][0]


LOSSLESS = {"trust": "dscp", "pfc": [3], "ecn": [3], "dscp_to_priority": {"26": 3, "48": 6}, "tos": 106}
WANTED = (["3"], {"26": [3], "48": [6]})
NOTHING: tuple[list[str], dict[str, list[int]]] = ([], {})


def test_priorities_are_set_and_told_by_the_kernel_as_by_the_fake(ready: World) -> None:
    """The contract suite on the kernel's dcbnl."""
    environment = {**os.environ, "RAILCNI_TEST_DCB": uplink()}
    program = str(REPOSITORY / "build/tests/dcb_contract_test")
    done = subprocess.run([program], text=True, capture_output=True, env=environment, check=False)
    assert done.returncode == 0 and "DcbContract.AddsAndDeletesEntriesOnce/Kernel" in done.stdout, done.stdout + done.stderr
    assert priorities() == NOTHING


def test_what_differs_from_lossless_is_found_and_mended_by_the_doctors_words(ready: World, sysfs: Sysfs) -> None:
    """PFC and DSCP by dcb(8) as the doctor prints it; the files of ECN and ToS are stand-ins of drivers that have them."""
    points = [sysfs.root / f"class/net/{uplink()}/ecn/roce_{point}/enable/3" for point in ("np", "rp")]
    tos = sysfs.root / "kernel/config/rdma_cm/mlx5_0/ports/1/default_roce_tos"
    for file, text in ((points[0], "1"), (points[1], "0"), (tos, "0")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    (sysfs.pf / "infiniband/mlx5_0").mkdir(parents=True, exist_ok=True)
    set_lossless(ready, LOSSLESS)
    eventually("raild has looked", lambda: shown(ready), lambda rail: rail.get("lossless_known"), PATIENCE)
    found = differences(ready)
    assert set(found) == {"lossless-pfc", "lossless-trust", "lossless-ecn", "lossless-tos"}, found
    for fix in (found["lossless-pfc"], found["lossless-trust"]):
        kernel.run(["sh", "-c", fix.strip("`")])
    assert priorities() == WANTED
    assert "roce_rp/enable/3" in found["lossless-ecn"] and "default_roce_tos" in found["lossless-tos"], found
    points[1].write_text("1\n")
    tos.write_text("106\n")
    assert not differences(ready)
    kernel.run(["dcb", "app", "replace", "dev", uplink(), "dscp-prio", "26:4"])
    kernel.run(["dcb", "ets", "set", "dev", uplink(), "prio-tc", "3:0"])
    found = differences(ready)
    assert set(found) == {"lossless-dscp", "lossless-traffic-class"}, found
    eventually("raild tells it, by the kernel's event or its next look", lambda: shown(ready),
               lambda rail: len(rail.get("lossless_problems", [])) == 2, PATIENCE)
    for fix in found.values():
        kernel.run(["sh", "-c", fix.strip("`")])
    eventually("raild finds it lossless", lambda: shown(ready), lambda rail: rail.get("lossless_ok"), PATIENCE)
    shutil.rmtree(sysfs.root / "kernel")
    assert set(differences(ready)) == {"lossless-unknown"}, "what cannot be read is not lossless"
    kernel.run(["dcb", "pfc", "set", "dev", uplink(), "prio-pfc", "all:off"])
    kernel.run(["dcb", "app", "flush", "dev", uplink(), "dscp-prio"])


def test_raild_keeps_the_priorities_and_puts_back_what_was_there(ready: World) -> None:
    node = ready.lab.node(1)
    kernel.run(["dcb", "app", "add", "dev", uplink(), "dscp-prio", "10:1", "26:0"])
    kernel.run(["dcb", "pfc", "set", "dev", uplink(), "prio-pfc", "5:on"])
    before, set_by_raild = priorities(), (["3"], {"10": [1], **WANTED[1]})
    assert before == (["5"], {"10": [1], "26": [0]})
    set_lossless(ready, {**LOSSLESS, "manage_qos": True})
    eventually("raild sets them", priorities, lambda now: now == set_by_raild, PATIENCE)
    kernel.run(["dcb", "pfc", "set", "dev", uplink(), "prio-pfc", "3:off"])
    eventually("raild sets again what others change", priorities, lambda now: now == set_by_raild, 20)
    kill_raild(node)
    kernel.run(["dcb", "app", "flush", "dev", uplink(), "dscp-prio"])
    kernel.run(["dcb", "app", "add", "dev", uplink(), "dscp-prio", "10:1"])
    daemons.start_raild(ready.lab, node)
    eventually("after a crash it goes on", priorities, lambda now: now == set_by_raild, PATIENCE)
    set_lossless(ready, LOSSLESS)
    eventually("raild gives back", priorities, lambda now: now == before, PATIENCE)
    set_lossless(ready, None)
    kernel.run(["dcb", "app", "flush", "dev", uplink(), "dscp-prio"])
    kernel.run(["dcb", "pfc", "set", "dev", uplink(), "prio-pfc", "all:off"])
    daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), PATIENCE)


PARAMETERS = Path("/sys/module/netdevsim/parameters")
MARKS = Path("/sys/module/rdma_rxe/parameters/railcni_cnps")


def test_a_pause_storm_is_counted_and_named(ready: World) -> None:
    """Through the kernel's dcbnl, of a driver that counts 5,000 pauses a second; the doctor's threshold is 1,000 over a minute."""
    node, parameter = ready.lab.node(1), PARAMETERS / "railcni_pauses"

    def rate() -> float:
        [port] = [p for p in ready.railctl(node, "get", "counters")["ports"] if p["port"]["link"] == uplink()]
        return max([pfc.get("received_rate", 0.0) for pfc in port.get("pfc", [])], default=0.0)

    assert not named(ready, node, "pause-storm")
    parameter.write_text("5000\n")
    try:
        eventually("the rate", rate, lambda pauses: 4000 < pauses < 6000, PATIENCE)
        [(_, what)] = eventually("the finding", lambda: named(ready, node, "pause-storm"), bool, 90)
        assert re.match(rf"the leaf pauses {uplink()} \d+ times a second \(priority 3, the last minute\)", what), what
    finally:
        parameter.write_text("0\n")


def test_what_the_cpu_forwards_is_counted_and_named(ready: World, pod: Pod) -> None:
    """Through the kernel's RTM_GETSTATS, of representors that count 500 packets a second; the doctor's threshold is 100 over a minute."""
    node, parameter = ready.lab.node(1), PARAMETERS / "railcni_slow"
    pod.add()

    def rate() -> float:
        [port] = [p for p in ready.railctl(node, "get", "counters")["ports"] if p["port"].get("pod") == pod.name]
        return port["sent"].get("slow_rate", -1.0)

    eventually("counted, and none", rate, lambda packets: packets == 0, PATIENCE)
    assert not named(ready, node, "slow-path-used")
    parameter.write_text("500\n")
    try:
        eventually("the rate", rate, lambda packets: 400 < packets < 600, PATIENCE)
        [(subject, what)] = eventually("the finding", lambda: named(ready, node, "slow-path-used"), bool, 90)
        assert subject == f"tenant-a/{pod.name} net1 on rail0"
        assert re.match(r"the CPU forwards \d+ packets a second of what the pod sends \(the last minute\)", what), what
    finally:
        parameter.write_text("0\n")


def test_marks_without_pauses_are_counted_and_named(ready: World) -> None:
    """Through the kernel's rdma netlink, of a Soft-RoCE device of the uplink that counts 500 congestion notifications a second; the doctor's
    threshold is 100 over a minute, while no priority pauses."""
    node = ready.lab.node(1)

    def pfc(state: str) -> None:
        kernel.run(["dcb", "pfc", "set", "dev", uplink(), "prio-pfc", state])

    def rate() -> float:
        [port] = [p for p in ready.railctl(node, "get", "counters")["ports"] if p["port"]["link"] == uplink()]
        return next((c["rate"] for c in port.get("rdma", []) if c["name"] == "np_cnp_sent"), -1.0)

    pfc("all:off")
    kernel.run(["rdma", "link", "add", "rxe-uplink", "type", "rxe", "netdev", uplink()])
    try:
        eventually("counted, and none", rate, lambda marks: marks == 0, PATIENCE)
        assert not named(ready, node, "congestion-without-pfc")
        MARKS.write_text("500\n")
        eventually("the rate", rate, lambda marks: 400 < marks < 600, PATIENCE)
        [(subject, what)] = eventually("the finding", lambda: named(ready, node, "congestion-without-pfc"), bool, 90)
        assert subject == "rail0"
        assert re.match(rf"the fabric marks congestion on {uplink()} \(np_cnp_sent \d+/s\), and no priority of it pauses", what), what
        pfc("3:on")
        eventually("it pauses, and the finding has gone", lambda: named(ready, node, "congestion-without-pfc"), lambda found: not found, 90)
    finally:
        MARKS.write_text("0\n")
        pfc("all:off")
        kernel.run(["rdma", "link", "delete", "rxe-uplink"])


def test_the_number_of_vfs_stays_while_a_pod_has_one(ready: World, pod: Pod) -> None:
    node = ready.lab.node(1)
    pod.add()
    try:
        set_num_vfs(ready, VFS - 1)
        words = (f"sriov_numvfs {VFS} -> {VFS - 1} cannot be changed while its VFs are in use: "
                 f"{address(1)} belongs to a pod")
        eventually("raild says why it leaves the NIC", lambda: log(ready), lambda text: words in text, PATIENCE)
        assert nic() == ("switchdev", VFS, VFS)
        assert "ens1f0npf0vf1" in bridge_ports(ready)
        assert words in json.dumps(ready.railctl(node, "get", "node"))
        pod.check()
    finally:
        set_num_vfs(ready, VFS)
    daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), PATIENCE)


def test_the_number_of_vfs_changes_when_none_is_in_use(ready: World) -> None:
    """The last with a raild that prepares the NIC: the representors are new ones then, with the kernel's names."""
    set_num_vfs(ready, VFS - 1)
    eventually("raild changes the number of VFs", nic, lambda now: now == ("switchdev", VFS - 1, VFS - 1), PATIENCE)


def test_a_removal_puts_priorities_and_rates_back(ready: World, sysfs: Sysfs) -> None:
    """The very last: no raild runs after it, and node.json is gone."""
    node = ready.lab.node(1)
    sysfs.look()
    pod = Pod(ready, "last", address(0))
    want(ready, RATES)
    pod.add()
    eventually("the tenant has its rate node", lambda: tree()[0], lambda nodes: A in nodes, PATIENCE)
    kernel.run(["dcb", "pfc", "set", "dev", uplink(), "prio-pfc", "5:on"])
    set_lossless(ready, {**LOSSLESS, "manage_qos": True})
    eventually("raild sets them", priorities, lambda now: now == WANTED, PATIENCE)
    kill_raild(node)
    pod.delete()
    assert A in tree()[0], "without raild nobody takes it away"
    done = subprocess.run([str(ready.lab.binaries / "raild"), "--remove"], text=True, capture_output=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "RAILCNI_ROOT": str(node.root)})
    print(done.stdout, done.stderr)
    assert f"uplink {uplink()}, as it was: PFC for priority 5" in done.stdout, done.stdout + done.stderr
    assert f"rate node {A} of netdevsim/{DEVICE}" in done.stdout, done.stdout + done.stderr
    assert (priorities(), tree()) == ((["5"], {}), ({}, {}))
