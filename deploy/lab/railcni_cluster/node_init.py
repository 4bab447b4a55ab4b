#!/usr/bin/python3
"""The first process of a node: gives the node its own view of the machine, then adopts whoever loses their parent.

It is started in new mount, PID and UTS namespaces, in the network namespace of the lab's node. Over the machine's own files lie
overlays for /etc, /opt and /var/lib; /run is new, with the lab's folders of Open vSwitch and FRRouting in it. What is written goes
to the node's store. usage: node_init.py NAME STORE LAB_NODE_RUN READY_FILE
"""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

# kubelet sets these for the whole machine. It finds them as it wants them, in files that lie over the kernel's for this node alone.
KUBELET_SYSCTLS = {"vm/overcommit_memory": "1", "vm/panic_on_oom": "0", "kernel/panic": "10", "kernel/panic_on_oops": "1",
                   "kernel/keys/root_maxkeys": "1000000", "kernel/keys/root_maxbytes": "25000000"}
OVERLAID = ("/etc", "/opt", "/var/lib")
OWN = ("/var/lib/containerd", "/var/lib/kubelet", "/var/lib/cni", "/var/lib/railcni", "/var/log")


def mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True)


def umount(where: str) -> None:
    subprocess.run(["umount", "--lazy", where], check=False, stderr=subprocess.DEVNULL)


def sysfs(store: Path) -> None:
    """Of this network namespace, with the machine's cgroups. Old mounts go: kubelet would take one of them for the real one."""
    kept = store / "cgroups"
    kept.mkdir(exist_ok=True)
    mount("--rbind", "/sys/fs/cgroup", str(kept))
    umount("/sys/fs/cgroup")
    umount("/sys")
    mount("-t", "sysfs", "sysfs", "/sys")
    mount("--rbind", str(kept), "/sys/fs/cgroup")
    umount(str(kept))


def files(store: Path) -> None:
    for folder in OVERLAID:
        name = folder.strip("/").replace("/", "-")
        for part in ("upper", "work"):
            (store / f"{name}-{part}").mkdir(exist_ok=True)
        mount("-t", "overlay", "overlay", "-o", f"lowerdir={folder},upperdir={store}/{name}-upper,workdir={store}/{name}-work", folder)
    for folder in OWN:
        own = store / folder.strip("/").replace("/", "-")
        own.mkdir(exist_ok=True)
        Path(folder).mkdir(parents=True, exist_ok=True)
        mount("--bind", str(own), folder)


def run_folder(store: Path, lab_run: str) -> None:
    """A new /run, as after a boot. The daemons of the lab live on, so their sockets come in from outside, and so does the
    cluster's own folder, which lies below the machine's /run."""
    new, cluster = store / "new-run", store.parents[1]
    new.mkdir(exist_ok=True)
    umount("/run/netns")
    mount("-t", "tmpfs", "-o", "mode=755,size=256m", "tmpfs", str(new))
    for name in ("openvswitch", "frr"):
        (new / name).mkdir()
        mount("--bind", f"{lab_run}/{name}", str(new / name))
    for name in ("netns", "lock", cluster.name):
        (new / name).mkdir()
    mount("--bind", str(cluster), str(new / cluster.name))
    mount("--bind", str(store), str(new / store.relative_to(cluster.parent)))
    mount("--rbind", str(new), "/run")


def sysctls(store: Path) -> None:
    for name, value in KUBELET_SYSCTLS.items():
        file = store / f"sysctl-{name.replace('/', '-')}"
        file.write_text(f"{value}\n")
        mount("--bind", str(file), f"/proc/sys/{name}")


def main() -> None:
    name, store, lab_run, ready = sys.argv[1], Path(sys.argv[2]), sys.argv[3], Path(sys.argv[4])
    socket.sethostname(name)
    mount("--make-rprivate", "/")
    sysfs(store)
    files(store)
    run_folder(store, lab_run)
    sysctls(store)
    mount("--make-rshared", "/")
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    ready.write_text("ready\n")
    while True:
        try:
            os.wait()
        except ChildProcessError:
            signal.sigwait({signal.SIGCHLD})


signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
main()
