"""The commands of `cluster`."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from railcni_lab import fabric
from railcni_lab.layout import LabError, Shape

from . import cluster as clusters
from . import install, kubectl, node, services
from .layout import SHAPE, Cluster


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="cluster", description="Kubernetes on the nodes of a RailCNI lab.",
                                  epilog="RAILCNI_LAB=NAME: another cluster beside the one called 'lab'. RAILCNI_KUBERNETES=FOLDER: other binaries. "
                                         "RAILCNI_MULTUS=FILE: a real Multus. RAILCNI_CACHE=FOLDER: where builds are kept.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("prepare", help="build what `up` needs: Kubernetes, the base system, the images; starts nothing")
    up = commands.add_parser("up", help="build the fabric, the control plane and the nodes")
    for name in ("nodes", "rails", "spines", "devices"):
        up.add_argument(f"--{name}", type=int, default=getattr(SHAPE, name), metavar="N", help="default %(default)s")
    commands.add_parser("install", help="RailCNI by the manifests, for this cluster's nodes")
    commands.add_parser("down", help="end and remove all of it, also after a crash")
    commands.add_parser("status", help="processes, nodes, pods; exit status 1 when something is not well")
    ctl = commands.add_parser("kubectl", help="kubectl as the cluster's admin")
    ctl.add_argument("words", nargs=argparse.REMAINDER)
    on = commands.add_parser("on", help="run a command on a node: cluster on n1 -- CMD")
    on.add_argument("node")
    on.add_argument("words", nargs=argparse.REMAINDER)
    return top


def status(cluster: Cluster) -> int:
    well = True
    for folder, names in [(cluster.folder, ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")),
                          *((n.folder, ("init", "containerd", "kubelet", "device-plugin", "links")) for n in cluster.nodes())]:
        states = {name: services.pid_of(name, folder) is not None for name in names}
        well = well and all(states.values())
        where = "control plane" if folder == cluster.folder else folder.name
        print(f"{where:14} " + "  ".join(f"{name} {'runs' if up else 'IS DOWN'}" for name, up in states.items()))
    print(kubectl.try_run(cluster, "get", "nodes,pods", "-A", "-o", "wide") or "the API server does not answer")
    return 0 if well else 1


def run(arguments: argparse.Namespace) -> int:
    cluster = Cluster.from_environment()
    match arguments.command:
        case "prepare":
            clusters.require()
            clusters.prepare(cluster, True, fabric.Progress())
        case "up":
            clusters.up(cluster, Shape(arguments.nodes, arguments.rails, arguments.spines, arguments.devices))
        case "install":
            install.install(cluster)
        case "down":
            clusters.down(cluster)
        case "status":
            return status(cluster)
        case "kubectl":
            kubectl.become(cluster, arguments.words)
        case "on":
            found = next((n for n in cluster.nodes() if n.name == arguments.node), None)
            if found is None:
                raise LabError(f"no node {arguments.node!r}; there are: {', '.join(n.name for n in cluster.nodes())}")
            words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
            os.execvp("nsenter", [*node.enter(found), *(words or ["bash"])])
    return 0


def main(words: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Everything after `kubectl` is kubectl's, options too.
    arguments = argparse.Namespace(command="kubectl", words=words[1:]) if words[:1] == ["kubectl"] else parser().parse_args(words)
    try:
        return run(arguments)
    except LabError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
