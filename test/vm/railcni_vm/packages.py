"""Debian packages of a suite, unpacked in a cache folder; nothing of them is installed."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
CACHE = Path(os.environ.get("RAILCNI_CACHE") or Path.home() / ".cache/railcni")
FETCH_SECONDS = 600


class Unavailable(Exception):
    """What a guest needs and this machine cannot give: one line, the reason of a skip."""


def apt(suite: str, *words: str, folder: Path | None = None) -> str:
    command = [str(REPOSITORY / "deploy/apt-suite.sh"), "--alone", suite, *words]
    try:
        done = subprocess.run(command, cwd=folder, text=True, capture_output=True, timeout=FETCH_SECONDS, check=False,
                              stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{suite}: `{' '.join(words)}` did not end within {FETCH_SECONDS} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Unavailable(f"{suite}: `{' '.join(words)}` failed: {last}")
    return done.stdout


def depends(suite: str, package: str) -> list[str]:
    """The packages that a package depends on by name, alternatives left out."""
    lines = apt(suite, "apt-cache", "depends", "--important", package).splitlines()
    return [line.split()[1] for line in lines if line.startswith("  Depends: ") and "<" not in line]


def unpack(suite: str, names: list[str], root: Path) -> None:
    """Downloads packages of a suite and unpacks them under `root`."""
    debs = root.with_name(f"{root.name}.debs")
    shutil.rmtree(debs, ignore_errors=True)
    debs.mkdir(parents=True)
    root.mkdir(parents=True, exist_ok=True)
    try:
        apt(suite, "apt-get", "-qq", "download", *names, folder=debs)
        for deb in sorted(debs.glob("*.deb")):
            subprocess.run(["dpkg-deb", "-x", str(deb), str(root)], check=True, stdin=subprocess.DEVNULL)
    finally:
        shutil.rmtree(debs, ignore_errors=True)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(name: str, make: Callable[[Path], None], again: bool = False) -> Path:
    """The folder `name` of the cache; made by `make` when it is not there, whole or not at all, once for all who ask."""
    folder, growing = CACHE / "vm" / name, CACHE / "vm" / f"{name}.part"
    with _locked(CACHE / "vm" / f"{name}.lock"):
        if again or not folder.is_dir():
            shutil.rmtree(growing, ignore_errors=True)
            growing.mkdir(parents=True)
            make(growing)
            shutil.rmtree(folder, ignore_errors=True)
            growing.rename(folder)
    return folder
