"""netdevsim in switchdev mode: raild prepares the NIC and leaves it alone while it is used; a VF's representor is found by
devlink and by sysfs. netdevsim has no PCI functions: the PCI side is a folder of links, RAILCNI_SYSFS."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from railcni_lab import daemons, kernel
from railcni_lab.layout import write_json
from single import BRIDGE, Pod, links, node_with
from world import World

PATIENCE = 120
SYS = Path("/sys")
DEVICE, CARD = "netdevsim10", "0000:3b:00"
VFS = 4


def vf_address(index: int) -> str:
    return f"{CARD}.{index + 2}"


class Tree:
    """What stands under RAILCNI_SYSFS: the real netdevsim, and PCI functions that say they are its VFs. Their interfaces are
    ends of veths. In its ports' names netdevsim counts PFs from 0 and uplinks from 1; on a NIC both are the PF's number,
    so the uplink's name is our own, p0."""

    root = Path("/run/railcni-sysfs")
    folder = root / "devices" / DEVICE

    def __init__(self, pf: str) -> None:
        self.pf = pf
        self.folder.mkdir(parents=True)
        self.link(self.folder / "subsystem", SYS / "bus/netdevsim")
        self.link(self.folder / "net", SYS / "devices" / DEVICE / "net")
        self.link(self.folder / "sriov_numvfs", SYS / "devices" / DEVICE / "sriov_numvfs")
        self.link(self.root / "bus/netdevsim/devices" / DEVICE, self.folder)
        uplink = self.root / "class/net" / pf
        self.link(uplink / "device", self.folder)
        self.link(uplink / "phys_switch_id", SYS / "class/net" / pf / "phys_switch_id")
        (uplink / "phys_port_name").write_text("p0\n")
        for index in range(VFS):
            self.add_vf(index)

    @staticmethod
    def link(place: Path, target: Path) -> None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(target)

    def add_vf(self, index: int) -> None:
        function = self.root / "devices" / vf_address(index)
        (function / "net" / f"vf{index}").mkdir(parents=True)
        self.link(function / "physfn", self.folder)
        self.link(function / "driver", SYS / "bus/netdevsim/drivers/netdevsim")
        self.link(self.folder / f"virtfn{index}", function)
        self.link(self.root / "bus/pci/devices" / vf_address(index), function)

    def show_ports(self) -> list[str]:
        """The representors that there are now, under class/net too."""
        names = [link.name for link in sorted((SYS / "devices" / DEVICE / "net").iterdir()) if link.name != self.pf]
        for name in names:
            if not (self.root / "class/net" / name).exists():
                self.link(self.root / "class/net" / name / "device", self.folder)
                for file in ("phys_switch_id", "phys_port_name"):
                    self.link(self.root / "class/net" / name / file, SYS / "class/net" / name / file)
        return names


def numvfs() -> int:
    return int((SYS / "devices" / DEVICE / "sriov_numvfs").read_text())


def eswitch() -> str:
    return json.loads(kernel.run(["devlink", "-j", "dev", "eswitch", "show", f"netdevsim/{DEVICE}"]))["dev"][
        f"netdevsim/{DEVICE}"]["mode"]


def representors() -> dict[int, str]:
    """VF -> representor, by the names that the kernel gives the ports."""
    found = {}
    for link in links():
        name = link.get("phys_port_name", "")
        if name.startswith("pf0vf"):
            found[int(name[5:])] = link["ifname"]
    return found


def write_rail(world: World, rail: dict[str, object]) -> None:
    node = world.lab.node(1)
    config = json.loads(node.config_file.read_text())
    config["rails"][0] |= rail
    write_json(node.config_file, config)


def restart_raild(world: World) -> None:
    node = world.lab.node(1)
    pid = daemons.pid_of(node, "raild")
    daemons.end([pid] if pid else [])
    daemons.start_raild(world.lab, node)


def raild_says(world: World, text: str) -> bool:
    return text in (world.lab.node(1).log_dir / "raild.log").read_text(errors="replace")


@pytest.fixture(scope="module")
def tree() -> Tree:
    (SYS / "bus/netdevsim/new_device").write_text("10 1")
    folder = SYS / "devices" / DEVICE / "net"
    daemons.wait_until("netdevsim's uplink", lambda: folder.is_dir() and any(folder.iterdir()), PATIENCE)
    pf = next(folder.iterdir()).name
    kernel.run(["ip", "link", "set", pf, "up"])
    for index in range(VFS):
        kernel.run(["ip", "link", "add", f"vf{index}", "type", "veth", "peer", "name", f"wire{index}"])
    assert (numvfs(), eswitch()) == (0, "legacy")
    os.environ["RAILCNI_SYSFS"] = str(Tree.root)
    return Tree(pf)


@pytest.fixture(scope="module")
def world(tree: Tree) -> Iterator[World]:
    with node_with({"pf": tree.pf, "manage_sriov": True, "num_vfs": VFS}) as world:
        node = world.lab.node(1)
        daemons.wait_until(f"bridge {BRIDGE}", lambda: BRIDGE in kernel.links(node.namespace), PATIENCE)
        daemons.wait_until("representors of all VFs", lambda: len(representors()) == VFS, PATIENCE)
        tree.show_ports()
        yield world


def test_raild_makes_vfs_and_turns_the_switch_on(world: World) -> None:
    assert (numvfs(), eswitch()) == (VFS, "switchdev")
    assert sorted(representors()) == list(range(VFS))


@pytest.mark.parametrize("index", [0, VFS - 1])
def test_a_vf_gets_the_representor_that_the_kernel_names(world: World, index: int) -> None:
    pod = Pod(world, f"pod{index}", vf_address(index))
    result = pod.add()
    host = next(i["name"] for i in result["interfaces"] if not i.get("sandbox"))
    assert host == representors()[index]
    assert host in world.vsctl(world.lab.node(1), "list-ports", BRIDGE).split()
    pod.check()
    pod.delete()


def test_a_representor_that_was_renamed_is_found_all_the_same(world: World, tree: Tree) -> None:
    old = representors()[1]
    kernel.run(["ip", "link", "set", old, "down"])
    kernel.run(["ip", "link", "set", old, "name", "renamed1"])
    tree.show_ports()
    pod = Pod(world, "renamed", vf_address(1))
    result = pod.add()
    assert result["interfaces"][0]["name"] == "renamed1"
    pod.delete()


def test_the_number_of_vfs_is_left_alone_while_a_pod_has_one(world: World) -> None:
    pod = Pod(world, "holder", vf_address(2))
    pod.add()
    write_rail(world, {"num_vfs": 2})
    restart_raild(world)
    daemons.wait_until("raild refuses", lambda: raild_says(world, "cannot be changed while its VFs are in use"), PATIENCE)
    assert raild_says(world, f"{vf_address(2)} belongs to a pod")
    assert (numvfs(), eswitch()) == (VFS, "switchdev")
    pod.delete()
    restart_raild(world)
    daemons.wait_until("two VFs, nobody has one any more", lambda: numvfs() == 2, PATIENCE)
