"""What raild may ask of the API server, and who may set the label that it follows. Rendered only; the cluster tier asks a server."""

import json
import subprocess
from pathlib import Path

import pytest
from manifests import binary, one, render


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
    text = one(render("overlays/api-server"), "ConfigMap")["data"]["node.json"]
    assert json.loads(text)["kubernetes"] == {"tenants": True, "report": True}
    (tmp_path / "node.json").write_text(text)
    ran = subprocess.run([binary("raild"), "--resolve-config", tmp_path / "node.json", "--node", "gpu-1", "--node-ip", "10.0.0.1"],
                         capture_output=True, text=True, timeout=30, check=False)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    assert json.loads(ran.stdout)["kubernetes"] == {"tenants": True, "report": True}


@pytest.mark.parametrize("folder", ["tenancy", "own-node"])
def test_each_policy_denies_and_is_bound(folder: str) -> None:
    objects = render(folder)
    policy = one(objects, "ValidatingAdmissionPolicy")
    binding = one(objects, "ValidatingAdmissionPolicyBinding")
    assert binding["spec"] == {"policyName": policy["metadata"]["name"], "validationActions": ["Deny"]}
    assert policy["spec"]["failurePolicy"] == "Fail"


def matched(folder: str) -> tuple[set[str], set[str]]:
    """Resources and operations."""
    (rule,) = one(render(folder), "ValidatingAdmissionPolicy")["spec"]["matchConstraints"]["resourceRules"]
    assert rule["apiGroups"] == [""] and rule["apiVersions"] == ["v1"]
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


def test_the_label_needs_the_right_to_use_the_tenant() -> None:
    policy = one(render("tenancy"), "ValidatingAdmissionPolicy")
    text = json.dumps(policy)
    assert "railcni.io/tenant" in text and "check('use')" in text
    rule = one(render("tenancy/example"), "ClusterRole")["rules"][0]
    assert rule == {"apiGroups": ["railcni.io"], "resources": ["tenants"], "resourceNames": ["team-a"], "verbs": ["use"]}
