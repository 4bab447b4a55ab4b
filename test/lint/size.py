"""How large the house is: lines of the product, words of its pages, members of the largest class, arrows between folders. Each has a limit:
the value of the last commit that changed it, rounded up. A number may grow only with its line here, and the goal says where it is to go."""

import re
from pathlib import Path

import tree

# What is counted -> (limit, goal).
LIMITS: dict[str, tuple[int, int]] = {
    "lines of the product": (82_500, 50_000),
    "words of the pages": (59_900, 58_000),
    "data members of the largest class": (15, 15),
    "arrows between folders": (124, 111),
}
CLASS = re.compile(r"^( *)(?:class|struct) (\w+)[^;{]*\{$(.*?)^\1\};", re.MULTILINE | re.DOTALL)
MEMBER = re.compile(r"^ {2}(?! |using |return |friend |static )[\w:<>,&*\s]*?[\w>&*] \w+_(?: = [^;]+|\{[^;]*\})?;", re.MULTILINE)
INCLUDE = re.compile(r'^#include "((?:lib|plugins|cmd)/[^/"]+)/', re.MULTILINE)


def check(root: Path) -> list[str]:
    now = sizes(root)
    for what, value in now.items():
        print(f"{what}: {value:,} (limit {LIMITS[what][0]:,}, goal {LIMITS[what][1]:,})")
    return [f"{what}: {value:,}, at most {LIMITS[what][0]:,} (test/lint/size.py)" for what, value in now.items() if value > LIMITS[what][0]]


def sizes(root: Path) -> dict[str, int]:
    lines = words = members = 0
    arrows: set[tuple[str, str]] = set()
    for name in tree.files(root):
        if name.endswith(".md"):
            words += len(tree.text(root, name).split())
        if not (tree.is_product(name) and tree.is_cpp(name)):
            continue
        text = tree.text(root, name)
        lines += text.count("\n")
        members = max([members, *(len(MEMBER.findall(body)) for _, _, body in CLASS.findall(text))])
        here = "/".join(name.split("/")[:2])
        arrows |= {(here, there) for there in INCLUDE.findall(text) if there != here}
    return dict(zip(LIMITS, (lines, words, members, len(arrows)), strict=True))
