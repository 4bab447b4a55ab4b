"""kubectl, from the control plane's network namespace, where the API server's address is.

The kustomize of kubectl 1.20 and older (Debian's) does not know components: kustomize.py renders the folders of `-k` for it.
"""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from railcni_lab.kernel import inside, run
from railcni_lab.layout import LabError

from .layout import HERE, Cluster

KUSTOMIZE = HERE / "kustomize.py"


def environment(cluster: Cluster) -> dict[str, str]:
    return {"KUBECONFIG": str(cluster.kubeconfig("admin")), "HOME": str(cluster.folder)}


def call(cluster: Cluster, *words: str, stdin: str | None = None, seconds: float = 60) -> str:
    asked, text = rendered(cluster, list(words), stdin)
    with inside(cluster.namespace):
        return run([cluster.kubectl, *asked], stdin=text, env=environment(cluster), timeout=seconds)


def rendered(cluster: Cluster, words: list[str], stdin: str | None) -> tuple[list[str], str | None]:
    """`-k FOLDER` becomes `-f -` with the folder's objects, where kubectl cannot render it."""
    if "-k" not in words[:-1] or has_kustomize(cluster.kubectl):
        return words, stdin
    at = words.index("-k")
    return [*words[:at], "-f", "-", *words[at + 2:]], run(["/usr/bin/python3", "-B", str(KUSTOMIZE), words[at + 1]])


@cache
def has_kustomize(kubectl: str) -> bool:
    """Whether it knows components and folders under `resources`: since 1.21 (its kustomize is 4.0 then, before it was 2.0)."""
    version = json.loads(run([kubectl, "version", "--client", "-o", "json"]))["clientVersion"]
    return (int(version["major"]), int(version["minor"].rstrip("+"))) >= (1, 21)


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
    asked, text = rendered(cluster, words, None)
    command = ["ip", "netns", "exec", cluster.namespace, cluster.kubectl, *asked]
    everything = {**os.environ, **environment(cluster)}
    if text is not None:
        raise SystemExit(subprocess.run(command, input=text, text=True, env=everything, check=False).returncode)
    os.execvpe("ip", command, everything)


def install_wrapper(cluster: Cluster) -> Path:
    """A folder for PATH whose `kubectl` asks this cluster: commands of a document run as they are."""
    folder = cluster.folder / "bin"
    folder.mkdir(exist_ok=True)
    wrapper = folder / "kubectl"
    wrapper.write_text(f"#!/bin/sh\nRAILCNI_LAB={cluster.lab.prefix} exec {HERE.parent}/cluster kubectl \"$@\"\n")
    wrapper.chmod(0o755)
    return folder
