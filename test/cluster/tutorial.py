"""TUTORIAL.md as a reader runs it: every command, in a cluster of its own.

Use:     run = Tutorial(folder)          # begins at once, beside whatever the caller does
         status, said = run.result()     # waits for its end
         run.end()                       # whatever became of it, its cluster goes
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

from railcni_lab.layout import REPOSITORY
from readme import blocks

SECONDS = 600


class Tutorial:
    def __init__(self, folder: Path) -> None:
        commands = blocks((REPOSITORY / "TUTORIAL.md").read_text(), False)
        assert len(commands) > 15 and commands[-1] == "deploy/lab/cluster down"
        # The cluster may be up already: the quick start leaves it so, and names this page.
        # As in a shell of a person: a pipe is as good as its last command, and `railctl trace` says by its status that a packet is dropped.
        script = "\n".join(["set -eu", "trap 'echo \"line $LINENO failed\" >&2' ERR", "deploy/lab/cluster up", *commands])
        self.environment = {**os.environ, "RAILCNI_LAB": f"t{os.getpid()}"}
        self.output = folder / "tutorial.txt"
        with self.output.open("w") as said:
            self.process = subprocess.Popen(["bash", "-c", script], cwd=REPOSITORY, env=self.environment, stdin=subprocess.DEVNULL,
                                            stdout=said, stderr=subprocess.STDOUT, start_new_session=True)

    def result(self) -> tuple[int, str]:
        status = self.process.wait(SECONDS)
        return status, self.output.read_text()

    def end(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(30)
        subprocess.run([REPOSITORY / "deploy/lab/cluster", "down"], env=self.environment, capture_output=True, timeout=120, check=False)
