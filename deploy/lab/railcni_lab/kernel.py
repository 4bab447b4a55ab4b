"""Network namespaces and links: entering, making, counting, and the processes inside."""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .layout import LabError

NETNS_DIR = Path("/run/netns")
CLONE_NEWNET = 0x40000000
CLONE_NEWUTS = 0x04000000
SIOCETHTOOL = 0x8946
ETHTOOL_STXCSUM = 0x17

_libc = ctypes.CDLL(None, use_errno=True)


def _setns(fd: int, kind: int = CLONE_NEWNET) -> None:
    if _libc.setns(fd, kind) != 0:
        error = ctypes.get_errno()
        raise LabError(f"cannot enter a {'network' if kind == CLONE_NEWNET else 'UTS'} namespace: {os.strerror(error)}")


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """The calling thread, and what it starts, is in `namespace` until the block ends."""
    own = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            other = os.open(NETNS_DIR / namespace, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise LabError(f"network namespace {namespace} is gone") from None
        try:
            _setns(other)
        finally:
            os.close(other)
        try:
            yield
        finally:
            _setns(own)
    finally:
        os.close(own)


@contextmanager
def named(hostname: str) -> Iterator[None]:
    """What the calling thread starts until the block ends believes that its host is called so: it is in a UTS namespace of its own,
    which lives as long as a process in it."""
    own = os.open("/proc/thread-self/ns/uts", os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.unshare(CLONE_NEWUTS) != 0:
            raise LabError(f"cannot make a UTS namespace: {os.strerror(ctypes.get_errno())}")
        try:
            socket.sethostname(hostname)
            yield
        finally:
            _setns(own, CLONE_NEWUTS)
    finally:
        os.close(own)


def run(command: list[str], stdin: str | None = None, env: dict[str, str] | None = None, timeout: float = 30) -> str:
    """Runs a tool of the lab and returns what it printed."""
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=timeout, check=False,
                              env=None if env is None else {**os.environ, **env},
                              stdin=subprocess.DEVNULL if stdin is None else None)
    except FileNotFoundError:
        raise LabError(f"{command[0]} is not installed: run deploy/deps.sh run") from None
    except subprocess.TimeoutExpired:
        raise LabError(f"`{' '.join(command)}` did not end within {timeout:.0f} s") from None
    if done.returncode != 0:
        words = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()
        raise LabError(f"`{' '.join(command)}` failed with status {done.returncode}: {' / '.join(words[-3:])}")
    return done.stdout


def ip_batch(lines: Iterable[str], namespace: str | None = None) -> None:
    run(["ip", *(["-n", namespace] if namespace else []), "-batch", "-"], stdin="".join(f"{line}\n" for line in lines))


def links_up(namespace: str, names: Iterable[str]) -> None:
    ip_batch((f"link set {name} up" for name in names), namespace)


def namespaces() -> list[str]:
    return sorted(p.name for p in NETNS_DIR.iterdir()) if NETNS_DIR.is_dir() else []


def delete_namespace(namespace: str) -> None:
    if (NETNS_DIR / namespace).exists():
        run(["ip", "netns", "del", namespace])


def links(namespace: str) -> set[str]:
    with inside(namespace):
        return {name for _, name in socket.if_nameindex()}


def sysctl(namespace: str, values: dict[str, int]) -> None:
    with inside(namespace):
        for key, value in values.items():
            Path("/proc/sys", key).write_text(str(value))


def checksums_by_software(namespace: str, names: Iterable[str]) -> None:
    """`ethtool -K NAME tx off`: the userspace datapath passes packets on as they are, half-made checksums included."""
    with inside(namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for name in names:
            value = ctypes.create_string_buffer(struct.pack("II", ETHTOOL_STXCSUM, 0))
            request = struct.pack("16sP", name.encode(), ctypes.addressof(value))
            fcntl.ioctl(s, SIOCETHTOOL, request + bytes(40 - len(request)))


def processes_in(wanted: set[str]) -> dict[int, str]:
    """Process id -> namespace, for every process whose network namespace is one of `wanted`."""
    inodes: dict[tuple[int, int], str] = {}
    for namespace in wanted:
        try:
            stat = os.stat(NETNS_DIR / namespace)
        except FileNotFoundError:
            continue
        inodes[(stat.st_dev, stat.st_ino)] = namespace
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            stat = os.stat(f"/proc/{entry}/ns/net")
        except OSError:
            continue
        if (stat.st_dev, stat.st_ino) in inodes:
            found[int(entry)] = inodes[(stat.st_dev, stat.st_ino)]
    return found
