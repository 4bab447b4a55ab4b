"""Documents and data: JSON and YAML parse, README links lead somewhere, no text names a developer's own machine. A README's table of
files is complete and names nothing that is gone; a page "for contributors" is there where one is promised."""

import json
import re
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath

import tree

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Paths and names of one machine have no meaning on another. The words are split so that this file does not find itself.
PRIVATE = [re.compile(word) for word in (
    r"(?<![\w./$}-])/wo" r"rk/", r"/tmp/w" r"t/", r"(?<![\w./-])/ro" r"ot/(?!\.cache|\.ccache)", r"(?<![\w./-])/ho" r"me/\w",
    r"node" r"source", r"art" r"ifact-?reg" r"istry", r"\bcl" r"aude\b", r"\bAI[- ](?:gen" r"erated|assis" r"tant)")]

TABLE = re.compile(r"^\| file \|.*\n\|[-| ]+\|\n((?:\|.*\n)*)", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")
CODE = (".cc", ".h", ".c", ".go", ".proto", ".py", ".sh")
PLACE = re.compile(r"[\w./*-]*[\w*]\.(?:cc|h|py|proto|md|json|yaml)\b")
# All the places that a newcomer must touch for what is added most often: the README whose section names them.
RECIPES = {
    "lib/inspect/doctor/README.md": "Adding a finding",
    "lib/api/README.md": "Adding a field of a rail",
    "plugins/ovs-provider/README.md": "Adding a rule for IPAM",
}


def check(root: Path) -> list[str]:
    files = tree.files(root)
    found = [finding for name, title in RECIPES.items() if (root / name).parent.is_dir()
             for finding in _recipe(files, root, name, title)]
    for name in files:
        content = tree.text(root, name)
        if name.endswith(".json"):
            found += _json(content, f"{name}")
        if name.endswith((".yaml", ".yml")):
            found += [f"{name}:{n}: a tab; YAML indents with spaces" for n, line in enumerate(content.split("\n"), 1)
                      if "\t" in line]
        if name.endswith(".md"):
            found += _links(root, name, content)
            found += _tables(files, name, content)
            for match in FENCE.finditer(content):
                found += _json(match[1], f"{name}, block at line {content.count(chr(10), 0, match.start()) + 1}")
        for number, line in enumerate(content.split("\n"), 1):
            found += [f"{name}:{number}: names one machine's own path or tool: {line.strip()[:120]}"
                      for word in PRIVATE if word.search(line)]
    return found


def _json(content: str, where: str) -> list[str]:
    try:
        json.loads(content)
    except ValueError as error:
        return [f"{where}: not JSON: {error}"]
    return []


def _links(root: Path, name: str, content: str) -> list[str]:
    found = []
    for number, line in enumerate(content.split("\n"), 1):
        for target in LINK.findall(line):
            path = target.split("#")[0]
            if not path or re.match(r"[a-z]+:", path):
                continue
            if not ((root / name).parent / path).exists():
                found.append(f"{name}:{number}: the link leads nowhere: {target}")
    return found


def _recipe(files: list[str], root: Path, name: str, title: str) -> list[str]:
    """A place is a path from the root, or the name of a file anywhere; `*` stands for any text."""
    page = root / name
    section = (page.read_text() if page.exists() else "").partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    places = set(PLACE.findall(section))
    if len(places) < 3:
        return [f"{name}: the section `## {title}` must name the files to touch, 3 at least"]
    return [f"{name}: `{title}` names {place}, which is not there" for place in sorted(places)
            if not any(fnmatch(file, place) or fnmatch(file, f"*/{place}") for file in files)]


def _tables(files: list[str], name: str, content: str) -> list[str]:
    """Code beside the page by its name without ending, folders of code by theirs; tests and fakes are left out."""
    folder = PurePosixPath(name).parent
    beside = [PurePosixPath(file).relative_to(folder) for file in files if PurePosixPath(file).is_relative_to(folder)]
    all_of_it = {path.parts[0].split(".")[0] for path in beside}
    wanted = {path.parts[0].split(".")[0] for path in beside if path.suffix in CODE and not _tests(path)}
    found = []
    for rows in TABLE.findall(content):
        listed = {entry.split("/")[0].split(".")[0] for row in rows.splitlines() for entry in NAME.findall(row.split("|")[1])}
        found += [f"{name}: its table of files leaves out {each}" for each in sorted(wanted)
                  if not any(fnmatch(each, entry) for entry in listed)]
        found += [f"{name}: its table of files names {entry}, which is not there" for entry in sorted(listed)
                  if not any(fnmatch(each, entry) for each in all_of_it)]
    return found


def _tests(path: PurePosixPath) -> bool:
    return path.name.startswith(("test_", "conftest", "__init__")) or path.stem.endswith(("_test", "_fuzz")) or "testing" in path.parts
