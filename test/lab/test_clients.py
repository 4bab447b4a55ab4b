"""Real clients of CNI drive the chain: podman with its CNI backend (libcni 1.1), and containerd's ctr (go-cni).

A real container starts each time; what it sees inside, what the plugins were asked, and what is left afterwards are looked at.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from railcni_lab import fabric, kernel, pods
from railcni_lab.layout import bridge, device, representor
from runtimes import PLUGINS, Runtime
from world import REMOTE, World, eventually, link_mac

DEVICE, REPRESENTOR = device(0, 7), representor(0, 7)  # the last: the lab's own pods take the first
SUBNET = "10.0.1.208/28"
LIMITS = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--cgroups", "disabled"]
FORWARD = list(PLUGINS)
BACKWARD = FORWARD[::-1]


@pytest.fixture
def runtime(world: World) -> Iterator[Runtime]:
    with Runtime(world.lab, world.lab.find_node("n1"), "tenant-a") as made:
        yield made


def nothing_is_left(world: World, runtime: Runtime) -> None:
    node = runtime.node
    assert REPRESENTOR not in world.vsctl(node, "list-ports", bridge(0)).split()
    # What the other rail's leaf still announces is learned as a remote and goes in its own time: not what DEL answers for.
    rules = [f for f in world.flows(node, 0) if in_subnet(f["match"]) and f["cookie"] >> 24 & 0xFF != REMOTE]
    assert not rules, rules
    assert not {claim for claim in world.claims(node) if claim in (DEVICE, REPRESENTOR) or in_subnet(claim)}
    assert link_mac(node.namespace, DEVICE), "the device is back on the host by its name"
    assert not [f for f in node.ipam_dir.glob("*/10.0.1.*") if in_subnet(f.name)]
    eventually("withdrawn at the leaf", lambda: world.leaf_prefixes(0), lambda p: not any(in_subnet(x) for x in p))


def same(passed_on: dict[str, Any], answer: dict[str, Any]) -> bool:
    """libcni 1.1 writes a result anew, with an empty `dns` in every version."""
    return {"dns": {}, **passed_on} == {"dns": {}, **answer}


def in_subnet(text: str) -> bool:
    return any(f"10.0.1.{last}" in text for last in range(208, 224))


# podman


class Podman:
    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        folder = runtime.folder
        (folder / "tmp").mkdir()
        self.config = folder / "containers.conf"
        self.config.write_text(f"""
[containers]
cgroups = "disabled"
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[network]
network_backend = "cni"
cni_plugin_dirs = ["{runtime.plugin_dir}"]
network_config_dir = "{runtime.conf_dir}"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
tmp_dir = "{folder}/tmp"
""")

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        folder = self.runtime.folder
        return self.runtime.run(["podman", "--root", f"{folder}/storage", "--runroot", f"{folder}/run", "--storage-driver", "vfs",
                                 "--cgroup-manager", "cgroupfs", *words], {"CONTAINERS_CONF": str(self.config)})

    def must(self, *words: str) -> str:
        done = self(*words)
        assert done.returncode == 0, f"podman {' '.join(words)}: {done.stderr}"
        return done.stdout


@pytest.fixture
def podman(runtime: Runtime) -> Iterator[Podman]:
    made = Podman(runtime)
    yield made
    made("rm", "--all", "--force", "--time", "0")


@pytest.mark.parametrize("version", ["0.4.0", "1.0.0"])
def test_b10_podman_runs_a_container_on_the_chain(world: World, runtime: Runtime, podman: Podman, version: str) -> None:
    runtime.offer(runtime.network("railp", version, DEVICE, [SUBNET]))
    # By its log: what a container of a few milliseconds prints may be over before `run` without --detach listens.
    podman.must("run", "--detach", "--name", "once", "--log-driver", "k8s-file", "--network", "railp", *LIMITS, "--rootfs", str(runtime.rootfs),
                "ip", "-json", "address")
    podman.must("wait", "once")
    seen = podman.must("logs", "once")
    podman.must("rm", "once")
    inside = {link["ifname"]: link for link in json.loads(seen)}
    address = next(a for a in inside["eth0"]["addr_info"] if a["family"] == "inet")
    assert address["prefixlen"] == 32 and in_subnet(address["local"])
    assert inside["eth0"]["mtu"] == 4200

    calls = runtime.calls()
    assert all(c.status == 0 for c in calls), [f"{c}: {c.answer}" for c in calls if c.status != 0]
    assert [c.plugin for c in calls if c.verb == "VERSION"][:3] == FORWARD, "asked for each plugin when the list is loaded"
    added = [c for c in calls if c.verb == "ADD"]
    assert [c.plugin for c in added] == FORWARD
    assert [c.plugin for c in calls if c.verb == "DEL"] == BACKWARD
    assert all(c.config["cniVersion"] == version and json.loads(c.answer)["cniVersion"] == version for c in added)
    assert "prevResult" not in added[0].config and same(added[1].config["prevResult"], json.loads(added[0].answer))
    assert added[0].environment["CNI_ARGS"].startswith("IgnoreUnknown=1;K8S_POD_NAME=")
    deleted = [c for c in calls if c.verb == "DEL"]
    assert all(same(c.config["prevResult"], json.loads(added[-1].answer)) for c in deleted)
    nothing_is_left(world, runtime)


def test_b10_podman_container_reaches_its_tenant_and_leaves_nothing(world: World, runtime: Runtime, podman: Podman) -> None:
    runtime.offer(runtime.network("railp", "1.0.0", DEVICE, [SUBNET]))
    podman.must("run", "--detach", "--name", "lives", "--network", "railp", *LIMITS, "--rootfs", str(runtime.rootfs), "sleep", "600")
    network = json.loads(podman.must("inspect", "lives"))[0]["NetworkSettings"]["Networks"]["railp"]
    address = network["IPAddress"]
    assert in_subnet(address), network
    assert network["MacAddress"] == link_in(runtime, "lives", podman)["address"]
    eventually("announced", lambda: world.leaf_prefixes(0), lambda p: f"{address}/32" in p)
    a2, b2 = world.port("a2"), world.port("b2")
    assert reaches(a2.namespace, address), "a pod of its tenant on the other node reaches it"
    assert not reaches(b2.namespace, address), "another tenant's does not"
    assert [a for a in world.railctl(runtime.node, "get", "attachments")["attachments"] if address in str(a)]

    podman.must("rm", "--force", "--time", "0", "lives")
    assert [c.plugin for c in runtime.calls() if c.verb == "DEL"] == BACKWARD
    nothing_is_left(world, runtime)


def link_in(runtime: Runtime, name: str, podman: Podman) -> dict[str, Any]:
    pid = json.loads(podman.must("inspect", name))[0]["State"]["Pid"]
    done = subprocess.run(["nsenter", "-t", str(pid), "-n", "ip", "-json", "link", "show", "dev", "eth0"], check=True,
                          capture_output=True, text=True, timeout=10)
    return json.loads(done.stdout)[0]


def reaches(namespace: str, address: str) -> bool:
    done = subprocess.run(["ip", "netns", "exec", namespace, "ping", "-c3", "-i0.2", "-W2", "-I", "net1", address], check=False,
                          capture_output=True, timeout=30)
    return done.returncode == 0


def test_b10_podman_passes_the_plugins_words_on_and_undoes(world: World, runtime: Runtime, podman: Podman) -> None:
    network = runtime.network("railp", "1.0.0", DEVICE, [SUBNET])
    del network["plugins"][0]["deviceID"]
    runtime.offer(network)
    done = podman("run", "--rm", "--network", "railp", *LIMITS, "--rootfs", str(runtime.rootfs), "ip", "address")
    assert done.returncode != 0
    assert "deviceID: no device was allocated to the pod for network railp" in done.stderr
    calls = runtime.calls()
    assert [(str(c), c.status) for c in calls if c.verb == "ADD"] == [("ADD ovs-provider", 1)]
    assert all(c.status == 0 for c in calls if c.verb == "DEL")
    nothing_is_left(world, runtime)


def test_b10_podman_add_that_fails_late_leaves_nothing(world: World, runtime: Runtime, podman: Podman) -> None:
    network = runtime.network("railp", "1.0.0", DEVICE, [SUBNET])
    network["plugins"][2]["on_timeout"] = "whatever"
    runtime.offer(network)
    done = podman("run", "--rm", "--network", "railp", *LIMITS, "--rootfs", str(runtime.rootfs), "ip", "address")
    assert done.returncode != 0 and "on_timeout: must be" in done.stderr
    calls = runtime.calls()
    assert [c.plugin for c in calls if c.verb == "DEL"][:3] == BACKWARD
    assert all("prevResult" not in c.config for c in calls if c.verb == "DEL"), "no result is kept of an ADD that failed"
    nothing_is_left(world, runtime)


# containerd


class Containerd:
    """The daemon alone: no image, no snapshots, and an OCI runtime that leaves the machine's cgroups alone."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime, folder = runtime, runtime.folder
        self.socket, self.runc, config = folder / "containerd.sock", folder / "crun", folder / "containerd.toml"
        self.runc.write_text('#!/bin/sh\nexec crun --cgroup-manager=disabled "$@"\n')
        self.runc.chmod(0o755)
        config.write_text(f"""
version = 2
root = "{folder}/containerd"
state = "{folder}/containerd.run"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.internal.v1.opt"]
[grpc]
address = "{self.socket}"
[ttrpc]
address = "{self.socket}.ttrpc"
""")
        # ctr looks for networks and plugins in these two places only; the first is podman's too, the second is made out of sight.
        bound = runtime.run(["sh", "-c", f"mount --bind {runtime.conf_dir} /etc/cni/net.d && mount -t tmpfs none /opt && "
                                         f"mkdir -p /opt/cni/bin && mount --bind {runtime.plugin_dir} /opt/cni/bin"], {})
        assert bound.returncode == 0, bound.stderr
        with (folder / "containerd.log").open("w") as log:
            self.daemon = subprocess.Popen([*runtime.enter(), "containerd", "--config", str(config)], stdin=subprocess.DEVNULL,
                                           stdout=log, stderr=log)
        eventually("containerd answers", lambda: self("version").returncode, lambda status: status == 0, 30)

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.runtime.run(["ctr", "--address", str(self.socket), *words], {})

    def run(self, name: str, *command: str) -> subprocess.CompletedProcess[str]:
        spec = self.runtime.folder / f"{name}.json"
        kinds = ("pid", "ipc", "uts", "mount", "network")
        spec.write_text(json.dumps({
            "ociVersion": "1.0.2", "root": {"path": str(self.runtime.rootfs)}, "hostname": name,
            "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "args": list(command), "env": ["PATH=/bin"]},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"}],
            "linux": {"namespaces": [{"type": kind} for kind in kinds]}}))
        return self("run", "--cni", "--rm", "--config", str(spec), "--runc-binary", str(self.runc), name)

    def close(self) -> None:
        self.daemon.terminate()
        self.daemon.wait(30)


@pytest.fixture
def containerd(runtime: Runtime) -> Iterator[Containerd]:
    made = Containerd(runtime)
    yield made
    made.close()


def test_b10_containerd_runs_a_container_on_the_chain(world: World, runtime: Runtime, containerd: Containerd) -> None:
    """Its DEL comes with an empty CNI_NETNS, after the container's namespace has gone."""
    runtime.offer(runtime.network("railc", "1.0.0", DEVICE, [SUBNET]))
    done = containerd.run("c1", "/bin/ip", "-json", "address")
    assert done.returncode == 0, done.stderr
    inside = {link["ifname"]: link for link in json.loads(done.stdout)}
    assert inside["eth0"]["mtu"] == 4200
    assert any(a["prefixlen"] == 32 and in_subnet(a["local"]) for a in inside["eth0"]["addr_info"] if a["family"] == "inet")

    calls = runtime.calls()
    assert all(c.status == 0 for c in calls), [f"{c}: {c.answer}" for c in calls if c.status != 0]
    added, deleted = ([c for c in calls if c.verb == verb] for verb in ("ADD", "DEL"))
    assert [c.plugin for c in added] == FORWARD and [c.plugin for c in deleted] == BACKWARD
    assert {c.environment["CNI_CONTAINERID"] for c in calls} == {"default-c1"}
    assert all(c.environment["CNI_NETNS"].startswith("/proc/") for c in added)
    assert all(c.environment["CNI_NETNS"] == "" for c in deleted)
    # The lab's device is one end of a veth: where a VF would come home, the pair ends with the namespace.
    node = runtime.node
    eventually("the kernel has ended the namespace", lambda: REPRESENTOR in kernel.links(node.namespace), lambda there: not there)
    fabric.mend_devices(node, world.lab.shape(), pods.devices_in_use(world.lab, node))
    nothing_is_left(world, runtime)
