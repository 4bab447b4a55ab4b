"""A cgroup for each node, in every hierarchy: what kubelet takes for the machine's root."""

from __future__ import annotations

import os
import time
from pathlib import Path

from railcni_lab.layout import LabError

from .requirements import CGROUPS, CONTROLLERS, cgroups_unified, controllers_v1


def make(name: str) -> None:
    if cgroups_unified():
        (CGROUPS / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in CONTROLLERS))
        (CGROUPS / name).mkdir(exist_ok=True)
        return
    for controller in controllers_v1():
        (CGROUPS / controller / name).mkdir(exist_ok=True)
        if controller == "cpuset":  # a new cpuset is empty, and nothing can run in it
            for file in ("cpuset.cpus", "cpuset.mems"):
                (CGROUPS / controller / name / file).write_text((CGROUPS / controller / file).read_text())


def folders(name: str) -> list[Path]:
    """In every hierarchy that is mounted: containerd makes the node's cgroup in one that we leave alone, too (`unified`, beside version 1)."""
    return [folder for folder in (CGROUPS / name, *sorted(CGROUPS.glob(f"*/{name}"))) if folder.is_dir()]


def remove(name: str, seconds: float = 10) -> None:
    """All below it, too; the kernel needs a moment after the last process has ended."""
    deadline = time.monotonic() + seconds
    for top in folders(name):
        for folder, _, _ in os.walk(top, topdown=False):
            while True:
                try:
                    os.rmdir(folder)
                    break
                except FileNotFoundError:
                    break
                except OSError as error:
                    if time.monotonic() > deadline:
                        raise LabError(f"cannot remove the cgroup {folder}: {error.strerror}") from None
                    time.sleep(0.05)
