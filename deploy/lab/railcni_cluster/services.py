"""Processes of the cluster: started with a log and a pid file, found again by them, ended."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from railcni_lab import daemons


def start(name: str, command: list[str], folder: Path, environment: dict[str, str] | None = None) -> int:
    """`folder`/log/NAME.log has what it says, `folder`/pid/NAME which process it is."""
    for below in ("log", "pid"):
        (folder / below).mkdir(exist_ok=True)
    with open(folder / "log" / f"{name}.log", "ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
                                   env={**os.environ, **(environment or {})})
    (folder / "pid" / name).write_text(f"{process.pid} {started(process.pid)}\n")
    return process.pid


def started(pid: int) -> str:
    """When the process began, by the kernel's clock: a number that another process has by now is not taken for it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return "gone"


def pid_of(name: str, folder: Path) -> int | None:
    try:
        pid, began = (folder / "pid" / name).read_text().split()
    except (OSError, ValueError):
        return None
    state = "Z"
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        pass
    return int(pid) if state != "Z" and started(int(pid)) == began else None


def end(name: str, folder: Path, seconds: float = 10) -> None:
    pid = pid_of(name, folder)
    if pid is not None:
        daemons.end([pid], seconds)
    (folder / "pid" / name).unlink(missing_ok=True)


def kill(name: str, folder: Path) -> None:
    pid = pid_of(name, folder)
    if pid is not None:
        daemons.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            pass
    (folder / "pid" / name).unlink(missing_ok=True)


def last_words(name: str, folder: Path, lines: int = 8) -> str:
    log = folder / "log" / f"{name}.log"
    said = log.read_text(errors="replace").splitlines()[-lines:] if log.exists() else []
    return "\n".join(f"  {line[:400]}" for line in said) or f"  ({log} is empty)"
