"""node.json of the cluster, as the manifests ship it: resolved for nodes, and the plain result taken by raild."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from manifests import PLACEHOLDER, binary, node_json, one, pod_of, render

PFS = {"0000:3b:00.0": "ens1f0np0", "0000:5e:00.0": "ens2f0np0", "0000:19:00.0": "ens9f0np0", "0000:9b:00.0": "ens10f0np0"}


@pytest.fixture
def devices(tmp_path: Path) -> Path:
    """A /sys in which each PF of the example has its link."""
    for pci, link in PFS.items():
        (tmp_path / "sys/bus/pci/devices" / pci / "net" / link).mkdir(parents=True)
    return tmp_path / "sys"


def resolve(tmp_path: Path, devices: Path, folder: str, node: str, ip: str) -> dict[str, Any]:
    data = one(render(folder), "ConfigMap")["data"]
    assert list(data) == ["node.json"], "one file for all nodes"
    (tmp_path / "cluster.json").write_text(node_json(folder))
    environment = {"RAILCNI_SYSFS": str(devices), "RAILCNI_ROOT": str(tmp_path / node)}
    ran = subprocess.run([binary("raild"), "--resolve-config", tmp_path / "cluster.json", "--node", node, "--node-ip", ip],
                         capture_output=True, text=True, timeout=120, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    (tmp_path / node / "etc/railcni").mkdir(parents=True)
    (tmp_path / node / "etc/railcni/node.json").write_text(ran.stdout)
    checked = subprocess.run([binary("raild"), "--check-config"], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert checked.returncode == 0, f"{folder}, {node}: {checked.stdout}{checked.stderr}"
    found: dict[str, Any] = json.loads(ran.stdout)
    assert "rules" not in found
    return found


@pytest.mark.parametrize("folder", ["base", "overlays/example-site", "overlays/api-server"])
def test_a_sample_is_refused_until_the_cluster_has_a_name(tmp_path: Path, folder: str) -> None:
    """The installer runs this on every node, so a rollout of it stops at the first."""
    (tmp_path / "cluster.json").write_text(one(render(folder), "ConfigMap")["data"]["node.json"])
    ran = subprocess.run([binary("raild"), "--resolve-config", tmp_path / "cluster.json", "--node", "gpu-1", "--node-ip", "10.0.0.1"],
                         capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode != 0
    assert f'cluster: "{PLACEHOLDER}" must be a name of your own for this cluster' in ran.stderr


@pytest.mark.parametrize("folder", ["base", "overlays/example-site"])
def test_two_nodes_differ_where_they_must_and_agree_where_they_must(tmp_path: Path, devices: Path, folder: str) -> None:
    a, b = (resolve(tmp_path, devices, folder, f"gpu-a{n}", f"10.20.1.{n}")["bgp"] for n in (1, 2))
    assert isinstance(a["asn"], int) and a["asn"] != b["asn"]
    assert a["router_id"] != b["router_id"]
    assert a["community_asn"] == b["community_asn"]


def test_the_rules_of_the_example_reach_the_nodes_that_they_name(tmp_path: Path, devices: Path) -> None:
    usual, other, odd = (resolve(tmp_path, devices, "overlays/example-site", name, ip)
                         for name, ip in (("gpu-a1", "10.20.1.1"), ("gpu-b1", "10.20.2.1"), ("gpu-a17", "10.20.1.17")))
    pfs = [[rail["pf"] for rail in node["rails"]] for node in (usual, other, odd)]
    assert pfs[0] == pfs[2] != pfs[1]
    assert odd["bgp"]["asn"] == 4200070017
    assert [rail["accept"] for rail in other["rails"]] == [["10.192.0.0/13"]] * 2, "a rule changes what it names and nothing else"


def table(tmp_path: Path, folder: str, **addresses: str) -> subprocess.CompletedProcess[str]:
    nodes = [{"kind": "Node", "metadata": {"name": name.replace("_", "-")},
              "status": {"addresses": [{"type": "InternalIP", "address": address}]}} for name, address in addresses.items()]
    (tmp_path / "nodes.json").write_text(json.dumps({"kind": "List", "items": nodes}))
    (tmp_path / "cluster.json").write_text(node_json(folder))
    return subprocess.run([binary("raild"), "--resolve-config", tmp_path / "cluster.json", "--nodes", tmp_path / "nodes.json"],
                          capture_output=True, text=True, timeout=120, check=False, env={})


@pytest.mark.parametrize("folder", ["base", "overlays/example-site"])
def test_the_table_that_install_tells_of_has_a_line_for_each_node_and_finds_collisions(tmp_path: Path, folder: str) -> None:
    good = table(tmp_path, folder, gpu_a1="10.20.1.1", gpu_a2="10.20.1.2")
    assert good.returncode == 0, good.stderr
    assert [line.split()[0] for line in good.stdout.splitlines()[:2]] == ["gpu-a1", "gpu-a2"]
    # Two nodes whose addresses end alike: one ASN for both.
    bad = table(tmp_path, folder, gpu_a1="10.20.1.1", gpu_a2="10.30.1.1")
    assert bad.returncode != 0 and "asn" in bad.stderr.lower(), f"{bad.stdout}{bad.stderr}"


def test_the_installer_is_told_the_nodes_name_and_address_and_sees_what_it_checks() -> None:
    installer = pod_of(render("base"))["initContainers"][0]
    assert {e["name"]: e["valueFrom"]["fieldRef"]["fieldPath"] for e in installer["env"]} == {
        "NODE_NAME": "spec.nodeName", "NODE_IP": "status.hostIP"}
    read_only = {m["mountPath"] for m in installer["volumeMounts"] if m.get("readOnly")}
    assert {"/config", "/run/openvswitch", "/run/frr"} <= read_only
