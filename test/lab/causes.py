"""Faults, each with what the doctor's first line must say of it, and the runner that puts one into a lab, reads the doctor,
follows the remedy and looks whether that has mended it.

Use:     ROWS = [Row("uplink down", "uplink-down", "rail0", uplink_down, "ip link set")]   # in cause_rows_PART.py
         named = run(stage, row)
"""

from __future__ import annotations

import os
import re
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property

import node_tools
from railcni_lab import kernel
from railcni_lab.layout import LabError, Node
from world import Port, World, eventually

# What a lab is by its nature: no NIC, a datapath in userspace, the host's RDMA.
OF_A_LAB = {"userspace-datapath", "hw-offload-off", "max-idle-short", "min-revalidate-pps", "rdma-missing", "rdma-shared"}
HEAD = re.compile(r"^(CRITICAL|WARNING|INFO) +([a-z0-9-]+): (.*)$")
COMMAND = re.compile(r"`([^`]+)`")
HOLDS = 0.5  # seconds for which the first line must stay as it is
DAEMON_IS_ASKED, ASKED_WITHOUT_DAEMON = ("railctl", "doctor"), ("raild", "--doctor")


@dataclass(frozen=True)
class Line:
    """A finding as the doctor prints it."""

    severity: str
    id: str
    subject: str
    fix: str

    def __str__(self) -> str:
        return f"{self.severity} {self.id}: {self.subject}"


@dataclass
class Stage:
    """The lab's node n1, on which the faults are made, with its tools under the names that a host has."""

    world: World
    rail: int = 0

    @cached_property
    def node(self) -> Node:
        return self.world.lab.find_node("n1")

    @cached_property
    def environment(self) -> dict[str, str]:
        node = self.node
        return {**os.environ, "PATH": node_tools.make(self.world.lab, node), "RAILCNI_ROOT": str(node.root),
                "OVS_RUNDIR": str(node.ovs_dir), "OVS_LOGDIR": str(node.log_dir), "OVS_DBDIR": f"{node.root}/var/lib/openvswitch"}

    def port(self, name: str) -> Port:
        return self.world.port(name, self.rail)

    def call(self, *words: str) -> tuple[int, str, str]:
        """A program on the node: its exit status, what it printed, and what it said on stderr."""
        with kernel.inside(self.node.namespace):
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False, env=self.environment,
                                  stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def railctl(self, *words: str) -> tuple[int, str, str]:
        return self.call("railctl", *words)

    def run_on_node(self, shell: str) -> str:
        """As a person at the node's shell. Fails when the command does."""
        status, out, err = self.call("sh", "-c", shell)
        if status != 0:
            raise LabError(f"`{shell}` on {self.node.name} gave {status}: {err.strip() or out.strip()}")
        return out

    def doctor(self, ask: tuple[str, ...] = DAEMON_IS_ASKED) -> list[Line]:
        """The findings that stand by themselves, as printed, but for those that a lab has by its nature."""
        status, out, err = self.call(*ask)
        lines = findings(out)
        if status not in (0, 1) or (status == 1 and not lines):
            raise LabError(f"`{' '.join(ask)}` gave {status}: {err.strip() or out.strip()}")
        return [line for line in lines if line.id not in OF_A_LAB]


def findings(text: str) -> list[Line]:
    """What stands at the margin is a finding of its own; what follows from it is indented."""
    found: list[Line] = []
    for line in text.splitlines():
        if head := HEAD.match(line):
            found.append(Line(head[1], head[2], head[3], ""))
        elif found and line.startswith("  do:"):
            found[-1] = Line(found[-1].severity, found[-1].id, found[-1].subject, line.removeprefix("  do:").strip())
    return found


@dataclass(frozen=True)
class Row:
    fault: str  # short name, as in causes.txt
    first: str  # id of the finding that must be the doctor's first line
    subject: str  # part of that line's subject
    make: Callable[[Stage], AbstractContextManager[None]]  # makes the fault; leaving it mends what is left of it
    command: str | None = None  # part of the command in backquotes that mends it; None: the remedy is no command
    seconds: float = 30  # until the first line names it, at most
    ask: tuple[str, ...] = field(default=DAEMON_IS_ASKED)  # ASKED_WITHOUT_DAEMON where raild cannot answer


@dataclass(frozen=True)
class Named:
    """A fault that the doctor has named."""

    row: Row
    seconds: float
    line: Line
    remedy: str  # the command, or the words
    mended: str  # by what

    HEAD = ("fault", "seconds", "first line", "mended by", "remedy")

    def cells(self) -> tuple[str, ...]:
        return self.row.fault, f"{self.seconds:.1f}", str(self.line), self.mended, self.remedy


def quiet(stage: Stage, when: str, ask: tuple[str, ...] = DAEMON_IS_ASKED, seconds: float = 60) -> None:
    eventually(f"{when}: nothing but the lab's own findings", lambda: [str(line) for line in stage.doctor(ask)], lambda f: not f, seconds)


def names(row: Row, lines: list[Line]) -> bool:
    return bool(lines) and lines[0].id == row.first and row.subject in lines[0].subject


def accused(row: Row, lines: list[Line]) -> list[str]:
    """What the doctor calls critical beside the cause, and not in its train."""
    return [str(line) for line in lines[1:] if line.severity == "CRITICAL" and (line.id, line.subject) != (row.first, row.subject)]


def command_of(row: Row, line: Line) -> str:
    commands = [c for c in COMMAND.findall(line.fix) if row.command is not None and row.command in c]
    assert commands, f"{row.fault}: the remedy has no command with {row.command!r}: {line.fix}"
    return str(commands[0])


def run(stage: Stage, row: Row) -> Named:
    quiet(stage, f"before {row.fault}")
    with row.make(stage):
        made = time.monotonic()
        lines = eventually(f"{row.fault}: the first line is {row.first} of {row.subject}", lambda: stage.doctor(row.ask),
                           lambda found: names(row, found), row.seconds)
        seconds, line = time.monotonic() - made, lines[0]
        held = time.monotonic() + HOLDS
        while True:
            assert names(row, lines), f"{row.fault}: the first line became another one: {[str(each) for each in lines]}"
            assert not accused(row, lines), f"{row.fault}: accused beside {line}: {accused(row, lines)}"
            if time.monotonic() > held:
                break
            lines = stage.doctor(row.ask)
        remedy, mended = line.fix, "words"
        if row.command is not None:
            remedy, mended = command_of(row, line), "the command"
            stage.run_on_node(remedy)
            eventually(f"{row.fault}: mended by `{remedy}`", lambda: [(each.id, each.subject) for each in stage.doctor()],
                       lambda found: (line.id, line.subject) not in found, 60)
    quiet(stage, f"after {row.fault}")
    return Named(row, seconds, line, remedy, mended)
