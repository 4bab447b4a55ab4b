"""No file of the product and no C++ test is longer than 500 lines: one subject each, under a name that says which.

The API (.proto) may be longer: it is one page of documentation for those who write clients, and its files are names that
clients see.
"""

from pathlib import Path

import tree

LONGEST = 500
CODE = (".cc", ".h", ".c", ".py", ".sh")


def check(root: Path) -> list[str]:
    found = []
    for name in tree.files(root):
        if not (tree.is_product(name) and name.endswith(CODE) or tree.is_test(name) and tree.is_cpp(name)):
            continue
        lines = len(tree.text(root, name).splitlines())
        if lines > LONGEST:
            found.append(f"{name}:{LONGEST + 1}: {lines} lines, {LONGEST} at most; split it by subject")
    return found
