"""The commands of a document, run word for word: indented lines and blocks of `sh` below a heading."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from kube import Kube
from railcni_cluster import images, kubectl, overlay
from railcni_lab.layout import REPOSITORY

SECONDS = 300


def commands(document: Path, heading: str) -> list[str]:
    """What a reader would type; comments at the end of a line are none of it."""
    section = re.search(rf"^#+ {re.escape(heading)}$\n(.*?)(?=^#+ |\Z)", document.read_text(), re.M | re.S)
    assert section, f"{document} has no section '{heading}'"
    lines, fenced = [], False
    for line in section[1].splitlines():
        if line.startswith("```"):
            fenced = not fenced and line.strip() in ("```", "```sh", "```bash")
        elif fenced or line.startswith("    "):
            lines.append(re.sub(r"\s+#\s.*$", "", line).strip())
    found = [line for line in lines if line and not line.startswith("#")]
    assert found, f"section '{heading}' of {document} has no commands"
    return found


def run(kube: Kube, command: str, folder: Path) -> str:
    """In the control plane's namespace, as its admin."""
    own = {**os.environ, **kubectl.environment(kube.cluster), "PATH": f"{Path(kube.cluster.kubectl).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["ip", "netns", "exec", kube.cluster.namespace, "bash", "-euo", "pipefail", "-c", command], cwd=folder, env=own,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"`{command}` (manifests/README.md): exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
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
