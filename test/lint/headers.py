"""A source file includes its own header first: so the header is known to compile by itself. (Headers without a source file are
compiled alone: lint.headers_are_self_contained.)"""

from pathlib import Path

import tree
from layers import INCLUDE


def check(root: Path) -> list[str]:
    names = set(tree.files(root))
    found = []
    for name in sorted(names):
        own = f"{name.rpartition('.')[0]}.h"
        if not name.endswith((".cc", ".c")) or own not in names:
            continue
        first = INCLUDE.search(tree.text(root, name))
        if first is None or first[2] != own:
            found.append(f"{name}:1: the first include is {first[2] if first else 'missing'}; it must be {own}")
    return found
