"""kill -9 at every point of ADD and of DEL of every plugin, on the real thing; then one of three recoveries; then nothing is left.

The points are those of the record: each write has one before it and one after it (lib/state/testing/crash_store.h). How many there
are the plugins themselves tell: the test goes on until a verb ends without having been killed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from lone import Lone, PluginError, killed_at, report_folder
from railcni_lab.chain import Attachment

RECOVERIES = ("DEL", "ADD again, DEL", "sweep")
EXISTS = 102  # the first plugin had finished before the chain died: DEL comes first then
SLOTS = 4


@dataclass
class Cell:
    point: str
    left: list[str]


@dataclass
class Run:
    """One verb of one plugin, killed at each of its points, each time followed by the same recovery."""

    verb: str
    plugin: int
    recovery: str
    cells: list[Cell] = field(default_factory=list)


def kill_at(lone: Lone, run: Run, attachment: Attachment, at: int) -> tuple[str | None, dict[str, Any] | None]:
    """The point where it died, and the result that the runtime has then."""
    real, crashing = lone.chain(), lone.chain(kill_at=at)
    result: dict[str, Any] | None = None
    for plugin in lone.plugins[:run.plugin] if run.verb == "ADD" else lone.plugins:
        result = real.execute("ADD", plugin, attachment, result)
    if run.verb == "DEL":
        for plugin in reversed(lone.plugins[run.plugin + 1:]):
            real.execute("DEL", plugin, attachment, result)
    try:
        crashing.execute(run.verb, lone.plugins[run.plugin], attachment, result)
    except PluginError as error:
        point = killed_at(error)
        assert point is not None, error
        return point, result
    return None, result


def recover(lone: Lone, run: Run, name: str, index: int, attachment: Attachment, result: dict[str, Any] | None) -> None:
    real = lone.chain()
    if run.recovery == "sweep":
        lone.end_namespace(name)
        lone.settle(index)
        lone.sweep(attachment)
        return
    if run.recovery.startswith("ADD again"):
        try:
            result = None
            for plugin in lone.plugins:
                result = real.execute("ADD", plugin, attachment, result)
        except PluginError as error:
            assert error.code == EXISTS, error
    for plugin in reversed(lone.plugins):
        real.execute("DEL", plugin, attachment, result)


def go(lone: Lone, run: Run, slot: int) -> None:
    name, index, at = f"fault-{slot}", slot, 0
    while True:
        at += 1
        attachment = lone.attachment(name, index, tenant=f"t-fault-{slot}")
        point, result = kill_at(lone, run, attachment, at)
        if point is None:
            for plugin in reversed(lone.plugins):
                lone.chain().execute("DEL", plugin, attachment, result)
            assert not lone.left_in_the_end(attachment)
            return
        recover(lone, run, name, index, attachment, result)
        left = lone.left_in_the_end(attachment)
        run.cells.append(Cell(point, left))
        # The next would fail at what this one has left, and hide it.
        assert not left, f"{lone.plugins[run.plugin]['type']} {run.verb} killed {point}, then {run.recovery}: {left}"
        lone.mend(index)


def table(lone: Lone, runs: list[Run]) -> str:
    lines = [f"{'killed':<52}" + "".join(f"{r:>16}" for r in RECOVERIES)]
    for verb in ("ADD", "DEL"):
        for plugin, config in enumerate(lone.plugins):
            mine = {r.recovery: r.cells for r in runs if (r.verb, r.plugin) == (verb, plugin)}
            for i in range(max(map(len, mine.values()))):
                cells = [mine[r][i] if i < len(mine[r]) else None for r in RECOVERIES]
                point = next(c.point for c in cells if c is not None)
                step = f"{config['type']} {verb} {i + 1:>2} {point}"
                lines.append(f"{step:<52}" + "".join(f"{len(c.left) if c else '-':>16}" for c in cells))
    return "\n".join(lines)


def in_parallel(work: list[Run], act: Callable[[Run, int], None]) -> None:
    free, guard = list(range(SLOTS)), threading.Lock()

    def one(run: Run) -> None:
        with guard:
            slot = free.pop()
        try:
            act(run, slot)
        finally:
            with guard:
                free.append(slot)

    with ThreadPoolExecutor(SLOTS) as pool:
        for done in [pool.submit(one, run) for run in work]:
            done.result()


def test_fault_matrix(lone: Lone, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [Run(verb, plugin, recovery) for plugin in range(len(lone.plugins)) for verb in ("ADD", "DEL")
            for recovery in RECOVERIES]
    try:
        in_parallel(runs, lambda run, slot: go(lone, run, slot))
    finally:
        text = f"Left over after kill -9 (columns: what came next), {sum(len(r.cells) for r in runs)} cases\n{table(lone, runs)}\n"
        (report_folder() / "fault-matrix.txt").write_text(text)
        with capsys.disabled():
            print(f"\n{text}")
    for run in runs:
        assert len(run.cells) >= 4, f"{lone.plugins[run.plugin]['type']} {run.verb} writes to the record: {run}"
