"""The emulated NIC, and the kernel's files as they would be for a PCI device with virtual functions."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from railcni_lab import kernel

DEVICE = "netdevsim10"
REAL = Path("/sys/devices") / DEVICE
VFS = 4


def address(vf: int) -> str:
    return f"0000:3b:00.{2 + vf}"


class Sysfs:
    """The kernel's files, and around them those of a PCI device with virtual functions."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.pf = root / "devices" / DEVICE
        self.pf.mkdir(parents=True)
        (self.pf / "sriov_numvfs").symlink_to(REAL / "sriov_numvfs")
        (self.pf / "sriov_totalvfs").write_text(f"{VFS}\n")
        self.on_bus("netdevsim")
        for vf in range(VFS):
            folder = root / "bus/pci/devices" / address(vf)
            (folder / "net" / f"vf{vf}").mkdir(parents=True)
            (folder / "driver").symlink_to("/bus/pci/drivers/mlx5_core")
            (folder / "physfn").symlink_to(self.pf)
            (self.pf / f"virtfn{vf}").symlink_to(folder)
            kernel.run(["ip", "link", "add", f"vf{vf}", "type", "dummy"])
        self.look()

    def on_bus(self, name: str) -> None:
        """The bus that the PF seems to be on; by it and its name devlink knows a device."""
        link = self.pf / "subsystem"
        link.unlink(missing_ok=True)
        link.symlink_to(f"/sys/bus/{name}")

    def look(self) -> None:
        """The links that are there now."""
        for folder in (self.root / "class/net", self.pf / "net"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        for real in Path("/sys/class/net").iterdir():
            mirrored = self.root / "class/net" / real.name
            mirrored.mkdir()
            (mirrored / "phys_switch_id").symlink_to(real / "phys_switch_id")
            if real.name == uplink():
                (mirrored / "phys_port_name").write_text("p0\n")
            else:
                (mirrored / "phys_port_name").symlink_to(real / "phys_port_name")
            if (real / "device").resolve() == REAL:
                (mirrored / "device").symlink_to(self.pf)
                (self.pf / "net" / real.name).mkdir()


def uplink() -> str:
    """The PF's link: the one physical port."""
    return next(p["netdev"] for p in ports().values() if p["flavour"] == "physical")


def ports() -> dict[str, Any]:
    return json.loads(kernel.run(["devlink", "-j", "port", "show"]))["port"]


def representors() -> dict[int, str]:
    """VF -> its representor, as devlink tells."""
    return {p["vfnum"]: p["netdev"] for p in ports().values() if p["flavour"] == "pcivf" and "netdev" in p}
