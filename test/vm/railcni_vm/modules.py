"""Kernel modules that Debian's kernels do not have as the guests need them. netdevsim, and rdma_rxe with one counter more, are built from
Debian's kernel sources; what is added is in the .c files of this folder, which the module's own source includes. railcni_eswitch is ours alone."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .kernel import kernel
from .packages import Unavailable, depends, kept, unpack

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Edit:
    """In `file` of the module's source `before` stands once; `added` comes behind it, or in front of it."""

    file: str
    before: str
    added: str
    in_front: bool = False


@dataclass(frozen=True)
class Module:
    name: str
    source: str  # its folder in the kernel's sources; "": it is none of the kernel's
    config: str
    files: tuple[str, ...]  # of this folder
    edits: tuple[Edit, ...] = ()

    def __call__(self, suite: str, again: bool = False) -> Path:
        """The module for the suite's cached kernel. Errors: Unavailable."""
        version = kernel(suite).version
        ours = hashlib.sha256(b"".join([repr(self).encode(), *(HERE.joinpath(file).read_bytes() for file in self.files)])).hexdigest()[:8]
        return kept(f"{self.name}-{version}-{ours}", lambda folder: self.build(suite, version, folder), again) / f"{self.name}.ko"

    def build(self, suite: str, version: str, folder: Path) -> None:
        series, headers = ".".join(version.split(".")[:2]), f"linux-headers-{version}"
        parts = [d for d in depends(suite, headers) if d.startswith(("linux-headers-", "linux-kbuild-"))]
        tools = folder / "tools"
        source = f"linux-source-{series}/{self.source}"
        unpack(suite, [headers, *parts, *([f"linux-source-{series}"] if self.source else [])], tools)
        if self.source:
            self.run(["tar", "-xJf", str(tools / f"usr/src/linux-source-{series}.tar.xz"), "-C", str(tools), source])
        else:
            (tools / source).mkdir()
            (tools / source / "Makefile").write_text(f"obj-$({self.config}) := {self.name}.o\n")
        self.extend(tools / source)
        build = tools / "usr/src" / headers
        # The makefile names its other half by the path of an installed package; vmlinux serves type information (BTF), for
        # which yet another package would be needed.
        makefile = build / "Makefile"
        makefile.write_text(makefile.read_text().replace("/usr/src/", f"{tools}/usr/src/"))
        (build / "vmlinux").unlink(missing_ok=True)
        self.run(["make", "-s", "-j2", "-C", str(build), f"M={tools / source}", f"{self.config}=m", "modules"])
        (tools / source / f"{self.name}.ko").rename(folder / f"{self.name}.ko")
        shutil.rmtree(tools)

    def extend(self, source: Path) -> None:
        for edit in self.edits:
            file = source / edit.file
            text = file.read_text()
            if text.count(edit.before) != 1:
                raise Unavailable(f"building {self.name}: {edit.file} of this kernel has not one `{edit.before.strip()}`")
            file.write_text(text.replace(edit.before, edit.added + edit.before if edit.in_front else edit.before + edit.added))
        for name in self.files:
            shutil.copy(HERE / name, source)

    def run(self, command: list[str]) -> None:
        done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
            raise Unavailable(f"building {self.name}: `{command[0]}` failed: {' / '.join(words[:2])}")


# Its ports have no dcbnl, and its representors no slow path.
NETDEVSIM = Module("netdevsim", "drivers/net/netdevsim", "CONFIG_NETDEVSIM", ("netdevsim_dcb.c", "netdevsim_slow_path.c"), (
    Edit("netdev.c", '#include "netdevsim.h"\n', '#include "netdevsim_dcb.c"\n#include "netdevsim_slow_path.c"\n'),
    Edit("netdev.c", "ns->netdev->netdev_ops = &nsim_netdev_ops;", " ns->netdev->dcbnl_ops = &railcni_dcbnl_ops;"),
    Edit("netdev.c", "static const struct net_device_ops nsim_vf_netdev_ops = {\n",
         "\t.ndo_has_offload_stats = railcni_has_offload_stats,\n\t.ndo_get_offload_stats = railcni_get_offload_stats,\n")))

# It counts no congestion notifications.
RXE = Module("rdma_rxe", "drivers/infiniband/sw/rxe", "CONFIG_RDMA_RXE", ("rxe_cnps.c",), (
    Edit("rxe_hw_counters.h", "\tRXE_NUM_OF_COUNTERS\n", "\tRXE_CNT_CNPS,\n", in_front=True),
    Edit("rxe_hw_counters.c", '#include "rxe_hw_counters.h"\n', '#include "rxe_cnps.c"\n'),
    Edit("rxe_hw_counters.c", '"rdma_recvs",\n', '\t[RXE_CNT_CNPS].name = "np_cnp_sent",\n'),
    Edit("rxe_hw_counters.c", "\treturn ARRAY_SIZE(rxe_counter_descs);\n", "\tstats->value[RXE_CNT_CNPS] = railcni_cnps_sent();\n", in_front=True)))

# veth has no eSwitch, and netdevsim's takes no flows.
ESWITCH = Module("railcni_eswitch", "", "CONFIG_RAILCNI_ESWITCH", ("railcni_eswitch.c",))
