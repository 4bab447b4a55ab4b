"""The guests: which kernel, which devices, which modules, and how long at most."""

from __future__ import annotations

from dataclasses import dataclass, field

from . import kernel as kernels
from .kernel import Kernel
from .modules import ESWITCH, NETDEVSIM, RXE, Module

STABLE, NEWEST = "bookworm-backports", "trixie-backports"
IGB = ["-device", "pcie-root-port,id=port1", "-netdev", "user,id=net1,restrict=on", "-device", "igb,bus=port1,netdev=net1"]
OFFLOAD = ("openvswitch", "cls_flower", "act_mirred", "act_pedit", "act_csum", "act_gact", "sch_ingress", "veth")


@dataclass(frozen=True)
class Guest:
    """What the tests of test_NAME.py run in."""

    suite: str
    modules: tuple[str, ...]  # loaded before the tests
    devices: list[str] = field(default_factory=list)  # for QEMU
    built: tuple[Module, ...] = ()  # modules that are no part of the kernel's packages
    limit: float = 600  # seconds; a machine that is emulated, and has neighbours, is slow

    def fetch(self, again: bool = False) -> Kernel:
        """Errors: Unavailable."""
        kernel = kernels.kernel(self.suite, again)
        for build in self.built:
            build(self.suite)
        return kernel

    def preamble(self) -> str:
        """What every command in the guest begins with."""
        lines = [f"modprobe -a {' '.join(self.modules)}", *(f"insmod {build(self.suite)} || exit" for build in self.built),
                 "export RAILCNI_VM_GUEST=1"]
        return "".join(f"{line}\n" for line in lines)


GUESTS = {
    "offload": Guest(STABLE, OFFLOAD, built=(ESWITCH,), limit=1200),
    # rdma_rxe in network namespaces came after linux 6.12.
    "rdma": Guest(NEWEST, (*OFFLOAD, "sch_netem", "rdma_rxe", "ib_uverbs", "rdma_ucm"), limit=1500),
    "leaves": Guest(STABLE, ("veth", "vrf", "8021q", "vxlan", "bridge", "dummy")),
    "vrf": Guest(STABLE, (*OFFLOAD, "vrf", "8021q", "act_vlan")),
    "vlans": Guest(STABLE, (*OFFLOAD, "vrf", "8021q", "act_vlan"), limit=900),
    "tenants": Guest(STABLE, (*OFFLOAD, "vrf", "8021q", "act_vlan"), limit=1500),
    "sriov": Guest(STABLE, (*OFFLOAD, "tun", "igb", "igbvf"), devices=IGB),
    "switchdev": Guest(STABLE, (*OFFLOAD, "tun", "psample", "macsec", "ib_uverbs", "udp_tunnel", "ip6_udp_tunnel"), built=(NETDEVSIM, RXE), limit=900),
}
