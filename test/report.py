#!/usr/bin/python3
"""Counts the tests of one tier from its JUnit files: prints "PASSED FAILED SKIPPED"; names what failed and what was skipped on stderr.

usage: report.py FOLDER --name TIER --status N      N = exit status of the tier's command; 124 and 137 mean its time was up
"""

import argparse
import sys
import xml.etree.ElementTree as xml
from pathlib import Path


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--status", type=int, required=True)
    options = parser.parse_args()
    passed, failed = 0, []
    skipped: dict[str, list[str]] = {}  # by reason
    for file in sorted(options.folder.glob("*.xml")):
        try:
            cases = list(xml.parse(file).getroot().iter("testcase"))
        except xml.ParseError as error:
            failed.append(f"{file.name} is not a whole report: {error}")
            continue
        for case in cases:
            name = ".".join(filter(None, (case.get("classname"), case.get("name"))))
            if case.get("classname") == case.get("name"):  # ctest writes the name twice
                name = case.get("name", "?")
            reason = case.find("skipped")
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                failed.append(name)
            elif reason is not None or case.get("status") in ("notrun", "disabled"):
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
    for reason, names in skipped.items():
        print(f"   skipped {names[0] if len(names) == 1 else f'{len(names)} tests'}: {reason}", file=sys.stderr)
    print(passed, len(failed), sum(map(len, skipped.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
