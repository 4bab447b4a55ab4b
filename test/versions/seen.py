"""The table of versions that RailCNI was seen to work with, of seen.yaml.

usage: seen.py           writes it into manifests/INSTALL.md
"""

from __future__ import annotations

from pathlib import Path

import yaml

SEEN = Path(__file__).with_name("seen.yaml")
PAGE = Path(__file__).resolve().parents[2] / "manifests/INSTALL.md"
BEGIN = "## Versions seen to work\n"


def versions(program: str, tier: str | None = None) -> list[str]:
    """Of a program; those on which `tier` runs."""
    [of] = [each for each in yaml.safe_load(SEEN.read_text()) if each["program"] == program]
    return [str(each["version"]) for each in of["versions"] if tier is None or tier in str(each.get("run", "")).split(", ")]


def names(program: str, said: str, tier: str | None = None) -> bool:
    """Whether a program that says this of itself with --version is among versions(program, tier)."""
    return any(f" {version} " in f"{said} ".replace("\n", " ") for version in versions(program, tier))


def row(program: str, each: dict[str, object]) -> str:
    by = f"every run of `test/run.sh` ({each['run']})" if "run" in each else f"by hand, {each['hand']} ({each['tests']})"
    return f"| {program} | {each['version']} | {by}{'; ' + str(each['but']) if 'but' in each else ''} |"


def section() -> str:
    rows = [row(of["program"], each) for of in yaml.safe_load(SEEN.read_text()) for each in of["versions"]]
    return "\n".join([BEGIN, "Others may work. `railctl doctor` names a version that is known not to.\n", "| | version | seen |", "|---|---|---|", *rows]) + "\n"


def page_with(text: str) -> str:
    """INSTALL.md, with the section as it is to be."""
    before, rest = text.split(BEGIN, 1)
    _, mark, after = rest.partition("\n## ")
    return before + section() + mark + after


if __name__ == "__main__":
    PAGE.write_text(page_with(PAGE.read_text()))
