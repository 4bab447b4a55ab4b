"""A node of Kubernetes: namespaces over the lab's node, containerd, kubelet, and the lab's stand-ins. Up, down, parts of it again."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from pathlib import Path

from railcni_lab import daemons, fabric, kernel
from railcni_lab.layout import LabError, device, representor, subnets

from . import cgroups, services
from .names import PAUSE
from .layout import HERE, STORE_SIZE, Cluster, KubeNode

INIT_SECONDS, CONTAINERD_SECONDS = 60, 60
CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
RESOURCE = "nvidia.com"


def make(cluster: Cluster, node: KubeNode) -> None:
    """What outlives a restart of the node: its store with its settings."""
    for folder in (node.folder, node.store, node.log_dir, node.pid_dir):
        folder.mkdir(parents=True, exist_ok=True)
    kernel.run(["mount", "-t", "tmpfs", "-o", f"mode=755,size={STORE_SIZE}", f"railcni-{cluster.lab.prefix}-{node.name}", str(node.store)])
    etc, opt = node.store / "etc-upper", node.store / "opt-upper"
    for folder in (etc / "cni/net.d/nv-ipam.d", etc / "cni/net.d/multus.d", etc / "containerd", etc / "kubernetes", opt / "cni/bin"):
        folder.mkdir(parents=True)
    plugins = next((folder for folder in (Path("/usr/lib/cni"), Path("/opt/cni/bin")) if (folder / "bridge").exists()), Path("/usr/lib/cni"))
    for plugin in CNI_PLUGINS:
        shutil.copy(plugins / plugin, opt / "cni/bin" / plugin)
    shutil.copy(HERE / "nv_ipam.sh", opt / "cni/bin/nv-ipam")
    (opt / "cni/bin/nv-ipam").chmod(0o755)
    given = os.environ.get("RAILCNI_MULTUS")
    # A link: the stand-in finds its modules beside itself.
    (opt / "cni/bin/multus").symlink_to(Path(given).resolve() if given else HERE / "multus.py")
    shutil.copy(cluster.kubeconfig("multus"), etc / "cni/net.d/multus.d/multus.kubeconfig")
    for rail in range(cluster.lab.shape().rails):
        ranges = [[{"subnet": subnet}] for subnet in subnets(rail, node.number)]
        (etc / f"cni/net.d/nv-ipam.d/rail{rail}.ranges").write_text(json.dumps(ranges))
    (etc / "cni/net.d/00-multus.conf").write_text(json.dumps(multus_config(node), indent=2))
    (etc / "containerd/config.toml").write_text(containerd_config())
    (etc / "kubernetes/kubelet.yaml").write_text(json.dumps(kubelet_config(cluster, node), indent=2))


def multus_config(node: KubeNode) -> dict[str, object]:
    primary = {"cniVersion": "0.3.1", "name": "default-cni-network", "plugins": [
        {"type": "bridge", "bridge": "cni0", "isGateway": True,
         "ipam": {"type": "host-local", "ranges": [[{"subnet": node.pod_network}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
    return {"cniVersion": "0.3.1", "name": "multus-cni-network", "type": "multus", "kubeconfig": "/etc/cni/net.d/multus.d/multus.kubeconfig",
            "capabilities": {"portMappings": True}, "logLevel": "verbose", "logFile": "/var/log/multus.log", "delegates": [primary]}


def containerd_config() -> str:
    return f"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE}"
  restrict_oom_score_adj = true
  disable_apparmor = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
"""


def kubelet_config(cluster: Cluster, node: KubeNode) -> dict[str, object]:
    config: dict[str, object] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{cluster.cgroup(node.number)}", "failSwapOn": False, "resolvConf": "", "maxPods": 60,
        "makeIPTablesUtilChains": False, "imageGCHighThresholdPercent": 99, "serializeImagePulls": True,
        "nodeStatusUpdateFrequency": "2s", "syncFrequency": "10s", "volumeStatsAggPeriod": "0s",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": f"{cluster.pki}/ca.crt"}},
        "authorization": {"mode": "AlwaysAllow"},
        "tlsCertFile": f"{cluster.pki}/{node.name}.crt", "tlsPrivateKeyFile": f"{cluster.pki}/{node.name}.key",
        "evictionHard": {"memory.available": "200Mi", "nodefs.available": "2%", "imagefs.available": "2%"}}
    if kubelet_minor(cluster) >= 31:
        config["failCgroupV1"] = False
    return config


def kubelet_minor(cluster: Cluster) -> int:
    said = kernel.run([str(cluster.binaries / "kubelet"), "--version"])
    found = re.search(r"v1\.(\d+)", said)
    if not found:
        raise LabError(f"cannot tell the version of {cluster.binaries}/kubelet: it says {said.strip()!r}")
    return int(found[1])


def start(cluster: Cluster, node: KubeNode) -> None:
    """All of the node's processes; also after it has gone down."""
    cgroups.make(cluster.cgroup(node.number))
    fabric.mend_devices(node.lab_node, cluster.lab.shape(), set())
    ready = node.store / "ready"
    ready.unlink(missing_ok=True)
    with kernel.inside(node.lab_node.namespace):
        services.start("init", ["unshare", "--mount", "--pid", "--uts", "--fork", "--mount-proc", "--kill-child", "--propagation", "private",
                                "/usr/bin/python3", "-B", str(HERE / "node_init.py"), node.name, str(node.store),
                                str(node.lab_node.root / "run"), str(ready)], node.folder)

    def up() -> bool:
        if services.pid_of("init", node.folder) is None:
            raise LabError(f"the first process of {node.name} ended; its last words:\n{services.last_words('init', node.folder)}")
        return ready.exists()

    daemons.wait_until(f"{node.name}'s own view of the machine (log: {node.log_dir}/init.log)", up, INIT_SECONDS)
    start_service(node, "links", ["/usr/bin/python3", "-B", str(HERE / "links.py")])
    start_containerd(node)


def enter(node: KubeNode) -> list[str]:
    """The beginning of a command that shall run on the node."""
    pid = init_pid(node)
    if pid is None:
        raise LabError(f"{node.name} is not up")
    return ["nsenter", "--target", str(pid), "--mount", "--pid", "--uts", "--net", "--"]


def init_pid(node: KubeNode) -> int | None:
    """The node's process 1, as the machine counts."""
    return service_pid(node, "init")


def run_on(node: KubeNode, command: list[str], stdin: str | None = None, seconds: float = 60) -> str:
    return kernel.run([*enter(node), *command], stdin=stdin, timeout=seconds)


def start_service(node: KubeNode, name: str, command: list[str], environment: dict[str, str] | None = None) -> None:
    services.start(name, [*enter(node), *command], node.folder, environment)


def service_pid(node: KubeNode, name: str) -> int | None:
    """The service itself: nsenter stays as its parent, because the service is in another PID namespace."""
    outer = services.pid_of(name, node.folder)
    if outer is None:
        return None
    try:
        children = Path(f"/proc/{outer}/task/{outer}/children").read_text().split()
    except OSError:
        return None
    return int(children[0]) if children else None


def kill_service(node: KubeNode, name: str, how: signal.Signals = signal.SIGKILL) -> None:
    pid = service_pid(node, name)
    if pid is not None:
        daemons.kill(pid, how)
    services.kill(name, node.folder)


def start_containerd(node: KubeNode) -> None:
    start_service(node, "containerd", ["/usr/bin/containerd"], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def serves() -> bool:
        if services.pid_of("containerd", node.folder) is None:
            raise LabError(f"containerd of {node.name} ended; its last words:\n{services.last_words('containerd', node.folder)}")
        try:
            run_on(node, ["ctr", "version"], seconds=10)
        except LabError:
            return False
        return True

    daemons.wait_until(f"containerd of {node.name} (log: {node.log_dir}/containerd.log)", serves, CONTAINERD_SECONDS, every=0.2)


def start_kubelet(cluster: Cluster, node: KubeNode) -> None:
    options = ["--config=/etc/kubernetes/kubelet.yaml", f"--kubeconfig={cluster.kubeconfig(node.name)}",
               "--container-runtime-endpoint=unix:///run/containerd/containerd.sock", f"--node-ip={node.address}",
               f"--hostname-override={node.name}", "--root-dir=/var/lib/kubelet", "--v=2"]
    if kubelet_minor(cluster) < 27:
        options += ["--container-runtime=remote", f"--pod-infra-container-image={PAUSE}"]
    start_service(node, "kubelet", [str(cluster.binaries / "kubelet"), *options], {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})


def start_device_plugin(cluster: Cluster, node: KubeNode) -> None:
    shape = cluster.lab.shape()
    pools = [f"{RESOURCE}/rail{rail}={','.join(device(rail, i) for i in range(shape.devices))}" for rail in range(shape.rails)]
    start_service(node, "device-plugin", ["/usr/bin/python3", "-B", str(HERE / "device_plugin.py"), *pools])


def stop(node: KubeNode) -> None:
    """As if its power went: with the first process everything of the node ends, and its mounts with it."""
    pids = [pid for pid in (init_pid(node), services.pid_of("init", node.folder)) if pid is not None]
    daemons.end(pids, 0.2)
    for name in ("containerd", "kubelet", "device-plugin", "links", "init"):
        services.kill(name, node.folder)


def power_off(cluster: Cluster, node: KubeNode) -> None:
    """stop(), and returns when the kernel has taken away the namespaces of the pods, with the devices in them."""
    shape, there = cluster.lab.shape(), kernel.links(node.lab_node.namespace)
    given = {representor(rail, i) for rail in range(shape.rails) for i in range(shape.devices) if device(rail, i) not in there}
    stop(node)
    daemons.wait_until(f"the devices of the pods of {node.name} go", lambda: not given & kernel.links(node.lab_node.namespace), 60)
