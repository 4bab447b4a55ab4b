"""The DaemonSet and its rights, and the alerts that go with it. Rendering needs no cluster."""

import json
import subprocess
from pathlib import Path

import pytest
import yaml
from manifests import MANIFESTS, ROOT, Object, binary, every_object, kustomizations, node_json, one, render


@pytest.fixture(scope="module")
def base() -> list[Object]:
    return render("base")


@pytest.fixture(scope="module")
def raild_pod(base: list[Object]) -> Object:
    return one(base, "DaemonSet")["spec"]["template"]["spec"]


# --- rendering --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", kustomizations())
def test_every_kustomization_renders(folder: str) -> None:
    objects = render(folder)
    assert objects
    for found in objects:
        assert found["apiVersion"] and found["metadata"]["name"]


def test_every_yaml_file_is_part_of_a_kustomization() -> None:
    for path in MANIFESTS.rglob("*.yaml"):
        if path.name != "kustomization.yaml" and not path.name.startswith("example-"):  # those are patterns to copy
            assert f" {path.name}\n" in (path.parent / "kustomization.yaml").read_text(), f"nothing renders {path}"


def test_every_component_can_be_applied_alone() -> None:
    """By the overlay of its name, on base."""
    for path in (MANIFESTS / "components").iterdir():
        if path.is_dir():
            listed = yaml.safe_load((MANIFESTS / "overlays" / path.name / "kustomization.yaml").read_text())
            assert listed["components"] == [f"../../components/{path.name}"] and listed["resources"] == ["../../base"]


def test_deleting_an_example_deletes_no_namespace() -> None:
    kinds = {folder: {o["kind"] for o in render(folder)} for folder in kustomizations() if folder.startswith("examples/")}
    assert kinds.pop("examples/namespace") == {"Namespace"}
    assert kinds and not [folder for folder, found in kinds.items() if "Namespace" in found]


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
    capabilities = [pod["containers"][0]["securityContext"]["capabilities"]["add"] for pod in (raild_pod, docker)]
    assert capabilities[1] == [*capabilities[0], "SYS_PTRACE"], "base's, and what opening the path of a process needs"
    containerd = one(render("overlays/netns-in-containerd-state"), "DaemonSet")["spec"]["template"]["spec"]
    assert mounts(containerd)[state] == "HostToContainer"


def test_raild_writes_to_the_kubelets_folder_only_where_it_is_its_device_plugin(raild_pod: Object) -> None:
    def mounts(pod: Object) -> list[tuple[str, str, bool]]:
        paths = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v}
        return [(paths[m["name"]], m["mountPath"], m.get("readOnly", False)) for m in pod["containers"][0]["volumeMounts"]]

    offers = mounts(one(render("overlays/device-plugin"), "DaemonSet")["spec"]["template"]["spec"])
    assert set(offers) - set(mounts(raild_pod)) == {
        (folder, folder, False) for folder in ("/var/lib/kubelet/device-plugins", "/var/run/k8s.cni.cncf.io/devinfo/dp")}


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
    assert mounted["/var/lib/kubelet/pod-resources"] == ("/var/lib/kubelet/pod-resources", True)
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
                             timeout=120, check=False)
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
    own = ("/etc/railcni", "/var/lib/railcni", "/run/railcni", "/var/lib/kubelet/pod-resources")  # the last is only asked
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


# --- components ---------------------------------------------------------------------------------------------------------


def test_the_prometheus_rule_is_the_alerts() -> None:
    rule = one(render("overlays/prometheus-operator"), "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((ROOT / "deploy/prometheus/alerts.yaml").read_text())


def test_the_pod_monitor_finds_raild_and_calls_the_job_as_the_alerts_do() -> None:
    objects = render("overlays/prometheus-operator")
    monitor, raild = one(objects, "PodMonitor"), one(objects, "DaemonSet")
    assert monitor["metadata"]["namespace"] == raild["metadata"]["namespace"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= raild["spec"]["template"]["metadata"]["labels"].items()
    (endpoint,) = monitor["spec"]["podMetricsEndpoints"]
    assert endpoint["port"] in {port["name"] for port in raild["spec"]["template"]["spec"]["containers"][0]["ports"]}
    (job,) = [label["replacement"] for label in endpoint["relabelings"] if label["targetLabel"] == "job"]
    assert f'up{{job="{job}"}}' in (ROOT / "deploy/prometheus/alerts.yaml").read_text()


NODE_LIST = {"kind": "List", "items": [
    {"kind": "Node", "metadata": {"name": name}, "status": {"addresses": [{"type": "InternalIP", "address": address}]}}
    for name, address in (("gpu-1", "10.0.0.1"), ("gpu-2", "10.0.0.2"))]}


def test_raild_resolves_the_configuration_for_all_nodes(tmp_path: Path) -> None:
    (tmp_path / "nodes.json").write_text(json.dumps(NODE_LIST))
    (tmp_path / "node.json").write_text(node_json("base"))
    ran = subprocess.run([binary("raild"), "--resolve-config", tmp_path / "node.json", "--nodes", tmp_path / "nodes.json"],
                         capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    assert ran.stdout.splitlines()[0].startswith("gpu-1  asn 4200000001  router_id 10.0.0.1  rail0=")
    assert ran.stdout.splitlines()[-1] == "2 nodes, 0 wrong, 0 collisions"


def test_an_installer_finds_what_it_has_to_look_at(raild_pod: Object) -> None:
    installer = raild_pod["initContainers"][0]
    assert {e["name"]: e["valueFrom"]["fieldRef"]["fieldPath"] for e in installer["env"]} == {
        "NODE_NAME": "spec.nodeName", "NODE_IP": "status.hostIP"}
    mounts = {m["mountPath"]: m.get("readOnly", False) for m in installer["volumeMounts"]}
    assert {p for p, read_only in mounts.items() if read_only} == {"/config", "/overrides", "/run/openvswitch", "/run/frr"}
    overrides = next(v for v in raild_pod["volumes"] if v["name"] == "overrides")
    assert overrides["configMap"] == {"name": "railcni-overrides", "optional": True}, "with a hash, it would restart every raild"


def test_openshift_allows_what_the_daemonset_asks_for_and_nothing_more() -> None:
    objects = render("overlays/openshift")
    allowed, pod = one(objects, "SecurityContextConstraints"), one(objects, "DaemonSet")["spec"]["template"]["spec"]
    asked = {c for container in pod["containers"] for c in container["securityContext"]["capabilities"].get("add", [])}
    assert set(allowed["allowedCapabilities"]) == asked
    kinds = {kind for volume in pod["volumes"] for kind in volume if kind != "name"}
    assert kinds <= set(allowed["volumes"])
    assert allowed["seLinuxContext"]["seLinuxOptions"] == pod["securityContext"]["seLinuxOptions"]
    assert allowed["allowHostNetwork"] and allowed["allowHostDirVolumePlugin"] and allowed["readOnlyRootFilesystem"]
    assert not allowed["allowPrivilegedContainer"] and not allowed["allowHostPID"] and not allowed["allowHostIPC"]
    assert "metadata" in allowed and "namespace" not in allowed["metadata"], "it belongs to the cluster"


def test_raild_can_be_kept_to_the_nodes_that_have_rails() -> None:
    pod = one(render("overlays/labelled-nodes"), "DaemonSet")["spec"]["template"]["spec"]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "railcni.io/node": "true"}
    assert "railcni.io/node=true" in (MANIFESTS / "INSTALL.md").read_text()


# Who asks for which right, and who uses it. Nothing else may ask. A folder that is not there asks for nothing.
RIGHTS = {
    ("overlays/openshift", "Role", "railcni-security-context"): {
        ("security.openshift.io", "securitycontextconstraints", "use")},  # OpenShift itself, when it admits raild's pod
    ("overlays/api-server", "ClusterRole", "railcni-raild"): {
        ("", "namespaces", "list"), ("", "namespaces", "watch"),  # kubernetes.tenants: whose a namespace is
        ("", "nodes", "get"), ("", "nodes", "patch"),             # raild --print-node-object; topology.labels
        ("", "nodes/status", "patch"),                            # kubernetes.report: the condition railcni.io/rails
        ("", "events", "create")},                                # kubernetes.report: a rail that is down, an ADD that failed
    ("overlays/dra", "ClusterRole", "railcni-raild-dra"): {
        *(("resource.k8s.io", "resourceslices", verb) for verb in ("list", "create", "update", "delete")),  # devices of the node
        ("resource.k8s.io", "resourceclaims", "get"),                                                      # what a claim has got
        ("resource.k8s.io", "resourceclaims/status", "patch"),                                             # what its pod has got
        ("resource.k8s.io", "resourceclaims/driver", "associated-node:patch"),                             # the same, from Kubernetes 1.36
        ("", "nodes", "get")},                                                                             # whose the slices are
    ("tenancy/example", "ClusterRole", "tenant-team-a"): {("railcni.io", "tenants", "use")},  # people, whom the policy asks for it
}


def test_rbac_has_exactly_the_rights_that_something_uses() -> None:
    found: dict[tuple[str, str, str], set[tuple[str, str, str]]] = {}
    for folder, thing in every_object():
        if thing["kind"] in ("Role", "ClusterRole") and folder != "accept":  # test_accept_manifests.py
            assert all("*" not in rule[key] for rule in thing["rules"] for key in ("apiGroups", "resources", "verbs"))
            found[folder, thing["kind"], thing["metadata"]["name"]] = {
                (group, resource, verb) for rule in thing["rules"]
                for group in rule["apiGroups"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert found == {asks: rights for asks, rights in RIGHTS.items() if asks[0] in kustomizations()}


def test_each_role_is_bound_to_raild_alone() -> None:
    for folder, thing in every_object():
        if thing["kind"] in ("RoleBinding", "ClusterRoleBinding") and not folder.startswith(("tenancy/", "accept")):  # people's; the Job's
            assert thing["subjects"] == [{"kind": "ServiceAccount", "name": "raild", "namespace": "railcni-system"}], folder
            assert thing["roleRef"]["name"] in {o["metadata"]["name"] for o in render(folder) if o["kind"] == thing["roleRef"]["kind"]}
