#!/usr/bin/python3
"""clang-tidy 19 over what has changed, or over everything; one test of a JUnit file for each translation unit.

usage: tidy.py --build FOLDER --junit FILE [--all] [--base REVISION] [--seconds N]

FOLDER: the build folder of preset `tidy`; its generated headers must be there.
What has changed is what differs from --base, uncommitted files included, newest first: .cc and .c files, and for a header the file
of its name beside it, else one that includes it. Without --base: from the merge base with origin/main; where that is HEAD itself, from
the newest commit that is a day older than HEAD; where there is none, or no git, from nothing, so all files have changed.
A unit in which nothing was found is known again as long as it, our headers that it includes, the API, the command, the checks and
clang-tidy are the same: ${RAILCNI_CACHE:-~/.cache/railcni}/tidy has an empty file for each.
No unit is begun after N seconds: it counts as skipped, and is named. Exit status: 0 nothing found, 1 something found.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as xml
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/lint"))
import tree  # noqa: E402

DAY = 24 * 3600
CACHE = Path(os.environ.get("RAILCNI_CACHE") or Path.home() / ".cache/railcni") / "tidy"
TOOL = "clang-tidy-19"
NO_TIME, NOT_BUILT = "no time left for it", "not part of the tidy build"


def git(root: Path, *words: str) -> str | None:
    done = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), *words], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def base_of(root: Path) -> str | None:
    """The state before what has changed; None: there was nothing."""
    head = git(root, "rev-parse", "HEAD")
    common = git(root, "merge-base", "HEAD", "origin/main")
    if common and common != head:
        return common
    date = git(root, "log", "-1", "--format=%ct")
    return git(root, "rev-list", "-1", f"--before={int(date) - DAY}", "HEAD") or None if date else None


def changed(root: Path, base: str | None) -> list[str]:
    """Newest first."""
    if base is None:
        return tree.files(root)
    texts = [git(root, "diff", "--name-only", "HEAD"), git(root, "ls-files", "--others", "--exclude-standard"),
             git(root, "log", "--format=", "--name-only", f"{base}..HEAD")]
    differs = set((git(root, "diff", "--name-only", base) or "").splitlines()) | set((texts[1] or "").splitlines())
    names = [name for text in texts for name in (text or "").splitlines()]
    return [name for name in dict.fromkeys(names) if name in differs and (root / name).is_file()]


def units(root: Path, names: list[str], every: list[str]) -> list[str]:
    """The translation units that show what is wrong with these files."""
    found: dict[str, None] = {}
    for name in names:
        stem = name.rpartition(".")[0]
        if name.endswith((".cc", ".c")):
            found[name] = None
        elif name.endswith(".h"):
            beside = [unit for unit in every if unit in (f"{stem}.cc", f"{stem}.c")]
            folder = name.rpartition("/")[0] + "/"
            near = sorted(every, key=lambda unit: not unit.startswith(folder))
            including = (unit for unit in near if f'#include "{name}"' in tree.text(root, unit))
            one = next(iter(beside), None) or next(including, None)
            if one:
                found[one] = None
    return list(found)


@dataclass
class Verdict:
    unit: str
    seconds: float = 0
    found: str = ""
    skipped: str = ""


def look(root: Path, build: Path, unit: str) -> Verdict:
    began = time.monotonic()
    # The analyzer takes a minute for a file of tests, whose macros are all branches; what it looks for, they meet under ASan.
    checks = ["--checks=-clang-analyzer-*"] if tree.is_test(unit) else []
    done = subprocess.run([TOOL, "--quiet", *checks, "-p", str(build), str(root / unit)], capture_output=True, text=True, check=False)
    said = (done.stdout.strip() or done.stderr.strip() or f"clang-tidy ended with {done.returncode}") if done.returncode else ""
    return Verdict(unit, time.monotonic() - began, said.replace(f"{root}/", ""))


class Known:
    """The units in which nothing was found, by all that a verdict depends on."""

    def __init__(self, root: Path, folder: Path, version: str) -> None:
        self.root, self.folder, self.texts = root, folder, dict[str, str]()
        api = [name for name in tree.files(root) if name.startswith("lib/api/") or name.rpartition("/")[2] == ".clang-tidy"]
        self.always = version + "".join(self.text(name) for name in api)

    def text(self, name: str) -> str:
        if name not in self.texts:
            self.texts[name] = tree.text(self.root, name) if (self.root / name).is_file() else ""
        return self.texts[name]

    def key(self, unit: str, command: str) -> Path:
        seen, left = {unit}, [unit]
        while left:
            found = set(re.findall(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', self.text(left.pop()), re.MULTILINE)) - seen
            seen |= found
            left += found
        parts = [self.always, command.replace(str(self.root), ""), *(f"{name}\0{self.text(name)}" for name in sorted(seen))]
        return self.folder / hashlib.sha256("\0".join(parts).encode()).hexdigest()


def look_at_all(root: Path, build: Path, wanted: list[str], seconds: float, cache: Path = CACHE) -> list[Verdict]:
    entries = json.loads((build / "compile_commands.json").read_text())
    built = {os.path.relpath(os.path.join(entry["directory"], entry["file"]), root): entry.get("command", "") for entry in entries}
    known = Known(root, cache, subprocess.run([TOOL, "--version"], capture_output=True, text=True, check=True).stdout)
    cache.mkdir(parents=True, exist_ok=True)
    until = time.monotonic() + seconds
    saying = threading.Lock()

    def one(unit: str) -> Verdict:
        if unit not in built:
            return Verdict(unit, skipped=NOT_BUILT)
        key = known.key(unit, built[unit])
        if key.exists():
            key.touch()  # the oldest go first, whoever clears the folder
            return Verdict(unit)
        if time.monotonic() > until:
            return Verdict(unit, skipped=NO_TIME)
        verdict = look(root, build, unit)
        if not verdict.found:
            key.touch()
        with saying:
            print(f"{'FOUND' if verdict.found else 'ok':<6} {verdict.seconds:5.1f} s  {unit}", flush=True)
            if verdict.found:
                print(verdict.found, flush=True)
        return verdict

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(one, wanted))


def report(verdicts: list[Verdict]) -> xml.ElementTree:
    suite = xml.Element("testsuite", name="tidy")
    for verdict in verdicts:
        case = xml.SubElement(suite, "testcase", classname="tidy", name=verdict.unit, time=f"{verdict.seconds:.1f}")
        if verdict.skipped:
            xml.SubElement(case, "skipped", message=verdict.skipped)
        if verdict.found:
            lines = verdict.found.splitlines()
            first = next((line for line in lines if " error: " in line or " warning: " in line), lines[0])
            xml.SubElement(case, "failure", message=first).text = verdict.found
    return xml.ElementTree(suite)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--junit", type=Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--base")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    every = [name for name in tree.files(ROOT) if name.endswith((".cc", ".c"))]
    base = None if options.all else options.base or base_of(ROOT)
    wanted = every if options.all else units(ROOT, changed(ROOT, base), every)
    print(f"{len(wanted)} translation units of {len(every)}: " + ("all" if base is None else f"what differs from {base}"), flush=True)
    verdicts = look_at_all(ROOT, options.build, wanted, options.seconds)
    options.junit.parent.mkdir(parents=True, exist_ok=True)
    report(verdicts).write(options.junit)
    found, skipped = sum(bool(v.found) for v in verdicts), sum(bool(v.skipped) for v in verdicts)
    print(f"{len(verdicts) - found - skipped} ok, {found} with findings, {skipped} not looked at")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
