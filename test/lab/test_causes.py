"""Every fault that this folder knows is put into a lab, one at a time: the doctor's first line names the cause, accuses nothing that is
healthy, and its remedy mends it. The table is build/reports/lab/causes.txt."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from cause_rows_life import start, stop
from causes import HOLDS, Named, Row, Stage, quiet, run
from conftest import PODS, lab_of_its_own
from railcni_lab.layout import Shape
from tables import Tables
from world import settle

HERE = Path(__file__).resolve().parent
ROWS: list[Row] = [row for file in sorted(HERE.glob("cause_rows_*.py")) for row in import_module(file.stem).ROWS]
AT_LEAST = 30
STARTS = 8


@pytest.fixture(scope="module")
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    with lab_of_its_own(request.config, "c", Shape(nodes=2, rails=2, spines=1), PODS) as world:
        settle(world)
        yield Stage(world)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.fault.replace(" ", "-")) for row in ROWS])
def test_first_line_names_the_cause(stage: Stage, tables: Tables, row: Row) -> None:
    named = run(stage, row)
    tables.row("causes", Named.HEAD, named.cells())


def test_a_raild_that_starts_accuses_nobody(stage: Stage) -> None:
    quiet(stage, "before raild starts anew")
    for _ in range(STARTS):
        stop(stage)
        start(stage)
        answered = time.monotonic()
        while time.monotonic() < answered + HOLDS:
            found = [str(line) for line in stage.doctor()]
            assert not found, f"{time.monotonic() - answered:.2f} s after raild's first answer: {found}"


def test_no_fault_stands_twice() -> None:
    faults = [row.fault for row in ROWS]
    assert len(set(faults)) == len(faults) >= AT_LEAST, sorted(faults)


def test_every_first_line_is_one_of_the_doctor() -> None:
    page = (HERE.parents[1] / "lib/inspect/doctor/README.md").read_text()
    known = set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", page))
    assert {row.first for row in ROWS} <= known, {row.first for row in ROWS} - known
