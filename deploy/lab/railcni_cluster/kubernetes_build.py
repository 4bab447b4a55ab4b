"""Kubernetes 1.20 built out of Debian 12's source package, once; kept in the cache.

Debian has no binary package of it. Three things must be known. The tree must lie in a GOPATH. The API server's OpenAPI
definitions are not in the source and are generated first. The vendored reflect2 1.0.1 crashes under Go 1.18 and newer at the
first custom resource, so Debian's own 1.0.2 takes its place.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from railcni_lab.layout import LabError

from .layout import CACHE

PACKAGES = ("golang-1.19-go", "golang-1.19-src", "golang-github-modern-go-reflect2-dev")
PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SUITE = "bookworm"
BUILD_SECONDS = 2400

Say = Callable[[str], None]


def there(binaries: Path) -> bool:
    return all(os.access(binaries / program, os.X_OK) for program in PROGRAMS)


def ensure(binaries: Path, say: Say) -> None:
    """Builds what is not there. Two that ask at once build once."""
    if there(binaries):
        return
    if "RAILCNI_KUBERNETES" in os.environ:
        absent = [p for p in PROGRAMS if not os.access(binaries / p, os.X_OK)]
        raise LabError(f"RAILCNI_KUBERNETES={binaries}: not there, or not executable: {', '.join(absent)}")
    CACHE.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "kubernetes.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if there(binaries):
            return
        say(f"building Kubernetes from Debian's source package: 5 to 15 minutes and 3 GB of disk, once; {binaries} keeps it (330 MB)")
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="kubernetes-build-", dir=CACHE) as folder:
            built = _build(Path(folder), say)
            binaries.parent.mkdir(parents=True, exist_ok=True)
            shutil.rmtree(binaries, ignore_errors=True)
            built.rename(binaries)
        say(f"Kubernetes is built ({time.monotonic() - began:.0f} s)")


def _build(work: Path, say: Say) -> Path:
    log = CACHE / "kubernetes-build.log"
    with open(log, "w") as output:
        def run(command: list[str], **more: object) -> None:
            try:
                subprocess.run(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=True, timeout=BUILD_SECONDS, **more)
            except (subprocess.CalledProcessError, subprocess.TimeoutExpired, FileNotFoundError) as error:
                output.flush()
                end = "\n".join(log.read_text(errors="replace").splitlines()[-8:])
                raise LabError(f"cannot build Kubernetes: {error}\n{end}\nthe whole output is {log}") from None

        debs, system = _fetch(work, run)
        say("sources are here; compiling")
        source = work / "go/src/k8s.io/kubernetes"
        source.parent.mkdir(parents=True)
        run(["dpkg-source", "-q", "-x", str(next(debs.glob("kubernetes_*.dsc"))), str(source)])
        _replace_reflect2(source, system)
        # Debian's 1.20.5+really1.20.2 is 1.20.2.
        version = re.search(r"kubernetes_(?:.*really)?(\d+\.\d+\.\d+)", next(debs.glob("kubernetes_*.dsc")).name)
        return _compile(work, source, system, version[1] if version else "1.20.2", run)


def _fetch(work: Path, run: Callable[..., None]) -> tuple[Path, Path]:
    """Packages and the source, by lists of our own: deb-src need not be among this system's sources."""
    folder, debs, system = work / "apt", work / "debs", work / "root"
    for each in (folder / "lists/partial", debs, system):
        each.mkdir(parents=True)
    listed = subprocess.run(["apt-get", "indextargets", "--format", "$(ORIGIN)|$(COMPONENT)|$(RELEASE)|$(REPO_URI)", "Created-By: Packages"],
                            capture_output=True, text=True, check=False).stdout
    mirrors = [line.split("|")[3] for line in listed.splitlines() if line.startswith(f"Debian|main|{SUITE}|")]
    if not mirrors:
        raise LabError(f"cannot build Kubernetes: apt knows no source for Debian {SUITE}; run apt-get update on Debian 12, "
                       "or set RAILCNI_KUBERNETES to a folder of binaries")
    (folder / "sources.list").write_text("".join(f"{kind} [signed-by={KEYRING}] {mirrors[0]} {SUITE} main\n" for kind in ("deb", "deb-src")))
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={folder}/sources.list", "-o", "Dir::Etc::sourceparts=/dev/null",
           "-o", f"Dir::State::lists={folder}/lists", "-o", f"Dir::Cache::pkgcache={folder}/packages.bin",
           "-o", f"Dir::Cache::srcpkgcache={folder}/sources.bin", "-o", "APT::Sandbox::User=root"]
    run([*apt, "update"])
    run([*apt, "download", *PACKAGES], cwd=debs)
    run([*apt, "source", "--download-only", "kubernetes"], cwd=debs)
    for deb in debs.glob("*.deb"):
        run(["dpkg", "-x", str(deb), str(system)])
    return debs, system


def _replace_reflect2(source: Path, system: Path) -> None:
    vendored, other = (folder / "github.com/modern-go/reflect2" for folder in (source / "vendor", system / "usr/share/gocode/src"))
    shutil.rmtree(vendored)
    vendored.mkdir()
    for file in other.iterdir():
        if file.suffix in (".go", ".s") and not file.name.endswith("_test.go"):
            shutil.copy(file, vendored)


def _compile(work: Path, source: Path, system: Path, version: str, run: Callable[..., None]) -> Path:
    go = system / "usr/lib/go-1.19"
    environment = {**os.environ, "GOROOT": str(go), "GOPATH": str(work / "go"), "GO111MODULE": "off", "GOFLAGS": "", "GOPROXY": "off",
                   "CGO_ENABLED": "0", "GOCACHE": str(work / "gocache"), "PATH": f"{go}/bin:{os.environ.get('PATH', '')}"}
    vendor = "k8s.io/kubernetes/vendor/k8s.io"
    run(["go", "build", "-o", str(work / "openapi-gen"), f"{vendor}/kube-openapi/cmd/openapi-gen"], cwd=source, env=environment)
    run([str(work / "openapi-gen"), "--logtostderr", "-i", ",".join(_openapi_packages(source)), "-p", "k8s.io/kubernetes/pkg/generated/openapi",
         "-O", "zz_generated.openapi", "-h", "hack/boilerplate/boilerplate.generatego.txt", "-r", str(work / "openapi.report")],
        cwd=source, env=environment)
    major, minor, _ = version.split(".", 2)
    named = {"component-base/version.gitVersion": f"v{version}", "component-base/version.gitMajor": major,
             "component-base/version.gitMinor": minor, "client-go/pkg/version.gitVersion": f"v{version}"}
    flags = " ".join(["-s -w", *(f"-X {vendor}/{name}={value}" for name, value in named.items())])
    run(["go", "build", "-trimpath", "-tags", "providerless dockerless", "-ldflags", flags, "-o", f"{work}/bin/",
         *(f"k8s.io/kubernetes/cmd/{program}" for program in PROGRAMS)], cwd=source, env=environment)
    return work / "bin"


def _openapi_packages(source: Path) -> list[str]:
    """The packages whose types ask for an OpenAPI definition."""
    found = set()
    for top, package in (("staging/src/k8s.io", "k8s.io/kubernetes/vendor/k8s.io"), ("pkg", "k8s.io/kubernetes/pkg")):
        for file in (source / top).rglob("*.go"):
            path = str(file.relative_to(source))
            if re.search(r"code-generator/|sample-apiserver/|/testdata/|zz_generated", path):
                continue
            if "+k8s:openapi-gen=" in file.read_text(errors="replace"):
                found.add(f"{package}/{file.parent.relative_to(source / top)}")
    return sorted(found)
