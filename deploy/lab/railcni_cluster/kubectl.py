"""kubectl, from the control plane's network namespace, where the API server's address is."""

from __future__ import annotations

import json
import os
from typing import Any

from railcni_lab.kernel import inside, run
from railcni_lab.layout import LabError

from .layout import Cluster


def environment(cluster: Cluster) -> dict[str, str]:
    return {"KUBECONFIG": str(cluster.kubeconfig("admin")), "HOME": str(cluster.folder)}


def call(cluster: Cluster, *words: str, stdin: str | None = None, seconds: float = 60) -> str:
    with inside(cluster.namespace):
        return run([cluster.kubectl, *words], stdin=stdin, env=environment(cluster), timeout=seconds)


def try_run(cluster: Cluster, *words: str, seconds: float = 10) -> str | None:
    """None: it failed."""
    try:
        return call(cluster, *words, seconds=seconds)
    except LabError:
        return None


def get(cluster: Cluster, *words: str) -> dict[str, Any]:
    return json.loads(call(cluster, "get", *words, "-o", "json"))


def items(cluster: Cluster, *words: str) -> list[dict[str, Any]]:
    return get(cluster, *words)["items"]


def apply(cluster: Cluster, *objects: dict[str, Any]) -> None:
    call(cluster, "apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))


def become(cluster: Cluster, words: list[str]) -> None:
    """Does not return."""
    os.execvpe("ip", ["ip", "netns", "exec", cluster.namespace, cluster.kubectl, *words], {**os.environ, **environment(cluster)})
