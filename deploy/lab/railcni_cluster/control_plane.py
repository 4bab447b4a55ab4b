"""etcd, the API server, the controller manager and the scheduler, in a network namespace with a bridge that the nodes hang on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from railcni_lab import daemons, kernel
from railcni_lab.layout import LabError

from . import kubectl, node, services
from .layout import API_PORT, API_SERVICE, CONTROL_PLANE, SERVICE_NETWORK, Cluster

ETCD = "http://127.0.0.1:2379"
READY_SECONDS = 120
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")


def make_network(cluster: Cluster) -> None:
    namespace = cluster.namespace
    kernel.run(["ip", "netns", "add", namespace])
    kernel.run(["ip", "-n", namespace, "-batch", "-"], stdin=(
        f"link set lo up\naddress add {API_SERVICE}/32 dev lo\n"
        f"link add br0 type bridge\naddress add {CONTROL_PLANE}/24 dev br0\nlink set br0 up\n"))
    for each in cluster.nodes():
        there = each.lab_node.namespace
        kernel.run(["ip", "-n", namespace, "-batch", "-"], stdin=(
            f"link add {each.name} type veth peer name mgmt netns {there}\nlink set {each.name} master br0 up\n"))
        kernel.run(["ip", "-n", there, "-batch", "-"], stdin=(
            f"address add {each.address}/24 dev mgmt\nlink set mgmt up\nroute add default via {CONTROL_PLANE}\n"))
        # The way back to pods, who ask for the service `kubernetes` and for pods of other nodes.
        kernel.run(["ip", "-n", namespace, "route", "add", each.pod_network, "via", each.address])
    kernel.sysctl(namespace, {"net/ipv4/ip_forward": 1})  # a node has it set by the plugin bridge


def gates(cluster: Cluster) -> list[str]:
    """What newer versions do by themselves: a Job that has ended goes after its ttlSecondsAfterFinished."""
    return ["--feature-gates=TTLAfterFinished=true"] if node.kubelet_minor(cluster) < 21 else []


def start(cluster: Cluster) -> None:
    start_etcd(cluster)
    start_api_server(cluster)
    config = {name: str(cluster.kubeconfig(name)) for name in ("controller-manager", "scheduler")}
    _start(cluster, "kube-controller-manager", *(f"--{key}={config['controller-manager']}" for key in
           ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")),
           f"--service-account-private-key-file={cluster.pki}/sa.key", f"--root-ca-file={cluster.pki}/ca.crt",
           "--use-service-account-credentials", "--leader-elect=false", "--bind-address=127.0.0.1",
           "--node-monitor-period=2s", "--node-monitor-grace-period=16s", *gates(cluster))
    _start(cluster, "kube-scheduler", *(f"--{key}={config['scheduler']}" for key in
           ("kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig")), "--leader-elect=false", "--bind-address=127.0.0.1")


def start_etcd(cluster: Cluster) -> None:
    _start(cluster, "etcd", "--data-dir", str(cluster.store / "etcd"), "--listen-client-urls", ETCD, "--advertise-client-urls", ETCD,
           "--listen-peer-urls", "http://127.0.0.1:2380", "--logger=zap")


def start_api_server(cluster: Cluster) -> None:
    pki = cluster.pki
    _start(cluster, "kube-apiserver", f"--etcd-servers={ETCD}", f"--advertise-address={CONTROL_PLANE}", "--bind-address=0.0.0.0",
           f"--secure-port={API_PORT}", f"--tls-cert-file={pki}/apiserver.crt", f"--tls-private-key-file={pki}/apiserver.key",
           f"--client-ca-file={pki}/ca.crt", f"--kubelet-client-certificate={pki}/admin.crt", f"--kubelet-client-key={pki}/admin.key",
           f"--service-account-key-file={pki}/sa.pub", f"--service-account-signing-key-file={pki}/sa.key",
           "--service-account-issuer=https://kubernetes.default.svc", f"--service-cluster-ip-range={SERVICE_NETWORK}",
           "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction,Priority", "--allow-privileged=true",
           "--kubelet-preferred-address-types=InternalIP", *gates(cluster))

    def ready() -> bool:
        if services.pid_of("kube-apiserver", cluster.folder) is None:
            raise LabError(f"kube-apiserver ended; its last words:\n{services.last_words('kube-apiserver', cluster.folder)}")
        return kubectl.try_run(cluster, "get", "--raw", "/readyz") == "ok"

    daemons.wait_until(f"the API server is ready (log: {cluster.log_dir}/kube-apiserver.log)", ready, READY_SECONDS, every=0.3)


def stop(cluster: Cluster) -> None:
    with ThreadPoolExecutor(len(PROGRAMS)) as pool:
        list(pool.map(lambda name: services.end(name, cluster.folder, 3), PROGRAMS))


def _start(cluster: Cluster, name: str, *options: str) -> None:
    program = "/usr/bin/etcd" if name == "etcd" else str(cluster.binaries / name)
    with kernel.inside(cluster.namespace):
        services.start(name, [program, *options], cluster.folder)
