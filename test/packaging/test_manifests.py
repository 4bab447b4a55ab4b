"""The manifests: rendered by kubectl's kustomize, held to the rights that they promise, and their configurations accepted by the
programs that will read them. No cluster is asked: rendering and `kubectl label --local` work on files."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MANIFESTS = ROOT / "manifests"
FOLDERS = sorted(str(p.parent.relative_to(MANIFESTS)) for p in MANIFESTS.rglob("kustomization.yaml"))
BINARIES = Path(os.environ.get("RAILCNI_BIN", ROOT / "build" / "bin"))

Object = dict[str, Any]


def kubectl(*arguments: str, text: str | None = None) -> str:
    assert shutil.which("kubectl"), "kubectl is missing: deploy/deps.sh test"
    ran = subprocess.run(["kubectl", *arguments], input=text, capture_output=True, text=True, timeout=60, check=False,
                         env={**os.environ, "KUBECONFIG": "/dev/null"})
    assert ran.returncode == 0, f"kubectl {' '.join(arguments)}:\n{ran.stderr}"
    return ran.stdout


def render(folder: str) -> list[Object]:
    """The objects of a kustomization; kubectl itself turns the YAML into JSON."""
    yaml = kubectl("kustomize", str(MANIFESTS / folder))
    rest = kubectl("label", "--local", "-f", "-", "rendered=yes", "-o", "json", text=yaml).strip()
    objects = []
    while rest:
        found, end = json.JSONDecoder().raw_decode(rest)
        objects += found["items"] if found["kind"] == "List" else [found]
        rest = rest[end:].lstrip()
    return objects


def one(objects: list[Object], kind: str) -> Object:
    found = [o for o in objects if o["kind"] == kind]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}"
    return found[0]


@pytest.fixture(scope="module")
def base() -> list[Object]:
    return render("base")


@pytest.fixture(scope="module")
def raild_pod(base: list[Object]) -> Object:
    return one(base, "DaemonSet")["spec"]["template"]["spec"]


def binary(name: str) -> Path:
    assert (BINARIES / name).exists(), f"{BINARIES / name} is not built: cmake --build --preset product (or set RAILCNI_BIN)"
    return BINARIES / name


# --- rendering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_kustomization_renders(folder: str) -> None:
    objects = render(folder)
    assert objects
    for found in objects:
        assert found["apiVersion"] and found["metadata"]["name"]


def test_every_yaml_file_is_part_of_a_kustomization() -> None:
    for path in MANIFESTS.rglob("*.yaml"):
        if path.name != "kustomization.yaml":
            assert f"- {path.name}" in (path.parent / "kustomization.yaml").read_text(), f"nothing renders {path}"


# --- the DaemonSet and its rights ---------------------------------------------------------------------------------------


def test_raild_has_exactly_the_capabilities_that_it_needs(raild_pod: Object) -> None:
    raild = raild_pod["containers"][0]["securityContext"]
    assert raild["capabilities"] == {"drop": ["ALL"], "add": ["NET_ADMIN", "NET_RAW", "SYS_ADMIN", "DAC_OVERRIDE"]}
    for container in raild_pod["initContainers"]:
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}


def test_nothing_is_privileged_and_no_root_file_system_is_writable(raild_pod: Object) -> None:
    assert "hostPID" not in raild_pod and "hostIPC" not in raild_pod
    for container in raild_pod["containers"] + raild_pod["initContainers"]:
        assert "privileged" not in container["securityContext"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["resources"]["requests"] and container["resources"]["limits"]["memory"]


def test_the_api_server_is_out_of_reach(base: list[Object], raild_pod: Object) -> None:
    assert raild_pod["automountServiceAccountToken"] is False
    assert one(base, "ServiceAccount")["automountServiceAccountToken"] is False
    assert not [o for o in base if "Role" in o["kind"]]


def test_nothing_is_secret(base: list[Object], raild_pod: Object) -> None:
    assert not [o for o in base if o["kind"] == "Secret"]
    assert not [v for v in raild_pod["volumes"] if "secret" in v]


def test_mounts_are_declared_and_namespaces_of_later_pods_arrive(raild_pod: Object) -> None:
    volumes = {v["name"] for v in raild_pod["volumes"]}
    for container in raild_pod["containers"] + raild_pod["initContainers"]:
        assert {m["name"] for m in container["volumeMounts"]} <= volumes
    mounts = {m["mountPath"]: m for m in raild_pod["containers"][0]["volumeMounts"]}
    assert mounts["/run/netns"]["mountPropagation"] == "HostToContainer"
    assert {"/opt/cni/bin", "/etc/cni/net.d", "/var/lib/cni"} <= set(mounts), "what IPAM needs to take an address back"
    assert "readOnly" not in mounts["/var/lib/cni"]
    assert {"/etc/railcni", "/var/lib/railcni", "/run/railcni", "/run/openvswitch", "/run/frr"} <= set(mounts)


def test_each_runtimes_namespaces_can_be_seen(raild_pod: Object) -> None:
    """/run/netns (containerd, CRI-O) everywhere; the host's processes and containerd's state only where a runtime needs them."""
    def mounts(pod: Object) -> dict[str, str]:
        return {m["mountPath"]: m.get("mountPropagation", "") for m in pod["containers"][0]["volumeMounts"]}

    state = "/run/containerd/io.containerd.grpc.v1.cri/netns"
    assert mounts(raild_pod)["/run/netns"] == "HostToContainer"
    assert "hostPID" not in raild_pod and state not in mounts(raild_pod)
    docker = one(render("overlays/cri-dockerd"), "DaemonSet")["spec"]["template"]["spec"]
    assert docker["hostPID"] is True
    containerd = one(render("overlays/netns-in-containerd-state"), "DaemonSet")["spec"]["template"]["spec"]
    assert mounts(containerd)[state] == "HostToContainer"


def test_raild_has_the_hosts_sysctls_and_devices_writable_at_paths_that_a_runtime_leaves_alone(raild_pod: Object) -> None:
    raild = raild_pod["containers"][0]
    environment = {e["name"]: e["value"] for e in raild["env"]}
    paths = {v["name"]: v["hostPath"]["path"] for v in raild_pod["volumes"] if "hostPath" in v}
    mounted = {m["mountPath"]: (paths[m["name"]], m.get("readOnly", False)) for m in raild["volumeMounts"]}
    proc, sys = environment["RAILCNI_PROC_SYS"], environment["RAILCNI_SYSFS"]
    assert mounted[f"{proc}/net"] == ("/proc/sys/net", False)
    assert mounted[sys] == ("/sys", True)
    assert mounted[f"{sys}/devices"] == ("/sys/devices", False)
    assert mounted[f"{sys}/bus/pci"] == ("/sys/bus/pci", False)
    # runc refuses mounts below /proc; AppArmor's profile for containers denies writing below /proc/sys and /sys.
    assert not [path for path in mounted if path.startswith(("/proc", "/sys"))]


def test_probes_are_about_raild_alone_and_outlast_railctls_own_patience(raild_pod: Object) -> None:
    raild = raild_pod["containers"][0]
    probes = {name: raild[f"{name}Probe"] for name in ("startup", "liveness", "readiness")}
    commands = {name: probe["exec"]["command"] for name, probe in probes.items()}  # Kubernetes 1.20 has no grpc probes
    assert commands["startup"] == commands["liveness"] == ["/usr/bin/railctl", "health"]
    assert commands["readiness"] == ["/usr/bin/railctl", "health", "--ready"]
    for name, probe in probes.items():
        assert probe["timeoutSeconds"] > 10, f"{name}: railctl would be killed before it says what is wrong"
        # railctl knows the command: it fails because nobody serves, not because of the command line.
        ran = subprocess.run([binary("railctl"), "--socket", "/nobody.sock", *commands[name][1:]], capture_output=True, text=True,
                             timeout=30, check=False)
        assert ran.returncode == 1 and "is raild running?" in ran.stderr, ran.stderr


def test_selinux_lets_every_container_use_the_nodes_sockets_and_folders(raild_pod: Object) -> None:
    assert raild_pod["securityContext"]["seLinuxOptions"] == {"type": "spc_t", "level": "s0"}
    assert not [c["name"] for c in raild_pod["containers"] + raild_pod["initContainers"]
                if "seLinuxOptions" in c["securityContext"]]


def test_a_changed_configuration_restarts_raild(base: list[Object], raild_pod: Object) -> None:
    name = one(base, "ConfigMap")["metadata"]["name"]
    assert name.startswith("railcni-node-"), "the name has no hash of the content"
    assert next(v for v in raild_pod["volumes"] if v["name"] == "config")["configMap"]["name"] == name


# --- uninstall ----------------------------------------------------------------------------------------------------------


def uninstaller(folder: str) -> Object:
    return one(render(folder), "DaemonSet")["spec"]["template"]["spec"]


def test_uninstall_reaches_the_same_nodes_and_all_that_raild_has_changed(raild_pod: Object) -> None:
    pod = uninstaller("uninstall")
    for key in ("hostNetwork", "nodeSelector", "tolerations", "securityContext", "automountServiceAccountToken"):
        assert pod[key] == raild_pod[key], key
    remove, done = pod["initContainers"][0], pod["containers"][0]
    assert remove["command"] == ["/opt/railcni/remove.sh"]
    assert done["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    environment = {e["name"]: e["value"] for e in remove["env"]}
    root = environment["RAILCNI_ROOT"]
    paths = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"]}
    mounted = {m["mountPath"]: (paths[m["name"]], m.get("readOnly", False)) for m in remove["volumeMounts"]}
    # RailCNI's own folders: their parents are mounted, because a mount cannot be removed.
    for folder in ("/etc", "/var/lib", "/run"):
        assert mounted[f"{root}{folder}"] == (folder, False)
    assert mounted["/opt/cni/bin"] == ("/opt/cni/bin", False)
    base = {v["name"]: v["hostPath"]["path"] for v in raild_pod["volumes"] if "hostPath" in v}
    own = ("/etc/railcni", "/var/lib/railcni", "/run/railcni")
    for mount in raild_pod["containers"][0]["volumeMounts"]:
        if mount["mountPath"] not in own:
            assert mounted[mount["mountPath"]][0] == base[mount["name"]], "the record names it by this path"
    needed = set(raild_pod["containers"][0]["securityContext"]["capabilities"]["add"]) - {"NET_RAW"}
    assert set(remove["securityContext"]["capabilities"]["add"]) == needed


def test_uninstall_takes_pods_their_network_only_when_it_is_told_to() -> None:
    for folder, forced in (("uninstall", False), ("overlays/uninstall-by-force", True)):
        environment = {e["name"]: e["value"] for e in uninstaller(folder)["initContainers"][0]["env"]}
        assert (environment.get("RAILCNI_FORCE") == "1") is forced
        assert environment["RAILCNI_ROOT"] == "/host"


# --- the configurations, read by those who will read them ---------------------------------------------------------------


def test_raild_accepts_each_nodes_configuration(tmp_path: Path) -> None:
    checked = 0
    for folder in ("base", "overlays/two-nodes"):
        for name, text in one(render(folder), "ConfigMap")["data"].items():
            root = tmp_path / folder / name
            (root / "etc/railcni").mkdir(parents=True)
            (root / "etc/railcni/node.json").write_text(text)
            ran = subprocess.run([binary("raild"), "--check-config"], env={"RAILCNI_ROOT": str(root)}, capture_output=True,
                                 text=True, timeout=30, check=False)
            assert ran.returncode == 0, f"{folder}, {name}: {ran.stdout}{ran.stderr}"
            checked += 1
    assert checked == 4


def test_nodes_of_the_overlay_differ_where_they_must() -> None:
    data = one(render("overlays/two-nodes"), "ConfigMap")["data"]
    nodes = [json.loads(text)["bgp"] for name, text in data.items()]
    assert len({bgp["router_id"] for bgp in nodes}) == len(nodes)
    assert len({bgp["community_asn"] for bgp in nodes}) == 1


def chains() -> list[Any]:
    found = []
    for definition in render("networks"):
        chain = json.loads(definition["spec"]["config"])
        found += [pytest.param(definition, chain, plugin, id=f"{chain['name']}-{plugin['type']}") for plugin in chain["plugins"]]
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if {"definition", "chain", "plugin"} <= set(metafunc.fixturenames):
        metafunc.parametrize(("definition", "chain", "plugin"), chains())


def check_config(plugin: Object, chain: Object) -> subprocess.CompletedProcess[str]:
    config = {**plugin, "name": chain["name"], "cniVersion": chain["cniVersion"]}
    return subprocess.run([binary(plugin["type"]), "--check-config"], input=json.dumps(config), capture_output=True, text=True,
                          timeout=30, check=False, env={})


def test_the_plugins_accept_their_configuration(definition: Object, chain: Object, plugin: Object) -> None:
    ran = check_config(plugin, chain)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"


def test_the_plugins_refuse_it_when_it_is_broken(definition: Object, chain: Object, plugin: Object) -> None:
    broken = {"ovs-provider": {"rail": 7}, "tenant-isolation": {}, "frr-provider": {"wait_ms": "soon"}}[plugin["type"]]
    ran = check_config({**plugin, **broken}, chain if broken else {**chain, "name": "not a name"})
    assert ran.returncode != 0
    assert json.loads(ran.stdout)["code"]


def test_rails_agree_between_networks_nodes_and_the_example() -> None:
    rails = {rail["name"] for rail in json.loads(one(render("base"), "ConfigMap")["data"]["node.json"])["rails"]}
    networks = render("networks")
    resources = {n["metadata"]["annotations"]["k8s.v1.cni.cncf.io/resourceName"] for n in networks}
    assert {json.loads(n["spec"]["config"])["plugins"][0]["rail"] for n in networks} == rails
    pod = one(render("examples/pod"), "Pod")
    asked = pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(",")
    assert set(asked) == {f"{n['metadata']['namespace']}/{n['metadata']['name']}" for n in networks}
    assert set(pod["spec"]["containers"][0]["resources"]["limits"]) == resources
