"""One lab for the session, with its own name beside any other; what a failed test needs is printed with it, and at the end the
tables that tests have measured."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lab")]

from railcni_lab import fabric, pods  # noqa: E402  the path above comes first
from railcni_lab.layout import Lab, LabError, Shape  # noqa: E402
from lone import Lone  # noqa: E402
from tables import Tables  # noqa: E402
from world import World, settle  # noqa: E402

PODS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "a3": ("n1", "tenant-a"),
        "b1": ("n1", "tenant-b"), "b2": ("n2", "tenant-b")}


@contextmanager
def standing(lab: Lab, shape: Shape) -> Iterator[None]:
    try:
        fabric.up(lab, shape)
        yield
    finally:
        if "RAILCNI_TEST_KEEP_LAB" not in os.environ:
            fabric.down(lab)


@pytest.fixture(scope="session")
def lab(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """2 nodes, 2 rails, a spine; no pods."""
    lab = Lab(f"t{os.getpid()}", Lab.from_environment().binaries)
    request.config.stash[LAB] = lab
    try:
        fabric.require(lab)
    except LabError as error:
        pytest.exit(str(error), returncode=2)
    with standing(lab, Shape(nodes=2, rails=2, spines=1)):
        yield lab


@pytest.fixture(scope="session")
def lone() -> Iterator[Lone]:
    """1 node, 1 rail, 64 devices, nobody on it: for what is broken, killed or crowded. No other test minds."""
    lab = Lab(f"u{os.getpid()}", Lab.from_environment().binaries)
    with standing(lab, Shape(nodes=1, rails=1, spines=0, devices=64)):
        yield Lone(lab)


@pytest.fixture(scope="session")
def world(lab: Lab) -> World:
    """The lab with five pods of two tenants, on both rails: within a node and across, of each tenant."""
    for name, (node, tenant) in PODS.items():
        pods.add(lab, name, node, tenant, None)
    return World(lab)


@pytest.fixture(scope="module")
def settled(world: World) -> World:
    """The world, when it has come to rest."""
    settle(world)
    return world


LAB: pytest.StashKey[Lab] = pytest.StashKey()


@contextmanager
def lab_of_its_own(config: pytest.Config, letter: str, shape: Shape, tenants: dict[str, tuple[str, str]]) -> Iterator[World]:
    """A lab for one module, beside the session's; what a failed test prints is its. `tenants`: pod -> (node, tenant)."""
    lab = Lab(f"{letter}{os.getpid()}", Lab.from_environment().binaries)
    before = config.stash.get(LAB, None)
    config.stash[LAB] = lab
    try:
        with standing(lab, shape):
            for name, (node, tenant) in tenants.items():
                pods.add(lab, name, node, tenant, None)
            yield World(lab)
    finally:
        if before is not None:
            config.stash[LAB] = before


TABLES: pytest.StashKey[Tables] = pytest.StashKey()


@pytest.fixture(scope="session")
def tables(request: pytest.FixtureRequest) -> Tables:
    return request.config.stash.setdefault(TABLES, Tables(HERE.parents[1] / "build/reports/lab"))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker (-n 2) gives its tables to the run that it is of."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["tables"] = session.config.stash.get(TABLES, Tables(HERE)).rows


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """The hook of pytest-xdist: a worker has ended. One that crashed has no tables; the run names the test that it was in."""
    tables = node.config.stash.setdefault(TABLES, Tables(HERE.parents[1] / "build/reports/lab"))
    for name, [head, *rows] in getattr(node, "workeroutput", {}).get("tables", {}).items():
        for cells in rows:
            tables.row(name, head, cells)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for text in config.stash.get(TABLES, Tables(HERE)).write():
        terminalreporter.write_line(text)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    lab = item.config.stash.get(LAB, None)
    if report.failed and lab is not None and lab.shape_file.exists():
        for title, text in World(lab).evidence():
            report.sections.append((title, text))
