"""What test/run.sh counts: every way in which a tier can fail ends in its last line."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

TESTS = Path(__file__).resolve().parents[1]
REPORT = TESTS / "report.py"


def counts(folder: Path, status: int) -> tuple[str, str]:
    ran = subprocess.run([REPORT, folder, "--name", "lab", "--status", str(status)], capture_output=True, text=True, check=True)
    return ran.stdout.strip(), ran.stderr


CTEST = """<testsuite><testcase name="Mac.Parses" classname="Mac.Parses" status="run"/>
<testcase name="Mac.Fails" classname="Mac.Fails" status="fail"><failure message=""/><system-out>[ RUN      ] Mac.Fails
mac_test.cc:7: Failure
Expected equality of these values:
  1
  2
[  FAILED  ] Mac.Fails</system-out></testcase>
<testcase name="lint.binaries" classname="lint.binaries" status="disabled"/></testsuite>"""
PYTEST = """<testsuites><testsuite><testcase classname="test_a" name="test_one"/>
<testcase classname="test_a" name="test_two"><failure message="one line&#10;another"/></testcase>
<testcase classname="test_a" name="test_three"><error message="x"/></testcase>
<testcase classname="test_a" name="test_four"><skipped message="no KVM"/></testcase></testsuite></testsuites>"""


@pytest.mark.parametrize(("xml", "expected", "names"), [
    (CTEST, "1 1 1", ["FAILED  Mac.Fails: mac_test.cc:7: Failure Expected equality of these values: 1 2\n", "skipped lint.binaries"]),
    (PYTEST, "1 2 1", ["FAILED  test_a.test_two: one line\n", "FAILED  test_a.test_three", "skipped test_a.test_four: no KVM"]),
])
def test_reports_of_both_kinds_are_counted_and_failures_named(tmp_path: Path, xml: str, expected: str, names: list[str]) -> None:
    (tmp_path / "a.xml").write_text(xml)
    line, named = counts(tmp_path, 1)
    assert line == expected
    assert all(name in named for name in names)


def test_tests_that_are_skipped_for_one_reason_are_told_in_one_line(tmp_path: Path) -> None:
    case = '<testcase classname="test_a" name="test_{}"><skipped message="no guest: no QEMU"/></testcase>'
    (tmp_path / "a.xml").write_text(f"<testsuite>{case.format(1)}{case.format(2)}</testsuite>")
    line, named = counts(tmp_path, 0)
    assert line == "0 0 2" and named.strip() == "skipped 2 tests: no guest: no QEMU"


@pytest.mark.parametrize(("status", "expected"), [(0, "1 0 0"), (1, "0 1 0"), (124, "0 1 0"), (137, "0 1 0")])
def test_a_tier_without_a_report_counts_as_one_test(tmp_path: Path, status: int, expected: str) -> None:
    assert counts(tmp_path, status)[0] == expected


def test_a_report_that_was_cut_off_and_a_tier_whose_time_was_up_are_failures(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(CTEST[:60])
    line, named = counts(tmp_path, 124)
    assert line == "0 2 0" and "not a whole report" in named and "its time was up" in named


def test_passed_cases_do_not_hide_a_tier_that_broke(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text('<testsuite><testcase name="a" status="run"/></testsuite>')
    assert counts(tmp_path, 1)[0] == "1 1 0"


def test_the_slowest_tests_of_all_tiers_come_first(tmp_path: Path) -> None:
    for tier, seconds in (("unit", (0.25, 3)), ("lab", (61.04,))):
        (tmp_path / tier).mkdir()
        cases = "".join(f'<testcase classname="test_{tier}" name="test_{at}" time="{each}"/>' for at, each in enumerate(seconds))
        (tmp_path / tier / "a.xml").write_text(f"<testsuite>{cases}</testsuite>")
    (tmp_path / "unit/cut.xml").write_text(CTEST[:60])
    ran = subprocess.run([REPORT, tmp_path, "--slowest", "2"], capture_output=True, text=True, check=True)
    assert [line.split() for line in ran.stdout.splitlines()] == [["61.0", "s", "lab", "test_lab.test_0"], ["3.0", "s", "unit", "test_unit.test_1"]]


def test_a_case_is_told_with_its_tests_outcomes(tmp_path: Path) -> None:
    (tmp_path / "unit").mkdir()
    (tmp_path / "unit/a.xml").write_text(CTEST.replace("Mac.Parses", "Forms/Mac.Parses/0"))
    (tmp_path / "unit/b.xml").write_text(PYTEST.replace("test_four", "test_four[x.y]"))
    (tmp_path / "cases.yaml").write_text("- {kind: k, input: i, before: b, now: n, tests: [Mac.Parses, Mac.Fails, test_four, test_absent]}")
    told = subprocess.run([REPORT, tmp_path, "--cases", tmp_path / "cases.yaml"], capture_output=True, text=True, check=True).stdout
    assert told.split("\n") == ["k", "  input   i", "  before  b", "  now     n", "  tests   Mac.Parses: passed", "          Mac.Fails: failed",
                                "          test_four: skipped", "          test_absent: not run", "", ""]


def test_every_case_names_tests_that_are_there() -> None:
    root = TESTS.parent
    sources = [path.read_text() for top in ("lib", "cmd", "plugins", "test") for path in sorted((root / top).rglob("*"))
               if path.name.endswith("_test.cc") or (path.name.startswith("test_") and path.suffix == ".py")]
    there = {f"{suite}.{name}" for text in sources for suite, name in re.findall(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", text, re.M)}
    there |= {name for text in sources for name in re.findall(r"^def (test_\w+)", text, re.M)}
    cases = yaml.safe_load((TESTS / "cases.yaml").read_text())
    assert len(cases) > 20 and [test for case in cases for test in case["tests"] if test not in there] == []
