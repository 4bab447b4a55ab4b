"""raild is the DRA driver of one node; a device plugin of somebody else is that of the other.

Debian's Kubernetes is older than claims: RAILCNI_KUBERNETES names a folder with 1.36 or newer, RAILCNI_MULTUS a Multus that knows claims,
and the containerd of the machine has to know CDI (1.7 or newer).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cost
from flow import Flow
from kube import SYSTEM, Kube, eventually
from railcni_cluster import kubectl, node, objects
from railcni_cluster.layout import API_PORT, CONTROL_PLANE
from railcni_cluster.names import WORKLOAD
from railcni_lab.layout import REPOSITORY, LabError
from readme import manifests
from test_lifecycle import NEVER, TALK
from test_offers import ORDERS, apply, libraries, pods_of_n2, wait_for, whole
from test_server import api_contract

GRACE = 5  # s
DRIVER = "rail.railcni.io"
SLICES = "resourceslices.resource.k8s.io"


def claims(config: dict[str, Any]) -> None:
    config["rules"] = [{"where": {"node": "n2"}, "set": {"kubelet": {"dra": True, "grace_s": GRACE}}}]


@pytest.fixture(scope="module")
def claimed(resident: Kube) -> Iterator[Kube]:
    where = resident.node("n2")
    if node.kubelet_minor(resident.cluster) < 36 or "RAILCNI_MULTUS" not in os.environ:
        pytest.skip("claims: needs Kubernetes 1.36 (RAILCNI_KUBERNETES) and a Multus that knows claims (RAILCNI_MULTUS); Debian has neither")
    resident.end_device_plugin(where)
    wait_for(resident, [0 for _ in resident.rails])
    folder = manifests(resident)
    apply(resident, claims)
    for part in (f"devices/{len(resident.rails)}-rails/claims", "own-node/slices"):
        resident.ctl("apply", "-k", str(folder / part))
    kubectl.apply(resident.cluster, objects.namespace("tenant-a"), template(resident, "rails"), template(resident, "no-files", config={
        "apiVersion": "rail.railcni.io/v1alpha1", "kind": "RailConfig", "libraries": False}), template(resident, "too-wide", bandwidth="100T"))
    eventually("n2 has all of its devices in slices", lambda: len(devices(resident)),
               lambda count: count == len(resident.rails) * resident.lab.shape().devices, 90)
    yield resident
    resident.ctl("-n", "tenant-a", "delete", "resourceclaimtemplates", "--all")
    # A class that names the resource takes it from device plugins.
    resident.ctl("delete", "deviceclasses,validatingadmissionpolicies,validatingadmissionpolicybindings", "--all")
    apply(resident, None)
    node.start_device_plugin(resident.cluster, where)
    wait_for(resident, whole(resident))


def template(kube: Kube, name: str, config: dict[str, Any] | None = None, bandwidth: str = "1M") -> objects.Object:
    """Of claims for one device of each rail."""
    asked: dict[str, Any] = {"requests": [
        {"name": f"rail{rail}", "exactly": {"deviceClassName": f"rail{rail}.railcni.io", "capacity": {"requests": {"bandwidth": bandwidth}}}}
        for rail in kube.rails]}
    if config is not None:
        asked["config"] = [{"opaque": {"driver": DRIVER, "parameters": config}}]
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate", "metadata": {"name": name, "namespace": "tenant-a"},
            "spec": {"spec": {"devices": asked}}}


def devices(kube: Kube) -> dict[str, dict[str, Any]]:
    """What the slices of n2 say, by the device's name."""
    return {device["name"]: device for piece in kube.items(SLICES)
            if piece["spec"]["driver"] == DRIVER and piece["spec"]["nodeName"] == "n2" for device in piece["spec"]["devices"]}


def free(kube: Kube) -> list[int]:
    """Devices of each rail of n2 that a claim may have. Those of pods that no claim knows are tainted, too."""
    names = [d["attributes"]["rail"]["string"] for d in devices(kube).values() if not d.get("taints")]
    return [names.count(f"rail{rail}") for rail in kube.rails]


def pod(kube: Kube, name: str, of: str = "rails") -> objects.Object:
    """With one device of each rail, by a claim of template `of`."""
    wanted = objects.pod(name, "tenant-a", node="n2", image=WORKLOAD, rails=len(kube.rails))
    wanted["spec"]["resourceClaims"] = [{"name": "rails", "resourceClaimTemplateName": of}]
    wanted["spec"]["containers"][0]["resources"] = {"claims": [{"name": "rails"}]}
    return wanted


def claim_of(kube: Kube, name: str) -> dict[str, Any]:
    """The status of the pod's claim."""
    [found] = [c for c in kube.items("-n", "tenant-a", "resourceclaims") if any(o["name"] == name for o in c["metadata"]["ownerReferences"])]
    status: dict[str, Any] = found["status"]
    return status


def given_to(kube: Kube, name: str) -> dict[str, str]:
    return {row["rail"]: row["device"] for row in kube.records(kube.node("n2")) if row["pod_name"] == name}


def nothing_prepared(kube: Kube) -> None:
    script = "ls /var/lib/railcni/claims; ls /var/run/cdi /etc/cdi 2>/dev/null | grep railcni || true"
    eventually("no claim is prepared", lambda: node.run_on(kube.node("n2"), ["/bin/sh", "-c", script]).split(),
               lambda found: not [name for name in found if not name.startswith(("/", "."))], 60)


def test_the_server_answers_as_the_one_of_the_tests_does(claimed: Kube, tmp_path: Path, cost: Cost) -> None:
    passed = api_contract(claimed, REPOSITORY / "build/tests/kubernetes_resources_test", tmp_path)
    assert passed >= 3
    cost.left_over = f"{passed} cases of the contract"


def test_a_pod_gets_what_its_claim_has(claimed: Kube, cost: Cost) -> None:
    kubectl.apply(claimed.cluster, pod(claimed, "o1"))
    claimed.wait_ready("tenant-a", "o1")
    given = given_to(claimed, "o1")
    status = claim_of(claimed, "o1")
    results = status["allocation"]["devices"]["results"]
    assert {r["request"]: devices(claimed)[r["device"]]["attributes"]["k8s.cni.cncf.io/deviceID"]["string"] for r in results} == given
    for rail in claimed.rails:
        assert claimed.execute("tenant-a", "o1", f"echo $PCIDEVICE_NVIDIA_COM_RAIL{rail}").strip() == given[f"rail{rail}"]
    libraries(claimed)
    told = eventually("the claim says what the pod has", lambda: claim_of(claimed, "o1").get("devices", []),
                      lambda found: len(found) == len(claimed.rails), 30)
    for device in told:
        rail = int(devices(claimed)[device["device"]]["attributes"]["railNumber"]["int"])
        assert set(ip.split("/")[0] for ip in device["networkData"]["ips"]) == set(claimed.addresses("tenant-a", "o1", rail))
        assert device["networkData"]["interfaceName"] == f"net{rail + 1}"
        assert [c["status"] for c in device["conditions"] if c["type"] == "Ready"] == ["True"]
    claimed.delete_pods("tenant-a", "o1")
    cost.nothing_left(claimed)
    nothing_prepared(claimed)


def test_a_claim_that_wants_no_files_keeps_those_of_its_pod(claimed: Kube, cost: Cost) -> None:
    """CDI's variables replace the pod's own, so the claim says that it wants none."""
    wanted = pod(claimed, "o2", of="no-files")
    wanted["spec"]["containers"][0].setdefault("env", []).append({"name": "UCX_CONFIG_DIR", "value": "/its/own"})
    kubectl.apply(claimed.cluster, wanted)
    claimed.wait_ready("tenant-a", "o2")
    said = claimed.execute("tenant-a", "o2", "echo $UCX_CONFIG_DIR $NCCL_CONF_FILE; ls /etc/railcni; true")
    assert said.strip() == "/its/own", said
    claimed.delete_pods("tenant-a", "o2")
    cost.nothing_left(claimed)
    nothing_prepared(claimed)


def test_a_claim_for_more_than_the_uplink_has_waits(claimed: Kube) -> None:
    kubectl.apply(claimed.cluster, pod(claimed, "o7", of="too-wide"))
    assert "cannot allocate all claims" in claimed.waits("tenant-a", "o7")
    claimed.delete_pods("tenant-a", "o7")


def test_a_pod_that_asks_for_the_resource_gets_a_claim(claimed: Kube, cost: Cost) -> None:
    """Its spec is that of a device plugin: the class names the resource."""
    claimed.run_pods(("o3", "tenant-a", "n2"))
    assert len(given_to(claimed, "o3")) == len(claimed.rails)
    claimed.delete_pods("tenant-a", "o3")
    cost.nothing_left(claimed)
    nothing_prepared(claimed)


def test_a_rail_without_its_leaf_is_for_no_new_pod(claimed: Kube, cost: Cost) -> None:
    """Those that run are not touched, and one that waits begins when the leaf is back."""
    before, left, began = pods_of_n2(claimed), free(claimed), time.monotonic()
    assert min(left) > 0
    with claimed.without_leaf(claimed.node("n2"), 0):
        eventually("rail0 is tainted", lambda: free(claimed), lambda count: count[0] == 0 and count[1:] == left[1:], 60)
        gone = time.monotonic() - began
        assert gone > GRACE - 1, "a flap shorter than the grace period does not reach the API server"
        kubectl.apply(claimed.cluster, pod(claimed, "o4"))
        assert "cannot allocate all claims" in claimed.waits("tenant-a", "o4")
    claimed.wait_ready("tenant-a", "o4", seconds=120)
    assert before.items() <= pods_of_n2(claimed).items(), "the pods that ran run on"
    cost.lost = f"0 pods; n2's rail0 tainted {gone:.0f} s after the cable was pulled"
    claimed.delete_pods("tenant-a", "o4")
    cost.nothing_left(claimed)


def test_a_second_owner_of_the_devices_is_found(claimed: Kube) -> None:
    """A device plugin that somebody has forgotten."""
    where = claimed.node("n2")

    def found() -> list[str]:
        said = claimed.railctl(where, "doctor").get("findings", [])
        return [f["what"] for f in said if f["id"] == "vf-of-two-owners" and f["subject"] == "rail0"]

    assert found() == []
    node.start_device_plugin(claimed.cluster, where)
    try:
        [what] = eventually("both owners are named", found, bool, 60)
        assert "DRA driver rail.railcni.io" in what and "resource nvidia.com/rail0" in what, what
    finally:
        claimed.end_device_plugin(where)
    eventually("it has gone with the plugin", found, lambda what: not what, 60)


@pytest.mark.parametrize("order", ORDERS)
def test_restarts_of_the_driver_lose_no_pod_and_give_no_device_twice(claimed: Kube, cost: Cost, order: str) -> None:
    kubectl.apply(claimed.cluster, pod(claimed, "o5"))
    claimed.wait_ready("tenant-a", "o5")
    with Flow(claimed, TALK, NEVER) as flow:
        for restart in ORDERS[order]:
            restart(claimed)
        kubectl.apply(claimed.cluster, pod(claimed, "o6"))
        claimed.wait_ready("tenant-a", "o6", seconds=120)
    held = [row["device"] for row in claimed.records(claimed.node("n2"))]
    assert len(held) == len(set(held))
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    claimed.delete_pods("tenant-a", "o5", "o6")
    cost.nothing_left(claimed)
    nothing_prepared(claimed)


def test_the_token_of_a_node_writes_its_own_slices_alone(claimed: Kube) -> None:
    """The admission policy of own-node/slices: a token that was taken from n2's raild is asked for slices of n1 and of another driver."""
    raild = claimed.raild(claimed.node("n2"))
    token = claimed.ctl("-n", SYSTEM, "exec", raild, "-c", "raild", "--", "cat", "/var/run/secrets/kubernetes.io/serviceaccount/token").strip()

    def refused(driver: str, where: str) -> str:
        piece = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "taken"},
                 "spec": {"driver": driver, "nodeName": where, "pool": {"name": where, "generation": 1, "resourceSliceCount": 1},
                          "devices": [{"name": "x"}]}}
        try:
            claimed.ctl("--kubeconfig=/dev/null", f"--server=https://{CONTROL_PLANE}:{API_PORT}", f"--token={token}",
                        f"--certificate-authority={claimed.cluster.pki}/ca.crt", "create", "--validate=false", "-f", "-", stdin=json.dumps(piece))
        except LabError as error:
            return str(error)
        claimed.ctl("delete", SLICES, "taken")
        return ""

    assert refused(DRIVER, "n2") == "", "its own are allowed, so what follows is no accident"
    for driver, where in ((DRIVER, "n1"), ("gpu.nvidia.com", "n2")):
        assert "raild may write the slices of its own node and driver alone" in refused(driver, where)

