"""The command `lab` as people use it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from railcni_lab import fabric
from railcni_lab.layout import REPOSITORY, Lab
from world import World

LAB = REPOSITORY / "deploy/lab/lab"


def run(lab: Lab, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "RAILCNI_LAB": lab.prefix, "RAILCNI_BIN": str(lab.binaries), **environment}
    return subprocess.run([LAB, *words], capture_output=True, text=True, env=env, timeout=120, check=False)


def test_exec_runs_in_the_pod(world: World) -> None:
    done = run(world.lab, "exec", "a1", "--", "ip", "-o", "-4", "address", "show", "dev", "net1")
    assert done.returncode == 0, done.stderr
    assert f"{world.port('a1').ipv4}/32" in done.stdout


def test_matrix_as_json(world: World) -> None:
    done = run(world.lab, "matrix", "-o", "json", "--wait", "15")
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["right"] and len(answer["cells"]) == 80


def test_status_names_every_daemon_and_pod(world: World) -> None:
    done = run(world.lab, "status")
    assert done.returncode == 0, done.stdout
    for word in ("n1: zebra", "raild", "ovs-vswitchd", "BGP br-rail1 Established", "spine0:", "pod b2: n2, tenant-b"):
        assert word in done.stdout


def test_routes_say_tenant_and_rail(world: World) -> None:
    done = run(world.lab, "routes", "leaf1")
    line = next(line for line in done.stdout.splitlines() if line.startswith(f"{world.port('b2', 1).ipv4}/32"))
    assert "(rail 1)" in line and "(tenant " in line and "via n2" in line


def test_up_refuses_when_it_is_up(world: World) -> None:
    done = run(world.lab, "up")
    assert done.returncode == 2 and "run `lab down` first" in done.stderr


def test_up_says_what_is_missing(lab: Lab, tmp_path: Path) -> None:
    done = run(lab, "up", RAILCNI_LAB="tmissing", RAILCNI_BIN=str(tmp_path))
    assert done.returncode == 2
    assert "not built: raild, ovs-provider, tenant-isolation, frr-provider" in done.stderr
    assert not Path("/run/railcni-tmissing").exists()


def test_unknown_names_are_answered_with_those_that_exist(world: World) -> None:
    assert "there are: n1, n2" in run(world.lab, "pod", "add", "x", "--node", "n7", "--tenant", "t").stderr
    assert "there are: a1, a2, a3, b1, b2" in run(world.lab, "pod", "del", "nobody").stderr


def test_down_works_without_the_folder(lab: Lab) -> None:
    """After a crash: the namespaces and their processes alone tell what to remove."""
    other = Lab(f"u{os.getpid()}", lab.binaries)
    try:
        up = run(other, "up", "--nodes", "1", "--rails", "1", "--spines", "0")
        assert up.returncode == 0, up.stdout + up.stderr
        subprocess.run(["rm", "-rf", str(other.folder)], check=True)
        done = run(other, "down")
        assert done.returncode == 0 and "is down" in done.stdout
        assert not list(Path("/run/netns").glob(f"{other.prefix}-*"))
        assert "nothing" in run(other, "down").stdout
    finally:
        fabric.down(other)
