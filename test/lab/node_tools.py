"""The tools of a lab's node under the names that a host has: what a finding tells a person to run can be run as it is printed.

Use:     path = make(lab, node); kernel.run(["sh", "-c", "vtysh -c 'show bgp summary'"], env={"PATH": path, ...})
Called as a program it is systemctl: node_tools.py LAB BINARIES NODE start|restart|stop UNIT...
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "deploy/lab")]

from railcni_lab import daemons  # noqa: E402  the path above comes first
from railcni_lab.layout import Lab, LabError, Node  # noqa: E402

UNITS = {  # unit -> its daemons, in the order of their start
    "openvswitch-switch": ("ovsdb-server", "ovs-vswitchd"),
    "ovsdb-server": ("ovsdb-server",),
    "ovs-vswitchd": ("ovs-vswitchd",),
    "frr": ("zebra", "bgpd"),
    "raild": ("raild",),
}


def make(lab: Lab, node: Node) -> str:
    """The node's search path: its own vtysh and systemctl, the product's programs, then the host's."""
    folder = lab.folder / "tools" / node.name
    folder.mkdir(parents=True, exist_ok=True)
    scripts = {"vtysh": f'exec /usr/bin/vtysh --vty_socket {node.frr_dir} "$@"',
               "systemctl": f'exec {sys.executable} -B {Path(__file__).resolve()} {lab.prefix} {lab.binaries} {node.name} "$@"'}
    for name, line in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    return f"{folder}:{lab.binaries}:{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def start(lab: Lab, node: Node, daemon: str) -> None:
    if daemons.pid_of(node, daemon) is not None:
        return
    if daemon == "ovsdb-server":
        daemons.start_ovsdb(node)
    elif daemon == "ovs-vswitchd":
        daemons.start_vswitchd(node)
    elif daemon == "raild":
        daemons.start_raild(lab, node)
    else:
        daemons.start_frr_daemon(node, daemon, bmp=True)


def systemctl(lab: Lab, node: Node, verb: str, units: list[str]) -> None:
    for unit in units:
        mine = UNITS.get(unit.removesuffix(".service"))
        if mine is None or verb not in ("start", "restart", "stop"):
            raise LabError(f"systemctl {verb} {unit}: a lab's node has start, restart and stop of {', '.join(UNITS)}")
        if verb != "start":
            daemons.end(pid for daemon in mine if (pid := daemons.pid_of(node, daemon)) is not None)
        if verb != "stop":
            for daemon in mine:
                start(lab, node, daemon)


if __name__ == "__main__":
    of_lab = Lab(sys.argv[1], Path(sys.argv[2]))
    words = [word for word in sys.argv[4:] if not word.startswith("-")]
    try:
        systemctl(of_lab, of_lab.find_node(sys.argv[3]), words[0], words[1:])
    except LabError as error:
        sys.exit(str(error))
