"""`raild --resolve-config` and `--check-node` as people and installers call them."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
RAILD = Path(os.environ.get("RAILCNI_BIN", ROOT / "build" / "bin")) / "raild"

FILE = {
    "rails": [{"name": "rail0", "index": 0, "pf": "0000:3b:00.0", "bridge": "br-rail0"}],
    "cluster": "c", "bgp": {"asn": {"base": 4200000000, "from": "node_ip"}, "router_id": {"from": "node_ip"}, "community_asn": 1},
    "rules": [{"where": {"node": "gpu-*7"}, "set": {"rails": [{"name": "rail0", "pf": "ens1"}]}}],
}


def raild(*arguments: object) -> subprocess.CompletedProcess[str]:
    assert RAILD.exists(), f"{RAILD} is not built: cmake --build --preset product (or set RAILCNI_BIN)"
    return subprocess.run([RAILD, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False)


def node(name: str, address: str, **labels: str) -> dict[str, Any]:
    return {"kind": "Node", "apiVersion": "v1", "metadata": {"name": name, "labels": labels, "uid": "x"},
            "status": {"addresses": [{"type": "InternalIP", "address": address}], "images": [{"names": ["a"]}]}}


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, content: Any) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
        return path


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_two_thousand_nodes_are_resolved_without_any_of_them(files: Files) -> None:
    nodes = [node(f"gpu-{i}", f"10.0.{i // 250}.{1 + i % 250}") for i in range(2000)]
    ran = raild("--resolve-config", files.put("node.json", FILE), "--nodes", files.put("nodes.json", {"kind": "List", "items": nodes}))
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.splitlines()
    assert lines[0] == "gpu-0  asn 4200000001  router_id 10.0.0.1  rail0=0000:3b:00.0"
    assert lines[7].endswith("rail0=ens1")
    assert lines[-1] == "2000 nodes, 0 wrong, 0 collisions"


def test_collisions_and_wrong_nodes_are_found(files: Files) -> None:
    nodes = [node("gpu-1", "10.0.0.1"), node("gpu-2", "10.1.0.1"), node("gpu-3", "fd00::1")]
    ran = raild("--resolve-config", files.put("node.json", FILE), "--nodes", files.put("nodes.json", {"kind": "List", "items": nodes}))
    assert ran.returncode == 1
    assert "bgp.asn: 4200000001 is that of gpu-1 and of gpu-2" in ran.stderr
    assert "for node gpu-3: bgp.asn.from: node gpu-3 has the address fd00::1" in ran.stderr
    assert ran.stdout.splitlines()[-1] == "3 nodes, 1 wrong, 1 collisions"


def test_labels_come_from_the_nodes_object_and_their_absence_has_a_status_of_its_own(files: Files) -> None:
    labelled = {**FILE, "rules": [{"where": {"label": {"rack": "r1"}}, "set": {"rails": [{"name": "rail0", "pf": "ens7"}]}}]}
    command = ("--resolve-config", files.put("node.json", labelled), "--node", "gpu-1", "--node-ip", "10.0.0.1")
    assert raild(*command).returncode == 3
    ran = raild(*command, "--node-object", files.put("node", node("gpu-1", "10.9.9.9", rack="r1")))
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["rails"][0]["pf"] == "ens7"
    assert json.loads(ran.stdout)["bgp"]["router_id"] == "10.0.0.1", "the flag's address counts"
    ran = raild(*command, "--node-object", files.put("node", node("gpu-2", "10.9.9.9", rack="r1")))
    assert ran.returncode == 1 and "is not the object of node gpu-1" in ran.stderr


def test_overrides_are_for_their_node_alone(files: Files) -> None:
    files.put("overrides/gpu-1.json", {"rails": [{"name": "rail0", "pf": "ens9"}]})
    nodes = files.put("nodes.json", {"kind": "List", "items": [node("gpu-1", "10.0.0.1"), node("gpu-11", "10.0.0.2")]})
    ran = raild("--resolve-config", files.put("node.json", FILE), "--nodes", nodes, "--overrides", files.folder / "overrides")
    assert [line.split()[-1] for line in ran.stdout.splitlines()[:2]] == ["rail0=ens9", "rail0=0000:3b:00.0"]


@pytest.mark.parametrize("arguments", [("--resolve-config", "x"), ("--node", "x"), ("--resolve-config", "x", "--node", "a", "--nodes", "b"),
                                       ("--resolve-config", "x", "--nodes", "b", "--node-ip", "10.0.0.1")])
def test_a_wrong_command_line_is_a_wrong_command_line(arguments: tuple[str, ...]) -> None:
    assert raild(*arguments).returncode == 2


def test_a_node_is_told_what_it_lacks(files: Files) -> None:
    plain = {"rails": [{"name": "rail0", "index": 0, "pf": "none0", "bridge": "br-rail0"}], "frr": {"run_dir": "/nowhere"},
             "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1}, "ovs": {"db": "unix:/nowhere/db.sock"}}
    ran = raild("--check-node", files.put("plain", plain))
    assert ran.returncode == 1
    for what in ("pf of rail0: there is no link none0", "ovs.db: there is no socket /nowhere/db.sock", "frr.run_dir: there is no socket"):
        assert what in ran.stderr
