"""Builds images with buildah where there is neither a container engine nor a registry, for real but for where the base
image comes from: debootstrap makes it, and it gets the name that the Dockerfile asks for.

What is slow is kept in ${RAILCNI_CACHE:-~/.cache/railcni}: the base system and the layer of build dependencies. The
compiler's cache and libopenvswitch are this machine's own, lent to the build as volumes.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("RAILCNI_CACHE") or Path.home() / ".cache" / "railcni")
BASE = "docker.io/library/debian:bookworm-slim"
SUITE = "bookworm"
NEEDS = ("buildah", "debootstrap")
DEPS_IMAGE = "localhost/railcni-deps:kept"
TARGETS = ("daemon", "plugins")  # of the Dockerfile


def run(command: list[str], *, seconds: int = 120, **more) -> str:
    """Standard output; a failure says what was run and shows the end of what it said."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False, **more)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}")
    return done.stdout


def apt_sources() -> list[tuple[str, str, str]]:
    """(URI, suite, component) of this machine's Debian 12 sources: what the base image gets, so that it can install too."""
    listed = run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(REPO_URI)|$(RELEASE)|$(COMPONENT)", "Created-By: Packages"])
    found = {tuple(line.split("|")[1:]) for line in listed.splitlines() if line.startswith("Debian|")}
    kept = sorted(s for s in found if s[1].startswith(SUITE) and "backports" not in s[1])
    if not any(suite == SUITE for _, suite, _ in kept):
        raise AssertionError(f"apt knows no source for {SUITE}: run apt-get update, and use Debian 12")
    return kept  # type: ignore[return-value]


def base_system() -> Path:
    """A tarball of a minimal Debian 12, made once."""
    sources = "".join(f"deb {uri} {suite} {component}\n" for uri, suite, component in apt_sources())
    proxy = "".join(line + "\n" for line in run(["apt-config", "dump", "--format", '%F "%v";%n']).splitlines()
                    if line.startswith(("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-Valid-Until")))
    tarball = CACHE / "image" / f"base-{hashlib.sha256((sources + proxy).encode()).hexdigest()[:16]}.tar"
    if tarball.exists():
        return tarball
    tarball.parent.mkdir(parents=True, exist_ok=True)
    mirror = next(uri for uri, suite, _ in apt_sources() if suite == SUITE)
    with tempfile.TemporaryDirectory(prefix="base-", dir=tarball.parent) as folder:
        system = Path(folder) / "root"
        run(["debootstrap", "--variant=minbase", SUITE, str(system), mirror], seconds=900)
        (system / "etc/apt/sources.list").write_text(sources)
        (system / "etc/apt/apt.conf.d/99here").write_text(proxy)
        shutil.rmtree(system / "var/cache/apt/archives")
        unfinished = Path(folder) / "base.tar"
        run(["tar", "-C", str(system), "-cf", str(unfinished), "."], seconds=300)
        unfinished.rename(tarball)
    return tarball


class Buildah:
    """buildah with a store of its own: the machine's images, if it has any, are neither seen nor touched."""

    def __init__(self) -> None:
        store = CACHE / "image" / "store"
        store.mkdir(parents=True, exist_ok=True)
        self._runroot = tempfile.mkdtemp(prefix="railcni-image-")
        self._options = ["--storage-driver", "vfs", "--root", str(store), "--runroot", self._runroot]

    def close(self) -> None:
        shutil.rmtree(self._runroot, ignore_errors=True)

    def __call__(self, *arguments: str, seconds: int = 300) -> str:
        return run(["buildah", *self._options, *arguments], seconds=seconds, cwd=ROOT)

    def ensure_base(self) -> None:
        tarball = base_system()
        self("rm", "--all")  # what a build left that was killed
        named = f"made-from={tarball.name}"
        if self("images", "--quiet", "--filter", f"label={named}").strip():
            return
        container = self("from", "scratch").strip()
        self("add", container, str(tarball), "/")
        self("config", "--label", named, container)
        self("commit", "--rm", container, BASE)

    def build(self, tag: str, *options: str) -> None:
        self("bud", "--isolation", "chroot", "--network", "host", "--pull-never", "--layers", *lent_caches(),
             "--tag", tag, *options, ".", seconds=1800)

    def product(self, target: str = "daemon") -> str:
        """The name of the image of the sources as they are; built where the last one was of other sources, or cut short."""
        names = {each: f"localhost/railcni-{each}:{sources_digest()}" for each in TARGETS}
        there = set(self("images", "--format", "{{.Name}}:{{.Tag}}").split())
        if not there.issuperset(names.values()):
            self.build(DEPS_IMAGE, "--target", "deps")  # named, so that it outlives the clean-up below
            for each, tag in names.items():
                self.build(tag, "--target", each)
            self.forget(*(name for name in there for each in TARGETS if name.startswith(f"localhost/railcni-{each}:") and name not in names.values()))
        return names[target]

    def archive(self, tag: str, name: str) -> Path:
        """A file that other programs import the image from, under the given name; made once for each image."""
        file = CACHE / "image" / f"{hashlib.sha256(f'{tag} {name}'.encode()).hexdigest()[:16]}.docker.tar"
        made_of = self("images", "--quiet", "--no-trunc", "--filter", f"reference={tag}").strip()
        note = file.with_suffix(".from")
        if not file.exists() or not note.exists() or note.read_text() != made_of:
            file.unlink(missing_ok=True)
            self("push", "--quiet", tag, f"docker-archive:{file}:{name}")
            note.write_text(made_of)
        return file

    def forget(self, *tags: str) -> None:
        """Removes the images, and what they alone were built upon: a build layer has a gigabyte, one for each state of the sources."""
        gone = list(tags)
        while gone:
            removed = [subprocess.run(["buildah", *self._options, "rmi", image], capture_output=True, timeout=300, check=False).returncode
                       for image in gone]
            if 0 not in removed:
                break
            # Refused where something stands upon it, as the dependencies' layer does upon its own beginnings.
            gone = self("images", "--all", "--quiet", "--filter", "dangling=true").split()

    @contextlib.contextmanager
    def container(self, tag: str) -> Iterator[str]:
        name = self("from", "--pull-never", tag).strip()
        try:
            yield name
        finally:
            self("rm", name)

    def run_in(self, container: str, *command: str, options: tuple[str, ...] = ()) -> str:
        return self("run", "--isolation", "chroot", "--network", "host", *options, container, "--", *command)


def sources_digest() -> str:
    """Of what the Dockerfile can see, and of the base: the same sources make the same image."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().split("\n") if line and not line.startswith("#")]
    taken = [rule[1:] for rule in rules if rule.startswith("!")]
    left_out = tuple(f"{rule}/" for rule in rules if rule[0] not in "!*")
    ends_left_out = tuple(rule.removeprefix("**/*") for rule in rules if rule.startswith("**/*"))
    files = sorted(path for top in [*taken, "Dockerfile", ".dockerignore"] for path in [ROOT / top, *(ROOT / top).rglob("*")] if path.is_file())
    seen = hashlib.sha256(base_system().name.encode())
    for path in files:
        name = str(path.relative_to(ROOT))
        if not name.startswith(left_out) and not name.endswith(ends_left_out) and "__pycache__" not in name:
            seen.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return seen.hexdigest()[:20]


def lent_caches() -> list[str]:
    volumes = []
    CACHE.mkdir(parents=True, exist_ok=True)
    volumes += ["--volume", f"{CACHE}:/root/.cache/railcni"]
    if shutil.which("ccache"):
        compiler_cache = Path(run(["ccache", "--get-config", "cache_dir"]).strip())
        compiler_cache.mkdir(parents=True, exist_ok=True)
        volumes += ["--volume", f"{compiler_cache}:/root/.cache/ccache"]
    return volumes


@contextlib.contextmanager
def one_at_a_time() -> Iterator[None]:
    """Two builds in one store would trip over each other: the second waits."""
    (CACHE / "image").mkdir(parents=True, exist_ok=True)
    with (CACHE / "image" / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
