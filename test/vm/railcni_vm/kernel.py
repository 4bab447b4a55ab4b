"""The kernels that guests run: Debian packages, with a small initramfs of our own and, for one of them, netdevsim."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .packages import Unavailable, apt, depends, kept, unpack

BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
NETDEVSIM = "drivers/net/netdevsim"
# What netdevsim's ports have not: dcbnl; a slow path of representors.
PRIORITIES, SLOW_PATH = (Path(__file__).with_name(f"netdevsim_{what}.c") for what in ("dcb", "slow_path"))
BUSYBOX = Path("/bin/busybox")


@dataclass(frozen=True)
class Kernel:
    """A kernel in the cache."""

    root: Path  # what its packages contain

    @property
    def modules(self) -> Path:
        """`lib/modules` of this kernel, as modprobe wants it."""
        return self.root / "lib/modules"

    @property
    def version(self) -> str:
        return next(self.modules.iterdir()).name

    @property
    def image(self) -> Path:
        return next(path for pattern in ("boot/vmlinuz-*", "usr/lib/modules/*/vmlinuz") for path in self.root.glob(pattern))


def kernel(suite: str, again: bool = False) -> Kernel:
    """The newest kernel of a suite; once fetched, the cached one. Errors: Unavailable."""
    return Kernel(kept(f"kernel-{suite}", lambda folder: _fetch(suite, folder), again))


def _fetch(suite: str, folder: Path) -> None:
    apt(suite, "apt-get", "-qq", "-o", "APT::Update::Error-Mode=any", "update")
    image = next((d for d in depends(suite, "linux-image-amd64") if d.startswith("linux-image-")), None)
    if image is None:
        raise Unavailable(f"{suite}: linux-image-amd64 depends on no kernel")
    # From linux 7 on the image is an empty package that depends on its parts: linux-base-, -binary- and -modules-VERSION.
    version = image.removeprefix("linux-image-")
    parts = [d for d in depends(suite, image) if d.endswith(f"-{version}")]
    unpack(suite, [image, *parts], folder)
    if not (folder / "lib/modules").is_dir():
        (folder / "lib").mkdir(exist_ok=True)
        (folder / "lib/modules").symlink_to("../usr/lib/modules")
    subprocess.run(["depmod", "-b", str(folder), Kernel(folder).version], check=True, stdin=subprocess.DEVNULL)


# --- netdevsim, which Debian does not build ------------------------------------------------------------------------------


def netdevsim(suite: str, again: bool = False) -> Path:
    """The module netdevsim for the suite's cached kernel, with PRIORITIES and SLOW_PATH. Errors: Unavailable."""
    version = kernel(suite).version
    patch = hashlib.sha256(b"".join(file.read_bytes() for file in (PRIORITIES, SLOW_PATH, Path(__file__)))).hexdigest()[:8]
    return kept(f"netdevsim-{version}-{patch}", lambda folder: _build_netdevsim(suite, version, folder), again) / "netdevsim.ko"


def _build_netdevsim(suite: str, version: str, folder: Path) -> None:
    series, headers = ".".join(version.split(".")[:2]), f"linux-headers-{version}"
    parts = [d for d in depends(suite, headers) if d.startswith(("linux-headers-", "linux-kbuild-"))]
    tools = folder / "tools"
    unpack(suite, [headers, *parts, f"linux-source-{series}"], tools)
    archive, source = tools / f"usr/src/linux-source-{series}.tar.xz", f"linux-source-{series}/{NETDEVSIM}"
    _run(["tar", "-xJf", str(archive), "-C", str(tools), source])
    _extend(tools / source)
    build = tools / "usr/src" / headers
    # The makefile names its other half by the path of an installed package; vmlinux serves type information (BTF), for
    # which yet another package would be needed.
    makefile = build / "Makefile"
    makefile.write_text(makefile.read_text().replace("/usr/src/", f"{tools}/usr/src/"))
    (build / "vmlinux").unlink(missing_ok=True)
    _run(["make", "-s", "-j2", "-C", str(build), f"M={tools / source}", "CONFIG_NETDEVSIM=m", "modules"])
    (tools / source / "netdevsim.ko").rename(folder / "netdevsim.ko")
    shutil.rmtree(tools)


def _extend(source: Path) -> None:
    netdev = source / "netdev.c"
    text = netdev.read_text()
    include, uplink = '#include "netdevsim.h"\n', "ns->netdev->netdev_ops = &nsim_netdev_ops;"
    representor = "static const struct net_device_ops nsim_vf_netdev_ops = {\n"
    for before, after in ((include, include + f'#include "{PRIORITIES.name}"\n#include "{SLOW_PATH.name}"\n'),
                          (uplink, uplink + " ns->netdev->dcbnl_ops = &railcni_dcbnl_ops;"),
                          (representor, representor + "\t.ndo_has_offload_stats = railcni_has_offload_stats,\n"
                                                      "\t.ndo_get_offload_stats = railcni_get_offload_stats,\n")):
        if text.count(before) != 1:
            raise Unavailable(f"building netdevsim: {netdev.name} of this kernel has not one `{before.strip()}`")
        text = text.replace(before, after)
    netdev.write_text(text)
    for file in (PRIORITIES, SLOW_PATH):
        shutil.copy(file, source)


def _run(command: list[str]) -> None:
    done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise Unavailable(f"building netdevsim: `{command[0]}` failed: {' / '.join(words[:2])}")


# --- initramfs ----------------------------------------------------------------------------------------------------------


def initramfs(booted: Kernel, init: Path) -> bytes:
    """busybox, the modules that reach the host's files, and the script `init`."""
    asked = ["modprobe", "-d", str(booted.root), "-S", booted.version, "--show-depends", "-a", *BOOT_MODULES]
    listed = subprocess.run(asked, text=True, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    paths = list(dict.fromkeys(Path(line.split()[1]) for line in listed.splitlines() if line.startswith("insmod ")))
    archive = Archive()
    for folder in ("bin", "proc", "sys", "dev", "host", "own", "new", "modules"):
        archive.add(folder, 0o040755)
    archive.add("bin/busybox", 0o100755, BUSYBOX.read_bytes())
    archive.add("init", 0o100755, init.read_bytes())
    for number, path in enumerate(paths):
        data = path.read_bytes()
        archive.add(f"modules/{number:02d}-{path.name.partition('.')[0]}.ko", 0o100644,
                    lzma.decompress(data) if path.suffix == ".xz" else data)
    return gzip.compress(archive.finish(), 1)


class Archive:
    """A cpio archive of the kind "newc" (the kernel's Documentation/driver-api/early-userspace/buffer-format.rst)."""

    def __init__(self) -> None:
        self.data, self.number = bytearray(), 0

    def add(self, name: str, mode: int, content: bytes = b"") -> None:
        self.number += 1
        path = os.fsencode(name) + b"\0"
        fields = (self.number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0)
        self.data += b"070701" + b"".join(b"%08X" % field for field in fields) + path
        self._pad()
        self.data += content
        self._pad()

    def _pad(self) -> None:
        self.data += bytes(-len(self.data) % 4)

    def finish(self) -> bytes:
        self.add("TRAILER!!!", 0)
        return bytes(self.data)
