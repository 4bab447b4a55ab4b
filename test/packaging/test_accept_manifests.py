"""manifests/accept: what the Job may do, and that its names are those of the program."""

import re
from typing import Any

from manifests import ROOT, Object, containers, one, render

OBJECTS = render("accept")
SPACES = {"railcni-accept-a", "railcni-accept-b"}


def rules(kind: str, space: str | None) -> list[tuple[str, tuple[str, ...], set[str]]]:
    [role] = [found for found in OBJECTS if found["kind"] == kind and found["metadata"].get("namespace") == space]
    return [(rule["resources"][0], tuple(rule.get("resourceNames", ())), set(rule["verbs"])) for rule in role["rules"]]


def of(kind: str, name: str) -> Object:
    [found] = [found for found in OBJECTS if found["kind"] == kind and found["metadata"]["name"] == name]
    return found


def test_the_job_reads_nodes_and_networks_and_changes_its_own_namespaces_alone() -> None:
    assert rules("ClusterRole", None) == [("nodes", (), {"list"}), ("network-attachment-definitions", (), {"list"})]
    assert rules("Role", "railcni-accept") == [("pods", (), {"get"})]
    for space in SPACES:
        more = {"delete"} if space.endswith("-a") else set()  # pods that come and go are the first tenant's
        assert rules("Role", space) == [("jobs", (), {"create"}), ("jobs", ("run",), {"patch", "delete"}), ("jobs/finalizers", ("run",), {"update"}),
                                        ("pods", (), {"create", "list", "watch", *more}), ("secrets", (), {"create"})]
    bindings: list[dict[str, Any]] = [found for found in OBJECTS if found["kind"].endswith("Binding")]
    assert sorted((found["kind"], found["metadata"].get("namespace"), found["roleRef"]["name"]) for found in bindings if "namespace" in found["metadata"]) \
        == [("RoleBinding", space, "accept") for space in sorted({"railcni-accept", *SPACES})]
    assert [found["roleRef"]["name"] for found in bindings if found["kind"] == "ClusterRoleBinding"] == ["railcni-accept"]
    assert all(found["subjects"] == [{"kind": "ServiceAccount", "name": "accept", "namespace": "railcni-accept"}] for found in bindings)


def test_the_namespaces_and_the_job_that_owns_all_are_those_of_the_program() -> None:
    source = (ROOT / "cmd/railctl/accept/objects.h").read_text()
    assert set(re.findall(r'"(railcni-accept-\w)"', source)) == SPACES
    assert 'kJob = "run"' in source
    for space in SPACES:
        assert of("Namespace", space)["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "privileged"}


def test_the_job_itself_has_no_right_on_its_node() -> None:
    job = one(OBJECTS, "Job")
    assert job["spec"]["backoffLimit"] == 0 and job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
    pod = job["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True and "volumes" not in pod and "hostNetwork" not in pod
    [container] = containers(pod)
    assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {"POD_NAME", "POD_NAMESPACE"} == {each["name"] for each in container["env"]}
