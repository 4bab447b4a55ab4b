#!/usr/bin/python3
"""Reads the JUnit files of tiers.

usage: report.py FOLDER --name TIER --status N   counts one tier's tests: prints "PASSED FAILED SKIPPED"; names what failed and what
                                                 was skipped on stderr. N = exit status of the tier's command; 124 and 137 mean that
                                                 its time was up. --append FILE: what failed, also at the end of FILE
       report.py FOLDER --slowest N              the N tests below FOLDER that took longest, a line each: seconds, tier, test
       report.py FOLDER --cases FILE             the cases of FILE (test/cases.yaml) with how their tests below FOLDER ended
"""

import argparse
import sys
import xml.etree.ElementTree as xml
from collections.abc import Iterator
from pathlib import Path


def told(case: xml.Element) -> str:
    """The first line of what a failed test said, for who has nothing but the run's output."""
    said = next((e for e in (case.find("failure"), case.find("error")) if e is not None), None)
    lines = (said.get("message") or "").strip().splitlines() if said is not None else []
    if not lines:  # ctest has all that the program printed in one; googletest's word for it ends a line
        printed = (case.findtext("system-out") or "").splitlines()
        lines = [" ".join(filter(None, map(str.strip, printed[at:at + 4]))) for at, line in enumerate(printed)
                 if line.endswith((": Failure", ": error"))]
    return f": {lines[0][:300]}" if lines else ""


def name_of(case: xml.Element) -> str:
    if case.get("classname") == case.get("name"):  # ctest writes the name twice
        return case.get("name", "?")
    return ".".join(filter(None, (case.get("classname"), case.get("name"))))


def cases_below(folder: Path) -> Iterator[tuple[str, xml.Element]]:
    """Tier and case. A file that is not a whole report has been told of when its tier was counted."""
    for file in folder.rglob("*.xml"):
        try:
            cases = list(xml.parse(file).getroot().iter("testcase"))
        except xml.ParseError:
            continue
        yield from ((file.relative_to(folder).parts[0], case) for case in cases)


def slowest(folder: Path, count: int) -> list[str]:
    took = [(float(case.get("time") or 0), tier, name_of(case)) for tier, case in cases_below(folder)]
    return [f"{seconds:6.1f} s  {tier:<12} {name}" for seconds, tier, name in sorted(took, reverse=True)[:count]]


def outcome_of(case: xml.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "failed"
    return "skipped" if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled") else "passed"


def told_cases(folder: Path, file: Path) -> Iterator[str]:
    """Errors: ValueError, KeyError, a file that is not as test/cases.yaml says."""
    import yaml
    outcomes: dict[str, set[str]] = {}  # by a test's name without its parameters, file and folder
    for _, case in cases_below(folder):
        outcomes.setdefault(plain(name_of(case)), set()).add(outcome_of(case))
    for case in yaml.safe_load(file.read_text()):
        yield f"{case['kind']}"
        for key in ("input", "before", "now"):
            yield f"  {key:<7} {case[key]}"
        for test in case["tests"]:
            yield f"  {'tests' if test == case['tests'][0] else '':<7} {test}: {' and '.join(sorted(outcomes.get(test, {'not run'})))}"
        yield ""


def plain(name: str) -> str:
    """`Two/Suite.Name/0` -> `Suite.Name`, `test.lab.test_a.test_b[x]` -> `test_b`."""
    if "test_" in name:
        return name.partition("[")[0].rpartition(".")[2]
    return "/".join(word for word in name.split("/") if "." in word)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--slowest", type=int)
    parser.add_argument("--cases", type=Path)
    counts = not {"--slowest", "--cases"} & set(sys.argv)
    parser.add_argument("--name", required=counts)
    parser.add_argument("--status", type=int, required=counts)
    parser.add_argument("--append", type=Path)
    options = parser.parse_args()
    if options.cases is not None:
        print("\n".join(told_cases(options.folder, options.cases)))
        return 0
    if options.slowest is not None:
        print("\n".join(slowest(options.folder, options.slowest)))
        return 0
    passed, failed = 0, []
    skipped: dict[str, list[str]] = {}  # by reason
    for file in sorted(options.folder.glob("*.xml")):
        try:
            cases = list(xml.parse(file).getroot().iter("testcase"))
        except xml.ParseError as error:
            failed.append(f"{file.name} is not a whole report: {error}")
            continue
        for case in cases:
            name = name_of(case)
            reason, outcome = case.find("skipped"), outcome_of(case)
            if outcome == "failed":
                failed.append(name + told(case))
            elif outcome == "skipped":
                why = (reason.get("message") if reason is not None else "") or "no reason given"
                skipped.setdefault(why, []).append(name)
            else:
                passed += 1
    if options.status in (124, 137):
        failed.append(f"{options.name}: stopped, its time was up")
    elif options.status != 0 and not failed:
        failed.append(f"{options.name}: exit status {options.status} without a failed test (nothing ran, or it broke before)")
    elif options.status == 0 and not list(options.folder.glob("*.xml")):
        passed += 1  # a tier that is one command
    for name in failed:
        print(f"   FAILED  {name}", file=sys.stderr)
    if options.append is not None:
        with options.append.open("a") as file:
            file.writelines(f"{options.name}: {name}\n" for name in failed)
    for reason, names in skipped.items():
        print(f"   skipped {names[0] if len(names) == 1 else f'{len(names)} tests'}: {reason}", file=sys.stderr)
    print(passed, len(failed), sum(map(len, skipped.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
