"""RailCNI into the cluster, by the manifests; waits until it serves."""

from __future__ import annotations

from pathlib import Path

from . import kubectl, overlay
from .layout import Cluster

ROLLOUT_SECONDS = 180


def install(cluster: Cluster) -> Path:
    """Returns the folder of the manifests that were applied."""
    folder = overlay.copy(cluster)
    kubectl.call(cluster, "apply", "-f", str(folder / "base/namespace.yaml"))
    kubectl.call(cluster, "apply", "-k", str(folder / "overlays/yours"))
    kubectl.call(cluster, "apply", "-k", str(overlay.networks(cluster, folder)))
    rolled_out(cluster)
    return folder


def rolled_out(cluster: Cluster, seconds: int = ROLLOUT_SECONDS) -> str:
    return kubectl.call(cluster, "-n", "railcni-system", "rollout", "status", "daemonset/raild", f"--timeout={seconds}s", seconds=seconds + 10)
