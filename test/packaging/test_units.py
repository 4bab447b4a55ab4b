"""The examples that stay in one scalable unit: their fields are those of the published schemas, their key is the one that raild writes."""

import json
from typing import Any

import pytest
from manifests import MANIFESTS, ROOT, Object, one, render

FOLDERS = ("examples/one-unit-affinity", "examples/one-unit-kueue", "examples/one-unit-volcano")
UNIT = "railcni.io/su"

# What the CustomResourceDefinitions of Kueue 0.15 (config/components/crd/bases) and Volcano 1.13 (config/crd/volcano/bases) let these objects have:
# a field maps to a type, to the fields of an object, or to a list of one of these. None: any object. Only what examples may use.
TEXT, NUMBER = str, int
SCHEMAS: dict[tuple[str, str], Any] = {
    ("kueue.x-k8s.io/v1beta2", "Topology"): {"levels": [{"nodeLabel": TEXT}]},
    ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"): {"topologyName": TEXT, "nodeLabels": None},
    ("kueue.x-k8s.io/v1beta2", "ClusterQueue"): {
        "namespaceSelector": {"matchLabels": None},
        "resourceGroups": [{"coveredResources": [TEXT], "flavors": [{"name": TEXT, "resources": [{"name": TEXT, "nominalQuota": NUMBER}]}]}]},
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"): {"clusterQueue": TEXT},
    ("topology.volcano.sh/v1alpha1", "HyperNode"): {"tier": NUMBER, "members": [{"type": TEXT, "selector": {"labelMatch": {"matchLabels": None}}}]},
    ("batch.volcano.sh/v1alpha1", "Job"): {
        "schedulerName": TEXT, "minAvailable": NUMBER, "networkTopology": {"mode": TEXT, "highestTierAllowed": NUMBER},
        "plugins": {"svc": [TEXT], "env": [TEXT]}, "tasks": [{"name": TEXT, "replicas": NUMBER, "template": None}]},
}


def wrong(value: Any, schema: Any, path: str) -> list[str]:
    if schema is None:
        return [] if isinstance(value, dict) else [f"{path} is no object"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{path} is no list"]
        return [w for i, each in enumerate(value) for w in wrong(each, schema[0], f"{path}[{i}]")]
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [f"{path} is no object"]
        return [f"{path}.{key} is no field" for key in value if key not in schema] + \
            [w for key, each in value.items() if key in schema for w in wrong(each, schema[key], f"{path}.{key}")]
    return [] if isinstance(value, schema) else [f"{path} is no {schema.__name__}"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_field_is_one_of_the_published_schema(folder: str) -> None:
    custom = [o for o in render(folder) if (o["apiVersion"], o["kind"]) in SCHEMAS]
    assert all("." not in o["apiVersion"].split("/")[0] or o in custom for o in render(folder)), "a kind without a schema here"
    assert bool(custom) == (folder != FOLDERS[0])
    for found in custom:
        assert not wrong(found["spec"], SCHEMAS[found["apiVersion"], found["kind"]], found["kind"])


def test_the_check_finds_what_is_no_field() -> None:
    queue = one(render(FOLDERS[1]), "ClusterQueue")["spec"]
    broken = json.loads(json.dumps(queue).replace("nominalQuota", "nominalQuotas"))
    schema = SCHEMAS["kueue.x-k8s.io/v1beta2", "ClusterQueue"]
    assert "ClusterQueue.resourceGroups[0].flavors[0].resources[0].nominalQuotas is no field" in wrong(broken, schema, "ClusterQueue")


def pods_of(folder: str) -> tuple[Object, Object, int]:
    """The job, its pods' template, how many."""
    job = one(render(folder), "Job")
    if job["apiVersion"] == "batch/v1":
        return job, job["spec"]["template"], job["spec"]["parallelism"]
    (task,) = job["spec"]["tasks"]
    return job, task["template"], task["replicas"]


@pytest.mark.parametrize("folder", FOLDERS)
def test_all_of_the_job_stays_where_the_label_is_one(folder: str) -> None:
    job, template, count = pods_of(folder)
    assert count == json.loads((MANIFESTS / "site.json").read_text())["examples"]["job_nodes"]
    if folder == FOLDERS[0]:
        terms = template["spec"]["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
        assert [term["topologyKey"] for term in terms] == [UNIT]
        assert terms[0]["labelSelector"]["matchLabels"].items() <= template["metadata"]["labels"].items(), "the first pod must fit its own term"
    elif folder == FOLDERS[1]:
        topology = one(render(folder), "Topology")
        assert [level["nodeLabel"] for level in topology["spec"]["levels"]] == [UNIT, "kubernetes.io/hostname"]
        flavor, queue, local = (one(render(folder), kind) for kind in ("ResourceFlavor", "ClusterQueue", "LocalQueue"))
        assert flavor["spec"]["topologyName"] == topology["metadata"]["name"] and flavor["spec"]["nodeLabels"], "Kueue asks for a label beside"
        (group,) = queue["spec"]["resourceGroups"]
        assert set(group["coveredResources"]) == set(template["spec"]["containers"][0]["resources"]["requests"])
        assert [f["name"] for f in group["flavors"]] == [flavor["metadata"]["name"]]
        assert local["spec"]["clusterQueue"] == queue["metadata"]["name"]
        assert local["metadata"]["namespace"] == job["metadata"]["namespace"]
        assert job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == local["metadata"]["name"]
        assert template["metadata"]["annotations"]["kueue.x-k8s.io/podset-required-topology"] == UNIT
    else:
        nodes = [o for o in render(folder) if o["kind"] == "HyperNode"]
        assert {o["spec"]["tier"] for o in nodes} == {1} == {job["spec"]["networkTopology"]["highestTierAllowed"]}
        names = [o["spec"]["members"][0]["selector"]["labelMatch"]["matchLabels"][UNIT] for o in nodes]
        assert names == json.loads((MANIFESTS / "site.json").read_text())["examples"]["units"]
        assert job["spec"]["minAvailable"] == count and job["spec"]["schedulerName"] == "volcano"


def test_the_key_is_the_one_that_raild_writes() -> None:
    assert f'unit = "{UNIT}"' in (ROOT / "lib/config/topology.h").read_text()


def test_an_uninstall_with_labels_is_an_uninstall_with_the_rights_of_raild() -> None:
    plain, pod = (one(render(folder), "DaemonSet")["spec"]["template"]["spec"] for folder in ("uninstall", "overlays/uninstall-with-labels"))
    assert pod.pop("automountServiceAccountToken") is True and not plain.pop("automountServiceAccountToken")
    raild = one(render("overlays/api-server"), "DaemonSet")["spec"]["template"]["spec"]
    assert pod.pop("serviceAccountName") == raild["serviceAccountName"]
    name = pod["initContainers"][0]["env"].pop(next(i for i, e in enumerate(pod["initContainers"][0]["env"]) if e["name"] == "NODE_NAME"))
    assert name == {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    assert pod == plain
