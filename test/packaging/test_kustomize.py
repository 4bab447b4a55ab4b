"""The stand-in for kustomize renders what kustomize renders, and refuses what it does not know."""

import json
import os
import subprocess
from pathlib import Path

import manifests
import pytest
import yaml
from manifests import MANIFESTS, Object, kustomize, kustomizations, render


def in_any_order(value: object) -> object:
    """Lists that are joined by a key have no order: releases of kustomize put new members first or last."""
    if isinstance(value, dict):
        return {key: in_any_order(below) for key, below in value.items()}
    if isinstance(value, list):
        return sorted((in_any_order(below) for below in value), key=lambda found: json.dumps(found, sort_keys=True))
    return value


@pytest.mark.parametrize("folder", kustomizations())
def test_it_renders_what_kubectl_renders(folder: str) -> None:
    if not manifests.kubectl_that_renders():
        pytest.skip("no kubectl of 1.21 or newer is installed to compare with: Debian 12 has 1.20")
    ran = subprocess.run(["kubectl", "kustomize", str(MANIFESTS / folder)], capture_output=True, text=True, timeout=240, check=False,
                         env={**os.environ, "KUBECONFIG": "/dev/null"})
    assert ran.returncode == 0, ran.stderr
    assert "deprecated" not in ran.stderr
    theirs = list(yaml.safe_load_all(ran.stdout))
    assert in_any_order(render(folder)) == in_any_order(theirs)


def folder_with(at: Path, text: str, **files: str) -> Path:
    at.mkdir(parents=True, exist_ok=True)
    (at / "kustomization.yaml").write_text(text)
    for name, content in files.items():
        (at / f"{name}.yaml").write_text(content)
    return at


MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: one }\ndata: { a: x }\n"


@pytest.mark.parametrize(("text", "why"), [
    ("namePrefix: x-\n", "does not know namePrefix"),
    ("resources: [map.yaml, map.yaml]\n", "comes twice"),
    ("resources: [map.yaml]\npatches: [{ path: other.yaml }]\n", "finds nothing to change"),
    ("resources: [none.yaml]\n", "cannot be read"),
    ("components: [../plain]\n", "belongs under `components`"),
    ("configMapGenerator: [{ name: x, literals: [a=b] }]\n", "does not know literals"),
    ("configMapGenerator: [{ name: x, behavior: merge }]\n", "cannot merge"),
    ("resources: [map.yaml]\npatches: [{ patch: '[{op: remove, path: /data}]', target: { kind: ConfigMap } }]\n", "JSON patches"),
])
def test_it_refuses_what_it_does_not_know(tmp_path: Path, text: str, why: str) -> None:
    folder_with(tmp_path / "plain", "resources: []\n")
    folder = folder_with(tmp_path / "here", text, map=MAP, other=MAP.replace("one", "two"))
    with pytest.raises(kustomize.KustomizeError, match=why):
        kustomize.render(folder)


def test_a_patch_can_take_away_and_replace(tmp_path: Path) -> None:
    patch = MAP.replace("{ a: x }", "{ a: null, b: y }")
    folder = folder_with(tmp_path, "resources: [map.yaml]\npatches: [{ path: patch.yaml }]\n", map=MAP, patch=patch)
    found: list[Object] = kustomize.render(folder)
    assert found[0]["data"] == {"b": "y"}


POD = """apiVersion: v1
kind: Pod
metadata: { name: p }
spec:
  containers:
    - { name: a, image: "one:1", env: [{ name: X, valueFrom: { configMapKeyRef: { name: c, key: k } } }] }
  volumes:
    - { name: v, configMap: { name: c } }
"""


def test_names_of_generated_maps_end_in_kustomizes_own_hash_wherever_they_are_named(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "namespace: here\nresources: [pod.yaml]\nconfigMapGenerator: [{ name: c, files: [node.json] }]\n", pod=POD)
    (folder / "node.json").write_text('{"a": "<&>é"}\n')
    text = kustomize.to_yaml(kustomize.render(folder))
    assert text.count("name: c-4675g74d72\n") == 3, "what kubectl 1.32 says: object, volume, variable"


def test_an_overlay_patches_and_merges_what_its_base_has(tmp_path: Path) -> None:
    folder_with(tmp_path / "base", "resources: [map.yaml]\nconfigMapGenerator: [{ name: c, files: [a.json] }]\n", map=MAP)
    (tmp_path / "base/a.json").write_text("old")
    folder = folder_with(tmp_path / "over", "namespace: x\nresources: [../base]\npatches: [{ path: patch.yaml }]\n"
                         "configMapGenerator: [{ name: c, behavior: merge, files: [a.json] }]\n", patch=MAP.replace("a: x", "a: z"))
    (folder / "a.json").write_text("new")
    one, generated = kustomize.render(folder)
    assert one["data"] == {"a": "z"} and generated["data"] == {"a.json": "new"}
    assert {o["metadata"]["namespace"] for o in (one, generated)} == {"x"}


def test_its_command_line_prints_yaml_or_says_what_is_wrong(tmp_path: Path) -> None:
    program = [manifests.ROOT / "deploy/lab/railcni_cluster/kustomize.py"]
    good = subprocess.run([*program, MANIFESTS / "base"], capture_output=True, text=True, timeout=120, check=True)
    assert [o["kind"] for o in yaml.safe_load_all(good.stdout)][0] == "Namespace", "a namespace comes before what is in it"
    bad = subprocess.run([*program, folder_with(tmp_path, "helmCharts: []\n")], capture_output=True, text=True, timeout=120, check=False)
    assert bad.returncode == 1 and "helmCharts" in bad.stderr
