"""The kernels that guests run: Debian packages, with a small initramfs of our own and, for one of them, netdevsim."""

from __future__ import annotations

import gzip
import lzma
import os
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from .packages import Unavailable, apt, depends, kept, unpack

BOOT_MODULES = ("virtio_pci", "9pnet_virtio", "9p", "overlay")
SOURCE_FOLDER = "drivers/net/netdevsim"
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
    apt(suite, "apt-get", "-qq", "update")
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
    index(Kernel(folder))


def index(built: Kernel) -> None:
    subprocess.run(["depmod", "-b", str(built.root), built.version], check=True, stdin=subprocess.DEVNULL)


# --- netdevsim, which Debian does not build ------------------------------------------------------------------------------


def kernel_with_netdevsim(suite: str, again: bool = False) -> Kernel:
    """The suite's kernel, and the module netdevsim built from the sources of the same package version."""
    return Kernel(kept(f"kernel-netdevsim-{suite}", lambda folder: _fetch_and_build(suite, folder), again))


def _fetch_and_build(suite: str, folder: Path) -> None:
    _fetch(suite, folder)
    built = Kernel(folder)
    series = ".".join(built.version.split(".")[:2])
    headers = f"linux-headers-{built.version}"
    needed = [d for d in depends(suite, headers) if d.startswith(("linux-headers-", "linux-kbuild-", "linux-base-"))]
    tools = folder / "build"
    unpack(suite, [headers, *needed, f"linux-source-{series}"], tools)
    with tarfile.open(tools / f"usr/src/linux-source-{series}.tar.xz", "r|xz") as archive:
        inside = f"linux-source-{series}/{SOURCE_FOLDER}/"
        archive.extractall(tools, members=(m for m in archive if m.name.startswith(inside)))
    source = tools / f"linux-source-{series}" / SOURCE_FOLDER
    relocate(tools / "usr/src", tools)
    made = subprocess.run(["make", "-s", "-C", str(tools / "usr/src" / headers), f"M={source}", "CONFIG_NETDEVSIM=m", "modules"],
                          text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if made.returncode != 0:
        raise Unavailable(f"netdevsim does not build: {(made.stderr.strip() or made.stdout.strip()).splitlines()[-1]}")
    extra = built.modules / built.version / "extra"
    extra.mkdir()
    (source / "netdevsim.ko").rename(extra / "netdevsim.ko")
    subprocess.run(["rm", "-rf", str(tools)], check=True)
    index(built)


def relocate(sources: Path, root: Path) -> None:
    """The headers' makefiles name their parts by absolute paths of an installed package."""
    for file in sources.glob("linux-headers-*/Makefile"):
        text = file.read_text()
        file.write_text(text.replace("/usr/src/", f"{root}/usr/src/").replace("/usr/lib/", f"{root}/usr/lib/"))


# --- initramfs ----------------------------------------------------------------------------------------------------------


def initramfs(booted: Kernel, init: Path) -> bytes:
    """busybox, the modules that reach the host's files, and the script `init`."""
    listed = subprocess.run(["modprobe", "-d", str(booted.root), "-S", booted.version, "--show-depends", "-a", *BOOT_MODULES],
                            text=True, capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout
    paths = list(dict.fromkeys(Path(line.split()[1]) for line in listed.splitlines() if line.startswith("insmod ")))
    archive = Archive()
    for folder in ("bin", "proc", "sys", "dev", "host", "own", "root", "modules"):
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
