"""Boots a kernel in QEMU on the host's own files and runs a command there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import kernel as kernels
from .kernel import Kernel
from .packages import Unavailable

QEMU = "qemu-system-x86_64"
OLDEST_QEMU = 8  # the igb device with SR-IOV
HERE = Path(__file__).resolve().parents[1]
TIMED_OUT = 124
BOOT_SECONDS = 60  # no test has begun before


@dataclass(frozen=True)
class Outcome:
    """How a guest ended."""

    status: int | None  # of the command; None when the guest did not live to say it
    seconds: float
    words: str  # why there is no status

    @property
    def well(self) -> bool:
        return self.status == 0


def require() -> None:
    """Errors: Unavailable, when this machine cannot run guests."""
    try:
        text = subprocess.run([QEMU, "--version"], text=True, capture_output=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        raise Unavailable(f"{QEMU} is not installed (deploy/deps.sh vm)") from None
    found = re.search(r"version (\d+)", text)
    if found is None or int(found[1]) < OLDEST_QEMU:
        raise Unavailable(f"{text.splitlines()[0]} is too old: {OLDEST_QEMU} or newer is needed (deploy/deps.sh vm)")
    for tool in (str(kernels.BUSYBOX), "modprobe", "depmod"):
        if shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            raise Unavailable(f"{tool} is not installed (deploy/deps.sh vm)")


def accelerator() -> list[str]:
    """Emulation, the same everywhere: KVM inside a virtual machine may start a guest and never end it. RAILCNI_VM_ACCEL=kvm asks
    for KVM, which is taken if QEMU can make a machine of it."""
    if os.environ.get("RAILCNI_VM_ACCEL") == "kvm" and os.access("/dev/kvm", os.R_OK | os.W_OK):
        try:
            words = [QEMU, "-M", "q35", "-accel", "kvm", "-cpu", "host", "-m", "64", "-S", "-display", "none", "-serial",
                     "none", "-monitor", "stdio"]
            tried = subprocess.run(words, input="quit\n", text=True, capture_output=True, timeout=20, check=False)
            if tried.returncode == 0:
                return ["-accel", "kvm", "-cpu", "host"]
        except subprocess.TimeoutExpired:
            pass
    return ["-accel", "tcg,thread=multi", "-cpu", "max"]


def run(booted: Kernel, command: str, out: Path, limit: float, devices: list[str], shell: bool = False) -> Outcome:
    """Boots, runs the bash script `command`, powers off. `out` is shared with the guest (/run/railcni-out there) and has
    the transcript of the console; a QEMU that aborts while it boots is started once more (its words: transcript.aborted). After
    `limit` seconds the machine is ended, whatever it does."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "status").unlink(missing_ok=True)
    (out / "command").write_text(command)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="railcni-vm-") as folder:
        initrd = Path(folder) / "initramfs"
        initrd.write_bytes(kernels.initramfs(booted, HERE / "init.sh"))
        # A periodic tick: an emulated CPU that is halted may miss one timer interrupt. Without ticks it then sleeps for ever, and the
        # guest with it (RCU reports "timer wakeup didn't happen"); with them it wakes at the next one, 4 ms later.
        line = (f"console=ttyS0 quiet loglevel=4 panic=-1 no_timer_check nohz=off highres=off mitigations=off apparmor=0 audit=0 "
                f"railcni.modules={booted.modules.resolve()} railcni.guest={HERE / 'guest.sh'}")
        # An emulated CPU never rests: the labs beside it, which wait most of the time, come first.
        words = ["nice", "-n", "19", QEMU, "-M", "q35", *accelerator(), "-m", "2G", "-smp", "2", "-nographic", "-no-reboot", "-nic", "none",
                 "-kernel", str(booted.image), "-initrd", str(initrd), "-append", line + " railcni.shell" * shell,
                 "-virtfs", "local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap",
                 "-virtfs", f"local,path={out},mount_tag=out,security_model=none", *devices]
        if shell:
            subprocess.run(words, check=False)
        else:
            ended = _watch(words, out / "transcript", limit)
            # QEMU 10.0 may fail an assertion of its own (msix_table_mmio_write) while two emulated CPUs set up their devices.
            if ended == -signal.SIGABRT and time.monotonic() - started < BOOT_SECONDS:
                (out / "transcript").rename(out / "transcript.aborted")
                ended = _watch(words, out / "transcript", limit)
            if ended == TIMED_OUT:
                return Outcome(None, time.monotonic() - started, f"the guest was ended: it took longer than {limit:.0f} s")
    try:
        return Outcome(int((out / "status").read_text()), time.monotonic() - started, "")
    except (FileNotFoundError, ValueError):
        return Outcome(None, time.monotonic() - started, "the guest ended without a status (a panic, or QEMU failed)")


def _watch(words: list[str], transcript: Path, limit: float) -> int:
    with open(transcript, "wb") as log:
        log.write(f"$ {shlex.join(words)}\n".encode())
        log.flush()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                                   preexec_fn=_end_with_parent)
        try:
            return process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            return TIMED_OUT
        finally:
            process.kill()
            process.wait()


def _end_with_parent() -> None:
    """Whatever becomes of us, no machine stays behind."""
    import ctypes
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)


def terminal_size() -> str:
    size = shutil.get_terminal_size()
    return f"stty rows {size.lines} columns {size.columns}\n" if sys.stdin.isatty() else ""
