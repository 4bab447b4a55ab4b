"""Pods come, go and fail in every way; nothing of them stays."""

import time

from conftest import Cost
from flow import Flow
from kube import Kube, eventually
from railcni_cluster import kubectl, node, objects
from railcni_cluster.names import WORKLOAD
from railcni_lab import kernel

TALK = [(("tenant-a", "a1"), ("tenant-a", "a2")), (("tenant-a", "a2"), ("tenant-a", "a1"))]
NEVER = [(("tenant-a", "a1"), ("tenant-b", "b2")), (("tenant-b", "b1"), ("tenant-a", "a2"))]


def test_pods_are_deleted(resident: Kube, cost: Cost) -> None:
    pods = [(f"d{i}", "tenant-d", f"n{i % 2 + 1}") for i in range(6)]
    began = time.monotonic()
    resident.run_pods(*pods)
    cost.lost = f"{len(pods)} pods Ready in {time.monotonic() - began:.1f} s"
    resident.delete_pods("tenant-d", *(name for name, _, _ in pods))
    cost.nothing_left(resident)


def test_a_pod_is_deleted_by_force(resident: Kube, cost: Cost) -> None:
    resident.run_pods(("f1", "tenant-d", "n1"), ("f2", "tenant-d", "n2"))
    resident.delete_pods("tenant-d", "f1", "f2", force=True)
    cost.nothing_left(resident)


def test_an_add_that_fails_leaves_nothing_and_succeeds_once_it_can(resident: Kube, cost: Cost) -> None:
    """The second rail's IPAM has no pool: the first rail's attachment is undone each time that the runtime tries."""
    where = resident.node("n1")
    pool = where.store / "etc-upper/cni/net.d/nv-ipam.d/rail1.ranges"
    node.run_on(where, ["mv", "/etc/cni/net.d/nv-ipam.d/rail1.ranges", "/etc/cni/net.d/nv-ipam.d/rail1.away"])
    try:
        kubectl.apply(resident.cluster, objects.namespace("tenant-d"), objects.pod("late", "tenant-d", node="n1", image=WORKLOAD))

        def told() -> bool:
            return "no pool rail1" in resident.ctl("-n", "tenant-d", "get", "events", "-o", "jsonpath={.items[*].message}")

        eventually("the event that says why", told, bool, 60)
        assert not pool.exists()
    finally:
        node.run_on(where, ["mv", "/etc/cni/net.d/nv-ipam.d/rail1.away", "/etc/cni/net.d/nv-ipam.d/rail1.ranges"])
    resident.wait_ready("tenant-d", "late", seconds=90)
    resident.delete_pods("tenant-d", "late")
    cost.nothing_left(resident)


def test_a_sandbox_that_is_killed_comes_back(resident: Kube, cost: Cost) -> None:
    resident.run_pods(("s1", "tenant-a", "n1"))
    before = resident.addresses("tenant-a", "s1", 0)
    uid = resident.pod("tenant-a", "s1")["metadata"]["uid"]
    where = resident.node("n1")
    sandbox = next(r["container_id"] for r in resident.records(where) if r["pod_uid"] == uid)
    node.run_on(where, ["ctr", "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", sandbox])
    # restartPolicy Never: the pod ends, and its attachments with it.
    resident.ctl("-n", "tenant-a", "wait", "--for=condition=Ready=false", "pod/s1", "--timeout=60s")
    eventually("the old sandbox's record goes", lambda: [r for r in resident.records(where) if r["container_id"] == sandbox], lambda rows: not rows, 60)
    resident.delete_pods("tenant-a", "s1")
    assert before
    cost.nothing_left(resident)


def test_a_node_is_drained(resident: Kube, cost: Cost) -> None:
    """The pods of a Deployment move; the residents' traffic between the nodes goes on."""
    template = objects.pod("x", "tenant-d", image=WORKLOAD, labels={"app": "moving"})
    template["spec"] |= {"restartPolicy": "Always"}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "moving", "namespace": "tenant-d"},
                  "spec": {"replicas": 4, "selector": {"matchLabels": {"app": "moving"}},
                           "template": {"metadata": {k: template["metadata"][k] for k in ("annotations", "labels")}, "spec": template["spec"]}}}
    kubectl.apply(resident.cluster, objects.namespace("tenant-d"), deployment)
    resident.ctl("-n", "tenant-d", "rollout", "status", "deployment/moving", "--timeout=90s", seconds=100)
    try:
        with Flow(resident, TALK, NEVER) as flow:
            resident.ctl("drain", "n2", "--ignore-daemonsets", "--force", "--delete-emptydir-data", "--pod-selector=app=moving", "--timeout=60s")
            resident.ctl("-n", "tenant-d", "rollout", "status", "deployment/moving", "--timeout=90s", seconds=100)
            nodes = {p["spec"]["nodeName"] for p in resident.items("-n", "tenant-d", "pods", "-l", "app=moving")
                     if "deletionTimestamp" not in p["metadata"]}
            assert nodes == {"n1"}
    finally:
        resident.ctl("uncordon", "n2")
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    resident.ctl("-n", "tenant-d", "delete", "deployment", "moving")
    resident.ctl("-n", "tenant-d", "wait", "--for=delete", "pod", "-l", "app=moving", "--timeout=60s")
    cost.nothing_left(resident)


def test_a_second_device_of_a_rail_cannot_be_taken_from_a_pod(resident: Kube, cost: Cost) -> None:
    """All devices are given away: one pod more waits, and starts when another ends."""
    free = resident.lab.shape().devices - 2
    names = [f"full{i}" for i in range(free)]
    resident.run_pods(*((name, "tenant-d", "n1") for name in names))
    kubectl.apply(resident.cluster, objects.pod("waits", "tenant-d", node="n1", image=WORKLOAD))
    resident.ctl("-n", "tenant-d", "wait", "--for=condition=PodScheduled=false", "pod/waits", "--timeout=30s")
    used = {r["device"] for r in resident.records(resident.node("n1"))}
    assert len(used) == 2 * resident.lab.shape().devices == len(used & {d for d in used if d not in kernel.links(resident.node("n1").lab_node.namespace)})
    resident.delete_pods("tenant-d", names[0])
    resident.wait_ready("tenant-d", "waits")
    resident.delete_pods("tenant-d", "waits", *names[1:])
    cost.nothing_left(resident)
