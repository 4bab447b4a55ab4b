"""deploy/remove.sh: the plugins go after the node is given back, and only those that are RailCNI's."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """What the image holds: the names of the plugins."""
    folder = tmp_path / "image"
    folder.mkdir()
    for name in ("ovs-provider", "tenant-isolation", "frr-provider"):
        (folder / name).write_text(f"{name} RAILCNI_ROOT new")
    return folder


@pytest.fixture
def node(tmp_path: Path, image: Path) -> Path:
    """/opt/cni/bin of a node with an older version, a plugin of somebody else's that has one of our names, and others."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ovs-provider").write_bytes(b"\x7fELF\0 an older RAILCNI_ROOT\0")
    (folder / "frr-provider").write_bytes(b"\x7fELF\0 somebody else's\0")
    (folder / "bridge").write_text("of containernetworking RAILCNI_ROOT")
    (folder / ".ovs-provider.railcni-AbCdEf").touch()
    return folder


def remove(image: Path, node: Path, status: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    raild = node.parent / "raild"
    raild.write_text(f'#!/bin/sh\necho "raild $*"\nexit {status}\n')
    raild.chmod(0o755)
    return subprocess.run([ROOT / "deploy/remove.sh", image, node], capture_output=True, text=True, timeout=240, check=False,
                          env={"PATH": os.environ["PATH"], "RAILD": str(raild), **environment})


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_our_plugins_go_whatever_their_version_and_nobody_elses(image: Path, node: Path) -> None:
    ran = remove(image, node)
    assert ran.returncode == 0, ran.stderr
    assert "raild --remove\n" in ran.stdout
    assert names(node) == ["bridge", "frr-provider"]
    assert "frr-provider stays: it is not RailCNI's" in ran.stdout
    again = remove(image, node)
    assert again.returncode == 0 and names(node) == ["bridge", "frr-provider"]


@pytest.mark.parametrize("status", [1, 3])
def test_the_plugins_stay_while_the_node_is_not_given_back(image: Path, node: Path, status: int) -> None:
    before = names(node)
    ran = remove(image, node, status)
    assert ran.returncode == status and "the plugins stay" in ran.stdout
    assert names(node) == before


def test_force_is_handed_on(image: Path, node: Path) -> None:
    assert "raild --remove --force\n" in remove(image, node, RAILCNI_FORCE="1").stdout


def test_our_plugins_are_known_by_what_they_hold() -> None:
    binaries = Path(os.environ.get("RAILCNI_BIN", ROOT / "build" / "bin"))
    for name in ("ovs-provider", "tenant-isolation", "frr-provider"):
        assert b"RAILCNI_ROOT" in (binaries / name).read_bytes(), name
