"""kubelet, containerd and a whole node go and come back under traffic."""

import signal

from conftest import Cost
from flow import Flow
from kube import Kube, eventually
from railcni_cluster import cluster as clusters
from railcni_cluster import node
from test_lifecycle import NEVER, TALK


def test_kubelet_restarts(resident: Kube, cost: Cost) -> None:
    where = resident.node("n1")
    with Flow(resident, TALK, NEVER) as flow:
        log = where.log_dir / "device-plugin.log"
        before = log.read_text().count("registered")
        node.kill_service(where, "kubelet")
        node.start_kubelet(resident.cluster, where)
        # kubelet refuses a pod for good that comes before its device plugin.
        eventually("the device plugin registers again", lambda: log.read_text().count("registered") - before, lambda n: n >= len(resident.rails))
        resident.run_pods(("k1", "tenant-a", "n1"))
        resident.delete_pods("tenant-a", "k1")
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    cost.nothing_left(resident)


def test_containerd_restarts(resident: Kube, cost: Cost) -> None:
    where = resident.node("n1")
    with Flow(resident, TALK, NEVER) as flow:
        node.kill_service(where, "containerd", signal.SIGKILL)
        node.start_containerd(where)
        clusters.wait_for_nodes(resident.cluster)
        resident.run_pods(("c1", "tenant-a", "n1"))
        resident.delete_pods("tenant-a", "c1")
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    cost.nothing_left(resident)


def test_a_whole_node_restarts(resident: Kube, cost: Cost) -> None:
    """Its pods die with it and their devices with their namespaces. Those of the other node go on; new pods reach them."""
    where = resident.node("n2")
    resident.run_pods(("r1", "tenant-a", "n1"), ("r2", "tenant-a", "n2"))
    stays = [(("tenant-a", "a1"), ("tenant-a", "r1")), (("tenant-a", "r1"), ("tenant-a", "a1"))]
    with Flow(resident, stays) as flow:
        resident.power_cycle(where, node.start_device_plugin)
    assert flow.lost() == 0
    cost.lost = f"0 of {flow.count()}"
    resident.delete_pods("tenant-a", "r1", "r2", "a2", force=True)
    resident.delete_pods("tenant-b", "b2", force=True)
    eventually("the record of the dead pods goes", lambda: resident.records(where), lambda rows: not rows, 90)
    resident.run_pods(("a2", "tenant-a", "n2"), ("b2", "tenant-b", "n2"))
    with Flow(resident, TALK, NEVER) as again:
        pass
    assert not again.breaches()
    cost.nothing_left(resident)
