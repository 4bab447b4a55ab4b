"""The tenant is what the label of a namespace says: a changed label moves running pods, with their traffic going on."""

import pytest
from conftest import Cost
from flow import Flow
from kube import Kube, eventually
from railcni_cluster import kubectl, objects, overlay
from railcni_cluster.names import WORKLOAD
from readme import manifests
from test_lifecycle import NEVER, TALK

LABEL = "railcni.io/tenant"
UNIT, APART = "railcni.io/su", "apart"
X1, X2, Y = ("team-x", "x1"), ("team-x", "x2"), ("team-y", "y1")


def by_label(config: dict) -> None:  # type: ignore[type-arg]
    config["kubernetes"] = {"tenants": True, "tenant_label": LABEL, "report": True}
    config["topology"] = {"labels": {}}
    config["rules"] = [{"where": {"node": "n2"}, "set": {"topology": {"unit": APART}}}]  # n1's has the name that raild makes


@pytest.fixture(scope="module")
def labelled(resident: Kube) -> Kube:
    """raild asks the API server, from here on to the end; what was attached before goes on."""
    folder = manifests(resident)
    overlay.write(resident.cluster, folder / "overlays/yours", by_label)
    resident.ctl("apply", "-k", str(folder / "overlays/yours"))
    resident.rolled_out()
    return resident


def reaches(kube: Kube, source: tuple[str, str], target: tuple[str, str]) -> bool:
    address = kube.addresses(*target, 0)[0]
    return "yes" in kube.execute(*source, f"ping -c 1 -W 1 -I net1 {address} >/dev/null 2>&1 && echo yes || echo no")


def test_a_label_moves_running_pods_and_nothing_of_their_own_is_lost(labelled: Kube, cost: Cost) -> None:
    kube = labelled
    kubectl.apply(kube.cluster, objects.namespace("team-x"), objects.namespace("team-y"))
    kube.run_pods((X1[1], X1[0], "n1"), (X2[1], X2[0], "n2"), (Y[1], Y[0], "n2"))
    assert not reaches(kube, X1, Y)
    own = [(X1, X2), (X2, X1), *TALK]
    others = [*NEVER, (X1, ("tenant-b", "b1")), (("tenant-a", "a1"), X2)]
    with Flow(kube, own, others) as flow:
        kube.ctl("label", "namespace", "team-x", "team-y", f"{LABEL}=joint", "--overwrite")
        eventually("pods of two namespaces with one label talk", lambda: reaches(kube, X1, Y) and reaches(kube, Y, X2), bool, 30)
        kube.ctl("label", "namespace", "team-x", "team-y", f"{LABEL}-")
        eventually("they are apart again", lambda: reaches(kube, X1, Y), lambda yes: not yes, 30)
    cost.lost = f"{flow.lost()} of {flow.count()}, longest silence {flow.silence() * 1000:.0f} ms"
    assert not flow.breaches()
    assert flow.lost() == 0, f"pods of one namespace move together, though each node hears of it at its own time: {cost.lost}"
    kube.delete_pods("team-x", "x1", "x2")
    kube.delete_pods("team-y", "y1")
    cost.nothing_left(kube)


def test_the_node_tells_how_its_rails_are(labelled: Kube, cost: Cost) -> None:
    """As a condition or as an annotation."""
    def told() -> list[str]:
        found = []
        for node in labelled.items("nodes"):
            found += [node["metadata"]["name"] for c in node["status"]["conditions"] if c["type"] == "railcni.io/rails"]
            found += [node["metadata"]["name"]] if "railcni.io/rails" in node["metadata"].get("annotations", {}) else []
        return sorted(set(found))

    eventually("railcni.io/rails of each node", told, lambda names: names == [n.name for n in labelled.cluster.nodes()], 60)


def test_the_scheduler_keeps_a_job_in_one_unit(labelled: Kube, cost: Cost) -> None:
    """By the node's labels, as manifests/examples/one-unit-affinity asks for it."""
    def labels() -> dict[str, dict[str, str]]:
        return {node["metadata"]["name"]: {key: value for key, value in node["metadata"]["labels"].items() if key.startswith("railcni.io/")}
                for node in labelled.items("nodes")}

    leaves = {f"railcni.io/leaf-rail{rail}" for rail in labelled.rails}
    found = eventually("labels of both nodes", labels, lambda each: all(set(of) == leaves | {UNIT} for of in each.values()), 60)
    assert found["n1"][UNIT].startswith("su-") and found["n2"][UNIT] == APART, found
    assert all(found["n1"][leaf] == found["n2"][leaf] for leaf in leaves) and len({found["n1"][leaf] for leaf in leaves}) == len(leaves), found
    for first, node in (("n1", "n1"), ("n2", "n2")):
        job = {"job": f"from-{first}"}
        names = [f"j{first}-{number}" for number in range(3)]
        pods = [objects.pod(name, "team-x", node=node if name == names[0] else None, rails=0, image=WORKLOAD, labels=job) for name in names]
        for pod in pods:
            pod["metadata"]["annotations"] = {}
            pod["spec"]["affinity"] = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": UNIT, "labelSelector": {"matchLabels": job}}]}}
        kubectl.apply(labelled.cluster, objects.namespace("team-x"), *pods)
        labelled.wait_ready("team-x", *names)
        assert {labelled.pod("team-x", name)["spec"]["nodeName"] for name in names} == {node}
        labelled.delete_pods("team-x", *names)
    cost.nothing_left(labelled)


def test_without_the_api_server_pods_come_and_talk(labelled: Kube, cost: Cost) -> None:
    """The plugins have the last map on disk; raild waits for the API server and harms nobody meanwhile."""
    from railcni_cluster import control_plane, services
    with Flow(labelled, TALK, NEVER) as flow:
        services.kill("kube-apiserver", labelled.cluster.folder)
        eventually("raild still says that it is well", lambda: labelled.page(labelled.node("n1"), "/healthz")[0], lambda status: status == 200)
        control_plane.start_api_server(labelled.cluster)
    assert (flow.lost(), flow.breaches()) == (0, [])
    cost.lost = f"0 of {flow.count()}"
    cost.nothing_left(labelled)
