"""TUTORIAL.md as a reader runs it, in a cluster of its own beside the session's."""

import os
import subprocess

from conftest import Cost
from kube import Kube
from railcni_lab.layout import REPOSITORY
from readme import blocks

SECONDS = 400


def test_every_command_of_the_tutorial(kube: Kube, cost: Cost) -> None:
    commands = blocks((REPOSITORY / "TUTORIAL.md").read_text(), False)
    assert len(commands) > 15 and commands[-1] == "deploy/lab/cluster down"
    name = f"t{os.getpid()}"
    # As in a shell of a person: a pipe is as good as its last command, and `railctl trace` says by its status that a packet is dropped.
    script = "\n".join(["set -eu", "trap 'echo \"line $LINENO failed\" >&2' ERR", *commands])
    environment = {**os.environ, "RAILCNI_LAB": name}
    try:
        done = subprocess.run(["bash", "-c", script], cwd=REPOSITORY, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=SECONDS, check=False)
    finally:
        subprocess.run([REPOSITORY / "deploy/lab/cluster", "down"], env=environment, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    assert "DROPPED (OTHER_TENANT)" in done.stdout
    assert done.stdout.count(" 0% packet loss") == 2 and done.stdout.count("100% packet loss") == 1
