"""What a real API server says: to every manifest (a dry run), and to what raild asks of it. What a real kubelet says of pods' devices."""

import base64
import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import Cost
from kube import Kube, eventually
from railcni_cluster import kubectl, kustomize, node
from railcni_cluster.layout import CONTROL_PLANE
from railcni_lab.kernel import inside
from railcni_lab.layout import REPOSITORY

MANIFESTS = REPOSITORY / "manifests"
CONTRACT = REPOSITORY / "build/tests/kubernetes_api_contract_test"
PODRESOURCES = REPOSITORY / "build/tests/podresources_test"
CRDS = Path(__file__).parent / "crds"
FOLDERS = sorted(str(p.parent.relative_to(MANIFESTS)) for p in MANIFESTS.rglob("kustomization.yaml") if "kind: Component" not in p.read_text())


@pytest.fixture(scope="module")
def others(kube: Kube) -> None:
    """The kinds of others that the manifests have objects of; they stay, and no test minds them."""
    there = {crd["metadata"]["name"] for crd in kube.items("customresourcedefinitions")}
    for file in sorted(CRDS.glob("*.yaml")):
        names = re.findall(r"^  name: (\S+)$", file.read_text(), re.M)
        assert names, file
        if not there >= set(names):
            kube.ctl("apply", "-f", str(file))
            kube.ctl("wait", "--for=condition=Established", *(f"crd/{name}" for name in names), "--timeout=30s")


def knows(kube: Kube, field: str) -> bool:
    """Whether the server's own description of its API has it: a server that was built by hand may not say its version."""
    try:
        return field.rpartition(".")[2] in kube.ctl("explain", field)
    except Exception:  # noqa: BLE001  kubectl says so by its status
        return False


# Kinds of Kubernetes itself that not every server has, and their resources.
NEWER = {"ValidatingAdmissionPolicy": "validatingadmissionpolicies.admissionregistration.k8s.io",
         "DeviceClass": "deviceclasses.resource.k8s.io", "ResourceClaimTemplate": "resourceclaimtemplates.resource.k8s.io"}


def test_it_takes_every_manifest(kube: Kube, others: None, cost: Cost) -> None:
    kinds = set(kube.ctl("api-resources", "--no-headers", "-o", "name").split())
    spaces = {item["metadata"]["name"] for item in kube.items("namespaces")}
    kube.ctl("-n", "team-a", "delete", "pod", "--all", "--force", "--grace-period=0")  # another example has a pod of the same name
    refused, objects, unknown = {}, 0, []
    for folder in FOLDERS:
        found = kustomize.render(MANIFESTS / folder)
        new = [thing["metadata"]["name"] for thing in found if "completionMode" in thing.get("spec", {})]
        if new and not knows(kube, "job.spec.completionMode"):  # the example's README says which version it needs
            found = [thing for thing in found if "completionMode" not in thing.get("spec", {})]
            unknown += [f"{folder}: job {name}" for name in new]
        if {NEWER[thing["kind"]] for thing in found if thing["kind"] in NEWER} - kinds:
            unknown.append(folder)  # their READMEs say which version they need, and what older ones have
            continue
        # A dry run makes no namespace for the objects in it.
        for space in sorted({thing["metadata"].get("namespace", "default") for thing in found} - spaces):
            kube.ctl("create", "namespace", space)
            spaces.add(space)
        try:
            kube.ctl("apply", "--dry-run=server", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": found}))
            objects += len(found)
        except Exception as error:  # noqa: BLE001  all of them, not the first one
            refused[folder] = str(error)
    assert not refused, refused
    assert set(unknown) <= {"tenancy", "own-node", "own-node/slices", "network-types", "examples/one-unit-kueue: job trainer",
                            "examples/job-claims", *(f"devices/{size}-rails/claims" for size in (2, 4, 8))}
    cost.left_over = f"{objects} objects of {len(FOLDERS) - len(unknown)} folders taken; not known to this server: {', '.join(unknown) or 'none'}"


def account(kube: Kube, folder: Path) -> None:
    """token and ca.crt of an account that may do everything; a Secret of its own, as newer versions make none."""
    name: dict[str, Any] = {"name": "api-contract", "namespace": "default"}
    kubectl.apply(kube.cluster, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name},
                  {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "api-contract"},
                   "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
                   "subjects": [{"kind": "ServiceAccount", **name}]},
                  {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/service-account-token",
                   "metadata": {**name, "annotations": {"kubernetes.io/service-account.name": name["name"]}}})
    data = eventually("the token of an account", lambda: kubectl.get(kube.cluster, "-n", "default", "secret", name["name"])["data"],
                      lambda found: {"token", "ca.crt"} <= set(found))
    for key in ("token", "ca.crt"):
        (folder / key).write_bytes(base64.b64decode(data[key]))


def contract(kube: Kube, binary: Path, cases: str, own: dict[str, str]) -> int:
    """Runs the cases of a contract suite that are for the real one; returns how many there are."""
    with inside(kube.cluster.namespace):
        done = subprocess.run([binary, f"--gtest_filter={cases}"], env={**os.environ, **own}, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout[-4000:]}{done.stderr[-1000:]}"
    passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
    assert passed and int(passed[1]) > 0 and "SKIPPED" not in done.stdout, done.stdout[-2000:]
    return int(passed[1])


def api_contract(kube: Kube, binary: Path, folder: Path) -> int:
    """Of a contract suite of lib/kubernetes."""
    account(kube, folder)
    try:
        return contract(kube, binary, "*/Real", {"RAILCNI_TEST_API": f"https://{CONTROL_PLANE}", "RAILCNI_TEST_API_FOLDER": str(folder),
                                                 "RAILCNI_TEST_API_NODE": kube.cluster.nodes()[0].name})
    finally:
        kube.ctl("delete", "clusterrolebinding/api-contract", "serviceaccount/api-contract", "secret/api-contract", "--ignore-not-found")


def test_it_answers_as_the_one_of_the_tests_does(kube: Kube, tmp_path: Path, cost: Cost) -> None:
    passed = api_contract(kube, CONTRACT, tmp_path)
    assert passed >= 3
    cost.left_over = f"{passed} cases of the contract"


def test_a_kubelet_answers_as_the_one_of_the_tests_does(resident: Kube, cost: Cost) -> None:
    socket = Path("/proc", str(node.init_pid(resident.node("n1"))), "root/var/lib/kubelet/pod-resources/kubelet.sock")
    passed = contract(resident, PODRESOURCES, "*/Kubelet", {"RAILCNI_TEST_PODRESOURCES": str(socket)})
    cost.left_over = f"{passed} cases of the contract"
