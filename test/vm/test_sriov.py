"""Virtual functions of a real driver (igb, igbvf) become pods' interfaces and come back as they were.

igb has no representors: node.json names one for each VF, here one end of a veth."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from bare import IPAM_FOLDER, MTU, Bare, links, on_bus, start
from railcni_lab import kernel, pods
from railcni_lab.chain import PluginError
from world import eventually

VFS = 4
PATIENCE = 60  # seconds: an emulated machine whose host is busy


def sysfs_pf() -> Path:
    """The only device here that can have virtual functions."""
    return next(path.parent for path in Path("/sys/bus/pci/devices").glob("*/sriov_totalvfs"))


@pytest.fixture(scope="module")
def pf() -> str:
    """The PF's link, with its VFs made."""
    folder = sysfs_pf()
    name = next((folder / "net").iterdir()).name
    kernel.run(["ip", "link", "set", name, "up"])
    (folder / "sriov_numvfs").write_text(str(VFS))
    eventually("every VF has a link", lambda: sum(1 for _ in folder.glob("virtfn*/net/*")), lambda n: n == VFS, PATIENCE)
    return name


@pytest.fixture(scope="module")
def vfs(pf: str) -> list[str]:
    folder = sysfs_pf()
    return [(folder / f"virtfn{i}").resolve().name for i in range(VFS)]


@pytest.fixture(scope="module")
def node(pf: str, vfs: list[str]) -> Bare:
    for index in range(VFS):
        kernel.run(["ip", "link", "add", f"rep{index}", "type", "veth", "peer", "name", f"wire{index}"])
    # The last has no representor, neither by the kernel nor here.
    return start({"pf": pf, "devices": [{"device": vfs[i], "representor": f"rep{i}"} for i in range(VFS - 1)]})


@pytest.fixture
def pod(node: Bare, vfs: list[str]) -> Iterator[pods.Pod]:
    """A pod that is to get the first VF; whatever the test did, the VF is as before in the end."""
    before = state(vfs[0])
    pod = node.pod("p", vfs[0])
    yield pod
    kernel.delete_namespace(pods.namespace(node.lab, "p"))
    node.delete(pod)
    back_as(vfs[0], before)


def state(vf: str) -> dict[str, Any]:
    """All that has to be restored of a VF: its link, what its PF says of it, its representor."""
    folder = sysfs_pf()
    name = next((folder / "net").iterdir()).name
    index = next(i for i in range(VFS) if (folder / f"virtfn{i}").resolve().name == vf)
    link = on_bus(None, vf)
    found = {key: link[key] for key in ("ifname", "address", "mtu")} if link else {"ifname": None}
    found["up"] = link is not None and "UP" in link["flags"]
    found["by the PF"] = next(v for v in links()[name]["vfinfo_list"] if v["vf"] == index)
    representor = links()[f"rep{index}"]
    found["representor"] = {"mtu": representor["mtu"], "up": "UP" in representor["flags"]}
    return found


def back_as(vf: str, before: dict[str, Any]) -> None:
    eventually(f"VF {vf} is as it was: {before}", lambda: state(vf), lambda now: now == before, PATIENCE)


def nothing_left(node: Bare, pod: pods.Pod) -> None:
    assert set(node.recorded(pod).values()) == {0}, node.recorded(pod)
    assert "rep0" not in node.world.vsctl(node.node, "list-ports", "br-rail0").split()


def test_the_vf_in_the_pod(node: Bare, vfs: list[str], pod: pods.Pod) -> None:
    before = state(vfs[0])
    result = node.add(pod)
    inside = node.inside(pod)["net1"]
    assert inside["parentdev"] == vfs[0]
    assert inside["address"] == before["address"] and inside["mtu"] == MTU and "UP" in inside["flags"]
    assert on_bus(None, vfs[0]) is None, "the VF's link is still on the node"
    assert state(vfs[0])["by the PF"]["mac"] == before["address"], "the PF does not hold the VF to its MAC address"
    assert {i["name"]: i.get("pciID") for i in result["interfaces"]}.get("net1") in (vfs[0], None), result
    address = result["ips"][0]["address"]
    told = kernel.run(["ip", "-n", pods.namespace(node.lab, "p"), "-4", "-o", "address", "show", "dev", "net1"])
    assert address in told, told
    assert "rep0" in node.world.vsctl(node.node, "list-ports", "br-rail0").split()


def test_check_passes_and_tells_what_was_changed(node: Bare, pod: pods.Pod) -> None:
    node.add(pod)
    attachment = pods.attachment(node.lab, pod, 0)
    node.chain().check(attachment)
    kernel.run(["ip", "-n", pods.namespace(node.lab, "p"), "link", "set", "net1", "mtu", "1400"])
    with pytest.raises(PluginError, match="(?i)mtu"):
        node.chain().check(attachment)


def test_del_restores_what_the_pod_has_changed(node: Bare, vfs: list[str], pod: pods.Pod) -> None:
    before, inside = state(vfs[0]), pods.namespace(node.lab, "p")
    node.add(pod)
    for words in (["mtu", "1300"], ["name", "mine"], ["alias", "scrawl"]):
        kernel.run(["ip", "-n", inside, "link", "set", "net1" if words[0] != "alias" else "mine", "down", *words])
    node.delete(pod)
    back_as(vfs[0], before)
    nothing_left(node, pod)
    node.delete(pod)  # once more: nothing to do


SETTINGS = {"vlan": 100, "vlanQoS": 3, "spoofchk": "off", "trust": "on", "max_tx_rate": 200}


def test_settings_are_asked_of_the_pf_and_taken_back(node: Bare, vfs: list[str], pod: pods.Pod) -> None:
    before = state(vfs[0])
    node.add(pod, **SETTINGS)
    told = state(vfs[0])["by the PF"]
    vlan = told["vlan_list"][0]
    assert (vlan["vlan"], vlan["qos"]) == (100, 3), told
    assert told["spoofchk"] is False and told["trust"] is True and told["rate"]["max_tx"] == 200, told
    node.chain(**SETTINGS).check(pods.attachment(node.lab, pod, 0))
    node.delete(pod)
    back_as(vfs[0], before)


@pytest.mark.parametrize("taken", [False, True])
def test_del_after_the_namespace_died(node: Bare, vfs: list[str], pod: pods.Pod, taken: bool) -> None:
    """The kernel brings the VF home some time later, called net1, or devN when there is a net1 already."""
    before = state(vfs[0])
    node.add(pod)
    if taken:
        kernel.run(["ip", "link", "add", "net1", "type", "dummy"])
    try:
        kernel.delete_namespace(pods.namespace(node.lab, "p"))
        if taken:
            name = eventually("the kernel returns the VF", lambda: (on_bus(None, vfs[0]) or {}).get("ifname"),
                              lambda found: found is not None, PATIENCE)
            assert name.startswith("dev"), name
        node.delete(pod)
        back_as(vfs[0], before)
        nothing_left(node, pod)
    finally:
        if taken:
            kernel.run(["ip", "link", "del", "net1"])


BLOCKED = IPAM_FOLDER / "called"


@pytest.fixture
def blocking_ipam() -> Iterator[None]:
    """An IPAM plugin whose ADD never answers; BLOCKED holds its process id from then on."""
    IPAM_FOLDER.mkdir(exist_ok=True)
    plugin = IPAM_FOLDER / "blocking"
    plugin.write_text(f'#!/bin/bash\nset -euo pipefail\n[ "$CNI_COMMAND" = ADD ] || exit 0\necho $$ >{BLOCKED}.new\n'
                      f'mv {BLOCKED}.new {BLOCKED}\nexec sleep 600\n')
    plugin.chmod(0o755)
    BLOCKED.unlink(missing_ok=True)
    yield
    plugin.unlink()


def kill_mid_add(node: Bare, pod: pods.Pod) -> None:
    """kill -9 of ovs-provider when its device is in the pod and IPAM has not answered."""
    errors: list[Exception] = []

    def add() -> None:
        try:
            node.chain(ipam="blocking").add(pods.attachment(node.lab, pod, 0))
        except PluginError as error:
            errors.append(error)

    thread = threading.Thread(target=add)
    thread.start()
    try:
        eventually("the VF is in the pod", lambda: node.inside(pod), lambda found: "net1" in found, PATIENCE)
        eventually("IPAM is called", BLOCKED.exists, bool, PATIENCE)
        plugin = kernel.run(["ps", "-o", "ppid=", "-p", BLOCKED.read_text().strip()]).strip()
        assert "ovs-provider" in Path(f"/proc/{plugin}/comm").read_text()
        os.kill(int(plugin), signal.SIGKILL)
        os.kill(int(BLOCKED.read_text()), signal.SIGKILL)
    finally:
        thread.join(PATIENCE)
    assert errors, "the ADD that was killed came to a good end"


def test_del_after_kill_9_in_the_middle_of_add(node: Bare, vfs: list[str], pod: pods.Pod, blocking_ipam: None) -> None:
    before = state(vfs[0])
    kill_mid_add(node, pod)
    assert node.recorded(pod)["attachment"] == 1, "the record does not know of the ADD that died"
    node.delete(pod)
    back_as(vfs[0], before)
    nothing_left(node, pod)
    node.add(pod)  # and the VF is good for the next


def test_namespace_gone_after_kill_9(node: Bare, vfs: list[str], pod: pods.Pod, blocking_ipam: None) -> None:
    before = state(vfs[0])
    kill_mid_add(node, pod)
    kernel.delete_namespace(pods.namespace(node.lab, "p"))
    node.delete(pod)
    back_as(vfs[0], before)
    nothing_left(node, pod)


@pytest.mark.parametrize("milliseconds", [10, 40, 80, 150, 300])
def test_kill_9_at_any_time(node: Bare, vfs: list[str], pod: pods.Pod, milliseconds: int) -> None:
    """Wherever the plugin was, DEL puts everything back; a kill that comes too late is a DEL after a whole ADD."""
    before = state(vfs[0])
    killer = threading.Timer(milliseconds / 1000, lambda: subprocess.run(["pkill", "-9", "-x", "ovs-provider"], check=False))
    killer.start()
    try:
        node.add(pod)
    except PluginError:
        pass
    killer.join()
    node.delete(pod)
    back_as(vfs[0], before)
    nothing_left(node, pod)


def test_two_pods_race_for_one_vf(node: Bare, vfs: list[str], pod: pods.Pod) -> None:
    before, rival = state(vfs[0]), node.pod("rival", vfs[0])

    def attempt(one: pods.Pod) -> PluginError | None:
        try:
            node.add(one)
        except PluginError as error:
            return error
        return None

    with ThreadPoolExecutor(2) as pool:
        outcomes = dict(zip(("p", "rival"), pool.map(attempt, (pod, rival)), strict=True))
    winners = [name for name, error in outcomes.items() if error is None]
    assert len(winners) == 1, outcomes
    winner, loser = (pod, rival) if winners == ["p"] else (rival, pod)
    error = outcomes[loser.name]
    assert error is not None and winner.name in error.message and vfs[0] in error.message, error
    assert "net1" in node.inside(winner) and "net1" not in node.inside(loser)
    # The loser's DEL leaves the winner alone.
    node.delete(loser)
    assert on_bus(pods.namespace(node.lab, winner.name), vfs[0]) is not None
    node.chain().check(pods.attachment(node.lab, winner, 0))
    node.delete(winner)
    back_as(vfs[0], before)
    kernel.delete_namespace(pods.namespace(node.lab, "rival"))


def test_refusals(node: Bare, vfs: list[str], pf: str) -> None:
    """A sentence for each device that cannot be a pod's interface, and nothing is changed."""
    address = sysfs_pf().name
    for device, words in ((vfs[VFS - 1], "representor"), (address, "virtual function"), ("0000:7f:1f.7", "no such device")):
        pod = node.pod("wrong", device)
        before = links()
        try:
            with pytest.raises(PluginError, match=words):
                node.add(pod)
            assert set(links()) == set(before)
            assert set(node.recorded(pod).values()) == {0}
        finally:
            kernel.delete_namespace(pods.namespace(node.lab, "wrong"))


def test_a_vf_bound_to_vfio_is_refused(node: Bare, vfs: list[str]) -> None:
    kernel.run(["modprobe", "vfio-pci"])
    device = Path("/sys/bus/pci/devices") / vfs[1]
    (device / "driver_override").write_text("vfio-pci")
    Path(device / "driver/unbind").write_text(vfs[1])
    Path("/sys/bus/pci/drivers_probe").write_text(vfs[1])
    if not (device / "driver").exists():
        pytest.skip("vfio-pci does not take the device: this machine has no IOMMU")
    pod = node.pod("vfio", vfs[1])
    with pytest.raises(PluginError, match="vfio-pci.*not supported"):
        node.add(pod)
    kernel.delete_namespace(pods.namespace(node.lab, "vfio"))
