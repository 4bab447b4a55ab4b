#!/usr/bin/python3
"""Renders a kustomization as `kubectl kustomize` of 1.21 or newer does.

The kubectl of Debian 12 (1.20) takes no folders under `resources` and knows no components, so tests and the cluster of the
lab render the manifests here. Only what kustomizations of this repository use is known; anything else is an error that names
it. Where a newer kubectl is installed, test/packaging/test_kustomize.py compares the two.

usage: kustomize.py FOLDER | kubectl apply -f -
"""

from __future__ import annotations

import copy
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]

FIELDS = {"apiVersion", "kind", "metadata", "namespace", "resources", "components", "configMapGenerator", "patches", "images"}
# Kinds without a namespace. kustomize takes every kind that it does not know for one with a namespace.
CLUSTER = {"Namespace", "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "PriorityClass",
           "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "ValidatingAdmissionPolicy",
           "ValidatingAdmissionPolicyBinding"}
FIRST = ["Namespace", "CustomResourceDefinition", "ServiceAccount", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
         "ConfigMap", "Secret", "Service"]
# Lists that a strategic merge joins by a key; every other list is replaced.
MERGE_KEYS = {"containers": "name", "initContainers": "name", "volumes": "name", "env": "name", "volumeMounts": "mountPath",
              "ports": "containerPort", "imagePullSecrets": "name"}
GENERATED = "kustomize.generated"  # on a ConfigMap whose name will end in a hash; taken off at the end


class KustomizeError(Exception):
    """One sentence: what is wrong in which file."""


def render(folder: Path) -> list[Object]:
    """The objects of a kustomization, in the order in which they can be applied."""
    objects = _build(folder)
    _hash_names(objects)
    return sorted(objects, key=lambda o: FIRST.index(o["kind"]) if o["kind"] in FIRST else len(FIRST))


def to_yaml(objects: list[Object]) -> str:
    return "---\n".join(yaml.safe_dump(found, sort_keys=False, width=1000) for found in objects)


def _read(path: Path) -> list[Object]:
    try:
        return [found for found in yaml.safe_load_all(path.read_text(encoding="utf-8")) if found is not None]
    except (OSError, yaml.YAMLError) as error:
        raise KustomizeError(f"{path} cannot be read: {error}") from error


def _build(folder: Path, into: list[Object] | None = None) -> list[Object]:
    """`into`: the objects so far, which a component changes and adds to."""
    path = folder / "kustomization.yaml"
    (file,) = _read(path)
    unknown = set(file) - FIELDS
    if unknown:
        raise KustomizeError(f"{path}: this stand-in does not know {', '.join(sorted(unknown))}; render it with kubectl 1.21 or newer")
    component = file.get("kind") == "Component"
    if component != (into is not None):
        raise KustomizeError(f"{path}: a Component belongs under `components`, and nothing else does")
    objects = into if into is not None else []
    for name in file.get("resources", []):
        found = _build(folder / name) if (folder / name).is_dir() else _read(folder / name)
        for one in found:
            if any(_id(one) == _id(other) for other in objects):
                raise KustomizeError(f"{path}: {'/'.join(_id(one))} comes twice, the second time from {name}")
        objects += found
    for generator in file.get("configMapGenerator", []):
        _generate(path, objects, generator)
    for name in file.get("components", []):
        _build(folder / name, objects)
    for entry in file.get("patches", []):
        for patch in (_read(folder / entry["path"]) if "path" in entry else yaml.safe_load_all(entry["patch"])):
            _patch(path, objects, patch, entry.get("target"))
    if "namespace" in file:
        _set_namespace(objects, file["namespace"])
    for image in file.get("images", []):
        _set_image(objects, image)
    return objects


def _id(found: Object) -> tuple[str, str, str]:
    return found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"]


def _generate(path: Path, objects: list[Object], generator: Object) -> None:
    unknown = set(generator) - {"name", "namespace", "behavior", "files"}
    if unknown:
        raise KustomizeError(f"{path}: configMapGenerator: this stand-in does not know {', '.join(sorted(unknown))}")
    data = {}
    for entry in generator.get("files", []):
        key, _, name = entry.rpartition("=")
        data[key or Path(name).name] = (path.parent / name).read_text(encoding="utf-8")
    namespace = generator.get("namespace")
    before = [o for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"] == generator["name"] and GENERATED in o
              and namespace in (None, o["metadata"].get("namespace"))]
    behavior = generator.get("behavior", "create")
    if behavior == "create":
        made: Object = {"apiVersion": "v1", "data": data, "kind": "ConfigMap", "metadata": {"name": generator["name"]}, GENERATED: True}
        if namespace is not None:
            made["metadata"]["namespace"] = namespace
        objects.append(made)
    elif behavior in ("merge", "replace") and len(before) == 1:
        before[0]["data"] = data if behavior == "replace" else before[0]["data"] | data
    else:
        raise KustomizeError(f"{path}: configMapGenerator {generator['name']}: cannot {behavior}, there are {len(before)} of that name")


def _patch(path: Path, objects: list[Object], patch: Any, target: Object | None) -> None:
    if isinstance(patch, list):
        raise KustomizeError(f"{path}: this stand-in does not know JSON patches; write a strategic merge patch")
    wanted = target or {"kind": patch["kind"], "name": patch["metadata"]["name"]}
    found = [o for o in objects if o["kind"] == wanted.get("kind", o["kind"])
             and o["metadata"]["name"] == wanted.get("name", o["metadata"]["name"])]
    if not found:
        raise KustomizeError(f"{path}: the patch of {wanted} finds nothing to change")
    for one in found:
        kept = _id(one)
        _merge(one, {key: value for key, value in patch.items() if key not in ("apiVersion", "kind")})
        one["metadata"]["name"] = kept[2]
    objects[:] = [o for o in objects if o.pop("$patch", None) != "delete"]


def _merge(into: Object, patch: Object) -> None:
    for key, value in patch.items():
        if value is None:
            into.pop(key, None)
        elif isinstance(value, dict) and isinstance(into.get(key), dict):
            if value.get("$patch") == "replace":
                into[key] = {k: v for k, v in value.items() if k != "$patch"}
            else:
                _merge(into[key], value)
        elif isinstance(value, list) and isinstance(into.get(key), list) and key in MERGE_KEYS:
            _merge_list(into[key], value, MERGE_KEYS[key])
        else:
            into[key] = copy.deepcopy(value)


def _merge_list(into: list[Object], patch: list[Object], by: str) -> None:
    new = []
    for item in patch:
        same = [old for old in into if old.get(by) == item.get(by)]
        if item.get("$patch") == "delete":
            into[:] = [old for old in into if old.get(by) != item.get(by)]
        elif same:
            _merge(same[0], item)
        else:
            new.append(copy.deepcopy(item))
    into[:0] = new


def _set_namespace(objects: list[Object], namespace: str) -> None:
    accounts = {o["metadata"]["name"] for o in objects if o["kind"] == "ServiceAccount"}
    for found in objects:
        if found["kind"] == "Namespace":
            found["metadata"]["name"] = namespace
        elif found["kind"] not in CLUSTER:
            found["metadata"]["namespace"] = namespace
        for subject in found.get("subjects", []):
            if subject.get("kind") == "ServiceAccount" and subject["name"] in accounts | {"default"}:
                subject["namespace"] = namespace


def pod_spec(found: Object) -> Object | None:
    """The pod that an object makes, if it makes one."""
    spec = found.get("spec")
    if found["kind"] == "Pod":
        return spec
    if found["apiVersion"] == "batch.volcano.sh/v1alpha1":
        return spec["tasks"][0]["template"]["spec"]
    if found["kind"] in ("DaemonSet", "Deployment", "StatefulSet", "Job"):
        return spec["template"]["spec"]
    return spec["jobTemplate"]["spec"]["template"]["spec"] if found["kind"] == "CronJob" else None


def _containers(pod: Object) -> list[Object]:
    return [*pod.get("initContainers", []), *pod.get("containers", [])]


def _set_image(objects: list[Object], image: Object) -> None:
    for pod in filter(None, map(pod_spec, objects)):
        for container in _containers(pod):
            name, _, tag = container["image"].partition(":")
            if name == image["name"]:
                container["image"] = f"{image.get('newName', name)}:{image.get('newTag', tag)}".rstrip(":")


def _hash_names(objects: list[Object]) -> None:
    """A generated ConfigMap's name ends in a hash of its content, so that a change restarts the pods that mount it."""
    renamed = {}
    for found in objects:
        if found.pop(GENERATED, False):
            old = found["metadata"]["name"]
            found["metadata"]["name"] = renamed[old] = f"{old}-{_hash(found['data'])}"
    for pod in filter(None, map(pod_spec, objects)):
        references = [v["configMap"] for v in pod.get("volumes", []) if "configMap" in v]
        for volume in pod.get("volumes", []):
            references += [s["configMap"] for s in volume.get("projected", {}).get("sources", []) if "configMap" in s]
        for container in _containers(pod):
            references += [e["configMapRef"] for e in container.get("envFrom", []) if "configMapRef" in e]
            references += [e["valueFrom"]["configMapKeyRef"] for e in container.get("env", [])
                           if "configMapKeyRef" in e.get("valueFrom", {})]
        for reference in references:
            reference["name"] = renamed.get(reference["name"], reference["name"])


def _hash(data: dict[str, str]) -> str:
    # kustomize hashes the object without its name, in the form in which Go prints JSON.
    text = json.dumps({"data": data, "kind": "ConfigMap", "name": ""}, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for character, escaped in (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")):
        text = text.replace(character, escaped)
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    return digest.translate(str.maketrans("013ae", "ghkmt"))


def main(arguments: list[str]) -> int:
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: kustomize.py FOLDER", file=sys.stderr)
        return 2
    try:
        sys.stdout.write(to_yaml(render(Path(arguments[0]))))
    except KustomizeError as error:
        print(f"kustomize.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
