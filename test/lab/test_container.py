"""raild in the mounts of a container, as manifests/base gives them: /proc/sys is read-only, the host's /proc/sys/net is at another
path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from railcni_lab import daemons, kernel
from railcni_lab.layout import Node, bridge
from world import World, eventually, kill_raild, settle

SECONDS = 45
KEY = f"net.ipv6.conf.{bridge(0)}.accept_ra"


def accept_ra(node: Node) -> str:
    return kernel.run(["ip", "netns", "exec", node.namespace, "sysctl", "-n", KEY]).strip()


def sysctls(world: World, node: Node) -> dict[str, Any]:
    """raild's health of the sysctls of rail 0."""
    return next((h for h in world.railctl(node, "get", "node")["node"]["health"] if h["part"] == "sysctls of rail rail0"), {})


def container(world: World, node: Node, folder: Path, *, with_mount: bool) -> None:
    """raild anew, in mounts of its own; it drops to its own capabilities by itself."""
    (folder / "host/net").mkdir(parents=True, exist_ok=True)
    script = folder / "raild"
    script.write_text("#!/bin/sh\n"
                      f"exec unshare --mount --propagation slave sh -euc '\n"
                      f"mount --bind /proc/sys/net {folder}/host/net\n"
                      "mount --bind /proc/sys /proc/sys; mount -o remount,bind,ro /proc/sys\n"
                      + (f"export RAILCNI_PROC_SYS={folder}/host\n" if with_mount else "")
                      + f"exec {world.lab.binaries}/raild'\n")
    script.chmod(0o755)
    kill_raild(node)
    daemons.start_raild(world.lab, node, script)
    daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), SECONDS)


@pytest.fixture
def node(world: World) -> Iterator[Node]:
    """A node that accepts router advertisements on rail 0, as after a boot, before raild has seen it."""
    node = world.lab.find_node("n1")
    settle(world, seconds=SECONDS)
    kernel.run(["ip", "netns", "exec", node.namespace, "sysctl", "-q", "-w", f"{KEY}=1"])
    yield node
    kill_raild(node)
    daemons.start_raild(world.lab, node)
    settle(world, seconds=SECONDS)


def test_sysctls_are_right_in_a_container_that_has_proc_sys_net_at_another_path(world: World, node: Node, tmp_path: Path) -> None:
    container(world, node, tmp_path, with_mount=True)
    eventually("router advertisements are refused", lambda: accept_ra(node), lambda value: value == "0", SECONDS)
    eventually("raild says so", lambda: sysctls(world, node), lambda health: health.get("ok"), SECONDS)
    settle(world, seconds=SECONDS)


def test_a_container_without_that_mount_is_told_which_one_and_the_rails_work(world: World, node: Node, tmp_path: Path) -> None:
    container(world, node, tmp_path, with_mount=False)
    problem = eventually("raild names the mount", lambda: sysctls(world, node), lambda health: health.get("problem"), SECONDS)["problem"]
    assert "accept_ra to 0: Read-only file system; a container needs the host's /proc/sys/net, writable" in problem, problem
    assert "/host/proc/sys/net" in problem and "RAILCNI_PROC_SYS" in problem, problem
    assert accept_ra(node) == "1"
    assert world.metrics(node).get('railcni_repairs_total{cause="sysctl"}', 0) == 0, "only what was repaired counts"
    eventually("the rails have their rules", lambda: world.railctl(node, "get", "rails")["rails"],
               lambda rails: all(r["rules_wanted"] == r["rules_installed"] for r in rails), SECONDS)
