"""The kernels that guests run: Debian packages, with a small initramfs of our own."""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .packages import Unavailable, apt, depends, kept, unpack

BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
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
