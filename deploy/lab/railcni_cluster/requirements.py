"""What a machine must have for a cluster: programs, and a kernel that allows nested mounts and cgroups."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from railcni_lab import daemons

CGROUPS = Path("/sys/fs/cgroup")
CONTROLLERS = ("cpu", "cpuset", "memory", "pids")
PROGRAMS = {"etcd": "etcd-server", "containerd": "containerd", "ctr": "containerd", "runc": "runc", "openssl": "openssl", "gcc": "gcc",
            "kubectl": "kubernetes-client", "nsenter": "util-linux", "buildah": "buildah", "debootstrap": "debootstrap",
            "dpkg-source": "dpkg-dev", "/usr/lib/cni/bridge": "containernetworking-plugins", "/bin/busybox": "busybox-static"}


def missing_programs() -> list[str]:
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    found = daemons.missing_programs() + [f"{program} (Debian package {package}; deploy/deps.sh cluster installs it)"
                                          for program, package in PROGRAMS.items() if shutil.which(program, path=path) is None]
    try:
        import grpc  # noqa: F401  the device plugin's
    except ImportError:
        found.append("Python's grpc (Debian package python3-grpcio; deploy/deps.sh cluster installs it)")
    return found


def cgroups_unified() -> bool:
    return (CGROUPS / "cgroup.controllers").exists()


def controllers_v1() -> list[str]:
    """Every hierarchy that is mounted on its own."""
    return sorted(p.name for p in CGROUPS.iterdir() if p.is_dir() and not p.is_symlink() and (p / "tasks").exists())


def refusal() -> str | None:
    """Why this machine cannot run a cluster, whatever is installed; None: it can."""
    if os.geteuid() != 0:
        return "a cluster makes namespaces, mounts and cgroups: run it as root"
    absent = [c for c in CONTROLLERS if not _has(c)]
    if absent:
        return f"no cgroup controllers {', '.join(absent)} in {CGROUPS}: containers cannot be limited here"
    probe = CGROUPS / ("" if cgroups_unified() else "memory") / f"railcni-probe-{os.getpid()}"
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        return f"cannot make a cgroup below {probe.parent}: {error.strerror}"
    with tempfile.TemporaryDirectory(prefix="railcni-probe-") as folder:
        script = ('set -e; mount -t tmpfs probe "$1"; cd "$1"; mkdir a b c d; mount -t overlay overlay -o lowerdir=a,upperdir=b,workdir=c d; '
                  'mkdir s; mount -t sysfs sysfs s')
        tried = subprocess.run(["unshare", "--mount", "--pid", "--uts", "--fork", "--mount-proc", "sh", "-c", script, "probe", folder],
                               stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30, check=False)
    if tried.returncode != 0:
        return f"the kernel refuses a node's mounts (tmpfs, overlay, sysfs in namespaces): {tried.stderr.strip()}"
    return None


def _has(controller: str) -> bool:
    if cgroups_unified():
        return controller in (CGROUPS / "cgroup.controllers").read_text().split()
    return (CGROUPS / controller / "tasks").exists()
