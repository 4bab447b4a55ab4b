"""The tests of a guest, test_NAME.py, seen from both sides.

On the host nothing of them runs: the file's guest is booted once, the same pytest runs there with the tests that were
selected here, and their reports come back as if they had run here. A guest that dies fails the tests that it did not get
to; one that cannot be had skips its tests, with the reason."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
sys.path[:0] = [str(HERE), str(REPOSITORY / "test/lab"), str(REPOSITORY / "deploy/lab")]

from railcni_vm import machine  # noqa: E402  the path above comes first
from railcni_vm.guests import GUESTS  # noqa: E402
from railcni_vm.packages import Unavailable  # noqa: E402
from tables import Tables  # noqa: E402

IN_GUEST = "RAILCNI_VM_GUEST" in os.environ
OUT = Path("/run/railcni-out")
REPORTS = "reports.jsonl"
CHOICES = ("RAILCNI_BIN", "RAILCNI_FRR", "RAILCNI_OVS", "RAILCNI_TENANTS")  # variables that a guest's tests know too; folders absolute


class Inside:
    """In the guest: every report is written for the host, one line of JSON each, as soon as there is one."""

    def __init__(self, config: pytest.Config, file: Path) -> None:
        self.config, self.file = config, open(file, "w")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.file.write(json.dumps(data) + "\n")
        self.file.flush()
        if report.failed:
            self.keep_logs()

    @staticmethod
    def keep_logs() -> None:
        """What the daemons of a lab have said so far outlives the guest."""
        for log in Path("/run").glob("railcni-*/*/log/*.log"):
            kept = OUT / "log" / log.parts[-3] / log.name
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(log, kept)


@pytest.fixture(scope="session")
def tables() -> Iterator[Tables]:
    """In the guest: what its tests have measured, for build/reports/TIER/NAME."""
    tables = Tables(OUT)
    yield tables
    for text in tables.write():
        print(text)


class Outside:
    """On the host: runs guests in the place of tests."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.reports: dict[str, list[pytest.TestReport]] = {}  # of tests whose guest has ended

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> bool | None:
        if guest_of(item) not in GUESTS:
            return None  # a test of the runner itself
        if item.nodeid not in self.reports:
            self.run([i for i in item.session.items if i.path == item.path])
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for report in self.reports[item.nodeid]:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def run(self, items: list[pytest.Item]) -> None:
        name = guest_of(items[0])
        guest, out = GUESTS[name], REPOSITORY / "build/reports" / os.environ.get("RAILCNI_TIER", "vm") / name
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir(parents=True)
        began = time.monotonic()
        try:
            machine.require()
            kernel = guest.fetch()
        except Unavailable as reason:
            self.reports |= {i.nodeid: [made_up(i, "skipped", f"no guest: {reason}")] for i in items}
            return
        fetched = time.monotonic() - began
        wanted = [f"{i.path}::{within_file(i.nodeid)}" for i in items]
        choices = [f"{key}={os.environ[key]}" for key in CHOICES if os.environ.get(key)]
        command = guest.preamble() + shlex.join(
            ["env", *choices, str(REPOSITORY / "test/versions/versions.py"), "/usr/bin/python3", "-B", "-m", "pytest", "-p", "no:cacheprovider",
             "-p", "no:xdist", f"--rootdir={REPOSITORY}", "-v", "-s", *wanted])
        outcome = machine.run(kernel, command, out, guest.limit, guest.devices)
        self.say(f"{name}: kernel {kernel.version} {fetched:.0f} s, guest {outcome.seconds:.0f} s; {out}/transcript")
        found: dict[str, list[pytest.TestReport]] = {i.nodeid: [] for i in items}
        asked = {within_file(i.nodeid): i for i in items}
        for line in (out / REPORTS).read_text().splitlines() if (out / REPORTS).exists() else []:
            report = self.config.hook.pytest_report_from_serializable(config=self.config, data=json.loads(line))
            item = asked[within_file(report.nodeid)]  # the two sides may count paths from different folders
            report.nodeid, report.location = item.nodeid, item.location
            found[item.nodeid].append(report)
        for item in items:
            if not any(r.when == "teardown" for r in found[item.nodeid]):
                why = outcome.words or f"its pytest ended with status {outcome.status} before"
                found[item.nodeid].append(made_up(item, "failed", f"not run to its end in the guest: {why}\n{end_of(out)}"))
        self.reports |= found

    def say(self, text: str) -> None:
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        reporter.write_line(f"\nvm: {text}")


def guest_of(item: pytest.Item) -> str:
    return item.path.stem.removeprefix("test_")


def within_file(nodeid: str) -> str:
    return nodeid.partition("::")[2]


def made_up(item: pytest.Item, outcome: str, words: str) -> pytest.TestReport:
    where = (str(item.path), item.location[1] or 0, f"Skipped: {words}")
    return pytest.TestReport(item.nodeid, item.location, dict.fromkeys(item.keywords, 1), outcome,
                             where if outcome == "skipped" else words, "setup")


def end_of(out: Path, lines: int = 40) -> str:
    transcript = out / "transcript"
    if not transcript.exists():
        return ""
    return "\n".join(transcript.read_text(errors="replace").splitlines()[-lines:])


def pytest_configure(config: pytest.Config) -> None:
    if IN_GUEST:
        config.pluginmanager.register(Inside(config, OUT / REPORTS))
    elif not config.option.collectonly:
        config.pluginmanager.register(Outside(config))
