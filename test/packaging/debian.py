"""A minimal Debian 12 on which packages are installed for real, and what a test does there.

The system is the base system of builder.py with the libraries that the image has (deploy/deps.sh image). It is kept in the cache and is
never written: each test has a layer of its own over it, in memory. There is no systemd in it; a stand-in notes what it is told."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from builder import CACHE, ROOT, base_system, run

CLEAN = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
RECORD = "var/lib/railcni/state.db"

# Notes each call. deb-systemd-invoke asks it whether a unit may be started.
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/systemctl.log
case "$*" in *is-enabled*) echo enabled ;; *is-active*) exit 0 ;; esac
"""


def system_with_libraries() -> Path:
    """The folder of a system that has what the package depends on; made once for each list of packages."""
    tarball = base_system()
    packages = re.search(r"^image=\((.*?)\)", (ROOT / "deploy/deps.sh").read_text(), re.M | re.S)
    assert packages, "deploy/deps.sh has no set 'image'"
    key = hashlib.sha256((tarball.name + packages[1]).encode()).hexdigest()[:16]
    system = CACHE / "image" / f"debian-{key}"
    # Not builder.one_at_a_time: a build of the image holds that for minutes.
    with (CACHE / "image" / "debian.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not system.exists():
            make_system(system, tarball)
    return system


def make_system(system: Path, tarball: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="debian-", dir=system.parent) as folder:
        root = Path(folder) / "root"
        root.mkdir()
        run(["tar", "-C", str(root), "-xf", str(tarball)], seconds=300)
        shutil.copy(ROOT / "deploy/deps.sh", root / "deps.sh")
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        run(["chroot", str(root), "/deps.sh", "image"], seconds=600, env=CLEAN)
        shutil.rmtree(root / "var/lib/apt/lists")
        root.rename(system)


class Machine:
    """A system that runs nothing by itself; commands are executed in it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["chroot", str(self.root), *command], env={**CLEAN, **environment}, capture_output=True, text=True,
                              timeout=120, check=False)

    def must(self, *command: str, **environment: str) -> str:
        done = self(*command, **environment)
        assert done.returncode == 0, f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    def install(self, package: Path) -> str:
        shutil.copy(package, self.root / "new.deb")
        return self.must("dpkg", "--install", "/new.deb")

    def status(self) -> str:
        """As dpkg has it: 'installed', 'config-files', or '' when it knows nothing of it."""
        return self("dpkg-query", "-W", "-f=${db:Status-Status}", "railcni").stdout

    def has_systemd(self) -> None:
        (self.root / "run/systemd/system").mkdir(parents=True)
        stand_in = self.root / "usr/bin/systemctl"
        stand_in.write_text(SYSTEMCTL)
        stand_in.chmod(0o755)

    def told_systemd(self) -> list[str]:
        """What of raild systemd was told since the last question."""
        log = self.root / "systemctl.log"
        calls = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [" ".join(w for w in call.split() if not w.startswith("-")) for call in calls
                if re.search(r"\b(start|restart|stop)\b.*raild", call)]


@contextlib.contextmanager
def installed(package: Path) -> Iterator[Path]:
    """A layer with the package on it, to put other machines upon."""
    with machine() as host:
        host.install(package)
        run(["umount", str(host.root)])
        yield host.root.parent / "upper"
        run(["mount", "-t", "tmpfs", "tmpfs", str(host.root)])  # machine() unmounts something here


@contextlib.contextmanager
def machine(*layers: Path) -> Iterator[Machine]:
    """A minimal system, with what is in the layers, the first one on top."""
    system = ":".join(map(str, [*layers, system_with_libraries()]))
    with tempfile.TemporaryDirectory(prefix="railcni-deb-") as folder:
        memory = Path(folder)
        run(["mount", "-t", "tmpfs", "-o", "mode=755,size=512m", "tmpfs", str(memory)])
        try:
            for name in ("upper", "work", "root"):
                (memory / name).mkdir()
            run(["mount", "-t", "overlay", "overlay", "-o",
                 f"lowerdir={system},upperdir={memory / 'upper'},workdir={memory / 'work'}", str(memory / "root")])
            try:
                yield Machine(memory / "root")
            finally:
                run(["umount", str(memory / "root")])
        finally:
            run(["umount", str(memory)])


def build_package(folder: Path) -> Path:
    """The package of the release build that is there; nothing is compiled."""
    build = ROOT / "build"
    assert (build / "CPackConfig.cmake").exists(), "the release build is not configured: cmake --preset release"
    run(["cpack", "-G", "DEB", "--config", str(build / "CPackConfig.cmake"), "-B", str(folder)], cwd=build)
    made = list(folder.glob("*.deb"))
    assert len(made) == 1, made
    return made[0]


def newer(package: Path, version: str, folder: Path) -> Path:
    """The same package with a higher version, and with plugins and raild that differ from the old ones."""
    run(["dpkg-deb", "--raw-extract", str(package), str(folder)])
    control = folder / "DEBIAN/control"
    control.write_text(re.sub(r"^Version: .*$", f"Version: {version}", control.read_text(), flags=re.M))
    for plugin in (folder / "usr/lib/railcni/cni").iterdir():
        with plugin.open("ab") as file:
            file.write(b"newer")
    made = folder.with_suffix(".deb")
    run(["dpkg-deb", "--build", "--root-owner-group", "-Znone", str(folder), str(made)])
    return made


def schema() -> str:
    """The tables of the record, as lib/state/schema.h has them."""
    text = re.search(r'kSchema = R"\((.*?)\)";', (ROOT / "lib/state/schema.h").read_text(), re.S)
    assert text
    return re.sub(r'\)" RAIL_VERSION R"\(', "0.1.0", text[1])
