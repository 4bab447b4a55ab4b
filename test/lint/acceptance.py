"""ACCEPTANCE.md: every line of the CNI contract is in it, and every test that it names is in the test lists."""

import fnmatch
import re
import subprocess
from pathlib import Path

INDEX = "test/contract/ACCEPTANCE.md"
LINES = [f"A{n:02}" for n in range(1, 19)] + [f"B{n:02}" for n in range(1, 11)]
ROW = re.compile(r"^\| ([AB]\d\d) \|[^|]*\|(.*)\|$", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")


def check(root: Path, build: Path) -> list[str]:
    return compare((root / INDEX).read_text(), of_ctest(build), of_lab(root))


def compare(index: str, ctest: set[str], lab: set[str]) -> list[str]:
    found = []
    rows = ROW.findall(index)
    named = [line for line, _ in rows]
    found += [f"{INDEX}: line {line} is not there" for line in LINES if line not in named]
    found += [f"{INDEX}: line {line} stands twice or is none of the contract's" for line in named
              if line not in LINES or named.count(line) > 1]
    for line, cell in rows:
        names = NAME.findall(cell)
        if not names:
            found.append(f"{INDEX}: {line} names no test")
        for name in names:
            if not (name in lab if "::" in name else fnmatch.filter(ctest, name)):
                found.append(f"{INDEX}: {line}: no such test: {name}")
        if line.startswith("A") and not any(line in name for name in names):
            found.append(f"{INDEX}: {line}: none of its tests has the line's number in its name")
    return found


def of_ctest(build: Path) -> set[str]:
    listed = subprocess.run(["ctest", "--test-dir", str(build), "-N"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"^ +Test +#\d+: (.+?)(?: \(Disabled\))?$", listed, re.MULTILINE))


def of_lab(root: Path) -> set[str]:
    return {f"{file.name}::{name}" for file in (root / "test/lab").glob("test_*.py")
            for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)}
