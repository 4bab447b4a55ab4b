"""The commands of `lab`."""

from __future__ import annotations

import argparse
import json
import os
import sys

from . import cabling, fabric, kernel, matrix, pods, status
from .layout import DATAPATHS, Host, Lab, LabError, Shape, rail_name


def _rails(text: str) -> list[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: numbers with commas between them, such as 0,1") from None


def _swap(text: str) -> tuple[str, int, int]:
    try:
        return cabling.parse_swap(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="lab", description="A RailCNI fabric out of network namespaces.",
                                  epilog="RAILCNI_LAB=NAME in the environment runs a lab beside the one called 'lab'; "
                                         "RAILCNI_BIN=FOLDER says where the binaries are (build/bin).")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shape = Shape()
    up = commands.add_parser("up", help="build the fabric and start the nodes")
    for name in ("nodes", "rails", "spines", "devices"):
        up.add_argument(f"--{name}", type=int, default=getattr(shape, name), metavar="N",
                        help=f"default %(default)s{' per node and rail' if name == 'devices' else ''}")
    up.add_argument("--datapath", choices=DATAPATHS, default=shape.datapath,
                    help="of Open vSwitch: netdev in userspace (default); system: the kernel's, with hardware offload on")
    up.add_argument("--frontend", action="store_true",
                    help="two management links per node to two leaves, and a front end in node.json")
    up.add_argument("--units", type=int, default=shape.units, metavar="N",
                    help="scalable units: each has a leaf for each rail, and an equal share of the nodes; default %(default)s")
    up.add_argument("--planes", type=int, default=shape.planes, metavar="N",
                    help="planes of each rail: an uplink, a leaf and --spines of its own each; uplinks are numbered through, so rail 1 "
                         "plane 0 of two is 2 to --swap, plug and pod add; default %(default)s")
    up.add_argument("--swap", type=_swap, action="append", default=[], metavar="n2:0,1",
                    help="swap the cables of two rails of a node; can be given several times")
    plug = commands.add_parser("plug", help="pull the cable of a node's rail and plug it into another leaf: lab plug n2 0 leaf1")
    plug.add_argument("node")
    plug.add_argument("rail", type=int)
    plug.add_argument("leaf")
    commands.add_parser("down", help="end and remove all of it, also after a crash")
    pod = commands.add_parser("pod", help="attach and detach pods").add_subparsers(dest="verb", required=True)
    add = pod.add_parser("add", help="make a pod and attach it by the CNI chain")
    add.add_argument("name")
    add.add_argument("--node", required=True)
    add.add_argument("--tenant", required=True, metavar="NAMESPACE", help="the pod's Kubernetes namespace")
    add.add_argument("--rails", type=_rails, metavar="0,1", help="default: all")
    pod.add_parser("del", help="detach and remove a pod").add_argument("name")
    execute = commands.add_parser("exec", help="run a command in a pod: lab exec NAME -- CMD")
    execute.add_argument("name")
    execute.add_argument("cmd", nargs=argparse.REMAINDER)
    asked = commands.add_parser("railctl", help="railctl of a node: lab railctl n1 doctor")
    asked.add_argument("node")
    asked.add_argument("words", nargs=argparse.REMAINDER, metavar="...", help="railctl's own words; none: its help")
    cells = commands.add_parser("matrix", help="who reaches whom, expected and seen; exit status 1 when they differ")
    cells.add_argument("-o", "--output", choices=["table", "json"], default="table")
    cells.add_argument("--probe", choices=["icmp", "udp"], default="icmp",
                       help="udp: port 4791, DSCP 26, ECN 10; payload and TOS byte compared at the other end")
    cells.add_argument("--wait", type=float, default=0, metavar="SECONDS", help="let routes arrive for so long")
    commands.add_parser("status", help="daemons, BGP sessions, pods; exit status 1 when something is not well")
    commands.add_parser("routes", help="a leaf's BGP routes and communities").add_argument("leaf", nargs="?",
                                                                                          default="leaf0")
    return top


def _matrix(lab: Lab, arguments: argparse.Namespace) -> int:
    cells = matrix.measure(lab, arguments.probe, arguments.wait)
    if arguments.output == "json":
        print(json.dumps(matrix.as_json(cells, arguments.probe), indent=2))
    else:
        print(matrix.table(cells, arguments.probe))
    return 0 if all(c.right for c in cells) else 1


def _pod(lab: Lab, arguments: argparse.Namespace) -> int:
    if arguments.verb == "del":
        _, took = pods.timed(lambda: pods.delete(lab, arguments.name))
        print(f"pod {arguments.name} deleted in {took:.0f} ms")
        return 0
    pod, took = pods.timed(lambda: pods.add(lab, arguments.name, arguments.node, arguments.tenant, arguments.rails))
    rails = ", ".join(f"{rail_name(lab.shape(), r)} {pods.ifname(r)} {' '.join(pod.addresses(r).values())}" for r in pod.results)
    print(f"pod {pod.name} on {pod.node}, {pod.tenant}: {rails}; {took:.0f} ms")
    return 0


def _leaf(lab: Lab, name: str) -> Host:
    leaves = {leaf.name: leaf for leaf in lab.leaves()}
    if name not in leaves:
        raise LabError(f"no leaf {name!r} in this lab; there are: {', '.join(leaves)}")
    return leaves[name]


def _routes(lab: Lab, name: str) -> int:
    print("\n".join(status.routes(_leaf(lab, name))) or "no routes")
    return 0


def _railctl(lab: Lab, name: str, words: list[str]) -> None:
    """Becomes railctl, as somebody on that node would run it."""
    node, program = lab.find_node(name), lab.binaries / "railctl"
    if not os.access(program, os.X_OK):
        raise LabError(f"{program} is not there: build it, or set RAILCNI_BIN")
    sys.stdout.flush()
    with kernel.inside(node.namespace):
        os.execve(program, [str(program), *(words or ["--help"])], {**os.environ, "RAILCNI_ROOT": str(node.root)})


def run(arguments: argparse.Namespace) -> int:
    lab = Lab.from_environment()
    match arguments.command:
        case "up":
            fabric.up(lab, Shape(arguments.nodes, arguments.rails * arguments.planes, arguments.spines, arguments.devices,
                                arguments.datapath, arguments.frontend, arguments.units, arguments.swap, arguments.planes))
        case "plug":
            cabling.plug(lab, lab.find_node(arguments.node), arguments.rail, _leaf(lab, arguments.leaf))
        case "down":
            fabric.down(lab)
        case "pod":
            return _pod(lab, arguments)
        case "exec":
            pods.execute(lab, arguments.name, arguments.cmd[1:] if arguments.cmd[:1] == ["--"] else arguments.cmd)
        case "railctl":
            _railctl(lab, arguments.node, arguments.words)
        case "matrix":
            return _matrix(lab, arguments)
        case "status":
            lines, well = status.status(lab)
            print("\n".join(lines))
            return 0 if well else 1
        case "routes":
            return _routes(lab, arguments.leaf)
    return 0


def main(words: list[str]) -> int:
    try:
        return run(parser().parse_args(words))
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `lab matrix | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
