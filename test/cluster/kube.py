"""The cluster as the tests see it: pods with their addresses and namespaces, nodes, RailCNI's own view.

Use:     kube.run_pods(("a1", "tenant-a", "n1"), ...); kube.wait_ready("tenant-a", "a1"); kube.address("tenant-a", "a1", 0)
"""

from __future__ import annotations

import http.client
import json
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import world
from railcni_cluster import cluster as clusters
from railcni_cluster import kubectl, node, objects, services
from railcni_cluster.layout import Cluster, KubeNode
from railcni_cluster.names import WORKLOAD
from railcni_lab import cabling, kernel, vty

STATUS = "k8s.v1.cni.cncf.io/network-status"
READY_SECONDS = 60
SYSTEM = "railcni-system"


def eventually(what: str, get: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = 30) -> Any:
    """As in the lab; a record may also be in the middle of a change."""
    return world.eventually(what, get, wanted, seconds, (*world.NOT_YET, sqlite3.Error))


class Kube:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.lab = cluster.lab
        self.rails = range(cluster.lab.shape().rails)

    def ctl(self, *words: str, stdin: str | None = None, seconds: float = 90) -> str:
        return kubectl.call(self.cluster, *words, stdin=stdin, seconds=seconds)

    def items(self, *words: str) -> list[dict[str, Any]]:
        return kubectl.items(self.cluster, *words)

    def node(self, name: str) -> KubeNode:
        return next(n for n in self.cluster.nodes() if n.name == name)

    def power_cycle(self, where: KubeNode, *others: Callable[[Cluster, KubeNode], None]) -> None:
        """The node's power goes and comes back; returns when its raild, and what `others` start, run. Its pods have died."""
        raild = self.raild(where)
        before = self.restarts()[raild]
        node.power_off(self.cluster, where)
        assert services.pid_of("kubelet", where.folder) is None
        for start in (node.start, node.start_kubelet, *others):
            start(self.cluster, where)
        eventually("raild runs again", lambda: self.restarts()[raild], lambda count: count > before, 90)
        clusters.wait_for_nodes(self.cluster)
        self.rolled_out()

    # Pods

    def run_pods(self, *pods: tuple[str, str, str | None]) -> None:
        """Each: name, namespace, node (None: wherever); returns when all are Ready."""
        spaces = sorted({namespace for _, namespace, _ in pods})
        kubectl.apply(self.cluster, *(objects.namespace(space) for space in spaces),
                      *(objects.pod(name, space, node=where, image=WORKLOAD, rails=len(self.rails)) for name, space, where in pods))
        for space in spaces:
            self.wait_ready(space, *(name for name, namespace, _ in pods if namespace == space))

    def wait_ready(self, namespace: str, *names: str, seconds: int = READY_SECONDS) -> None:
        self.ctl("-n", namespace, "wait", "--for=condition=Ready", f"--timeout={seconds}s", *(f"pod/{name}" for name in names), seconds=seconds + 10)

    def waits(self, namespace: str, name: str) -> str:
        """Why no node takes the pod."""
        self.ctl("-n", namespace, "wait", "--for=condition=PodScheduled=false", f"pod/{name}", "--timeout=30s")
        [why] = [c["message"] for c in self.pod(namespace, name)["status"]["conditions"] if c["type"] == "PodScheduled"]
        return str(why)

    def delete_pods(self, namespace: str, *names: str, force: bool = False) -> None:
        """Does not wait: what must go is what leftovers.py looks for; kubelet takes its time to forget a pod itself."""
        self.ctl("-n", namespace, "delete", "pod", *names, *(["--force", "--grace-period=0"] if force else ["--wait=false"]))

    def run_deployment(self, name: str, namespace: str, replicas: int) -> None:
        template = objects.pod(name, namespace, image=WORKLOAD, rails=len(self.rails))
        template["spec"]["restartPolicy"] = "Always"
        labels = {"app": name}
        kubectl.apply(self.cluster, objects.namespace(namespace), {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
            "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"annotations": template["metadata"]["annotations"], "labels": labels}, "spec": template["spec"]}}})
        self.deployed(name, namespace)

    def deployed(self, name: str, namespace: str) -> None:
        self.ctl("-n", namespace, "rollout", "status", f"deployment/{name}", "--timeout=120s", seconds=130)

    def pods_of(self, name: str, namespace: str) -> list[dict[str, Any]]:
        """Of a deployment; not those that are going."""
        return [p for p in self.items("-n", namespace, "pods", "-l", f"app={name}") if "deletionTimestamp" not in p["metadata"]]

    def delete_deployment(self, name: str, namespace: str) -> None:
        self.ctl("-n", namespace, "delete", "deployment", name)
        eventually(f"the pods of {name} are told to go", lambda: self.pods_of(name, namespace), lambda pods: not pods)

    def execute(self, namespace: str, name: str, script: str, seconds: float = 60) -> str:
        return self.ctl("-n", namespace, "exec", name, "--", "sh", "-c", script, seconds=seconds)

    def pod(self, namespace: str, name: str) -> dict[str, Any]:
        return kubectl.get(self.cluster, "-n", namespace, "pod", name)

    def network_status(self, namespace: str, name: str) -> list[dict[str, Any]]:
        return json.loads(self.pod(namespace, name)["metadata"]["annotations"][STATUS])

    def addresses(self, namespace: str, name: str, rail: int) -> tuple[str, str]:
        """IPv4 and IPv6 of the pod on a rail, as network-status says."""
        entry = next(e for e in self.network_status(namespace, name) if e["name"] == f"default/rail{rail}")
        return next(a for a in entry["ips"] if "." in a), next(a for a in entry["ips"] if ":" in a)

    def sandbox(self, namespace: str, name: str) -> str:
        """A path by which this machine can enter the pod's network namespace."""
        where = self.node(self.pod(namespace, name)["spec"]["nodeName"])
        uid = self.pod(namespace, name)["metadata"]["uid"]
        path = next(row["netns_path"] for row in self.records(where) if row["pod_uid"] == uid)
        return str(Path("/proc", str(node.init_pid(where)), "root", "run/netns", Path(path).name))

    # What a node has

    def records(self, where: KubeNode) -> list[dict[str, Any]]:
        file = where.store / "var-lib-railcni/state.db"
        if not file.exists():
            return []
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10)) as db:
            db.row_factory = sqlite3.Row
            return [dict(row) for row in db.execute("SELECT * FROM attachment")]

    def leaf_prefixes(self, rail: int) -> set[str]:
        return {route["prefix"] for route in vty.routes(self.lab.leaf(rail).frr_dir)}

    def vsctl(self, where: KubeNode, *words: str) -> str:
        return kernel.run(["ovs-vsctl", f"--db=unix:{where.lab_node.ovs_dir}/db.sock", "--timeout=10", *words]).strip()

    def flows(self, where: KubeNode, rail: int) -> list[str]:
        text = kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "--no-names", "dump-flows", f"unix:{where.lab_node.ovs_dir}/br-rail{rail}.mgmt"])
        return [line for line in text.splitlines() if "cookie=" in line]

    @contextmanager
    def without_leaf(self, where: KubeNode, rail: int) -> Iterator[None]:
        """The cable is pulled at the leaf: raild sets its own end up again."""
        leaf = self.lab.leaf(rail)
        [port] = [port for port, behind in cabling.nodes_ports(self.lab, rail) if behind.name == where.name]
        kernel.run(["ip", "-n", leaf.namespace, "link", "set", port, "down"])
        try:
            yield
        finally:
            kernel.run(["ip", "-n", leaf.namespace, "link", "set", port, "up"])

    def end_device_plugin(self, where: KubeNode) -> None:
        """With what it told Multus."""
        node.kill_service(where, "device-plugin")
        node.run_on(where, ["/bin/sh", "-c", "rm -f /var/run/k8s.cni.cncf.io/devinfo/dp/*"])

    # RailCNI

    def raild(self, where: KubeNode) -> str:
        """The name of the node's raild pod."""
        found = self.railds(where)
        assert len(found) == 1, f"{len(found)} raild pods on {where.name}"
        return found[0]

    def railds(self, where: KubeNode) -> list[str]:
        """Of those that are to stay."""
        return [p["metadata"]["name"] for p in self.items("-n", SYSTEM, "pods", "-l", "app.kubernetes.io/component=raild",
                                                          f"--field-selector=spec.nodeName={where.name}")
                if "deletionTimestamp" not in p["metadata"]]

    def railctl(self, where: KubeNode, *words: str) -> Any:
        """Also when railctl says by its exit status that something is wrong."""
        said = self.ctl("-n", SYSTEM, "exec", self.raild(where), "-c", "raild", "--", "/bin/sh", "-c", f"railctl {' '.join(words)} -o json || true")
        return json.loads(said)

    def page(self, where: KubeNode, path: str) -> tuple[int, str]:
        with kernel.inside(where.lab_node.namespace):
            connection = socket.create_connection(("127.0.0.1", 9477), timeout=30)
        with connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {where.name}\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read().decode()

    def rolled_out(self, seconds: int = 120) -> None:
        self.ctl("-n", SYSTEM, "rollout", "status", "daemonset/raild", f"--timeout={seconds}s", seconds=seconds + 10)

    def restarts(self) -> dict[str, int]:
        """raild's containers that were started again, by pod."""
        return {p["metadata"]["name"]: sum(c["restartCount"] for c in p["status"].get("containerStatuses", []))
                for p in self.items("-n", SYSTEM, "pods")}

    def sessions_up(self) -> bool:
        return all(states and set(states.values()) == {"Established"} for states in (vty.sessions(leaf.frr_dir) for leaf in self.lab.leaves()))
