"""What a cluster consists of: its names, addresses and folders. Touches nothing but its own folder."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from railcni_lab.layout import Lab, LabError, Node, Shape

HERE = Path(__file__).resolve().parent
CACHE = Path(os.environ.get("RAILCNI_CACHE") or Path.home() / ".cache" / "railcni")
CONTROL_PLANE = "192.168.77.1"
API_PORT = 443  # as the service `kubernetes` has it: without kube-proxy pods and daemons reach it all the same
SERVICE_NETWORK, API_SERVICE = "10.96.0.0/16", "10.96.0.1"
STORE_SIZE = "5g"  # of a node: images, containers, logs; in memory, so that removing it is an unmount
SHAPE = Shape(nodes=2, rails=2, spines=1, devices=8)


@dataclass(frozen=True)
class KubeNode:
    """A node of the lab as Kubernetes sees it."""

    lab_node: Node
    folder: Path

    @property
    def name(self) -> str:
        return self.lab_node.name

    @property
    def number(self) -> int:
        return self.lab_node.number

    @property
    def address(self) -> str:
        return f"192.168.77.{10 + self.number}"

    @property
    def pod_network(self) -> str:
        return f"10.244.{self.number}.0/24"

    @property
    def store(self) -> Path:
        """A file system in memory; what of the node survives its restart is here."""
        return self.folder / "store"

    @property
    def log_dir(self) -> Path:
        return self.folder / "log"

    @property
    def pid_dir(self) -> Path:
        return self.folder / "pid"


class Cluster:
    """One cluster, on the lab of the same name; several can run side by side."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.folder = Path(f"/run/railcni-{lab.prefix}-cluster")
        self.binaries = kubernetes_binaries()

    @classmethod
    def from_environment(cls) -> Cluster:
        return cls(Lab.from_environment())

    @property
    def namespace(self) -> str:
        """The control plane's network namespace."""
        return f"{self.lab.prefix}-cp"

    @property
    def pki(self) -> Path:
        return self.folder / "pki"

    @property
    def log_dir(self) -> Path:
        return self.folder / "log"

    @property
    def pid_dir(self) -> Path:
        return self.folder / "pid"

    @property
    def store(self) -> Path:
        return self.folder / "store"

    @property
    def stores(self) -> list[Path]:
        return [self.store, *sorted(self.folder.glob("n[0-9]*/store"))]

    def kubeconfig(self, user: str) -> Path:
        return self.folder / "kubeconfig" / user

    def node(self, number: int) -> KubeNode:
        return KubeNode(self.lab.node(number), self.folder / f"n{number}")

    def nodes(self) -> list[KubeNode]:
        return [self.node(node.number) for node in self.lab.nodes()]

    def cgroup(self, number: int) -> str:
        return f"railcni-{self.lab.prefix}-n{number}"

    @property
    def api_server(self) -> str:
        return f"https://{CONTROL_PLANE}:{API_PORT}"

    @property
    def kubectl(self) -> str:
        """Of the same version where there is one; any other does."""
        own = self.binaries / "kubectl"
        if own.exists():
            return str(own)
        path = os.environ.get("PATH", "/usr/bin").split(":")
        return shutil.which("kubectl", path=":".join(p for p in path if p != str(self.folder / "bin"))) or "/usr/bin/kubectl"


def kubernetes_binaries() -> Path:
    """RAILCNI_KUBERNETES names a folder of somebody else's; by default those that kubernetes_build.py makes."""
    given = os.environ.get("RAILCNI_KUBERNETES")
    if given is None:
        return CACHE / "kubernetes" / "bin"
    if not (Path(given) / "kubelet").exists():
        raise LabError(f"RAILCNI_KUBERNETES={given}: no kubelet in it; it names a folder with kube-apiserver, "
                       "kube-controller-manager, kube-scheduler and kubelet")
    return Path(given)
