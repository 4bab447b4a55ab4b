"""Brings a cluster up on a fabric of the lab, and takes all of it down again."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from railcni_lab import daemons, fabric, kernel
from railcni_lab.layout import Host, LabError, Shape

from . import cgroups, control_plane, images, kubectl, kubernetes_build, node, objects, pki, requirements, services
from .layout import SHAPE, Cluster, KubeNode
from .names import PRODUCT

NODES_READY_SECONDS = 120
STORE_SIZE = "1g"


def require() -> None:
    problems = []
    reason = requirements.refusal()
    if reason is not None:
        problems.append(reason)
    problems += [f"not installed: {p}" for p in requirements.missing_programs()]
    if problems:
        raise LabError("cannot run a cluster\n" + "\n".join(f"  - {p}" for p in problems))


def up(cluster: Cluster, shape: Shape = SHAPE, product: bool = True) -> None:
    """Kubernetes with Multus and a device plugin on every node, RailCNI's image in each; RailCNI itself is not installed."""
    shape.check()
    require()
    if is_up(cluster, shape):
        print(f"cluster: '{cluster.lab.prefix}' is up already", flush=True)
        return
    if cluster.folder.exists() or cluster.lab.folder.exists():
        raise LabError(f"cluster '{cluster.lab.prefix}' is up already, or something of it is left: run `cluster down` first")
    say = fabric.Progress()
    archives = prepare(cluster, product, say)
    with ThreadPoolExecutor(6) as pool:
        try:
            _build(cluster, shape, pool, archives, say)
        except BaseException:
            print(f"cluster: not up; what there is stays for a look (logs: {cluster.folder}/log, n*/log), `cluster down` removes it", flush=True)
            raise


def is_up(cluster: Cluster, shape: Shape) -> bool:
    """Every node of this shape is there and Ready."""
    if not cluster.folder.exists() or not cluster.lab.folder.exists() or cluster.lab.shape() != shape:
        return False
    nodes = kubectl.try_run(cluster, "get", "nodes", "-o", "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}")
    return nodes is not None and nodes.split() == ["True"] * shape.nodes


def prepare(cluster: Cluster, product: bool, say: Callable[[str], None]) -> list[Path]:
    """Builds all that may take minutes, and keeps it; nothing is up yet, so a process that is ended meanwhile leaves nothing behind.
    Returns the archives of the images: pause, workload and, with `product`, RailCNI's and Debian's."""
    if not (kubernetes_build.there(cluster.binaries) and _base_is_there()):
        say("the first cluster on this machine takes 10 to 30 minutes more: it builds Kubernetes, a base system and the image, "
            "and keeps them in RAILCNI_CACHE or ~/.cache/railcni; the next ones begin at once")
    kubernetes_build.ensure(cluster.binaries, say)
    archives = [images.pause(), images.workload()]
    if product:
        say("RailCNI's image, by the Dockerfile: a minute or two, and up to half an hour where the compiler's cache does not know the sources")
        archives += [images.product(PRODUCT), images.debian()]
        say("images")
    return archives


def _base_is_there() -> bool:
    return any((images.CACHE / "image").glob("base-*.tar"))


def _build(cluster: Cluster, shape: Shape, pool: ThreadPoolExecutor, archives: list[Path], say: Callable[[str], None]) -> None:
    cluster.lab.create(shape)
    cluster.folder.mkdir(mode=0o755)
    for folder in (cluster.log_dir, cluster.pid_dir, cluster.store):
        folder.mkdir()
    kernel.run(["mount", "-t", "tmpfs", "-o", f"mode=755,size={STORE_SIZE}", f"railcni-{cluster.lab.prefix}-cp", str(cluster.store)])
    lab = cluster.lab
    hosts: list[Host] = [*lab.nodes(), *lab.leaves(), *lab.spines()]
    fabric.make_network(lab, shape, hosts)
    control_plane.make_network(cluster)
    pki.make(cluster)
    say("fabric and certificates")
    jobs = [pool.submit(start_fabric_node, cluster, each) for each in cluster.nodes()]
    jobs += fabric.start_switches(lab, pool)
    jobs.append(pool.submit(control_plane.start, cluster))
    for job in jobs:
        job.result()
    kubectl.apply(cluster, objects.network_attachment_definitions(), *objects.multus_rights())
    say("control plane, Open vSwitch and FRRouting; containerd on each node")
    images.load(cluster.nodes(), *archives[:2])
    for each in cluster.nodes():
        node.start_kubelet(cluster, each)
        node.start_device_plugin(cluster, each)
    wait_for_nodes(cluster)
    say("nodes are Ready")
    if archives[2:]:
        images.load(cluster.nodes(), *archives[2:])
        say("RailCNI's image is on every node")


def start_fabric_node(cluster: Cluster, each: KubeNode) -> None:
    """The daemons that a machine has before Kubernetes comes, then its namespaces and containerd."""
    daemons.prepare(each.lab_node)
    daemons.start_ovs(each.lab_node, cluster.lab.shape().datapath)
    daemons.start_frr(each.lab_node, bmp=True)
    node.make(cluster, each)
    node.start(cluster, each)


def wait_for_nodes(cluster: Cluster, seconds: int = NODES_READY_SECONDS) -> None:
    names = [each.name for each in cluster.nodes()]

    def registered() -> bool:
        for each in cluster.nodes():
            if services.pid_of("kubelet", each.folder) is None:
                raise LabError(f"kubelet of {each.name} ended; its last words:\n{services.last_words('kubelet', each.folder)}")
        found = kubectl.try_run(cluster, "get", "nodes", "-o", "name")
        return found is not None and {f"node/{name}" for name in names} <= set(found.split())

    daemons.wait_until("the nodes register", registered, seconds, every=0.3)
    kubectl.call(cluster, "wait", "--for=condition=Ready", f"--timeout={seconds}s", *(f"node/{name}" for name in names), seconds=seconds + 10)
    resources = [f"nvidia.com/rail{rail}" for rail in range(cluster.lab.shape().rails)]

    def offered() -> bool:
        return all(each["status"].get("allocatable", {}).get(resource, "0") != "0" for each in kubectl.items(cluster, "nodes") for resource in resources)

    daemons.wait_until("the nodes offer their devices", offered, seconds, every=0.3)


def down(cluster: Cluster, say: Callable[[str], None] = print) -> None:
    """Removes every process, mount, cgroup, namespace and file; what is not there is no error."""
    if os.geteuid() != 0:
        raise LabError("a cluster's namespaces are root's: run `cluster down` as root (sudo)")
    numbers = sorted(int(folder.name[1:]) for folder in cluster.folder.glob("n[0-9]*") if folder.name[1:].isdigit())
    each = [cluster.node(number) for number in numbers]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(node.stop, each))
    control_plane.stop(cluster)
    daemons.end(kernel.processes_in({cluster.namespace}), 2)
    kernel.delete_namespace(cluster.namespace)
    fabric.down(cluster.lab, say=lambda _: None)
    for store in cluster.stores:
        while os.path.ismount(store):
            subprocess.run(["umount", "--lazy", str(store)], check=True)
    for number in numbers:
        cgroups.remove(cluster.cgroup(number))
    there = cluster.folder.exists()
    shutil.rmtree(cluster.folder, ignore_errors=True)
    say(f"cluster: '{cluster.lab.prefix}' is down" if there else f"cluster: nothing of cluster '{cluster.lab.prefix}' is there")
