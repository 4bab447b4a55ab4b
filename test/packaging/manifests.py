"""The manifests, rendered: what the tests of this folder share."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "deploy/lab"))
from railcni_cluster import kustomize  # noqa: E402

MANIFESTS = ROOT / "manifests"
BINARIES = Path(os.environ.get("RAILCNI_BIN", ROOT / "build" / "bin"))
RESOURCE_NAME = "k8s.v1.cni.cncf.io/resourceName"
NETWORKS = "k8s.v1.cni.cncf.io/networks"

Object = dict[str, Any]


PLACEHOLDER = "NAME-THIS-CLUSTER"  # two clusters that are made from the samples are not one by mistake


def kustomizations() -> list[str]:
    """Folders that can be applied: not the components, which are nothing alone."""
    return sorted(str(p.parent.relative_to(MANIFESTS)) for p in MANIFESTS.rglob("kustomization.yaml")
                  if "kind: Component" not in p.read_text())


@lru_cache
def _rendered(folder: str) -> str:
    return json.dumps(kustomize.render(MANIFESTS / folder))


def render(folder: str) -> list[Object]:
    found: list[Object] = json.loads(_rendered(folder))
    return found


def every_object() -> list[tuple[str, Object]]:
    return [(folder, found) for folder in kustomizations() for found in render(folder)]


def one(objects: list[Object], kind: str) -> Object:
    found = [o for o in objects if o["kind"] == kind]
    assert len(found) == 1, f"{len(found)} objects of kind {kind}"
    return found[0]


def node_json(folder: str) -> str:
    """Of all nodes, with a name for the cluster, as its administrator gives it one."""
    text: str = one(render(folder), "ConfigMap")["data"]["node.json"]
    assert text.count(PLACEHOLDER) == 1, "a sample names no cluster"
    return text.replace(PLACEHOLDER, "gpu-east")


def pod_of(objects: list[Object]) -> Object:
    """The pod of raild."""
    pod: Object = one(objects, "DaemonSet")["spec"]["template"]["spec"]
    return pod


def containers(pod: Object) -> list[Object]:
    return [*pod.get("initContainers", []), *pod["containers"]]


def binary(name: str) -> Path:
    assert (BINARIES / name).exists(), f"{BINARIES / name} is not built: cmake --build --preset product (or set RAILCNI_BIN)"
    return BINARIES / name


def kubectl_that_renders() -> bool:
    """Whether a kubectl of 1.21 or newer is installed: the older ones have a kustomize that takes no folders as resources."""
    if shutil.which("kubectl") is None:
        return False
    said = subprocess.run(["kubectl", "version", "--client", "-o", "json"], capture_output=True, text=True, timeout=120, check=False)
    version = re.search(r'"gitVersion": "v1\.(\d+)', said.stdout)
    return version is not None and int(version[1]) >= 21
