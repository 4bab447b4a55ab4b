"""The command `lab` as people use it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from railcni_lab import fabric, vty
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


def test_railctl_of_a_node_takes_any_words(world: World) -> None:
    """Each node has a host name of its own, and railctl's exit status is the command's."""
    for node in world.lab.nodes():
        asked = run(world.lab, "railctl", node.name, "-o", "json", "get", "node")
        assert asked.returncode == 0, asked.stderr
        assert json.loads(asked.stdout)["node"]["hostname"] == node.name
    status = run(world.lab, "railctl", "n1", "status")
    assert status.stdout.startswith("node n1: raild ") and "rail1" in status.stdout and "findings:" in status.stdout
    assert status.returncode == 1, "the lab offloads nothing, which is a warning"
    assert run(world.lab, "railctl", "n1", "get", "rail", "rail7").returncode == 2
    assert "Subcommands:" in run(world.lab, "railctl", "n1").stdout
    assert "there are: n1, n2" in run(world.lab, "railctl", "n9", "status").stderr


def test_describe_tells_what_is_there(world: World) -> None:
    port = world.port("a1")
    told = run(world.lab, "railctl", port.node.name, "describe", "attachment", "tenant-a/a1", "--rail", "rail0")
    assert told.returncode == 0, told.stdout + told.stderr
    for word in (f"tenant-a/a1 {port.ifname}", port.ipv4, port.ipv6, port.mac, f"{port.representor}, OpenFlow port {port.ofport}",
                 "all is as the record says", "Established"):
        assert word in told.stdout, told.stdout
    rail = run(world.lab, "railctl", port.node.name, "describe", "rail", "rail0")
    assert rail.returncode == 0 and world.leaf_mac(port.node, 0) in rail.stdout and port.ipv4 in rail.stdout


def test_bgp_peers_have_the_nodes_names(world: World) -> None:
    """FRRouting tells its host's name to its peers."""
    told = vty.show_json(world.lab.leaf(0).frr_dir, "show bgp ipv4 unicast summary json")
    names = {peer.get("hostname") for peer in told["peers"].values()}
    assert {"n1", "n2"} <= names, told


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
    other = Lab(f"d{os.getpid()}", lab.binaries)
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
