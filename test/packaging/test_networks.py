"""The generated manifests: what the generator makes, and taken by the plugins that will read them."""

import json
import os
import shutil
import subprocess
import tempfile
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml
from manifests import MANIFESTS, NETWORKS, RESOURCE_NAME, Object, binary, kustomizations, one, render

GENERATE = [MANIFESTS / "generate.py"]
OURS = ("ovs-provider", "tenant-isolation", "frr-provider")
FOLDERS = [f for f in kustomizations() if f.startswith("networks/") and not f.endswith("cidr-pools")]
INLINE = [f for f in FOLDERS if not f.endswith("host-local")]
SIZES = ("2-rails", "4-rails", "8-rails")


def generate(*words: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*GENERATE, *words], capture_output=True, text=True, timeout=240, check=False)


def site(change: Object | None = None) -> Object:
    found: Object = json.loads((MANIFESTS / "site.json").read_text())
    return found | (change or {})


# --- the generator ------------------------------------------------------------------------------------------------------


def test_the_committed_files_are_what_the_generator_makes() -> None:
    ran = generate("--check")
    assert ran.returncode == 0, ran.stderr


def test_it_finds_files_that_were_changed_forgotten_or_left_over(tmp_path: Path) -> None:
    shutil.copytree(MANIFESTS, tmp_path, dirs_exist_ok=True)
    (tmp_path / "networks/2-rails/nv-ipam/networks.yaml").write_text("changed\n")
    (tmp_path / "examples/pod/pod.yaml").unlink()
    (tmp_path / "devices/more.yaml").write_text("left\n")
    ran = generate("--check", "--to", tmp_path)
    assert ran.returncode == 1
    for name in ("networks/2-rails/nv-ipam/networks.yaml", "examples/pod/pod.yaml", "devices/more.yaml"):
        assert f"{tmp_path / name} is not what" in ran.stderr
    assert ran.stderr.count("is not what") == 3


def test_a_site_of_ones_own_goes_to_a_folder_of_ones_own_and_nothing_else_there_is_touched(tmp_path: Path) -> None:
    own, to = tmp_path / "mine.json", tmp_path / "to"
    assert generate("--to", to).returncode == 0
    (to / "examples/pod/mine.yaml").write_text("mine\n")
    for pf in ("10002:01:00.0", "0000:3b:00.0"):  # a domain may have more than four digits
        rail = {"name": "east", "pf": pf, "bridge": "br-east", "subnet": "100.64.0.0/18"}
        own.write_text(json.dumps(site({"rails": [rail], "sizes": [1], "ipam": ["whereabouts"]})))
        assert generate("--site", own, "--to", to).returncode == 0
        assert pf in (to / "devices/1-rails/device-plugin/config.yaml").read_text()
    found = {str(p.relative_to(to)) for p in to.rglob("*") if p.is_file()}
    assert {f.split("/")[1] for f in found if f.startswith("networks/")} == {"1-rails"}
    assert "examples/pod/mine.yaml" in found and "examples/pod-8-rails/pod.yaml" not in found
    assert "rootDevices" in (to / "devices/1-rails/device-plugin/config.yaml").read_text(), "a PCI address is found as one"


@pytest.mark.parametrize(("change", "why"), [
    ({"rial": 1}, "rial: unknown key"),
    ({"mtu": "4200"}, "mtu: must be a whole number from 1280 to 9600"),
    ({"sizes": [9]}, "sizes: 9 must be a whole number from 1 to 8"),
    ({"ipam": ["dhcp"]}, "ipam: 'dhcp' must be one of"),
    ({"node_prefix": 16}, "node_prefix: /16 is no part of rails[0].subnet"),
    ({"rails": [{"name": "a", "pf": "x", "bridge": "b", "subnet": "10.0.0.1/16"}], "sizes": [1]}, "rails[0].subnet: must be"),
    ({"rails": [{"name": "a", "pf": "x", "bridge": "b", "subnet": "10.0.0.0/16"}] * 2, "sizes": [1]}, "rails[1].name: a is another rail's"),
    ({"rails": [{"name": "A", "pf": "x", "bridge": "b", "subnet": "10.0.0.0/16", "x": 1}], "sizes": [1]}, "rails[0].x: unknown key"),
    ({"nv_ipam": {}}, "nv_ipam.namespace: is required"),
    ({"rails": [{"name": "a", "rail": 3, "pf": "x", "bridge": "b", "subnet": "10.0.0.0/16"}], "sizes": [1]},
     "rails[0].plane: is required"),
    ({"rails": [{"name": n, "rail": 3, "plane": 1, "pf": n, "bridge": f"br-{n}", "subnet": f"10.{i}.0.0/16"} for i, n in enumerate("ab")],
      "sizes": [1]}, "rails[1]: plane 1 of rail 3 is another rail's, too"),
])
def test_a_wrong_site_is_refused_with_the_key_and_nothing_is_written(tmp_path: Path, change: Object, why: str) -> None:
    own = tmp_path / "site.json"
    own.write_text(json.dumps(site(change)))
    ran = generate("--site", own, "--to", tmp_path / "to")
    assert ran.returncode == 1 and why in ran.stderr, ran.stderr
    assert not (tmp_path / "to").exists()


def test_pools_are_in_the_namespace_of_the_sites_nv_ipam(tmp_path: Path) -> None:
    own = tmp_path / "site.json"
    own.write_text(json.dumps(site({"nv_ipam": {"namespace": "kube-system"}})))
    ran = generate("--site", own, "--to", tmp_path / "to")
    assert ran.returncode == 0, ran.stderr
    pools = [pool for file in (tmp_path / "to").rglob("*.yaml") for pool in yaml.safe_load_all(file.read_text())
             if pool and pool["kind"] == "CIDRPool"]
    assert pools and {pool["metadata"]["namespace"] for pool in pools} == {"kube-system"}


def test_a_key_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    own = tmp_path / "site.json"
    own.write_text((MANIFESTS / "site.json").read_text().replace('"mtu": 4200,', '"mtu": 4200, "mtu": 1500,'))
    ran = generate("--check", "--site", own)
    assert ran.returncode == 1 and "mtu: is there twice" in ran.stderr


# --- the chains, read by the plugins ------------------------------------------------------------------------------------


def host_local(folder: Path, node: int) -> list[Object]:
    ran = generate("--host-local", str(node), "--to", folder)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(p.read_text()) for p in sorted(folder.glob("*.conflist"))]


def chains(tmp_path: Path) -> list[Object]:
    inline = [json.loads(d["spec"]["config"]) for folder in INLINE for d in render(folder)]
    return inline + host_local(tmp_path / "host-local", 0)


def for_plugin(plugin: Object, chain: Object) -> str:
    """What libcni sends: the plugin's own keys, and name and version of the list. It sends `capabilities`, too."""
    return json.dumps({**plugin, "name": chain["name"], "cniVersion": chain["cniVersion"]})


def check_config(plugin: Object, chain: Object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binary(plugin["type"]), "--check-config"], input=for_plugin(plugin, chain), capture_output=True, text=True,
                          timeout=120, check=False, env={})


def test_our_plugins_stand_in_order_and_accept_their_configuration(tmp_path: Path) -> None:
    found = chains(tmp_path)
    assert len(found) == (2 + 4 + 8) * 3 + 8
    accepted: dict[str, int] = {}
    for chain in found:
        assert tuple(p["type"] for p in chain["plugins"])[-3:] == OURS
        assert chain["cniVersion"] == "1.0.0"
        for plugin in chain["plugins"][-3:]:
            text = for_plugin(plugin, chain)
            if text not in accepted:
                ran = check_config(plugin, chain)
                assert ran.returncode == 0, f"{text}: {ran.stdout}{ran.stderr}"
            accepted[text] = accepted.get(text, 0) + 1


@pytest.mark.parametrize("kind", ["nv-ipam", "whereabouts", "host-local", "ovs-cni"])
def test_libcni_itself_reads_the_chains_and_finds_plugins_that_speak_their_version(tmp_path: Path, kind: str) -> None:
    """By podman, which loads its networks with the library that Multus has, too, and asks each plugin for VERSION. What it cannot
    take is missing in its list, and it says why."""
    assert shutil.which("podman"), "podman is missing: deploy/deps.sh test"
    folder, plugins = tmp_path / "net.d", tmp_path / "bin"
    for new in (folder, plugins):
        new.mkdir()
    for name in OURS:
        (plugins / name).symlink_to(binary(name))
    (plugins / "ovs").symlink_to("/usr/lib/cni/host-local")  # stands in for ovs-cni, which Debian does not have
    if kind == "host-local":
        host_local(folder, 0)
    else:
        for found in render(f"networks/8-rails/{kind}"):
            (folder / f"{found['metadata']['name']}.conflist").write_text(found["spec"]["config"])
    (folder / "broken.conflist").write_text('{"cniVersion": "1.0.0", "name": "broken", "plugins": [{"rail": "rail0"}]}')
    (tmp_path / "containers.conf").write_text(f'[network]\nnetwork_backend = "cni"\nnetwork_config_dir = "{folder}"\n'
                                              f'cni_plugin_dirs = ["{plugins}"]\n')
    with tempfile.TemporaryDirectory(prefix="rc", dir="/tmp") as run:  # podman's runroot has 50 characters at most
        ran = subprocess.run(["podman", "--root", tmp_path / "store", "--runroot", run, "--storage-driver", "vfs", "network", "ls"],
                             env={**os.environ, "CONTAINERS_CONF": str(tmp_path / "containers.conf")}, capture_output=True, text=True,
                             timeout=240, check=False)
    listed = {words[1] for line in ran.stdout.splitlines()[1:] if len(words := line.split()) > 1}
    assert listed - {"podman"} == {f"rail{i}" for i in range(8)}, ran.stderr
    assert "broken.conflist" in ran.stderr, "podman was not asked what it takes"


def test_an_add_of_each_chain_passes_the_reading_of_its_configuration(tmp_path: Path) -> None:
    """Without a node.json ADD ends there and names it: the configuration itself was taken."""
    for chain in chains(tmp_path):
        first = chain["plugins"][-3]
        environment = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "c1", "CNI_NETNS": "/run/netns/none", "CNI_IFNAME": "net1",
                       "CNI_PATH": "/none", "CNI_ARGS": "K8S_POD_NAMESPACE=a;K8S_POD_NAME=b", "RAILCNI_ROOT": str(tmp_path / "nothing")}
        ran = subprocess.run([binary(first["type"])], env=environment, capture_output=True, text=True, timeout=120, check=False,
                             input=for_plugin({**first, "deviceID": "0000:3b:00.2"}, chain))
        assert ran.returncode != 0
        assert json.loads(ran.stdout)["code"] == 11 and "node.json cannot be used" in ran.stdout, ran.stdout


@pytest.mark.parametrize(("name", "broken"), [("ovs-provider", {"rail": 7}), ("tenant-isolation", {}), ("frr-provider", {"wait_ms": "soon"})])
def test_the_plugins_refuse_it_when_it_is_broken(name: str, broken: Object) -> None:
    chain = json.loads(render("networks/2-rails/nv-ipam")[0]["spec"]["config"])
    plugin = next(p for p in chain["plugins"] if p["type"] == name)
    ran = check_config({**plugin, **broken}, chain if broken else {**chain, "name": "not a name"})
    assert ran.returncode != 0
    assert json.loads(ran.stdout)["code"]


def test_multus_is_asked_for_the_device_info_file_and_for_nothing_that_a_pod_may_choose(tmp_path: Path) -> None:
    for chain in chains(tmp_path):
        declared = {p["type"]: p.get("capabilities", {}) for p in chain["plugins"]}
        assert declared.pop("ovs-provider") == {"CNIDeviceInfoFile": True}
        assert not any(declared.values())


def test_one_plugin_of_a_chain_gives_the_address(tmp_path: Path) -> None:
    for chain in chains(tmp_path):
        owners = [p["type"] for p in chain["plugins"] if "ipam" in p]
        assert owners == (["ovs"] if chain["plugins"][0]["type"] == "ovs" else ["ovs-provider"])
        kind = next(p["ipam"]["type"] for p in chain["plugins"] if "ipam" in p)
        assert chain.get("disableCheck", False) == (kind == "whereabouts"), "whereabouts answers CHECK with an error"


def test_host_locals_ranges_differ_between_nodes_and_the_definitions_leave_them_to_the_nodes(tmp_path: Path) -> None:
    for size in SIZES:
        assert not [d for d in render(f"networks/{size}/host-local") if "spec" in d], "Multus would not look on the node"
    ranges = [ip_network(chain["plugins"][0]["ipam"]["ranges"][0][0]["subnet"]) for node in (0, 1, 1023)
              for chain in host_local(tmp_path / str(node), node)]
    assert len(ranges) == 24
    assert not [(a, b) for i, a in enumerate(ranges) for b in ranges[:i] if a.overlaps(b)]
    ran = generate("--host-local", "1024", "--to", tmp_path / "beyond")
    assert ran.returncode == 1 and "has no block 1024" in ran.stderr


# --- they agree ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
def test_networks_pools_devices_examples_and_nodes_name_the_same_rails(size: str) -> None:
    rails = json.loads((MANIFESTS / f"networks/{size}/node-rails.json").read_text())["rails"]
    names, resources = [r["name"] for r in rails], [f"nvidia.com/{r['name']}" for r in rails]
    assert len(rails) == int(size.split("-")[0])
    for folder in (f for f in FOLDERS if f.startswith(f"networks/{size}/")):
        assert [d["metadata"]["name"] for d in render(folder)] == names
        assert [d["metadata"]["annotations"][RESOURCE_NAME] for d in render(folder)] == resources
    for folder in (f for f in INLINE if f.startswith(f"networks/{size}/")):
        ours = [json.loads(d["spec"]["config"])["plugins"][-3] for d in render(folder)]
        assert [p["rail"] for p in ours] == names
    bridges = [json.loads(d["spec"]["config"])["plugins"][0]["bridge"] for d in render(f"networks/{size}/ovs-cni")]
    assert bridges == [r["bridge"] for r in rails]
    pools = [p["metadata"]["name"] for p in render(f"networks/{size}/cidr-pools")]
    assert pools == [json.loads(d["spec"]["config"])["plugins"][0]["ipam"]["poolName"] for d in render(f"networks/{size}/nv-ipam")]
    listed = json.loads(one(render(f"devices/{size}/device-plugin"), "ConfigMap")["data"]["config.json"])["resourceList"]
    assert [f"{r['resourcePrefix']}/{r['resourceName']}" for r in listed] == resources
    assert [r["selectors"][0]["pfNames"] for r in listed] == [[r["pf"]] for r in rails]
    policies = render(f"devices/{size}/sriov-network-operator")
    assert [p["spec"]["resourceName"] for p in policies] == names
    assert [p["spec"]["nicSelector"]["pfNames"] for p in policies] == [[r["pf"]] for r in rails]
    for kind in ("pod", "job"):
        suffix = "" if size == "2-rails" else f"-{size}"
        for pod in pods(render(f"examples/{kind}{suffix}")):
            asked = pod["metadata"]["annotations"][NETWORKS].split(",")
            assert asked == [f"default/{name}" for name in names]
            limits = pod["spec"]["containers"][0]["resources"]["limits"]
            assert [r for r in limits if r.startswith("nvidia.com/rail")] == resources


def pods(objects: list[Object]) -> list[Object]:
    return [o if o["kind"] == "Pod" else o["spec"]["template"] for o in objects if o["kind"] in ("Pod", "Job")]


@pytest.mark.parametrize("size", SIZES)
def test_raild_takes_the_rails_and_learns_no_address_outside_of_their_subnets(tmp_path: Path, size: str) -> None:
    rails = json.loads((MANIFESTS / f"networks/{size}/node-rails.json").read_text())["rails"]
    config = {"rails": rails, "cluster": "c", "bgp": {"asn": 4200000001, "router_id": "10.0.0.1", "community_asn": 4200000000}}
    (tmp_path / "etc/railcni").mkdir(parents=True)
    (tmp_path / "etc/railcni/node.json").write_text(json.dumps(config))
    ran = subprocess.run([binary("raild"), "--check-config"], env={"RAILCNI_ROOT": str(tmp_path)}, capture_output=True, text=True, timeout=120,
                         check=False)
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}"
    for rail, pool in zip(rails, render(f"networks/{size}/cidr-pools"), strict=True):
        assert any(ip_network(pool["spec"]["cidr"]).subnet_of(ip_network(net)) for net in rail["accept"])


def test_planes_of_a_rail_are_networks_of_their_own(tmp_path: Path) -> None:
    """site-planes.json: rail3p0 and rail3p1 are two networks, two resources and two rails of node.json, which says what they have in common."""
    ran = generate("--site", MANIFESTS / "site-planes.json", "--to", tmp_path)
    assert ran.returncode == 0, ran.stderr
    rails = json.loads((tmp_path / "networks/8-rails/node-rails.json").read_text())["rails"]
    assert [(r["name"], r["index"], r["rail"], r["plane"]) for r in rails] == \
        [(f"rail{n}p{p}", 2 * n + p, n, p) for n in range(4) for p in range(2)]
    assert len({r["pf"] for r in rails}) == len({r["bridge"] for r in rails}) == 8
    networks = list(yaml.safe_load_all((tmp_path / "networks/8-rails/nv-ipam/networks.yaml").read_text()))
    assert [n["metadata"]["annotations"][RESOURCE_NAME] for n in networks] == [f"nvidia.com/{r['name']}" for r in rails]
    pod = yaml.safe_load((tmp_path / "examples/pod-8-rails/pod.yaml").read_text())
    assert "default/rail3p0,default/rail3p1" in pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"]
    (tmp_path / "etc/railcni").mkdir(parents=True)
    config = {"rails": rails, "cluster": "c", "bgp": {"asn": 4200000001, "router_id": "10.0.0.1", "community_asn": 4200000000}}
    (tmp_path / "etc/railcni/node.json").write_text(json.dumps(config))
    taken = subprocess.run([binary("raild"), "--check-config"], env={"RAILCNI_ROOT": str(tmp_path)}, capture_output=True, text=True, timeout=120,
                           check=False)
    assert taken.returncode == 0, f"{taken.stdout}{taken.stderr}"


def test_the_shell_of_the_job_names_the_pods_own_rdma_devices(tmp_path: Path) -> None:
    job = next(o for o in render("examples/job") if o["kind"] == "Job")
    command = job["spec"]["template"]["spec"]["containers"][0]["command"]
    for pci, hca in (("0000:3b:00.2", "mlx5_7"), ("10002:5e:00.3", "mlx5_9")):
        (tmp_path / pci / "infiniband" / hca).mkdir(parents=True)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/torchrun").write_text('#!/bin/sh\necho "$NCCL_IB_HCA $*"\n')
    (tmp_path / "bin/torchrun").chmod(0o755)
    text = command[2].replace("/sys/bus/pci/devices", str(tmp_path))
    environment = {"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "PCIDEVICE_NVIDIA_COM_RAIL0": "0000:3b:00.2",
                   "PCIDEVICE_NVIDIA_COM_RAIL0_INFO": '{"0000:3b:00.2": {}}', "PCIDEVICE_NVIDIA_COM_RAIL1": "10002:5e:00.3"}
    ran = subprocess.run([*command[:2], text], env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    devices, *rest = ran.stdout.split()
    assert sorted(devices.removeprefix("=").split(",")) == ["mlx5_7", "mlx5_9"]
    assert "--nnodes=2" in rest and "--node-rank=0" in rest and "--master-addr=trainer-0.trainer" in rest
