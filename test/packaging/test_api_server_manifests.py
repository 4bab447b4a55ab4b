"""What raild may ask of the API server, and who may set the label that it follows. Rendered only; the cluster tier asks a server."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from manifests import MANIFESTS, binary, node_json, one, render


def test_the_role_has_what_raild_uses_and_nothing_else() -> None:
    objects = render("overlays/api-server")
    rules = {(r["apiGroups"][0], r["resources"][0]): set(r["verbs"]) for r in one(objects, "ClusterRole")["rules"]}
    assert rules == {("", "namespaces"): {"list", "watch"}, ("", "nodes"): {"get", "patch"}, ("", "nodes/status"): {"patch"},
                     ("", "events"): {"create"}}
    binding = one(objects, "ClusterRoleBinding")
    account = one(objects, "ServiceAccount")["metadata"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": account["name"], "namespace": account["namespace"]}]


def test_raild_has_its_token_and_knows_its_node() -> None:
    pod = one(render("overlays/api-server"), "DaemonSet")["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is True
    environment = {e["name"]: e for e in pod["containers"][0]["env"]}
    assert environment["NODE_NAME"]["valueFrom"]["fieldRef"]["fieldPath"] == "spec.nodeName"
    assert "RAILCNI_SYSFS" in environment, "the base's variables stay"


def test_raild_accepts_the_configuration(tmp_path: Path) -> None:
    text = node_json("overlays/api-server")
    assert json.loads(text)["kubernetes"] == {"tenants": True, "report": True}
    (tmp_path / "node.json").write_text(text)
    ran = subprocess.run([binary("raild"), "--resolve-config", tmp_path / "node.json", "--node", "gpu-1", "--node-ip", "10.0.0.1"],
                         capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    assert json.loads(ran.stdout)["kubernetes"] == {"tenants": True, "report": True}


@pytest.mark.parametrize("folder", ["tenancy", "own-node", "own-node/slices", "network-types"])
def test_each_policy_denies_and_is_bound(folder: str) -> None:
    objects = render(folder)
    policy = one(objects, "ValidatingAdmissionPolicy")
    binding = one(objects, "ValidatingAdmissionPolicyBinding")
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    assert policy["spec"]["failurePolicy"] == "Fail"


def matched(folder: str, group: str = "", version: str = "v1") -> tuple[set[str], set[str]]:
    """Resources and operations."""
    (rule,) = one(render(folder), "ValidatingAdmissionPolicy")["spec"]["matchConstraints"]["resourceRules"]
    assert rule["apiGroups"] == [group] and rule["apiVersions"] == [version]
    return set(rule["resources"]), set(rule["operations"])


def test_the_label_is_looked_at_by_whatever_door_it_comes() -> None:
    # Updates of the subresources status and finalize take labels, too (Kubernetes, pkg/registry/core/namespace/strategy.go).
    assert matched("tenancy") == ({"namespaces", "namespaces/*"}, {"CREATE", "UPDATE"})


def test_raild_is_confined_to_the_node_of_its_token() -> None:
    resources, operations = matched("own-node")
    role = one(render("overlays/api-server"), "ClusterRole")
    changes = {r["resources"][0] for r in role["rules"] if "patch" in r["verbs"]}
    assert changes == {"nodes", "nodes/status"} and operations == {"UPDATE"}, "all that its role lets it change"
    assert resources == {"nodes", "nodes/*"}
    spec = one(render("own-node"), "ValidatingAdmissionPolicy")["spec"]
    account = one(render("overlays/api-server"), "ServiceAccount")["metadata"]
    (who,) = spec["matchConditions"]
    assert who["expression"] == f"request.userInfo.username == 'system:serviceaccount:{account['namespace']}:{account['name']}'"
    (nodes,) = spec["variables"]
    assert nodes["expression"].count("'authentication.kubernetes.io/node-name'") == 2, "the token's claim, if it has one"
    assert nodes["expression"].endswith(": []"), "else no node"
    assert spec["validations"][0]["expression"] == "variables.nodes.size() == 1 && variables.nodes[0] == request.name"


def test_a_dra_driver_writes_slices_of_its_own_node_and_driver_alone() -> None:
    objects = render("overlays/dra")
    [of_driver] = [r for r in one(objects, "ClusterRole")["rules"] if r["resources"] == ["resourceclaims/driver"]]
    assert of_driver["resourceNames"] == ["rail.railcni.io"]
    spec = one(render("own-node/slices"), "ValidatingAdmissionPolicy")["spec"]
    [rule] = spec["matchConstraints"]["resourceRules"]
    assert set(rule["operations"]) == {"CREATE", "UPDATE", "DELETE"}, "all that its role lets it change"
    assert rule["resources"] == ["resourceslices"] and rule["apiVersions"] == ["v1", "v1beta1", "v1beta2"], "by whatever version it comes"
    assert "variables.nodes.size() == 1" in spec["validations"][0]["expression"]
    pod = one(objects, "DaemonSet")["spec"]["template"]["spec"]
    mounts = {m["mountPath"] for m in pod["containers"][0]["volumeMounts"]}
    assert {"/var/lib/kubelet/plugins/rail.railcni.io", "/var/lib/kubelet/plugins_registry", "/var/run/cdi"} <= mounts
    assert pod["automountServiceAccountToken"] is True


def test_each_rail_has_a_class_and_the_job_pairs_each_with_a_gpu() -> None:
    classes = {o["metadata"]["name"]: o["spec"] for o in render("devices/8-rails/claims")}
    for rail in range(8):
        spec = classes[f"rail{rail}.railcni.io"]
        assert spec["extendedResourceName"] == f"nvidia.com/rail{rail}"
        assert spec["selectors"][0]["cel"]["expression"].endswith(f'["rail.railcni.io"].rail == "rail{rail}"')
    objects = render("examples/job-claims")
    devices = one(objects, "ResourceClaimTemplate")["spec"]["spec"]["devices"]
    asked = {r["name"]: r["exactly"]["deviceClassName"] for r in devices["requests"]}
    assert [c["requests"] for c in devices["constraints"]] == [[f"gpu-rail{rail}", f"rail{rail}"] for rail in range(8)]
    assert {asked[name] for c in devices["constraints"] for name in c["requests"]} == set(classes) | {"gpu.nvidia.com"}
    for job in (o for o in objects if o["kind"] == "Job"):
        pod = job["spec"]["template"]["spec"]
        assert pod["resourceClaims"] == [{"name": "rails", "resourceClaimTemplateName": one(objects, "ResourceClaimTemplate")["metadata"]["name"]}]
        assert pod["containers"][0]["resources"] == {"claims": [{"name": "rails"}]}


def test_a_network_of_ours_needs_the_right_to_use_its_type() -> None:
    resources, operations = matched("network-types", "k8s.cni.cncf.io", "*")
    assert operations == {"CREATE", "UPDATE"} and "network-attachment-definitions" in resources
    spec = one(render("network-types"), "ValidatingAdmissionPolicy")["spec"]
    ours = next(v["expression"] for v in spec["variables"] if v["name"] == "ours")
    found = re.fullmatch(r"variables\.config\.matches\('(.*)'\)", ours.strip())
    assert found, ours
    expression = re.compile(found[1].replace("\\\\", "\\"))  # CEL's string has one level of escapes
    for network in (MANIFESTS / "networks").rglob("*.yaml"):
        for definition in yaml.safe_load_all(network.read_text()):
            if definition and "config" in definition.get("spec", {}):
                assert expression.search(definition["spec"]["config"]), network
    assert expression.search(r'{"type": "\u006fvs-provider"}'), "an escape spells a type, too"
    assert not expression.search('{"type": "macvlan", "ipam": {"type": "dhcp"}}')
    assert "check('use')" in spec["validations"][0]["expression"]


def test_the_label_needs_the_right_to_use_the_tenant() -> None:
    policy = one(render("tenancy"), "ValidatingAdmissionPolicy")
    text = json.dumps(policy)
    assert "railcni.io/tenant" in text and "check('use')" in text
    rule = one(render("tenancy/example"), "ClusterRole")["rules"][0]
    assert rule == {"apiGroups": ["railcni.io"], "resources": ["tenants"], "resourceNames": ["team-a"], "verbs": ["use"]}
