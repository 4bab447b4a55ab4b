"""The Dockerfile, built for real, and what comes out of it, executed."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from builder import NEEDS, Buildah, one_at_a_time

PLUGINS = ["frr-provider", "ovs-provider", "tenant-isolation"]


@pytest.fixture(scope="module")
def buildah() -> Iterator[Buildah]:
    missing = [tool for tool in NEEDS if shutil.which(tool) is None]
    assert not missing, f"missing: {' '.join(missing)}; install with deploy/deps.sh test"
    assert os.geteuid() == 0, "building images here needs root: mounts and device files of the base system"
    with one_at_a_time():
        tool = Buildah()
        try:
            tool.ensure_base()
            yield tool
        finally:
            tool.close()


@pytest.fixture(scope="module")
def node(buildah: Buildah) -> Iterator[str]:
    with buildah.container(buildah.product()) as name:
        yield name


def versions(answer: str) -> list[str]:
    return json.loads(answer)["supportedVersions"]


def test_the_daemon_and_its_client_start(buildah: Buildah, node: str) -> None:
    for program in ("raild", "railctl", "railfabric"):
        assert program in buildah.run_in(node, program, "--help")
        libraries = buildah.run_in(node, "ldd", f"/usr/bin/{program}")
        assert "not found" not in libraries, f"deploy/deps.sh image lacks a library of {program}:\n{libraries}"


def test_the_plugins_answer_version_inside_the_image(buildah: Buildah, node: str) -> None:
    for plugin in PLUGINS:
        answer = buildah.run_in(node, "sh", "-c", f"echo '{{\"cniVersion\":\"1.0.0\"}}' | CNI_COMMAND=VERSION /opt/railcni/cni/{plugin}")
        assert "1.0.0" in versions(answer)


def test_the_init_container_installs_plugins_that_run_on_the_node(buildah: Buildah, node: str, tmp_path: Path) -> None:
    buildah.run_in(node, "/opt/railcni/install-plugins.sh", options=("--volume", f"{tmp_path}:/host/opt/cni/bin"))
    assert sorted(p.name for p in tmp_path.iterdir()) == PLUGINS
    for plugin in PLUGINS:  # outside the image, with nothing of it but the file
        ran = subprocess.run([tmp_path / plugin], env={"CNI_COMMAND": "VERSION"}, input='{"cniVersion":"1.0.0"}', text=True,
                             capture_output=True, timeout=60, check=True)
        assert "1.0.0" in versions(ran.stdout)


def test_the_image_of_the_plugins_is_the_plugins(buildah: Buildah) -> None:
    with buildah.container(buildah.product("plugins")) as name:
        folder = Path(buildah("mount", name).strip())
        try:
            files = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
        finally:
            buildah("umount", name)
    assert [f for f in files if not f.startswith(("etc/", "dev/", "proc/", "sys/", "run/"))] == PLUGINS


def test_the_node_image_carries_no_tools_to_build(buildah: Buildah, node: str) -> None:
    left = buildah.run_in(node, "sh", "-c", "for t in g++ gcc cmake make git ccache python3; do command -v $t; done; ls -d /src /out /deps.sh 2>/dev/null || true")
    assert left.strip() == "", f"left in the image: {left}"
