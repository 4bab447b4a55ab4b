"""All C and C++ is as clang-format 19 would write it (the version matters: others disagree about details)."""

import re
import shutil
import subprocess
from pathlib import Path

import tree

TOOL = "clang-format-19"


def check(root: Path) -> list[str]:
    if shutil.which(TOOL) is None:
        return [f"{TOOL} is missing: deploy/deps.sh test"]
    names = [name for name in tree.files(root) if tree.is_cpp(name)]
    if not names:
        return []
    ran = subprocess.run([TOOL, "--dry-run", "-Werror", "--style=file", *names], cwd=root, capture_output=True,
                         text=True, check=False)
    lines: dict[str, list[str]] = {}
    for name, line in re.findall(r"^([^:\n]+):(\d+):\d+: error:", ran.stderr, re.MULTILINE):
        lines.setdefault(name, []).append(line)
    found = [f"{name}:{at[0]}: {len(at)} places not formatted; {TOOL} -i {name}" for name, at in lines.items()]
    if ran.returncode != 0 and not found:
        found = [f"{TOOL} failed: {ran.stderr.strip()}"]
    return found
