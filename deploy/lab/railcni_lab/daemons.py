"""Starts, watches and ends the daemons of a host: Open vSwitch, FRRouting, raild."""

from __future__ import annotations

import os
import pwd
import select
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from .kernel import inside, named, run
from .layout import Host, Lab, LabError, Node

OVS_SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
OVS_COMMON = ("--detach", "--no-chdir", "-vconsole:off", "-vsyslog:off")
FRR_BINARIES = Path("/usr/lib/frr")


def wait_until(what: str, ready: Callable[[], bool], seconds: float, every: float = 0.05) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise LabError(f"{what}: not within {seconds:.0f} s")
        time.sleep(every)


def prepare(host: Host) -> None:
    """Folders of a host; FRRouting drops its privileges, so its folder and logs are its own."""
    for folder in (host.log_dir, host.pid_dir, host.ovs_dir, host.frr_dir, host.root / "etc/frr"):
        folder.mkdir(parents=True, exist_ok=True)
    user = pwd.getpwnam("frr")
    os.chown(host.frr_dir, user.pw_uid, user.pw_gid)
    for daemon in ("mgmtd", "zebra", "bgpd"):
        for file in (host.log_dir / f"{daemon}.log", host.root / f"etc/frr/{daemon}.conf"):
            file.touch()
            os.chown(file, user.pw_uid, user.pw_gid)
            file.chmod(0o640)


def start_frr(host: Host, bgp_config: str = "", which: Iterable[str] = ("zebra", "bgpd"), bmp: bool = False) -> None:
    """`bmp`: with the module by which bgpd pushes what it learns."""
    (host.root / "etc/frr/bgpd.conf").write_text(bgp_config)
    for daemon in which:
        start_frr_daemon(host, daemon, bmp)


def start_frr_daemon(host: Host, daemon: str, bmp: bool = False) -> None:
    if daemon != "mgmtd" and has_mgmtd() and pid_of(host, "mgmtd") is None:
        start_frr_daemon(host, "mgmtd")
    module = ["-M", "bmp"] if bmp and daemon == "bgpd" else []
    own = [] if daemon == "mgmtd" else ["-z", str(host.frr_dir / "zserv.api"), "-f", str(host.root / f"etc/frr/{daemon}.conf")]
    said = host.log_dir / f"{daemon}.said"
    command = [str(FRR_BINARIES / daemon), *module, "-d", *own, *_own_folder(host), "--vty_socket", str(host.frr_dir),
               "-i", str(host.frr_dir / f"{daemon}.pid"),
               "-A", "127.0.0.1", "-P", "0", "--log", f"file:{host.log_dir / daemon}.log"]
    # A file: since FRRouting 9.0 a daemon keeps what is no terminal open, and a pipe would never end (lib/libfrr.c, frr_run).
    with open(said, "w") as output, inside(host.namespace), named(host.name):
        try:
            status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, timeout=30, check=False).returncode
        except FileNotFoundError:
            raise LabError(f"{command[0]} is not installed: run deploy/deps.sh run") from None
        except subprocess.TimeoutExpired:
            raise LabError(f"{daemon} of {host.name} did not start within 30 s; what it said: {said}") from None
    if status != 0:
        raise LabError(f"{daemon} of {host.name} failed with status {status}: {' / '.join(said.read_text().splitlines()[-3:])}")


def has_mgmtd() -> bool:
    """Since FRRouting 10.0 the others look for mgmtd without end where it does not run."""
    return (FRR_BINARIES / "mgmtd").exists()


def _own_folder(host: Host) -> list[str]:
    """mgmtd's sockets have no option: they are in /run/frr, or in a folder there that -N names."""
    if not has_mgmtd():
        return []
    folder = frr_folder(host)
    folder.mkdir(parents=True, exist_ok=True)
    user = pwd.getpwnam("frr")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["-N", host.namespace]


def frr_folder(host: Host) -> Path:
    """Outside of the lab's own folder; it is there only where FRRouting has mgmtd."""
    return Path("/run/frr") / host.namespace


def start_lldpd(host: Host, settings: Path) -> subprocess.Popen[bytes]:
    """A leaf that says by LLDP who it is, as every switch does. It runs in the foreground: end what is returned."""
    with open(host.log_dir / "lldpd.log", "ab") as log, inside(host.namespace), named(host.name):
        return subprocess.Popen(["lldpd", "-d", "-u", str(host.root / "run/lldpd.sock"), "-O", str(settings)],
                                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)


def ovs_environment(host: Host) -> dict[str, str]:
    return {"OVS_RUNDIR": str(host.ovs_dir), "OVS_DBDIR": str(host.root / "var/lib/openvswitch"),
            "OVS_LOGDIR": str(host.log_dir), "OVS_SYSCONFDIR": str(host.root / "etc")}


def start_ovs(host: Host, datapath: str = "netdev", which: Iterable[str] = ("ovsdb-server", "ovs-vswitchd")) -> None:
    """Starts Open vSwitch; with the datapath "system" (the kernel's) also its offload to tc."""
    if "ovsdb-server" in which:
        start_ovsdb(host, datapath)
    if "ovs-vswitchd" in which:
        start_vswitchd(host, datapath)


def start_ovsdb(host: Host, datapath: str = "netdev") -> None:
    database, env = host.root / "var/lib/openvswitch/conf.db", ovs_environment(host)
    database.parent.mkdir(parents=True, exist_ok=True)
    if not database.exists():
        run(["ovsdb-tool", "create", str(database), OVS_SCHEMA], env=env)
    with inside(host.namespace), named(host.name):
        run(["ovsdb-server", str(database), f"--remote=punix:{host.ovs_dir}/db.sock",
             f"--pidfile={host.pid_dir}/ovsdb-server.pid", f"--unixctl={host.ovs_dir}/ovsdb-server.ctl",
             f"--log-file={host.log_dir}/ovsdb-server.log", *OVS_COMMON], env=env)
        run(["ovs-vsctl", f"--db=unix:{host.ovs_dir}/db.sock", "--no-wait", "init"], env=env)
        if datapath == "system":  # read once, when ovs-vswitchd starts
            run(["ovs-vsctl", f"--db=unix:{host.ovs_dir}/db.sock", "--no-wait", "set", "Open_vSwitch", ".",
                 "other_config:hw-offload=true"], env=env)


def start_vswitchd(host: Host, datapath: str = "netdev") -> None:
    options = ["--disable-system"] if datapath == "netdev" else []
    with inside(host.namespace), named(host.name):
        run(["ovs-vswitchd", f"unix:{host.ovs_dir}/db.sock", *options,
             f"--pidfile={host.pid_dir}/ovs-vswitchd.pid", f"--unixctl={host.ovs_dir}/ovs-vswitchd.ctl",
             f"--log-file={host.log_dir}/ovs-vswitchd.log", *OVS_COMMON], env=ovs_environment(host))


def start_raild(lab: Lab, node: Node, binary: Path | None = None) -> None:
    """Starts the node's daemon, or another build of it; it says in log/raild.log what it does. Ready: see raild_answers."""
    with open(node.log_dir / "raild.log", "ab") as log, inside(node.namespace), named(node.name):
        process = subprocess.Popen([str(binary or lab.binaries / "raild")], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   cwd="/", start_new_session=True, env={**os.environ, "RAILCNI_ROOT": str(node.root)})
    (node.pid_dir / "raild.pid").write_text(f"{process.pid}\n")
    # For an instant of execve(2) a process has no command line to be known by.
    wait_until("raild started", lambda: process.poll() is not None or pid_of(node, "raild") is not None, 30, every=0.002)


def restart_raild(lab: Lab, node: Node) -> None:
    """As an operator does after a change of node.json; returns when the new one answers."""
    if (pid := pid_of(node, "raild")) is not None:
        kill(pid, signal.SIGTERM)
    start_raild(lab, node)
    wait_until(f"raild of {node.name} answers", lambda: raild_answers(node), 30)


def raild_answers(node: Node) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        try:
            s.connect(str(node.raild_socket))
        except OSError:
            return False
    return True


def pid_files(host: Host) -> dict[str, Path]:
    """Daemon -> its pid file, for the daemons that this kind of host has."""
    files = {d: host.frr_dir / f"{d}.pid" for d in ("mgmtd", "zebra", "bgpd")}
    if not has_mgmtd() and not files["mgmtd"].exists():
        del files["mgmtd"]
    if isinstance(host, Node):
        files |= {d: host.pid_dir / f"{d}.pid" for d in ("ovsdb-server", "ovs-vswitchd", "raild")}
    return files


def pid_of(host: Host, daemon: str) -> int | None:
    """The running process of a daemon of this host, or None. A number that another program has by now is not taken."""
    try:
        pid = int(pid_files(host)[daemon].read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        environment = Path(f"/proc/{pid}/environ").read_bytes()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError):
        return None
    ours = f"{host.root}/".encode() in command or f"RAILCNI_ROOT={host.root}\0".encode() in environment
    # The second word: raild under valgrind or strace is raild still.
    named = daemon in (Path(word.decode(errors="replace")).name for word in command.split(b"\0")[:2])
    return pid if ours and named and state != "Z" else None


def kill(pid: int, how: signal.Signals = signal.SIGKILL, seconds: float = 30) -> None:
    """Returns when the process has ended with all its threads: only then has it let go of its sockets and locks."""
    fd = os.pidfd_open(pid)
    try:
        signal.pidfd_send_signal(fd, how)
        ended, _, _ = select.select([fd], [], [], seconds)
    finally:
        os.close(fd)
    if not ended:
        raise LabError(f"process {pid} has not ended within {seconds:.0f} s of {how.name}")


def end(pids: Iterable[int], seconds: float = 3) -> None:
    """SIGTERM, then SIGKILL to those that are left; returns when all have ended."""
    waiting: dict[int, int] = {}
    for pid in set(pids):
        try:
            waiting[os.pidfd_open(pid)] = pid
        except ProcessLookupError:
            continue
    for how in (signal.SIGTERM, signal.SIGKILL):
        for fd in waiting:
            try:
                signal.pidfd_send_signal(fd, how)
            except ProcessLookupError:
                pass
        deadline = time.monotonic() + seconds
        while waiting:
            ended, _, _ = select.select(list(waiting), [], [], max(0.0, deadline - time.monotonic()))
            if not ended:
                break
            for fd in ended:
                pid = waiting.pop(fd)
                os.close(fd)
                try:
                    os.waitpid(pid, os.WNOHANG)  # a child of this very process
                except ChildProcessError:
                    pass
    for fd in waiting:
        os.close(fd)


def missing_programs() -> list[str]:
    """Programs that the lab executes and that are not there, each with how to get it."""
    wanted = {"ip": "iproute2", "ovsdb-tool": "openvswitch-switch", "ovsdb-server": "openvswitch-switch",
              "ovs-vswitchd": "openvswitch-switch", "ovs-vsctl": "openvswitch-switch",
              str(FRR_BINARIES / "zebra"): "frr", str(FRR_BINARIES / "bgpd"): "frr",
              "/usr/lib/cni/host-local": "containernetworking-plugins"}
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return [f"{program} (Debian package {package}; deploy/deps.sh run installs it)"
            for program, package in wanted.items() if shutil.which(program, path=path) is None]
