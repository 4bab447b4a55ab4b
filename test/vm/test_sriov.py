"""Virtual functions of an emulated igb: what becomes of one that a pod gets, and that the host has it back as it was, however
the pod ends. igb has no representors: node.json names one end of a veth for each VF."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from railcni_lab import daemons, kernel
from railcni_lab.chain import PluginError
from railcni_lab.layout import REPOSITORY, LabError
from single import BRIDGE, MTU, Pod, links, node_with
from world import World

PATIENCE = 120
SETTINGS = {"vlan": 100, "spoofchk": "off", "trust": "on"}


class Nic:
    """The PF and its VFs, as the host sees them."""

    def __init__(self) -> None:
        self.folder = next(p.parent for p in Path("/sys/bus/pci/devices").glob("*/sriov_totalvfs")
                           if (p.parent / "driver").resolve().name == "igb")
        self.pf = next(self.folder.glob("net/*")).name
        kernel.run(["ip", "link", "set", self.pf, "up"])
        (self.folder / "sriov_numvfs").write_text("2")
        self.vfs = [(self.folder / f"virtfn{i}").resolve().name for i in (0, 1)]
        for i, vf in enumerate(self.vfs):
            daemons.wait_until(f"VF {vf} has an interface", lambda vf=vf: self.netdev(vf) is not None, PATIENCE)
            kernel.run(["ip", "link", "add", self.representor(i), "type", "veth", "peer", "name", f"switch{i}"])

    @staticmethod
    def representor(index: int) -> str:
        return f"rep{index}"

    @staticmethod
    def netdev(vf: str) -> dict[str, Any] | None:
        """The VF's link on the host."""
        return next((link for link in links() if link.get("parentdev") == vf), None)

    def told_by_pf(self, index: int) -> dict[str, Any]:
        pf = next(link for link in links() if link["ifname"] == self.pf)
        return next(vf for vf in pf["vfinfo_list"] if vf["vf"] == index)

    def state(self, index: int) -> dict[str, Any]:
        """All that an attachment may change and has to give back."""
        link, representor = self.netdev(self.vfs[index]), next(l for l in links() if l["ifname"] == self.representor(index))
        assert link is not None, f"VF {self.vfs[index]} is not on the host"
        return {"name": link["ifname"], "mac": link["address"], "mtu": link["mtu"], "up": "UP" in link["flags"],
                "pf": self.told_by_pf(index), "representor mtu": representor["mtu"],
                "representor up": "UP" in representor["flags"]}


@pytest.fixture(scope="module")
def nic() -> Nic:
    return Nic()


@pytest.fixture(scope="module")
def world(nic: Nic) -> Iterator[World]:
    devices = [{"device": vf, "representor": nic.representor(i)} for i, vf in enumerate(nic.vfs)]
    with node_with({"pf": nic.pf, "devices": devices, "mtu": MTU - 100}) as world:
        node = world.lab.node(1)
        daemons.wait_until(f"bridge {BRIDGE}", lambda: BRIDGE in kernel.links(node.namespace), PATIENCE)
        yield world


@pytest.fixture
def before(world: World, nic: Nic) -> dict[str, Any]:
    return nic.state(0)


def given_back(state: dict[str, Any]) -> dict[str, Any]:
    """As it was before. A VF to which nobody had given a MAC address keeps its own by the PF."""
    pf = state["pf"]
    return {**state, "pf": {**pf, "address": state["mac"] if pf["address"] == "00:00:00:00:00:00" else pf["address"]}}


def ports(world: World) -> set[str]:
    return set(world.vsctl(world.lab.node(1), "list-ports", BRIDGE).split())


def test_a_vf_becomes_the_pods_interface_and_comes_back_as_it_was(world: World, nic: Nic, before: dict[str, Any]) -> None:
    pod = Pod(world, "one", nic.vfs[0], SETTINGS)
    result = pod.add()
    link = pod.link()
    assert link is not None and link["parentdev"] == nic.vfs[0]
    assert (link["address"], link["mtu"], "UP" in link["flags"]) == (before["mac"], MTU - 100, True)
    inside = next(i for i in result["interfaces"] if i.get("sandbox"))
    assert (inside["name"], inside["mac"]) == ("net1", before["mac"])
    assert nic.representor(0) in ports(world)
    told = nic.told_by_pf(0)
    assert (told["address"], told["spoofchk"], told["trust"]) == (before["mac"], False, True), told
    assert told["vlan_list"][0]["vlan"] == 100, told
    pod.check()
    pod.delete()
    assert nic.state(0) == given_back(before)
    assert nic.representor(0) not in ports(world)


def test_it_comes_back_as_it_was_when_the_namespace_died_first(world: World, nic: Nic, before: dict[str, Any]) -> None:
    pod = Pod(world, "dead", nic.vfs[0], SETTINGS)
    pod.add()
    # What a pod with CAP_NET_ADMIN may do to it.
    for words in (["down"], ["name", "mine"], ["mtu", "1300"], ["up"]):
        kernel.run(["ip", "-n", pod.namespace, "link", "set", "mine" if words in (["mtu", "1300"], ["up"]) else "net1", *words])
    pod.kill_namespace()
    pod.delete()
    assert nic.state(0) == given_back(before)


def test_two_come_back_at_once_when_their_pods_have_swapped_their_names(world: World, nic: Nic) -> None:
    before = [nic.state(i) for i in (0, 1)]
    swapped = [Pod(world, name, vf, SETTINGS) for name, vf in zip(("here", "there"), nic.vfs)]
    for pod, other in zip(swapped, reversed(before)):
        pod.add()
        kernel.run(["ip", "-n", pod.namespace, "link", "set", "net1", "down"])
        kernel.run(["ip", "-n", pod.namespace, "link", "set", "net1", "name", other["name"]])
    for pod in swapped:
        pod.kill_namespace()
    daemons.wait_until("both VFs are on the host under each other's names",
                       lambda: [(nic.netdev(vf) or {}).get("ifname") for vf in nic.vfs] == [b["name"] for b in reversed(before)],
                       PATIENCE)
    for pod in swapped:
        pod.delete()  # the first one's name is still the second's: it takes another and waits for nothing
    after = [nic.state(i) for i in (0, 1)]
    assert after[1] == given_back(before[1])
    assert after[0] == {**given_back(before[0]), "name": after[0]["name"]} and after[0]["name"] == "dev" + before[0]["mac"].replace(":", "")
    assert not world.claims(world.lab.node(1)), "nothing is left to be done for them"


def test_it_comes_back_as_it_was_when_add_was_killed_half_way(world: World, nic: Nic, before: dict[str, Any],
                                                               tmp_path: Path) -> None:
    # An IPAM plugin that never answers holds ADD while the device moves; it knows whom to kill.
    marker = tmp_path / "parent"
    (tmp_path / "held").write_text(
        "#!/bin/sh\nset -eu\n[ \"$CNI_COMMAND\" = ADD ] || exit 0\n"
        f"echo \"$PPID $$\" >{marker}.new\nmv {marker}.new {marker}\nexec sleep 1000 </dev/null >/dev/null 2>&1\n")
    (tmp_path / "held").chmod(0o755)
    pod = Pod(world, "killed", nic.vfs[0], SETTINGS, plugins=tmp_path, ipam="held")
    said: list[BaseException] = []

    def add() -> None:
        try:
            pod.add()
        except LabError as error:
            said.append(error)

    adding = threading.Thread(target=add)
    adding.start()
    daemons.wait_until("IPAM is asked and the VF is in the pod", lambda: marker.exists() and pod.link() is not None, PATIENCE)
    provider, ipam = map(int, marker.read_text().split())
    os.kill(provider, signal.SIGKILL)
    os.kill(ipam, signal.SIGKILL)
    adding.join()
    assert said and nic.netdev(nic.vfs[0]) is None, "killed, and the VF is still the pod's"
    pod.delete()
    assert nic.state(0) == given_back(before)
    again = Pod(world, "again", nic.vfs[0])
    again.add()
    again.delete()
    assert nic.state(0) == given_back(before)


def test_of_two_pods_that_race_for_one_vf_one_gets_it(world: World, nic: Nic, before: dict[str, Any]) -> None:
    rivals = [Pod(world, name, nic.vfs[0]) for name in ("left", "right")]
    start, outcome = threading.Barrier(len(rivals)), dict[str, PluginError | None]()

    def add(pod: Pod) -> None:
        start.wait()
        try:
            pod.add()
            outcome[pod.name] = None
        except PluginError as error:
            outcome[pod.name] = error

    threads = [threading.Thread(target=add, args=[pod]) for pod in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(outcome)
    winner, loser = sorted(rivals, key=lambda pod: outcome[pod.name] is not None)
    assert outcome[winner.name] is None and outcome[loser.name] is not None, outcome
    assert "belongs to" in str(outcome[loser.name])
    assert winner.link() is not None and loser.link() is None
    loser.delete()
    winner.check()
    winner.delete()
    assert nic.state(0) == given_back(before)


def test_a_nic_that_makes_its_vfs_anew_leaves_no_pod_without_its_device(world: World, nic: Nic) -> None:
    """What a reset does: the VF in the pod goes, and another comes to the host at the same PCI address."""
    pod = Pod(world, "reset", nic.vfs[0], SETTINGS)
    pod.add()
    had = pod.link()
    assert had is not None
    (nic.folder / "sriov_numvfs").write_text("0")
    assert pod.link() is None, "the device went with its NIC"
    (nic.folder / "sriov_numvfs").write_text("2")
    daemons.wait_until("raild has put the new VF into the pod", lambda: pod.link() is not None, PATIENCE)
    daemons.wait_until("and configured it", lambda: "UP" in pod.link()["flags"], PATIENCE)
    link = pod.link()
    assert (link["parentdev"], link["address"], link["mtu"]) == (nic.vfs[0], had["address"], had["mtu"])
    daemons.wait_until("the PF knows its settings", lambda: nic.told_by_pf(0)["vlan_list"][0]["vlan"] == 100, PATIENCE)

    def checks() -> bool:
        try:
            pod.check()
        except PluginError as error:
            print(error)
            return False
        return True

    daemons.wait_until("CHECK finds nothing", checks, PATIENCE)
    pod.delete()
    daemons.wait_until("the VF is on the host", lambda: nic.netdev(nic.vfs[0]) is not None, PATIENCE)
    assert not world.claims(world.lab.node(1)), "nothing is left to be done for it"


def test_a_pf_is_not_given_to_a_pod(world: World, nic: Nic) -> None:
    pod = Pod(world, "greedy", nic.folder.name)
    with pytest.raises(PluginError, match="not a virtual function"):
        pod.add()
    pod.delete()


def test_the_device_contract_holds_on_real_vfs(nic: Nic) -> None:
    program = REPOSITORY / "build/tests/device_contract_test"
    done = subprocess.run([str(program), "--gtest_brief=1"], text=True, capture_output=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "RAILCNI_TEST_VFS": ",".join(nic.vfs)})
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
