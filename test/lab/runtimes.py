"""What a real container runtime needs on a machine of tests: a mount namespace of its own beside a node's network namespace, a
root file system, and plugins whose calls are written down.

Use:     with Runtime(world.lab, node, "tenant-a") as runtime:
             runtime.run(["podman", ...], {}); runtime.calls()
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railcni_lab import kernel
from railcni_lab.layout import Lab, Node

PLUGINS = ("ovs-provider", "tenant-isolation", "frr-provider")

# Calls the real plugin, and writes down how it was called and what it answered. The Kubernetes namespace is what a CRI runtime
# would say; podman knows none.
RECORDER = """#!/bin/sh
set -u
call=$(mktemp -d {log}/$(date +%s%N).XXXXXX)
env | grep '^CNI_' > "$call/environment"
cat > "$call/in"
[ "$CNI_COMMAND" = VERSION ] || export CNI_ARGS="${{CNI_ARGS:-IgnoreUnknown=1}};K8S_POD_NAMESPACE={tenant}"
RAILCNI_ROOT={root} {binary} < "$call/in" > "$call/out" 2> "$call/err"
status=$?
echo {name} $status > "$call/status"
cat "$call/err" >&2
cat "$call/out"
exit $status
"""


@dataclass(frozen=True)
class Call:
    plugin: str
    verb: str
    status: int
    environment: dict[str, str]
    config: dict[str, Any]
    answer: str

    def __str__(self) -> str:
        return f"{self.verb} {self.plugin}"


class Runtime:
    def __init__(self, lab: Lab, node: Node, tenant: str) -> None:
        self.lab, self.node, self.tenant = lab, node, tenant
        folder = self.folder = Path(tempfile.mkdtemp(prefix="rc", dir="/tmp"))  # podman's runroot has 50 characters at most
        self.plugin_dir, self.log, self.rootfs, self.conf_dir = (folder / n for n in ("bin", "calls", "rootfs", "net.d"))
        self.holder: subprocess.Popen[str] | None = None

    def __enter__(self) -> Runtime:
        for path in (self.plugin_dir, self.log, self.rootfs, self.conf_dir):
            path.mkdir()
        for name in PLUGINS:
            script = self.plugin_dir / name
            script.write_text(RECORDER.format(log=self.log, tenant=self.tenant, root=self.node.root, name=name,
                                              binary=self.lab.binaries / name))
            script.chmod(0o755)
        shutil.copy("/usr/lib/cni/host-local", self.plugin_dir)
        self._make_rootfs(["/bin/ip", "/bin/sleep"])
        # Namespaces that a runtime makes under /run/netns are seen by all (it is a shared mount), everything else it mounts is
        # its own. crun wants one kind of cgroups where a machine may have two.
        with kernel.inside(self.node.namespace):
            self.holder = subprocess.Popen(
                ["unshare", "--mount", "--propagation", "unchanged", "sh", "-c",
                 "mount --make-rprivate /sys && mount -t cgroup2 none /sys/fs/cgroup && echo ready && exec sleep infinity"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        assert self.holder.stdout is not None and self.holder.stdout.readline() == "ready\n"
        return self

    def __exit__(self, *_: object) -> None:
        if self.holder is not None:
            self.holder.kill()
            self.holder.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _make_rootfs(self, programs: list[str]) -> None:
        for program in programs:
            libraries = [w for w in kernel.run(["ldd", program]).split() if w.startswith("/")]
            for file in [program, *libraries]:
                copy = self.rootfs / file.lstrip("/")
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(os.path.realpath(file), copy)
        for name in ("proc", "sys", "dev", "etc", "tmp", "run"):
            (self.rootfs / name).mkdir(exist_ok=True)

    def enter(self) -> list[str]:
        """The words before a command that is to run beside the node's network."""
        assert self.holder is not None
        return ["nsenter", "--target", str(self.holder.pid), "--mount", "--net", "--"]

    def run(self, command: list[str], env: dict[str, str], seconds: float = 90) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*self.enter(), *command], env={**os.environ, **env}, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=seconds, check=False)

    def network(self, name: str, version: str, device: str, subnets: list[str]) -> dict[str, Any]:
        """A list for the chain. No runtime but Kubernetes allocates devices: it stands in the configuration."""
        ipam = {"type": "host-local", "dataDir": str(self.node.ipam_dir), "ranges": [[{"subnet": s}] for s in subnets]}
        return {"cniVersion": version, "name": name,
                "plugins": [{"type": "ovs-provider", "rail": "rail0", "deviceID": device, "ipam": ipam},
                            {"type": "tenant-isolation"}, {"type": "frr-provider", "wait_ms": 5000}]}

    def offer(self, network: dict[str, Any]) -> None:
        (self.conf_dir / f"10-{network['name']}.conflist").write_text(json.dumps(network))

    def calls(self) -> list[Call]:
        found = []
        for folder in sorted(self.log.iterdir()):
            plugin, status = (folder / "status").read_text().split()
            environment = dict(line.split("=", 1) for line in (folder / "environment").read_text().splitlines() if "=" in line)
            text = (folder / "in").read_text()
            found.append(Call(plugin, environment["CNI_COMMAND"], int(status), environment, json.loads(text) if text.strip() else {},
                              (folder / "out").read_text()))
        return found
