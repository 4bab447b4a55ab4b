"""The commands of a document, run word for word: indented lines and blocks of `sh` below a heading."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from kube import Kube
from railcni_cluster import images, kubectl, overlay
from railcni_lab.layout import REPOSITORY

SECONDS = 180


def commands(document: Path, heading: str) -> list[str]:
    """What a reader would type; comments at the end of a line are none of it. In a document that marks the blocks for tests
    (```sh test) these alone count."""
    section = re.search(rf"^#+ {re.escape(heading)}$\n(.*?)(?=^#+ |\Z)", document.read_text(), re.M | re.S)
    assert section, f"{document} has no section '{heading}'"
    found = blocks(section[1], "```sh test" in document.read_text())
    assert found, f"section '{heading}' of {document} has no commands"
    return found


def blocks(text: str, marked: bool) -> list[str]:
    found: list[str] = []
    fence: str | None = None
    for line in text.splitlines():
        if line.startswith("```"):
            fence = None if fence is not None else line.strip()
            continue
        command = re.sub(r"\s+#\s.*$", "", line).rstrip()
        if not command or command.lstrip().startswith("#"):
            continue
        if fence is not None and (fence == "```sh test" if marked else fence in ("```", "```sh", "```bash")):
            # A loop or a continued line is one command.
            if found and (found[-1].endswith("\\") or re.match(r"(for|while|if) ", found[-1]) and not re.search(r"\n(done|fi)$", found[-1])):
                found[-1] = f"{found[-1]}\n{command}"
            else:
                found.append(command)
        elif fence is None and not marked and command.startswith("    "):
            found.append(command.strip())
    return found


def run(kube: Kube, command: str, folder: Path) -> str:
    """As the cluster's admin."""
    own = {**os.environ, "PATH": f"{kubectl.install_wrapper(kube.cluster)}:{os.environ['PATH']}", "RAILCNI_LAB": kube.lab.prefix}
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=own,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"`{command}`: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


def build(kube: Kube, command: str) -> None:
    """`docker build -t NAME ..`: by the same Dockerfile, and straight into the nodes, as there is no registry."""
    name = re.search(r"-t (\S+)", command)
    assert name, f"no name in `{command}`"
    images.load(kube.cluster.nodes(), images.product(f"docker.io/library/{name[1]}"))


def manifests(kube: Kube) -> Path:
    """A copy with the overlay that a reader would have written."""
    folder = kube.cluster.folder / "manifests"
    return folder if folder.exists() else overlay.copy(kube.cluster)


def install(kube: Kube) -> None:
    folder = manifests(kube)
    for command in commands(REPOSITORY / "manifests/README.md", "Install"):
        if command.startswith(("docker build", "buildah bud")):
            build(kube, command)
        else:
            run(kube, command, folder)
