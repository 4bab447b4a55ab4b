"""deploy/leaves: what is published is what the generator makes, and each threat of THREAT_MODEL.md names a test that exists."""

import re
import subprocess
import sys
from pathlib import Path

import tree

FOLDER = "deploy/leaves/"
MODEL = FOLDER + "THREAT_MODEL.md"
KINDS = {"P": 6, "N": 5, "L": 5}  # of attackers, and how many rows each has at least
ROW = re.compile(r"^\| ([A-Z]\d+) \|[^|]*\|([^|]*)\|(.*)\|$", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")
CPP = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)


def check(root: Path) -> list[str]:
    made = subprocess.run([sys.executable, "-B", str(root / FOLDER / "generate.py"), "--check"], capture_output=True, text=True, timeout=60,
                          check=False)
    stale = (made.stderr.splitlines() or [f"{FOLDER}generate.py --check failed"]) if made.returncode else []
    return [line.replace(f"{root}/", "") for line in stale] + compare(tree.text(root, MODEL), of_pytest(root) | of_cpp(root))


def compare(model: str, tests: set[str]) -> list[str]:
    found = []
    rows = ROW.findall(model)
    names = [number for number, _, _ in rows]
    found += [f"{MODEL}: {number} stands twice" for number in sorted(set(names)) if names.count(number) > 1]
    for kind, least in KINDS.items():
        if sum(number[0] == kind for number in names) < least:
            found.append(f"{MODEL}: fewer than {least} rows {kind}1, {kind}2, ...")
    for number, defence, cell in rows:
        if not defence.strip():
            found.append(f"{MODEL}: {number} has no line of defence")
        named = NAME.findall(cell)
        if not named:
            found.append(f"{MODEL}: {number} names no test")
        found += [f"{MODEL}: {number}: no such test: {name}" for name in named if name not in tests]
    return found


def of_pytest(root: Path) -> set[str]:
    return {f"{name}::{test}" for name in tree.files(root) if name.startswith("test/") and Path(name).name.startswith("test_")
            for test in re.findall(r"^def (test_\w+)", tree.text(root, name), re.MULTILINE)}


def of_cpp(root: Path) -> set[str]:
    return {f"{suite}.{test}" for name in tree.files(root) if name.endswith("_test.cc") for suite, test in CPP.findall(tree.text(root, name))}
