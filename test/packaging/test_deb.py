"""The Debian package: what is in it, and what dpkg does with it on a minimal system."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from builder import ROOT, run
from debian import RECORD, Machine, build_package, installed, machine, newer, schema
from manifests import PLACEHOLDER

PLUGINS = ["frr-provider", "ovs-provider", "tenant-isolation"]
VERSION = '{"cniVersion": "1.0.0"}'


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert os.geteuid() == 0, "installing packages needs root: mounts and chroot"
    return build_package(tmp_path_factory.mktemp("deb"))


@pytest.fixture(scope="module")
def layer(package: Path) -> Iterator[Path]:
    with installed(package) as layer:
        yield layer


@pytest.fixture
def host(layer: Path) -> Iterator[Machine]:
    """A minimal system with the package on it."""
    with machine(layer) as host:
        yield host


@pytest.fixture(scope="module")
def upgrade(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return newer(package, "99.0", tmp_path_factory.mktemp("upgrade") / "railcni")


def configure(host: Machine) -> Path:
    """The example, with a name for the cluster."""
    example = (host.root / "usr/share/doc/railcni/examples/node.json").read_text()
    assert PLACEHOLDER in example
    file = host.root / "etc/railcni/node.json"
    file.write_text(example.replace(PLACEHOLDER, "gpu-east"))
    return file


def attach(host: Machine, pod: str = "a1") -> None:
    """The record of an attachment, as ovs-provider leaves it."""
    record = host.root / RECORD
    record.parent.mkdir(parents=True, exist_ok=True)
    fresh = not record.exists()
    with closing(sqlite3.connect(record)) as db:
        if fresh:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(schema())
        db.execute("INSERT INTO attachment (network, container_id, ifname, phase, rail, pod_namespace, pod_name, pod_uid, netns_path,"
                   " netns_device, netns_inode, device, representor, adopted, mac, mtu, addresses, gateways, ofport, tenant, tenant_id,"
                   " announced, created_ms) VALUES ('rail0', ?, 'net1', 'ready', 'rail0', 'tenant-a', ?, '', '/run/netns/x', 0, 0,"
                   " 'vf0', 'rep0', 0, '02:00:00:00:00:01', 1500, '', '', 1, '', '', 0, 0)", (pod, pod))
        db.commit()


def detach(host: Machine) -> None:
    with closing(sqlite3.connect(host.root / RECORD)) as db:
        db.execute("DELETE FROM attachment")
        db.commit()


def copies(host: Machine) -> list[str]:
    return sorted(p.name for p in (host.root / "opt/cni/bin").iterdir())


def test_lintian_has_nothing_to_say(package: Path) -> None:
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed here: deploy/deps.sh test")
    said = subprocess.run(["lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", str(package)], capture_output=True,
                          text=True, timeout=400, check=False)
    assert said.returncode == 0 and said.stdout == "", said.stdout + said.stderr


def test_its_files_and_their_modes(host: Machine) -> None:
    wanted = {"usr/bin/raild": 0o755, "usr/bin/railctl": 0o755, "usr/bin/railfabric": 0o755, "lib/systemd/system/raild.service": 0o644,
              "lib/systemd/system/railfabric.service": 0o644, "usr/share/doc/railcni/examples/railfabric.json": 0o644, "etc/railcni": 0o755,
              "usr/lib/railcni/install-plugins.sh": 0o755, "usr/share/doc/railcni/examples/node.json": 0o644,
              **{f"{folder}/{plugin}": 0o755 for folder in ("usr/lib/railcni/cni", "opt/cni/bin") for plugin in PLUGINS}}
    for name, mode in wanted.items():
        is_ = (host.root / name).stat()
        assert (oct(stat.S_IMODE(is_.st_mode)), is_.st_uid, is_.st_gid) == (oct(mode), 0, 0), name
    assert list((host.root / "etc/railcni").iterdir()) == [], "node.json is the administrator's"
    assert host.must("getent", "group", "railcni").startswith("railcni:")
    assert host("dpkg", "--verify", "railcni").stdout == ""
    assert (host.root / "lib/systemd/system/raild.service").read_bytes() == (ROOT / "deploy/systemd/raild.service").read_bytes()


def test_what_it_brings_runs(host: Machine) -> None:
    for program in ("raild", "railctl", "railfabric"):
        assert program in host.must(program, "--help")
    for folder in ("/usr/lib/railcni/cni", "/usr/lib/cni", "/opt/cni/bin"):
        for plugin in PLUGINS:
            assert "supportedVersions" in host.must("sh", "-c", f"echo '{VERSION}' | CNI_COMMAND=VERSION {folder}/{plugin}")


def test_its_example_is_right(host: Machine) -> None:
    configure(host)
    assert "right" in host.must("raild", "--check-config")


def test_the_fabric_is_served_where_the_administrator_says_so(host: Machine) -> None:
    assert not (host.root / "etc/systemd/system/multi-user.target.wants/railfabric.service").exists()
    example = host("railfabric", "--config", "/usr/share/doc/railcni/examples/railfabric.json", "--check-config")
    assert example.returncode == 1
    assert "railfabric.json: tls: " in example.stderr and "/etc/railcni/tls/" in example.stderr, "all but the certificates is right"


def test_the_unit_is_enabled_and_waits_for_its_configuration(host: Machine) -> None:
    assert (host.root / "etc/systemd/system/multi-user.target.wants/raild.service").is_symlink()
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze (package systemd) is not installed here")
    unit = host.root / "lib/systemd/system/raild.service"
    condition = next(line for line in unit.read_text().splitlines() if line.startswith("Condition"))
    assert condition == "ConditionPathExists=/etc/railcni/node.json"
    done = subprocess.run(["systemd-analyze", f"--root={host.root}", "verify", "--man=no", "--recursive-errors=no", "raild.service"],
                          capture_output=True, text=True, timeout=240, check=False)
    assert "raild.service" not in done.stdout + done.stderr, done.stdout + done.stderr


def test_an_upgrade_replaces_the_plugins_and_restarts_raild_once(package: Path, upgrade: Path) -> None:
    with machine() as host:
        host.has_systemd()
        host.install(package)
        assert host.told_systemd() == ["start raild.service"]
        node_json = configure(host)
        before, attached = node_json.read_bytes(), (host.root / "opt/cni/bin/ovs-provider").read_bytes()
        attach(host)
        host.install(upgrade)
        assert host.told_systemd() == ["restart raild.service"], "nothing is stopped before"
        assert node_json.read_bytes() == before
        for plugin in PLUGINS:
            assert (host.root / f"opt/cni/bin/{plugin}").read_bytes() == (host.root / f"usr/lib/railcni/cni/{plugin}").read_bytes()
        assert (host.root / "opt/cni/bin/ovs-provider").read_bytes() != attached
        assert "tenant-a/a1 net1" in host.must("raild", "--print-attachments")


def test_a_raild_that_would_not_take_the_configuration_leaves_the_running_one(package: Path, upgrade: Path) -> None:
    with machine() as host:
        host.has_systemd()
        host.install(package)
        (host.root / "etc/railcni/node.json").write_text('{"unknown": 1}')
        host.told_systemd()
        assert "mend the file" in host.install(upgrade)
        assert host.told_systemd() == []


def test_it_is_not_removed_while_attachments_live(host: Machine) -> None:
    host.has_systemd()
    attach(host)
    refused = host("dpkg", "--remove", "railcni")
    assert refused.returncode != 0
    assert "tenant-a/a1 net1 on rail0" in refused.stderr and "RAILCNI_FORCE=1" in refused.stderr
    assert host.status() == "installed" and copies(host) == PLUGINS
    assert "stop raild.service" not in host.told_systemd()
    assert "tenant-a/a1" in host.must("raild", "--print-attachments")


def test_a_record_that_cannot_be_read_counts_as_attachments(host: Machine) -> None:
    (host.root / RECORD).parent.mkdir(parents=True)
    (host.root / RECORD).write_text("this is no record, and is longer than the head of one would have to be, so it is damaged")
    refused = host("dpkg", "--remove", "railcni")
    assert refused.returncode != 0 and "cannot be read" in refused.stderr
    assert host.status() == "installed"


def test_by_force_it_is_removed_and_a_purge_keeps_the_record(host: Machine, package: Path) -> None:
    attach(host)
    host.must("dpkg", "--remove", "railcni", RAILCNI_FORCE="1")
    assert host.status() == "config-files" and copies(host) == []
    assert "stays" in host.must("dpkg", "--purge", "railcni")
    assert (host.root / RECORD).exists()
    host.install(package)
    assert "tenant-a/a1" in host.must("raild", "--print-attachments"), "what is left can be undone"


def test_removal_takes_away_what_it_brought_and_a_purge_the_record(host: Machine, package: Path) -> None:
    host.has_systemd()
    attach(host)
    detach(host)
    node_json = host.root / "etc/railcni/node.json"
    node_json.write_text("{}")
    (host.root / "opt/cni/bin/other").write_text("another's plugin")
    (host.root / "opt/cni/bin/ovs-provider").write_text("another RailCNI's")
    removed = host.must("dpkg", "--remove", "railcni")
    assert host.told_systemd() == ["stop raild.service"]
    assert copies(host) == ["other", "ovs-provider"] and "ovs-provider is not this package's" in removed
    assert not (host.root / "usr/lib/cni/ovs-provider").is_symlink() and (host.root / RECORD).exists()
    host.must("dpkg", "--purge", "railcni")
    assert host.status() == "" and not (host.root / "var/lib/railcni").exists()
    assert not (host.root / "etc/systemd/system/multi-user.target.wants/raild.service").is_symlink()
    assert node_json.read_text() == "{}"
    host.install(package)
    assert host.status() == "installed" and copies(host) == sorted(["other", *PLUGINS])


def test_a_record_written_after_the_removal_survives_the_purge(host: Machine) -> None:
    attach(host)
    detach(host)
    host.must("dpkg", "--remove", "railcni")
    os.utime(host.root / "var/lib/railcni/.no-attachments", (0, 0))  # long ago
    attach(host)
    assert "stays" in host.must("dpkg", "--purge", "railcni")
    assert (host.root / RECORD).exists()


def test_the_libraries_it_depends_on_are_those_of_the_image(package: Path) -> None:
    depends = run(["dpkg-deb", "-f", str(package), "Depends"])
    assert "libgrpc++" in depends and "libc6" in depends, "dpkg-shlibdeps has found them"
    assert "libnl" not in depends and "libsqlite" not in depends, "the plugins and their libraries are static"
