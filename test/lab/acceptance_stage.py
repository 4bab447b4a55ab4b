"""Agents of `railctl accept` in the pods of a lab, the file that names them, and a run with its report."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from railcni_lab import kernel, pods
from railcni_lab.layout import write_json
from world import World, eventually

SOON = 20
HEAD = ("check", "sabotage", "verdict", "what it says")  # of the table of tests that it can fail
# Of each group for which somebody has to do something: its flag, and how it asks.
ASKS = {"restart": ("--restarts", "restart now"), "failure": ("--failure", "take down now"), "churn": ("--churn", "attach and detach pods now")}


class Stage:
    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.file = folder / "stage.json"
        self.agents: dict[str, subprocess.Popen[bytes]] = {}

    def socket(self, pod: str) -> Path:
        return self.folder / f"{pod}.sock"

    def start(self, pod: str, *before: str) -> None:
        """`before`: a command that becomes the agent."""
        railctl = str(self.world.lab.binaries / "railctl")
        with open(self.folder / f"{pod}.log", "ab") as log, kernel.inside(pods.namespace(self.world.lab, pod)):
            self.agents[pod] = subprocess.Popen([*before, railctl, "accept", "agent", "--listen", f"unix:{self.socket(pod)}"],
                                                stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually(f"the agent of {pod} listens", self.socket(pod).exists, bool, SOON)

    def stop(self, pod: str) -> None:
        agent = self.agents.pop(pod)
        agent.terminate()
        agent.wait(30)

    def write(self, only: list[str] | None = None) -> None:
        """Who takes part: all pods that have an agent, or those."""
        names = sorted(self.agents) if only is None else only
        found = {name: pods.find(self.world.lab, name) for name in names}
        write_json(self.file, {
            "nodes": [{"name": node.name, "raild": f"unix:{node.raild_socket}"} for node in self.world.lab.nodes()],
            "pods": [{"namespace": pod.tenant, "name": name, "node": pod.node, "agent": f"unix:{self.socket(name)}"}
                     for name, pod in found.items()]})

    def run(self, *words: str, json_file: Path | None = None, seconds: float = 300) -> subprocess.CompletedProcess[str]:
        """`railctl accept` from outside of all nodes, as somebody with a laptop would."""
        report = ["--json-file", str(json_file)] if json_file else []
        return subprocess.run([str(self.world.lab.binaries / "railctl"), "accept", "--stage", str(self.file), *report, *words],
                              capture_output=True, text=True, timeout=seconds, check=False, env={**os.environ, "NO_COLOR": "1"})

    def during(self, group: str, seconds: int, happens: Callable[[], None], only: str = "") -> tuple[int, dict[str, dict[str, Any]]]:
        """As verdicts(), of a group for which somebody has to do something: what happens once its time has begun."""
        flag, asks = ASKS[group]
        words = ["--stage", str(self.file), "--only", only or group, flag, str(seconds), "-o", "json"]
        with subprocess.Popen([str(self.world.lab.binaries / "railctl"), "accept", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as run:
            assert run.stderr is not None
            assert asks in run.stderr.readline()
            happens()
            out, err = run.communicate(timeout=10 * seconds + 60)
        assert out, err
        return run.returncode, {check["id"]: check for check in json.loads(out)["checks"]}

    def verdicts(self, *words: str, seconds: float = 300) -> tuple[int, dict[str, dict[str, Any]]]:
        """The exit status, and each check by its id."""
        done = self.run(*words, "-o", "json", seconds=seconds)
        assert done.stdout, done.stderr
        return done.returncode, {check["id"]: check for check in json.loads(done.stdout)["checks"]}


@contextmanager
def stage(world: World, folder: Path, names: list[str]) -> Iterator[Stage]:
    made = Stage(world, folder)
    try:
        for name in names:
            made.start(name)
        made.write()
        yield made
    finally:
        for name in list(made.agents):
            made.stop(name)


@contextmanager
def on_switch(world: World, node_name: str, flow: str, rail: int = 0) -> Iterator[None]:
    """A flow of somebody else, above all of ours."""
    node, cookie = world.lab.find_node(node_name), "0xbad"
    world.run_on_switch(node, rail, "add-flow", f"cookie={cookie},table=0,priority=60000,{flow}")
    try:
        yield
    finally:
        world.run_on_switch(node, rail, "del-flows", f"cookie={cookie}/-1")


def keep_foreign_flows(world: World) -> None:
    """raild leaves flows of others where they are."""
    for node in world.lab.nodes():
        config = json.loads(node.config_file.read_text())
        config["ovs"]["remove_foreign_flows"] = False
        write_json(node.config_file, config)
