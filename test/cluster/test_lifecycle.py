"""Pods come, go and fail in every way; nothing of them stays."""

import time

from conftest import Cost
from flow import Flow
from kube import Kube, eventually
from railcni_cluster import kubectl, node, objects
from railcni_cluster.names import WORKLOAD
from railcni_lab import kernel
from railcni_lab.layout import device

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
    resident.run_deployment("moving", "tenant-d", 3)
    try:
        with Flow(resident, TALK, NEVER) as flow:
            resident.ctl("drain", "n2", "--ignore-daemonsets", "--force", "--pod-selector=app=moving", "--timeout=120s", seconds=130)
            resident.deployed("moving", "tenant-d")
            assert {p["spec"]["nodeName"] for p in resident.pods_of("moving", "tenant-d")} == {"n1"}
    finally:
        resident.ctl("uncordon", "n2")
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    resident.delete_deployment("moving", "tenant-d")
    cost.nothing_left(resident)


def test_a_pod_waits_while_all_devices_are_given_away(resident: Kube, cost: Cost) -> None:
    """It starts when another ends; no device is given twice."""
    where = resident.node("n1")
    # The scheduler counts a pod until kubelet has forgotten it.
    eventually("the pods of other tests are gone", lambda: resident.items("-n", "tenant-d", "pods"), lambda pods: not pods, 120)
    pool = {device(rail, i) for rail in resident.rails for i in range(resident.lab.shape().devices)}
    names = [f"full{i}" for i in range((len(pool) - len(resident.records(where))) // 2)]
    resident.run_pods(*((name, "tenant-d", "n1") for name in names))
    kubectl.apply(resident.cluster, objects.pod("waits", "tenant-d", node="n1", image=WORKLOAD))
    resident.waits("tenant-d", "waits")
    assert {r["device"] for r in resident.records(where)} == pool
    assert not pool & kernel.links(where.lab_node.namespace)
    resident.delete_pods("tenant-d", names[0], force=True)
    resident.wait_ready("tenant-d", "waits", seconds=120)
    resident.delete_pods("tenant-d", "waits", *names[1:], force=True)  # at once, for the sake of the tests that follow
    cost.nothing_left(resident)
