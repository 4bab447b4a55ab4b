"""The guests: which kernel, which devices, and how long at most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from .kernel import Kernel, kernel, kernel_with_netdevsim

IGB = ["-device", "pcie-root-port,id=port1", "-netdev", "user,id=net1,restrict=on", "-device", "igb,bus=port1,netdev=net1"]


@dataclass(frozen=True)
class Guest:
    """What the tests of test_NAME.py run in."""

    kernel: Callable[..., Kernel]
    modules: tuple[str, ...]  # loaded before the tests
    devices: list[str] = field(default_factory=list)  # for QEMU
    limit: float = 420  # seconds; a machine that is emulated and has neighbours is slow


OFFLOAD = ("openvswitch", "cls_flower", "act_mirred", "act_pedit", "act_csum", "act_gact", "sch_ingress", "veth")
stable, newest = partial(kernel, "bookworm-backports"), partial(kernel, "trixie-backports")

GUESTS = {
    "offload": Guest(stable, OFFLOAD),
    "rdma": Guest(newest, (*OFFLOAD, "rdma_rxe", "ib_uverbs", "rdma_ucm")),  # rdma_rxe in namespaces: not in linux 6.12
    "sriov": Guest(stable, (*OFFLOAD, "igb", "igbvf"), IGB),
    "switchdev": Guest(partial(kernel_with_netdevsim, "bookworm-backports"), (*OFFLOAD, "netdevsim")),
}


def preamble(guest: Guest) -> str:
    """What every command of a guest begins with."""
    return f"modprobe -a {' '.join(guest.modules)}\nexport RAILCNI_VM_GUEST=1\n"
