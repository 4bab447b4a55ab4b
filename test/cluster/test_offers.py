"""raild is the kubelet's device plugin on one node; a plugin of somebody else is that of the other."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest
from conftest import Cost
from flow import Flow
from kube import SYSTEM, Kube, eventually
from railcni_cluster import kubectl, node, objects, overlay
from railcni_cluster.names import WORKLOAD
from readme import manifests
from test_lifecycle import NEVER, TALK

GRACE = 5  # s
ROLLOUT = 120  # s


def offers(config: dict[str, Any]) -> None:
    config["rules"] = [{"where": {"node": "n2"}, "set": {"kubelet": {"device_plugin": True, "grace_s": GRACE}}}]


def apply(kube: Kube, change: overlay.Change | None) -> None:
    folder = manifests(kube)
    overlay.write(kube.cluster, folder / "overlays/yours", change)
    kube.ctl("apply", "-k", str(folder / "overlays/yours"))
    kube.rolled_out(ROLLOUT)


def allocatable(kube: Kube) -> list[int]:
    """Devices of each rail that pods may have on n2."""
    [status] = [n["status"] for n in kube.items("nodes") if n["metadata"]["name"] == "n2"]
    return [int(status["allocatable"].get(f"nvidia.com/rail{rail}", "0")) for rail in kube.rails]


def whole(kube: Kube) -> list[int]:
    return [kube.lab.shape().devices for _ in kube.rails]


def wait_for(kube: Kube, wanted: list[int]) -> float:
    """Seconds until n2 has so many. The kubelet writes its node's status every 10 s."""
    began = time.monotonic()
    eventually(f"n2 has {wanted}", lambda: allocatable(kube), lambda found: found == wanted, 100)
    return time.monotonic() - began


@pytest.fixture(scope="module")
def offered(resident: Kube) -> Iterator[Kube]:
    where = resident.node("n2")
    resident.end_device_plugin(where)
    apply(resident, offers)
    wait_for(resident, whole(resident))
    yield resident
    apply(resident, None)
    node.start_device_plugin(resident.cluster, where)
    wait_for(resident, whole(resident))


def rails_of(kube: Kube) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kube.railctl(kube.node("n2"), "get", "rails")["rails"]
    return found


def test_a_pod_gets_the_devices_that_raild_offers(offered: Kube, cost: Cost) -> None:
    count = offered.lab.shape().devices
    assert [(r["devices"], r["devices_healthy"]) for r in rails_of(offered)] == [(count, count) for _ in offered.rails]
    pod = objects.pod("o1", "tenant-a", node="n2", image=WORKLOAD, rails=len(offered.rails))
    pod["spec"]["containers"][0].setdefault("env", []).append({"name": "UCX_CONFIG_DIR", "value": "/its/own"})
    kubectl.apply(offered.cluster, objects.namespace("tenant-a"), pod)
    offered.wait_ready("tenant-a", "o1")
    given = {row["rail"]: row["device"] for row in offered.records(offered.node("n2")) if row["pod_name"] == "o1"}
    assert len(given) == len(offered.rails)
    status = {entry["name"]: entry for entry in offered.network_status("tenant-a", "o1")}
    for rail in offered.rails:
        assert status[f"default/rail{rail}"]["device-info"]["pci"]["pci-address"] == given[f"rail{rail}"], "as raild has told Multus"
        said = offered.execute("tenant-a", "o1", f"echo $PCIDEVICE_NVIDIA_COM_RAIL{rail}").strip()
        assert said == given[f"rail{rail}"], "the pod's interface is the device that it was given"
    libraries(offered)
    assert offered.execute("tenant-a", "o1", "echo $UCX_CONFIG_DIR").strip() == "/its/own", "what the pod says itself wins"
    offered.delete_pods("tenant-a", "o1")
    cost.nothing_left(offered)


def libraries(kube: Kube) -> None:
    """The pod's NCCL and UCX are configured, by the whole pod's files in the folder of each rail."""
    seen = [kube.execute("tenant-a", "o1", f"cd /etc/railcni/rail{rail} && cat nccl.conf ucx.conf libs.env") for rail in kube.rails]
    for rail in kube.rails:
        assert seen[rail] == seen[0]
        assert f"net{rail + 1} on rail{rail} has no RDMA device in the pod" in seen[0], "the lab's devices are none"
    named = kube.execute("tenant-a", "o1", 'cat "$NCCL_CONF_FILE"')
    assert "\nNCCL_SOCKET_IFNAME==eth0\n" in named and named in seen[0], named


def pods_of_n2(kube: Kube) -> dict[str, str]:
    """UID -> name, of those that are to stay."""
    return {p["metadata"]["uid"]: p["metadata"]["name"] for p in kube.items("pods", "-A")
            if p["spec"].get("nodeName") == "n2" and "deletionTimestamp" not in p["metadata"]}


def test_a_rail_without_its_leaf_offers_nothing_to_new_pods(offered: Kube, cost: Cost) -> None:
    """Those that run are not touched, and one that waits begins when the leaf is back."""
    before = pods_of_n2(offered)
    with offered.without_leaf(offered.node("n2"), 0):
        gone = wait_for(offered, [0, *whole(offered)[1:]])
        assert gone > GRACE - 1, "a flap shorter than the grace period does not reach the kubelet"
        assert "has no carrier" in rails_of(offered)[0]["device_problem"]
        kubectl.apply(offered.cluster, objects.pod("o2", "tenant-a", node="n2", image=WORKLOAD, rails=len(offered.rails)))
        assert "Insufficient nvidia.com/rail0" in offered.waits("tenant-a", "o2")
    wait_for(offered, whole(offered))
    offered.wait_ready("tenant-a", "o2", seconds=120)
    assert before.items() <= pods_of_n2(offered).items(), "the pods that ran run on"
    cost.lost = f"0 pods; n2 offered none of rail0 {gone:.0f} s after the cable was pulled"
    offered.delete_pods("tenant-a", "o2")
    cost.nothing_left(offered)


def kubelet_restarts(kube: Kube) -> None:
    node.kill_service(kube.node("n2"), "kubelet", signal.SIGKILL)
    node.start_kubelet(kube.cluster, kube.node("n2"))


def raild_restarts(kube: Kube) -> None:
    before = kube.railds(kube.node("n2"))
    kube.ctl("-n", SYSTEM, "delete", "pod", *before, "--wait=false")
    eventually("another raild is n2's", lambda: kube.railds(kube.node("n2")), lambda now: len(now) == 1 and now != before, ROLLOUT)
    kube.rolled_out(ROLLOUT)


def wait_for_offers(kube: Kube) -> float:
    """Seconds until the kubelet gives n2's devices again. Before raild is there its allocatable may still be that of ten seconds ago."""
    began = time.monotonic()
    eventually("raild of n2 offers all", lambda: [r["devices_healthy"] for r in rails_of(kube)], lambda found: found == whole(kube), 60)
    wait_for(kube, whole(kube))
    return time.monotonic() - began


# The second form is that of newer kubelets.
REGISTERED = re.compile(r'I(\d{4} [\d:.]+) .*Got registration request from device plugin with resource(?: name |" resourceName=)"nvidia.com/rail')


def socket_made(kube: Kube) -> float:
    """When the kubelet of n2 made its socket: seconds since 1970."""
    return float(node.run_on(kube.node("n2"), ["stat", "-c", "%.6Z", "/var/lib/kubelet/device-plugins/kubelet.sock"]))


def registered_after(kube: Kube) -> float:
    """Seconds from the making of the kubelet's socket to raild's last registration there, as the kubelet's log has it."""
    times = REGISTERED.findall((kube.node("n2").log_dir / "kubelet.log").read_text(errors="replace"))
    assert len(times) >= len(kube.rails)
    last = datetime.strptime(f"{datetime.now().year} {times[-1]}", "%Y %m%d %H:%M:%S.%f")
    return last.timestamp() - socket_made(kube)


ORDERS: dict[str, tuple[Callable[[Kube], None], ...]] = {
    "kubelet": (kubelet_restarts,), "raild": (raild_restarts,),
    "kubelet, raild": (kubelet_restarts, raild_restarts), "raild, kubelet": (raild_restarts, kubelet_restarts)}


@pytest.mark.parametrize("order", ORDERS)
def test_restarts_lose_no_pod_and_give_no_device_twice(offered: Kube, cost: Cost, order: str) -> None:
    with Flow(offered, TALK, NEVER) as flow:
        for restart in ORDERS[order]:
            restart(offered)
        took = wait_for_offers(offered)
        offered.run_pods(("o3", "tenant-a", "n2"))
    devices = [row["device"] for row in offered.records(offered.node("n2"))]
    assert len(devices) == len(set(devices))
    assert (flow.lost(), flow.breaches()) == (0, [])
    offered.delete_pods("tenant-a", "o3")
    cost.lost = f"0 of {flow.count()}; allocatable right after {took:.0f} s"
    if ORDERS[order][-1] == kubelet_restarts:
        cost.lost += f", registered {registered_after(offered):.2f} s after the kubelet's socket is there"
    cost.nothing_left(offered)


def test_a_whole_node_restarts(offered: Kube, cost: Cost) -> None:
    """The other node's pods go on. No device is offered before raild has looked at it, and new pods begin as soon as all are."""
    where = offered.node("n2")
    offered.run_pods(("o4", "tenant-a", "n1"))
    stays = [(("tenant-a", "a1"), ("tenant-a", "o4")), (("tenant-a", "o4"), ("tenant-a", "a1"))]
    with Flow(offered, stays) as flow:
        offered.power_cycle(where)
        wait_for_offers(offered)
    registered = registered_after(offered)
    offered.delete_pods("tenant-a", "o4", "a2", force=True)
    offered.delete_pods("tenant-b", "b2", force=True)
    eventually("the record of the dead pods goes", lambda: offered.records(where), lambda rows: not rows, 90)
    offered.run_pods(("a2", "tenant-a", "n2"), ("b2", "tenant-b", "n2"))
    ready = time.time() - socket_made(offered)
    devices = [row["device"] for row in offered.records(where)]
    assert len(devices) == len(set(devices)) == 2 * len(offered.rails)
    with Flow(offered, TALK, NEVER) as again:
        pass
    assert (flow.lost(), again.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()} of the other node; from the kubelet's socket: registered {registered:.1f} s, pods {ready:.0f} s"
    cost.nothing_left(offered)
