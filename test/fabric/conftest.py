"""Folders with short names: a unix socket's path has 107 bytes."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))


@pytest.fixture(scope="module")
def short() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="rf-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """With a failure, the ends of the logs."""
    outcome = yield
    report = outcome.get_result()  # type: ignore[attr-defined]
    folder = getattr(item, "funcargs", {}).get("short")
    if report.failed and folder is not None:
        for log in sorted(folder.glob("*.log")):
            report.sections.append((log.name, log.read_text(errors="replace")[-3000:]))
