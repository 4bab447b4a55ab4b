"""The installers of the init containers: whole files or none, also while the old ones are executed."""

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def install(script: str, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / "deploy" / script, *map(str, arguments)], capture_output=True, text=True, timeout=60, check=False,
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
            assert subprocess.run([target / "ovs-provider"], timeout=10, check=False).returncode == 0
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
            subprocess.run([target / "frr-provider"], check=True, timeout=10)
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


@pytest.fixture
def raild(tmp_path: Path) -> str:
    """Stands for raild --check-config: takes every node.json that has the word rails in it."""
    script = tmp_path / "raild"
    script.write_text('#!/bin/sh\n[ "$1" = --check-config ] && grep -q rails "$RAILCNI_ROOT/etc/railcni/node.json"\n')
    script.chmod(0o755)
    return str(script)


@pytest.fixture
def staged(tmp_path: Path) -> Path:
    config = tmp_path / "config"
    config.mkdir()
    (config / "node.json").write_text('{"rails": "for all"}')
    (config / "node-a.json").write_text('{"rails": "for a"}')
    return config


def test_a_node_takes_its_own_configuration_or_the_common_one(staged: Path, target: Path, raild: str) -> None:
    for node, expected in (("node-a", "for a"), ("node-z", "for all")):
        ran = install("install-config.sh", staged, target, NODE_NAME=node, RAILD=raild)
        assert ran.returncode == 0, ran.stderr
        assert expected in (target / "node.json").read_text()
    assert names(target) == ["node.json"]
    assert stat.S_IMODE((target / "node.json").stat().st_mode) == 0o644


def test_a_wrong_configuration_never_replaces_the_old_one(staged: Path, target: Path, raild: str) -> None:
    (target / "node.json").write_text("the old one")
    (staged / "node.json").write_text("{}")
    ran = install("install-config.sh", staged, target, NODE_NAME="node-z", RAILD=raild)
    assert ran.returncode != 0 and "stays as it was" in ran.stderr
    assert (target / "node.json").read_text() == "the old one"
