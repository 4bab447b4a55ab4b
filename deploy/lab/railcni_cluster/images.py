"""The images that the cluster's nodes run, and how they come into containerd: there is no registry.

Use:     images.load(cluster.nodes(), images.product("docker.io/library/railcni:0.1.0"), images.pause(), ...)
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import tarfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from railcni_lab.kernel import run
from railcni_lab.layout import REPOSITORY, LabError

from . import node as nodes
from .layout import CACHE, KubeNode
from .names import DEBIAN, PAUSE, PRODUCT, WORKLOAD

APPLETS = ("sh", "sleep", "ping", "ping6", "cat", "ls", "ip", "nc", "hostname")
PAUSE_SOURCE = """#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int signal) { _exit(0); }
static void reap(int signal) { while (waitpid(-1, NULL, WNOHANG) > 0) {} }
int main(void) { signal(SIGTERM, end); signal(SIGINT, end); signal(SIGCHLD, reap); for (;;) pause(); }
"""


def builder():  # type: ignore[no-untyped-def]
    """The module that builds the Dockerfile without an engine or a registry; the packaging tests' own."""
    folder = str(REPOSITORY / "test/packaging")
    if folder not in sys.path:
        sys.path.append(folder)
    import builder as module
    return module


def product(name: str = PRODUCT) -> Path:
    """The Dockerfile, built whole; nothing is built when the sources have not changed."""
    return _with_buildah(lambda tool: tool.archive(tool.product(), name))


def debian() -> Path:
    """What the Dockerfile's FROM and the example pods name."""
    return _with_buildah(lambda tool: tool.archive(DEBIAN, DEBIAN))


def _with_buildah(do) -> Path:  # type: ignore[no-untyped-def]
    module = builder()
    with module.one_at_a_time():
        tool = module.Buildah()
        try:
            tool.ensure_base()
            return do(tool)
        except AssertionError as error:
            raise LabError(f"cannot build the image: {error}") from None
        finally:
            tool.close()


def pause() -> Path:
    program = CACHE / "image" / f"pause-{hashlib.sha256(PAUSE_SOURCE.encode()).hexdigest()[:12]}"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        unfinished = program.with_suffix(f".{os.getpid()}")
        run(["gcc", "-static", "-Os", "-x", "c", "-o", str(unfinished), "-"], stdin=PAUSE_SOURCE, timeout=120)
        unfinished.rename(program)
    return _one_program(PAUSE, program, "pause", ["/bin/pause"], ())


def workload() -> Path:
    return _one_program(WORKLOAD, Path("/bin/busybox"), "busybox", ["/bin/sleep", "infinity"], APPLETS)


def _one_program(name: str, program: Path, called: str, entry: list[str], links: Iterable[str]) -> Path:
    """An image of one static program, in docker's archive format."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        for folder in ("bin", "tmp", "etc", "proc", "sys", "dev"):
            entry_of = tarfile.TarInfo(folder)
            entry_of.type, entry_of.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry_of)
        binary = tarfile.TarInfo(f"bin/{called}")
        binary.mode, binary.size = 0o755, program.stat().st_size
        tar.addfile(binary, io.BytesIO(program.read_bytes()))
        for link in links:
            other = tarfile.TarInfo(f"bin/{link}")
            other.type, other.linkname = tarfile.SYMTYPE, called
            tar.addfile(other)
    digest = hashlib.sha256(layer.getvalue()).hexdigest()
    config = json.dumps({"architecture": _architecture(), "os": "linux", "config": {"Entrypoint": entry, "Env": ["PATH=/bin"]},
                         "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]}, "history": [{"created_by": "railcni lab"}]}).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name.removeprefix("docker.io/library/")], "Layers": ["layer.tar"]}]).encode()
    file = CACHE / "image" / f"{called}-{digest[:12]}.docker.tar"
    unfinished = file.with_suffix(f".{os.getpid()}")
    with tarfile.open(unfinished, mode="w") as tar:
        for member, data in ((config_name, config), ("layer.tar", layer.getvalue()), ("manifest.json", manifest)):
            info = tarfile.TarInfo(member)
            info.size, info.mode = len(data), 0o644
            tar.addfile(info, io.BytesIO(data))
    unfinished.rename(file)
    return file


def _architecture() -> str:
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)


def load(onto: Iterable[KubeNode], *archives: Path) -> None:
    """Imports into the containerd of each node."""
    def one(node: KubeNode) -> None:
        for archive in archives:
            nodes.run_on(node, ["ctr", "-n", "k8s.io", "images", "import", str(archive)], seconds=300)

    onto = list(onto)
    with ThreadPoolExecutor(max(1, len(onto))) as pool:
        list(pool.map(one, onto))
