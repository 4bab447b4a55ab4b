"""Grafana's dashboards: each is of the form that Grafana imports (dashboard.schema.json), and each query names only metrics and labels
that raild has."""

import json
import re
from pathlib import Path
from typing import Any

import tree

try:
    import jsonschema
except ModuleNotFoundError:
    jsonschema = None  # type: ignore[assignment]

FOLDER = "deploy/grafana/"
NAMES = ("lib/api/REFERENCE.md", "cmd/raild/metrics/README.md")  # unit tests compare them with what raild has
ROW = re.compile(r"^\| `(railcni_[a-z_]+)` \| ([^|]*) \|", re.MULTILINE)
SELECTOR = re.compile(r"\b(railcni_[a-z_]+)(?:\{([^}]*)\})?")
ADDED = {"instance", "job"}  # by Prometheus
SUFFIXES = ("_sum", "_count", "_bucket")  # of a histogram
SCHEMA = Path(__file__).with_name("dashboard.schema.json")


def check(root: Path) -> list[str]:
    if jsonschema is None:
        return ["python3-jsonschema is missing: deploy/deps.sh test"]
    families = families_of(names(root))
    files = sorted((root / FOLDER).glob("*.json"))
    found = [] if len(files) == 3 else [f"{FOLDER}: {len(files)} dashboards, not fabric, rail and tenant"]
    for file in files:
        try:
            board = json.loads(file.read_text())
        except ValueError as error:
            found.append(f"{FOLDER}{file.name}: {error}")
            continue
        found += [f"{FOLDER}{file.name}: {problem}" for problem in problems(board, families)]
    return found


def names(root: Path) -> str:
    return "".join(tree.text(root, name) for name in NAMES)


def families_of(readme: str) -> dict[str, set[str]]:
    return {name: set(re.findall(r"`(\w+)`", labels)) | ADDED for name, labels in ROW.findall(readme)}


def problems(board: dict[str, Any], families: dict[str, set[str]]) -> list[str]:
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text()))
    found = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(board)]
    if found:
        return found
    variables = {each["name"] for each in board["templating"]["list"]} | {"__rate_interval"}
    ids = [panel["id"] for panel in board["panels"]]
    if len(set(ids)) != len(ids):
        found.append("two panels have one id")
    for panel in board["panels"]:
        if panel["gridPos"]["x"] + panel["gridPos"]["w"] > 24:
            found.append(f"panel {panel['title']}: it is beyond Grafana's grid of 24")
        if len({target["refId"] for target in panel["targets"]}) != len(panel["targets"]):
            found.append(f"panel {panel['title']}: two queries have one refId")
        for target in panel["targets"]:
            found += [f"panel {panel['title']}: {problem}" for problem in query_problems(target["expr"], families, variables)]
    return found


def query_problems(expression: str, families: dict[str, set[str]], variables: set[str]) -> list[str]:
    found = [f"${name} is no variable" for name in re.findall(r"\$(\w+)", expression) if name not in variables]
    named = SELECTOR.findall(expression)
    if not named:
        found.append(f"{expression} names no metric of raild")
    for name, matchers in named:
        family = next((name.removesuffix(s) for s in ("", *SUFFIXES) if name.removesuffix(s) in families), None)
        if family is None:
            found.append(f"raild has no metric {name}")
            continue
        labels = set(re.findall(r"(\w+)\s*(?:=~|!=|!~|=)\s*\"", matchers))
        found += [f"{name} has no label {label}" for label in sorted(labels - families[family])]
    return found
