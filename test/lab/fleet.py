"""railfabric beside a lab, and faults whose cause it must name in its first line.

Use:     with railfabric(world, folder) as fleet:
             named = run(fleet, stage, Row("uplink down", "cable-down", "n1/rail0", make))
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from causes import HOLDS, Stage
from railcni_lab.layout import LabError, write_json
from world import World, eventually

SOON = 20
UNIT_OF = "the unit of "  # a subject that only the lab knows


@dataclass
class Fleet:
    world: World
    folder: Path
    daemon: subprocess.Popen[bytes] | None = None

    @property
    def socket(self) -> Path:
        return self.folder / "fabric.sock"

    def start(self) -> None:
        config = self.folder / "railfabric.json"
        write_json(config, {"listen": [f"unix:{self.socket}"],
                            "nodes": [{"name": node.name, "raild": f"unix:{node.raild_socket}"} for node in self.world.lab.nodes()]})
        with (self.folder / "railfabric.log").open("ab") as log:
            self.daemon = subprocess.Popen([str(self.world.lab.binaries / "railfabric"), "--config", str(config)],
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        eventually("railfabric serves", lambda: self.call("health").returncode, lambda status: status == 0, SOON)

    def stop(self) -> None:
        if self.daemon is not None:
            self.daemon.terminate()
            self.daemon.wait(30)
            self.daemon = None

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(self.world.lab.binaries / "railctl"), "--fabric", f"unix:{self.socket}", *words],
                              capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL)

    def ask(self, *words: str) -> dict[str, Any]:
        done = self.call("-o", "json", *words)
        if done.returncode not in (0, 1) or not done.stdout:
            raise LabError(f"`railctl --fabric {' '.join(words)}` gave {done.returncode}: {done.stderr}")
        return dict(json.loads(done.stdout))

    def causes(self) -> list[dict[str, Any]]:
        """The worst first."""
        return list(self.ask("doctor").get("causes", []))

    def unit_of(self, node: str) -> str:
        [found] = self.ask("get", "nodes", "--node", node)["nodes"]
        return str(found["unit"])


@contextmanager
def railfabric(world: World, folder: Path) -> Iterator[Fleet]:
    fleet = Fleet(world, folder)
    try:
        fleet.start()
        yield fleet
    finally:
        fleet.stop()


@dataclass(frozen=True)
class Row:
    fault: str
    first: str  # id of the cause that must be the first line
    subject: str  # of that line; UNIT_OF and a node: the name of its unit
    make: Callable[[Stage], AbstractContextManager[None]]  # makes the fault; leaving it mends it
    also: frozenset[str] = field(default=frozenset())  # ids of causes beside it with good reason
    seconds: float = 30  # until the first line names it, at most


HEAD = ("fault", "seconds", "first line", "beside it")


def words(causes: list[dict[str, Any]]) -> list[str]:
    return [f"{cause['id']} {cause['subject']}: {cause['what']}" for cause in causes]


def names(row: Row, causes: list[dict[str, Any]]) -> bool:
    return bool(causes) and (causes[0]["id"], causes[0]["subject"]) == (row.first, row.subject)


def quiet(fleet: Fleet, when: str, seconds: float = 60) -> None:
    eventually(f"{when}: nothing is wrong with the fleet", lambda: words(fleet.causes()), lambda found: not found, seconds)


def run(fleet: Fleet, stage: Stage, row: Row) -> tuple[str, ...]:
    """The row of the table."""
    quiet(fleet, f"before {row.fault}")
    if row.subject.startswith(UNIT_OF):
        row = replace(row, subject=fleet.unit_of(row.subject.removeprefix(UNIT_OF)))
    with row.make(stage):
        made = time.monotonic()
        causes = eventually(f"{row.fault}: the first line is {row.first} of {row.subject}", lambda: (fleet.causes()),
                            lambda found: names(row, found), row.seconds)
        took = time.monotonic() - made
        held = time.monotonic() + HOLDS
        while True:
            assert names(row, causes), f"{row.fault}: the first line became another one: {words(causes)}"
            beside = [cause for cause in causes[1:] if cause["severity"] == "CRITICAL" and cause["id"] not in row.also]
            assert not beside, f"{row.fault}: accused beside it: {words(beside)}"
            if time.monotonic() > held:
                break
            causes = fleet.causes()
    quiet(fleet, f"after {row.fault}", 180)
    return row.fault, f"{took:.1f}", f"{row.first}: {causes[0]['what']}", "; ".join(words(causes[1:])) or "-"
