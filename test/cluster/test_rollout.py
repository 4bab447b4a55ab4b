"""The DaemonSet changes, goes and comes back while pods talk."""

import json

import pytest
from conftest import Cost
from flow import Flow
from kube import SYSTEM, Kube, eventually
from railcni_cluster import overlay
from railcni_lab.layout import LabError
from readme import blocks, manifests, run
from test_lifecycle import NEVER, TALK


def most_prefixes(kube: Kube) -> list[int]:
    """What stands in the file that each node has."""
    return [json.loads((n.store / "etc-upper/railcni/node.json").read_text())["bgp"].get("max_prefixes", 0) for n in kube.cluster.nodes()]


def test_an_upgrade_and_the_way_back_lose_no_packet(resident: Kube, cost: Cost) -> None:
    """The words of UPGRADE.md and of ROLLBACK.md: what a new version and a new node.json do is one rollout."""
    folder = manifests(resident)
    before = {resident.raild(n) for n in resident.cluster.nodes()}

    def newer(config: dict) -> None:  # type: ignore[type-arg]
        config["bgp"]["max_prefixes"] = 300_000

    try:
        with Flow(resident, TALK, NEVER) as flow:
            overlay.write(resident.cluster, folder / "overlays/yours", newer)
            for command in blocks((folder / "UPGRADE.md").read_text(), True):
                run(resident, command, folder)
            between = {resident.raild(n) for n in resident.cluster.nodes()}
            assert before.isdisjoint(between) and most_prefixes(resident) == [300_000] * len(between)
            for command in blocks((folder / "ROLLBACK.md").read_text(), True):
                run(resident, command, folder)
            assert between.isdisjoint(resident.raild(n) for n in resident.cluster.nodes())
            assert 300_000 not in most_prefixes(resident)
    finally:
        overlay.write(resident.cluster, folder / "overlays/yours")
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    cost.nothing_left(resident)


def test_pods_and_the_daemonset_roll_at_the_same_time(resident: Kube, cost: Cost) -> None:
    resident.run_deployment("churn", "tenant-d", 6)
    with Flow(resident, TALK, NEVER) as flow:
        resident.ctl("-n", SYSTEM, "rollout", "restart", "daemonset/raild")
        resident.ctl("-n", "tenant-d", "rollout", "restart", "deployment/churn")
        resident.deployed("churn", "tenant-d")
        resident.rolled_out()
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    resident.delete_deployment("churn", "tenant-d")
    cost.nothing_left(resident)


def test_a_wrong_pf_stops_at_the_first_node_and_traffic_goes_on(resident: Kube, cost: Cost) -> None:
    folder = manifests(resident) / "overlays/yours"

    def wrong(config: dict) -> None:  # type: ignore[type-arg]
        config["rails"][1]["pf"] = "nosuchpf"

    try:
        with Flow(resident, TALK, NEVER, rail=1) as flow:
            overlay.write(resident.cluster, folder, wrong)
            resident.ctl("apply", "-k", str(folder))

            def stopped() -> list[str]:
                return [s["name"] for p in resident.items("-n", SYSTEM, "pods") for s in p["status"].get("initContainerStatuses", [])
                        if s["name"] == "install-config" and (s.get("state", {}).get("terminated", {}).get("exitCode")
                                                              or s.get("lastState", {}).get("terminated", {}).get("exitCode"))]

            eventually("install-config refuses on one node", stopped, lambda names: len(names) == 1, 60)
            with pytest.raises(LabError):
                resident.rolled_out(8)
            assert len(stopped()) == 1, "the rollout went on to the next node"
            overlay.write(resident.cluster, folder)
            resident.ctl("apply", "-k", str(folder))
            for pod in resident.items("-n", SYSTEM, "pods"):  # the one that failed is in its back-off
                if not all(c.get("ready") for c in pod["status"].get("containerStatuses", [{}])):
                    resident.ctl("-n", SYSTEM, "delete", "pod", pod["metadata"]["name"], "--ignore-not-found")
            resident.rolled_out()
    finally:
        overlay.write(resident.cluster, folder)
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    cost.nothing_left(resident)


def test_it_is_deleted_and_installed_again(resident: Kube, cost: Cost) -> None:
    """What is attached stays attached without raild; afterwards old and new pods of a tenant talk."""
    folder = manifests(resident)
    with Flow(resident, TALK, NEVER) as flow:
        resident.ctl("delete", "-k", str(folder / "overlays/yours"), "--timeout=90s", seconds=100)
        resident.ctl("apply", "-f", str(folder / "base/namespace.yaml"))
        resident.ctl("apply", "-k", str(folder / "overlays/yours"))
        resident.rolled_out()
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    resident.run_pods(("new", "tenant-a", "n2"))
    old, new = ("tenant-a", "a1"), ("tenant-a", "new")
    with Flow(resident, [(old, new), (new, old)], [(("tenant-b", "b1"), new)]) as both:
        pass
    assert not both.breaches()
    resident.delete_pods("tenant-a", "new")
    cost.nothing_left(resident)
