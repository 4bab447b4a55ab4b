"""Shell scripts pass shellcheck and say `set -euo pipefail`; Python compiles."""

import ast
import shutil
import subprocess
from pathlib import Path

import tree


def check(root: Path) -> list[str]:
    if shutil.which("shellcheck") is None:
        return ["shellcheck is missing: deploy/deps.sh test"]
    found, shells = [], []
    for name in tree.files(root):
        language = _language(root, name)
        if language == "python":
            try:
                ast.parse(tree.text(root, name), name)
            except SyntaxError as error:
                found.append(f"{name}:{error.lineno}: {error.msg}")
        elif language:
            shells.append(name)
            strict = "set -euo pipefail" if language == "bash" else "set -eu"
            if strict not in tree.text(root, name):
                found.append(f"{name}:1: a {language} script without '{strict}'")
    if shells:
        ran = subprocess.run(["shellcheck", "--format=gcc", "--external-sources", *shells], cwd=root, text=True,
                             capture_output=True, check=False)
        found += ran.stdout.splitlines()
        if ran.returncode > 1:
            found.append(f"shellcheck failed: {ran.stderr.strip()}")
    return found


def _language(root: Path, name: str) -> str:
    """'bash', 'sh', 'python' or '': by its ending or its first line."""
    with (root / name).open("rb") as file:
        first = file.readline(80)
    if name.endswith(".py") or (first.startswith(b"#!") and b"python" in first):
        return "python"
    if first.startswith(b"#!") and first.rstrip().endswith(b"bash"):
        return "bash"
    if name.endswith(".sh") or (first.startswith(b"#!") and first.rstrip().endswith(b"/sh")):
        return "sh"
    return ""
