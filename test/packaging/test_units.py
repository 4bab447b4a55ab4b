"""The examples that stay in one scalable unit: their fields are those of the published schemas, their key is the one that raild writes."""

import json
from typing import Any

import pytest
import yaml
from manifests import MANIFESTS, ROOT, Object, one, render

FOLDERS = ("examples/one-unit-affinity", "examples/one-unit-kueue", "examples/one-unit-volcano")
UNIT = "railcni.io/su"

CRDS = {(f"{c['spec']['group']}/{c['spec']['versions'][0]['name']}", c["spec"]["names"]["kind"]):
        c["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        for name in ("kueue", "volcano") for c in yaml.safe_load_all((ROOT / f"test/cluster/crds/{name}.yaml").read_text())}
TYPES = {"string": str, "integer": int, "object": dict, "array": list}


def wrong(value: Any, schema: Object, path: str) -> list[str]:
    """As an API server finds it, as far as these definitions go."""
    kind = TYPES.get(schema.get("type", ""), (int, str))
    if not isinstance(value, kind):
        return [f"{path} has the wrong type"]
    found = [f"{path} is none of {schema['enum']}"] if value not in schema.get("enum", [value]) else []
    if isinstance(value, list):
        return found + [w for i, each in enumerate(value) for w in wrong(each, schema["items"], f"{path}[{i}]")]
    if isinstance(value, dict) and not schema.get("x-kubernetes-preserve-unknown-fields"):
        fields, any_field = schema.get("properties", {}), schema.get("additionalProperties")
        found += [f"{path}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, each in value.items():
            known = fields.get(key, any_field)
            found += wrong(each, known, f"{path}.{key}") if known else [f"{path}.{key} is no field"]
    return found


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_field_is_one_of_the_published_schema(folder: str) -> None:
    custom = [o for o in render(folder) if (o["apiVersion"], o["kind"]) in CRDS]
    assert bool(custom) == (folder != FOLDERS[0])
    for found in custom:
        assert not wrong(found["spec"], CRDS[found["apiVersion"], found["kind"]], found["kind"])


def test_the_check_finds_what_is_no_field() -> None:
    schema = CRDS["kueue.x-k8s.io/v1beta2", "ClusterQueue"]
    broken = json.loads(json.dumps(one(render(FOLDERS[1]), "ClusterQueue")["spec"]).replace("nominalQuota", "nominalQuotas"))
    at = "ClusterQueue.resourceGroups[0].flavors[0].resources[0]"
    assert {f"{at}.nominalQuotas is no field", f"{at}.nominalQuota is missing"} <= set(wrong(broken, schema, "ClusterQueue"))
    assert wrong({"tier": "1"}, CRDS["topology.volcano.sh/v1alpha1", "HyperNode"], "HyperNode") == ["HyperNode.tier has the wrong type"]


def pods_of(folder: str) -> tuple[Object, Object, int]:
    """The job, its pods' template, how many."""
    jobs = [o for o in render(folder) if o["kind"] == "Job"]
    if folder == FOLDERS[0]:
        return jobs[0], jobs[0]["spec"]["template"], len(jobs)
    (job,) = jobs
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
