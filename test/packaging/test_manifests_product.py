"""Every image, command, argument, variable and path in the manifests is one that the product has."""

import json
import re
import subprocess

import pytest
import yaml
from manifests import ROOT, Object, binary, containers, every_object, kustomizations, kustomize, one, pod_of, render

DOCKERFILE = (ROOT / "Dockerfile").read_text()
CRDS = {c["spec"]["names"]["kind"]: c["spec"] for path in sorted((ROOT / "test/cluster/crds").glob("*.yaml"))
        for c in yaml.safe_load_all(path.read_text())}
RAILDS = sorted({folder for folder, found in every_object() if found["kind"] == "DaemonSet" and found["metadata"]["name"] == "raild"})
# API groups of Kubernetes itself, in versions that 1.20 and 1.36 both have.
BUILT_IN = {("v1", kind) for kind in ("Namespace", "ServiceAccount", "ConfigMap", "Pod", "Service")} | {
    ("apps/v1", "DaemonSet"), ("batch/v1", "Job"), ("rbac.authorization.k8s.io/v1", "Role"), ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"), ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")}

# Kubernetes 1.30 or newer, and so in folders of their own that nothing else needs.
NEWER = {(folder, kind) for folder in ("tenancy", "own-node", "own-node/slices", "network-types")
         for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")}
# Kubernetes 1.34 or newer.
NEWER |= {(f"devices/{size}-rails/claims", "DeviceClass") for size in (2, 4, 8)} | {("examples/job-claims", "ResourceClaimTemplate")}


def sources(*suffixes: str) -> str:
    return "\n".join(p.read_text() for top in ("lib", "cmd", "plugins") for p in sorted((ROOT / top).rglob("*"))
                     if p.suffix in suffixes and not p.stem.endswith("_test") and "testing" not in p.parts)


def ours(pod: Object) -> list[Object]:
    return [c for c in containers(pod) if "railcni" in c["image"]]


@pytest.fixture(scope="module")
def code() -> str:
    return sources(".cc", ".h") + "".join(p.read_text() for p in (ROOT / "deploy").glob("*.sh"))


def test_every_kind_is_kubernetes_own_or_has_a_definition_for_the_tests() -> None:
    used = set()
    for folder, found in every_object():
        if (found["apiVersion"], found["kind"]) in BUILT_IN or (folder, found["kind"]) in NEWER:
            continue
        spec = CRDS.get(found["kind"])
        assert spec, f"{folder}: {found['apiVersion']} {found['kind']} is neither Kubernetes' own nor in test/cluster/crds"
        assert found["apiVersion"] == f"{spec['group']}/{spec['versions'][0]['name']}"
        assert ("namespace" in found["metadata"]) == (spec["scope"] == "Namespaced"), f"{folder}: {found['metadata']}"
        used.add(found["kind"])
    assert used == set(CRDS), "a definition that no manifest needs"


def test_the_image_has_the_version_of_the_project_and_all_containers_have_one_image() -> None:
    version = re.search(r"project\(railcni VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert version
    for folder in RAILDS:
        images = {c["image"] for c in containers(pod_of(render(folder)))}
        assert len(images) == 1 and images.pop().endswith(f"railcni:{version[1]}"), folder


@pytest.mark.parametrize("folder", RAILDS)
def test_every_command_is_in_the_image(folder: str) -> None:
    copied = {f"/opt/railcni/{name}" for line in re.findall(r"^COPY (deploy/.*) /opt/railcni/$", DOCKERFILE, re.M)
              for name in re.findall(r"deploy/(\S+)", line)}
    assert "COPY --from=build /out/bin/ /usr/bin/" in DOCKERFILE and "COPY --from=build /out/libexec/cni/ /opt/railcni/cni/" in DOCKERFILE
    for container in ours(pod_of(render(folder))):
        program, *arguments = container["command"] + container.get("args", [])
        if program.startswith("/usr/bin/"):
            helped = subprocess.run([binary(program.removeprefix("/usr/bin/")), "--help"], capture_output=True, text=True, timeout=120, check=True)
            unknown = [a for a in arguments if a.startswith("-") and not re.search(rf"(^|[\s,]){a.split('=')[0]}\b", helped.stdout)]
            assert not unknown, f"{program} does not know {unknown}"
            continue
        assert program in copied, f"the image has no {program}"
        text = (ROOT / "deploy" / program.removeprefix("/opt/railcni/")).read_text()
        assert all(a in text for a in arguments), f"{program} knows nothing of {arguments}"


@pytest.mark.parametrize("folder", RAILDS)
def test_every_variable_is_read_by_somebody_and_what_installers_need_is_set(folder: str, code: str) -> None:
    pod = pod_of(render(folder))
    for container in ours(pod):
        for entry in container.get("env", []):
            assert re.search(rf"\b{entry['name']}\b", code), f"nobody reads {entry['name']}"
    (config,) = [c for c in pod["initContainers"] if c["name"] == "install-config"]
    wanted = set(re.findall(r"\bNODE_[A-Z_]+\b", (ROOT / "deploy/install-config.sh").read_text()))
    assert wanted <= {e["name"] for e in config["env"]}, "install-config.sh asks for a variable that it is not given"


@pytest.mark.parametrize("folder", RAILDS)
def test_every_path_that_the_product_uses_is_mounted_where_it_looks_for_it(folder: str, code: str) -> None:
    pod = pod_of(render(folder))
    raild = pod["containers"][0]
    hosts = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v}
    mounts = {m["mountPath"]: hosts[m["name"]] for m in raild["volumeMounts"] if m["name"] in hosts}
    node = json.loads(one(render(folder), "ConfigMap")["data"]["node.json"])
    for path in (node["ovs"]["run_dir"], node["ovs"]["db"].removeprefix("unix:").rsplit("/", 1)[0], node["frr"]["run_dir"]):
        assert mounts.get(path) == path, f"{path} of node.json is not mounted at its own path"
    for path in ("/etc/railcni", "/var/lib/railcni", "/run/railcni"):
        assert f"{path}/" in code and mounts.get(path) == path
    (config,) = [c for c in pod["initContainers"] if c["name"] == "install-config"]
    assert {"/config", "/etc/railcni"} <= {m["mountPath"] for m in config["volumeMounts"]}, "the defaults of install-config.sh"
    (plugins,) = [c for c in pod["initContainers"] if c["name"] == "install-plugins"]
    targets = [m for m in plugins["volumeMounts"] if m["mountPath"] == plugins["command"][2]]
    assert targets and not targets[0].get("readOnly", False)
    assert hosts[targets[0]["name"]] == mounts["/opt/cni/bin"], "raild calls IPAM plugins where the plugins are installed"


@pytest.mark.parametrize("folder", RAILDS)
def test_every_volume_is_mounted_and_every_mount_has_a_volume(folder: str) -> None:
    pod = pod_of(render(folder))
    mounted = {m["name"] for c in containers(pod) for m in c["volumeMounts"]}
    assert mounted == {v["name"] for v in pod["volumes"]}


def test_the_port_of_metrics_is_the_one_that_the_documents_name() -> None:
    raild = pod_of(render("overlays/prometheus-operator"))["containers"][0]
    (port,) = raild["ports"]
    assert port["containerPort"] == port["hostPort"] == 9477
    for name in ("deploy/prometheus/prometheus.yaml", "deploy/prometheus/README.md", "manifests/components/README.md"):
        assert ":9477" in (ROOT / name).read_text(), name


def test_no_two_folders_give_one_object_two_meanings() -> None:
    """Folders that are applied together: base or one overlay of it, networks of one kind, pools, devices and examples."""
    for size in ("2-rails", "4-rails", "8-rails"):
        suffix = "" if size == "2-rails" else f"-{size}"
        together = ["base", f"networks/{size}/nv-ipam", f"networks/{size}/cidr-pools", f"devices/{size}/device-plugin", "examples/namespace",
                    f"examples/pod{suffix}", f"examples/job{suffix}"]
        ids = [(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]) for folder in together for o in render(folder)]
        assert len(ids) == len(set(ids))


def test_pods_are_found_in_all_kinds_that_make_pods() -> None:
    """A kind that makes pods and that kustomize.pod_spec does not know would be left out of these tests."""
    for folder in kustomizations():
        for found in render(folder):
            if "containers" in json.dumps(found.get("spec", {})):
                assert kustomize.pod_spec(found), f"{folder}: {found['kind']}"
