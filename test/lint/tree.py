"""The files that the checkers look at: what git tracks (or would, if added), or all files where there is no git."""

import os
import subprocess
from pathlib import Path

LEFT_OUT = {".git", ".cache", "__pycache__", ".pytest_cache"}


def files(root: Path) -> list[str]:
    """Paths relative to `root`, sorted, with '/' between their parts."""
    if (root / ".git").exists():
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "--cached",
                                 "--others", "--exclude-standard"], capture_output=True, check=False)
        if listed.returncode == 0:
            names = {name for name in listed.stdout.decode().split("\0") if name}
            return sorted(name for name in names if (root / name).is_file())
    found = []
    for folder, below, names in os.walk(root):
        below[:] = [b for b in below if b not in LEFT_OUT and not b.startswith("build")]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names if not name.endswith(".pyc")]
    return sorted(found)


def text(root: Path, name: str) -> str:
    """The file as text; bytes that are not UTF-8 (a fuzzer's seed) become replacement characters."""
    return (root / name).read_text(encoding="utf-8", errors="replace")


def is_cpp(name: str) -> bool:
    return name.endswith((".h", ".cc", ".c"))


def is_test(name: str) -> bool:
    """Test code: what the product's rules do not bind."""
    return name.startswith("test/") or "/testing/" in name or name.endswith(("_test.cc", "_fuzz.cc"))


def is_product(name: str) -> bool:
    return name.startswith(("lib/", "plugins/", "cmd/")) and not is_test(name)
