"""Documents and data: JSON and YAML parse, README links lead somewhere, no text names a developer's own machine."""

import json
import re
from pathlib import Path

import tree

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Paths and names of one machine have no meaning on another. The words are split so that this file does not find itself.
PRIVATE = [re.compile(word) for word in (
    r"(?<![\w./$}-])/wo" r"rk/", r"/tmp/w" r"t/", r"(?<![\w./-])/ro" r"ot/(?!\.cache|\.ccache)", r"(?<![\w./-])/ho" r"me/\w",
    r"node" r"source", r"art" r"ifact-?reg" r"istry", r"\bcl" r"aude\b", r"\bAI[- ](?:gen" r"erated|assis" r"tant)")]


def check(root: Path) -> list[str]:
    found = []
    for name in tree.files(root):
        content = tree.text(root, name)
        if name.endswith(".json"):
            found += _json(content, f"{name}")
        if name.endswith((".yaml", ".yml")):
            found += [f"{name}:{n}: a tab; YAML indents with spaces" for n, line in enumerate(content.split("\n"), 1)
                      if "\t" in line]
        if name.endswith(".md"):
            found += _links(root, name, content)
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
