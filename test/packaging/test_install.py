"""The installers of the init containers: whole files or none, also while the old ones are executed."""

import json
import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


def install(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "deploy" / script, *map(str, arguments)], capture_output=True, text=True, timeout=240, check=False,
                          env={"PATH": os.environ["PATH"], **environment})


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "from"
    folder.mkdir()
    shutil.copy("/bin/sleep", folder / "ovs-provider")
    shutil.copy("/bin/true", folder / "frr-provider")
    return folder


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "to"
    folder.mkdir()
    return folder


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_plugins_are_installed_executable_and_nothing_else_is_left(source: Path, target: Path) -> None:
    ran = install("install-plugins.sh", source, target)
    assert ran.returncode == 0, ran.stderr
    assert names(target) == ["frr-provider", "ovs-provider"]
    for name in names(target):
        assert (target / name).read_bytes() == (source / name).read_bytes()
        assert stat.S_IMODE((target / name).stat().st_mode) == 0o755


def test_a_plugin_in_use_is_replaced_and_the_running_one_goes_on(source: Path, target: Path) -> None:
    shutil.copy("/bin/sleep", target / "ovs-provider")
    with pytest.raises(OSError, match="Text file busy"):  # what writing in place would meet
        with subprocess.Popen([target / "ovs-provider", "60"]) as running:
            try:
                (target / "ovs-provider").open("r+b")
            finally:
                running.kill()
    shutil.copy("/bin/true", source / "ovs-provider")
    with subprocess.Popen([target / "ovs-provider", "60"]) as running:
        try:
            ran = install("install-plugins.sh", source, target)
            assert ran.returncode == 0, ran.stderr
            assert running.poll() is None
            assert subprocess.run([target / "ovs-provider"], timeout=60, check=False).returncode == 0
        finally:
            running.kill()


def test_executions_during_installs_always_find_a_whole_plugin(source: Path, target: Path) -> None:
    versions = [Path("/bin/true").read_bytes(), Path("/bin/true").read_bytes() + b"another"]
    (source / "ovs-provider").unlink()
    for round_number in range(6):
        (source / "frr-provider").write_bytes(versions[round_number % 2])
        if round_number == 0:
            assert install("install-plugins.sh", source, target).returncode == 0
            continue
        installer = subprocess.Popen([ROOT / "deploy/install-plugins.sh", source, target], stdout=subprocess.DEVNULL)
        executed = 0
        while installer.poll() is None or executed == 0:
            subprocess.run([target / "frr-provider"], check=True, timeout=60)
            executed += 1
        assert installer.returncode == 0
        assert (target / "frr-provider").read_bytes() == versions[round_number % 2]


def test_a_second_install_touches_nothing(source: Path, target: Path) -> None:
    install("install-plugins.sh", source, target)
    before = {name: (target / name).stat().st_ino for name in names(target)}
    ran = install("install-plugins.sh", source, target)
    assert ran.returncode == 0 and "up to date" in ran.stdout
    assert {name: (target / name).stat().st_ino for name in names(target)} == before


def test_leftovers_of_a_killed_installer_are_removed_once_they_are_old(source: Path, target: Path) -> None:
    old, young = target / ".ovs-provider.railcni-AbCdEf", target / ".ovs-provider.railcni-GhIjKl"
    old.touch()
    os.utime(old, (0, 0))
    young.touch()
    install("install-plugins.sh", source, target)
    assert not old.exists() and young.exists()


def test_a_missing_target_is_said_plainly(source: Path, tmp_path: Path) -> None:
    ran = install("install-plugins.sh", source, tmp_path / "nowhere")
    assert ran.returncode != 0 and "is not a directory" in ran.stderr


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "tiny"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


def test_a_full_disk_leaves_the_old_plugin(source: Path, tiny_disk: Path) -> None:
    (tiny_disk / "ovs-provider").write_text("the old one")
    (source / "ovs-provider").write_bytes(bytes(200_000))
    (source / "frr-provider").unlink()
    ran = install("install-plugins.sh", source, tiny_disk)
    assert ran.returncode != 0 and "the old one stays" in ran.stderr
    assert (tiny_disk / "ovs-provider").read_text() == "the old one"
    assert names(tiny_disk) == ["ovs-provider"]


# --- the configuration --------------------------------------------------------------------------------------------------

BINARIES = Path(os.environ.get("RAILCNI_BIN", ROOT / "build" / "bin"))
RULES = [{"where": {"node": "gpu-b*"}, "set": {"rails": [{"name": "rail0", "pf": "ens7"}]}}]


class Node:
    """A node in a network namespace of its own: two links that can be uplinks, the sockets of Open vSwitch and bgpd."""

    def __init__(self, folder: Path, target: Path) -> None:
        self.config, self.target, self.overrides = folder / "config", target, folder / "overrides"
        self.run = folder / "run"
        for made in (self.config, self.overrides, self.run):
            made.mkdir()
        for name in ("db.sock", "bgpd.vty"):
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(str(self.run / name))

    def file(self, **changes: Any) -> dict[str, Any]:
        return {"rails": [{"name": "rail0", "index": 0, "pf": "ens1", "bridge": "br-rail0"}],
                "cluster": "c", "bgp": {"asn": {"base": 4200000000, "from": "node_ip"}, "router_id": {"from": "node_ip"}, "community_asn": 1},
                "ovs": {"db": f"unix:{self.run}/db.sock"}, "frr": {"run_dir": str(self.run)}, "rules": RULES, **changes}

    def stage(self, content: dict[str, Any], name: str = "node.json") -> None:
        (self.config / name).write_text(json.dumps(content))

    def install(self, node: str = "gpu-a1", **environment: str) -> subprocess.CompletedProcess[str]:
        links = "ip link add ens1 type veth peer name ens7 && exec \"$@\""
        return subprocess.run(["unshare", "-n", "sh", "-c", links, "-", ROOT / "deploy/install-config.sh", self.config, self.target,
                               self.overrides], capture_output=True, text=True, timeout=240, check=False,
                              env={"PATH": os.environ["PATH"], "RAILD": str(BINARIES / "raild"), "NODE_NAME": node,
                                   "NODE_IP": "10.0.3.7", "WAIT": "0", **environment})

    def installed(self) -> Any:
        return json.loads((self.target / "node.json").read_text())


@pytest.fixture
def node(tmp_path: Path, target: Path) -> Node:
    assert (BINARIES / "raild").exists(), f"{BINARIES}/raild is not built: cmake --build --preset product (or set RAILCNI_BIN)"
    return Node(tmp_path, target)


def test_a_node_gets_its_plain_file_of_the_one_for_all(node: Node) -> None:
    node.stage(node.file())
    for name, pf in (("gpu-a1", "ens1"), ("gpu-b1", "ens7")):
        ran = node.install(name)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert node.installed()["rails"][0]["pf"] == pf
        assert node.installed()["bgp"]["asn"] == 4200000000 + 3 * 256 + 7
        assert node.installed()["bgp"]["router_id"] == "10.0.3.7"
        assert "rules" not in node.installed()
    assert names(node.target) == ["node.json"]
    assert stat.S_IMODE((node.target / "node.json").stat().st_mode) == 0o644


def test_a_file_of_the_nodes_own_is_taken_as_it_is(node: Node) -> None:
    own = node.file(bgp={"asn": 7, "router_id": "10.0.0.9", "community_asn": 1})
    del own["rules"]
    node.stage(node.file())
    node.stage(own, "gpu-a1.json")
    assert node.install().returncode == 0
    assert node.installed() == own


def test_an_odd_node_has_a_rule_of_its_own(node: Node) -> None:
    node.stage(node.file())
    (node.overrides / "gpu-a1.json").write_text(json.dumps({"rails": [{"name": "rail0", "pf": "ens7", "mtu": 9000}]}))
    for name, pf in (("gpu-a1", "ens7"), ("gpu-a2", "ens1")):
        ran = node.install(name)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert node.installed()["rails"][0]["pf"] == pf
    (node.overrides / "gpu-a1.json").write_text(json.dumps({"rails": [{"name": "rail0", "mtu": 1}]}))
    ran = node.install()
    assert ran.returncode != 0 and "mtu: must be a whole number" in ran.stderr


def test_a_second_installation_replaces_nothing(node: Node) -> None:
    node.stage(node.file())
    node.install()
    before = (node.target / "node.json").stat().st_ino
    ran = node.install()
    assert ran.returncode == 0 and "up to date" in ran.stdout
    assert (node.target / "node.json").stat().st_ino == before


@pytest.mark.parametrize(("change", "why"), [
    ({"rails": [{"name": "rail0", "index": 0, "pf": "ens9", "bridge": "br-rail0"}]}, "there is no link ens9 on this node"),
    ({"rails": [{"name": "rail0", "index": 0, "pf": "lo", "bridge": "br-rail0"}]}, "lo is no NIC"),
    ({"rails": [{"name": "rail0", "index": 0, "pf": "0000:ff:1f.7", "bridge": "br-rail0"}]}, "this node has no such device"),
    ({"rails": [{"name": "rail0", "index": 0, "bridge": "br-rail0"}]}, "rails[0].pf: is missing (no rule matches this node)"),
    ({"bgp": {"asn": 7, "router_id": {"from": "node_ip"}, "community_asn": 1}}, "bgp.asn: 7 would be that of every node"),
    ({"frr": {"run_dir": "/nowhere"}}, "frr.run_dir: there is no socket /nowhere/bgpd.vty"),
    ({"rules": [{"where": {"label": {"rack": "r1"}}, "set": {}}]}, "this pod has no token"),
    ({"rulez": []}, "rulez: unknown key"),
])
def test_a_wrong_configuration_never_replaces_the_old_one(node: Node, change: dict[str, Any], why: str) -> None:
    (node.target / "node.json").write_text("the old one")
    node.stage(node.file(**change))
    ran = node.install()
    assert ran.returncode != 0
    assert why in ran.stderr and "stays as it was" in ran.stderr, ran.stdout + ran.stderr
    assert (node.target / "node.json").read_text() == "the old one"
    assert names(node.target) == ["node.json"]


def test_a_nic_that_has_gone_does_not_keep_raild_from_the_other_rails(node: Node) -> None:
    node.stage(node.file())
    assert node.install().returncode == 0
    (node.run / "bgpd.vty").unlink()
    ran = node.install()
    assert ran.returncode == 0, ran.stderr
    assert "it is installed already, and this node lacks:" in ran.stdout and "bgpd.vty" in ran.stdout


def test_a_node_that_boots_is_given_time(node: Node, tmp_path: Path) -> None:
    """The check stands for one that a node passes on its third look."""
    node.stage(node.file())
    late = tmp_path / "late"
    late.write_text(f'#!/bin/sh\n[ "$1" != --check-node ] || {{ echo x >>{tmp_path}/looks; [ "$(wc -l <{tmp_path}/looks)" -ge 3 ] || '
                    f"{{ echo not yet there >&2; exit 1; }}; }}\nexec {BINARIES}/raild \"$@\"\n")
    late.chmod(0o755)
    ran = node.install(RAILD=str(late), WAIT="20")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert node.installed() and (tmp_path / "looks").read_text().count("x") == 3
