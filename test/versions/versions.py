#!/usr/bin/python3
"""Runs a command with another FRRouting or Open vSwitch in the place of this system's. Nothing is installed.

usage: [RAILCNI_FRR=FOLDER] [RAILCNI_OVS=FOLDER] versions.py COMMAND...     as root
       versions.py --fetch SUITE        prints a FOLDER that has both, of a Debian suite; kept in RAILCNI_CACHE or ~/.cache/railcni

FOLDER is the root of a file system: usr/lib/frr or usr/bin/ovs-vsctl, and the libraries that its programs need. In a mount namespace of
COMMAND, programs of these names run that folder's by chroot(8), with the /proc, /sys, /dev, /run and /tmp of this system. So whatever
COMMAND starts finds them: the lab, a contract suite, a test.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FRR = Path("/usr/lib/frr")
OVS_PROGRAMS = ("ovs-vsctl", "ovs-ofctl", "ovs-appctl", "ovs-dpctl", "ovsdb-tool", "ovsdb-client", "ovsdb-server", "ovs-vswitchd")
SHARED = ("proc", "sys", "dev", "run", "tmp")
PACKAGES = ("frr", "openvswitch-switch")


def fetch(suite: str) -> Path:
    """Errors: Unavailable."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vm"))
    from railcni_vm import packages

    def make(folder: Path) -> None:
        status = folder / "status"  # of a system that has no package: then apt names every one that is needed
        status.touch()
        packages.apt(suite, "apt-get", "-qq", "update")
        told = packages.apt(suite, "apt-get", "-o", f"Dir::State::status={status}", "-s", "install", "--no-install-recommends", *PACKAGES)
        packages.unpack(suite, [line.split()[1] for line in told.splitlines() if line.startswith("Inst ")], folder / "root")
        for name in ("bin", "sbin", "lib", "lib64"):
            if not (folder / "root" / name).exists():
                (folder / "root" / name).symlink_to(f"usr/{name}")

    return packages.kept(f"versions-{suite}", make) / "root"


def program_of(root: Path, name: str) -> str | None:
    """Where the folder has it; an alternative of Debian is a link that only an installed package has."""
    places = (f"usr/bin/{name}", f"usr/sbin/{name}", f"usr/lib/openvswitch-switch/{name}")
    return next((f"/{place}" for place in places if (root / place).exists()), None)


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, stdin=subprocess.DEVNULL)


def share(root: Path) -> None:
    for name in SHARED:
        (root / name).mkdir(exist_ok=True)
        mount("--rbind", f"/{name}", str(root / name))
    for name in ("etc/passwd", "etc/group"):  # FRRouting's user has this system's number
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).touch()
        mount("--bind", f"/{name}", str(root / name))


def dispatcher(root: Path, program: str) -> str:
    return f'#!/bin/sh\nexec chroot "{root}" {program} "$@"\n'


def executable(file: Path, text: str) -> None:
    file.write_text(text)
    file.chmod(0o755)


def replace_frr(root: Path) -> None:
    names = [file.name for file in (root / "usr/lib/frr").iterdir() if file.is_file() and os.access(file, os.X_OK)]
    mount("-t", "tmpfs", "-o", "mode=755", "railcni-versions", str(FRR))
    for name in names:
        executable(FRR / name, dispatcher(root, f"{FRR}/{name}"))


def replace_ovs(root: Path, scratch: Path) -> None:
    for name in OVS_PROGRAMS:
        theirs = program_of(root, name)
        ours = program_of(Path("/"), name)
        if theirs is None or ours is None:
            raise SystemExit(f"versions.py: {name} is not {'in ' + str(root) if theirs is None else 'installed'}")
        executable(scratch / name, dispatcher(root, theirs))
        mount("--bind", str(scratch / name), os.path.realpath(ours))


def inside(words: list[str]) -> None:
    """In the mount namespace; does not return."""
    mount("--make-rshared", "/")  # what is mounted later is seen in the folders, too
    scratch = Path("/mnt")
    mount("-t", "tmpfs", "-o", "mode=755", "railcni-versions", str(scratch))
    roots = {key: Path(os.environ[key]).resolve() for key in ("RAILCNI_FRR", "RAILCNI_OVS") if os.environ.get(key)}
    for root in set(roots.values()):
        share(root)
    if "RAILCNI_FRR" in roots:
        replace_frr(roots["RAILCNI_FRR"])
    if "RAILCNI_OVS" in roots:
        replace_ovs(roots["RAILCNI_OVS"], scratch)
    os.execvp(words[0], words)


def main(words: list[str]) -> None:
    if len(words) == 2 and words[0] == "--fetch":
        print(fetch(words[1]))
    elif words[:1] == ["--inside"]:
        inside(words[1:])
    elif not words or words[0].startswith("-"):
        raise SystemExit(__doc__)
    elif os.environ.get("RAILCNI_FRR") or os.environ.get("RAILCNI_OVS"):
        os.execvp("unshare", ["unshare", "--mount", "--propagation", "slave", "/usr/bin/python3", "-B", __file__, "--inside", *words])
    else:
        os.execvp(words[0], words)


if __name__ == "__main__":
    main(sys.argv[1:])
