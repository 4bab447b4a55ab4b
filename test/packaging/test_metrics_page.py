"""The reference of metrics names every part and every cause that raild's code can put there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def code() -> str:
    """Of raild's repair and of raild itself. What a constant of the file names stands for its name."""
    text = ""
    for path in [*sorted((ROOT / "lib/engine/repair").glob("*.cc")), *sorted((ROOT / "cmd/raild").rglob("*.cc"))]:
        if not path.name.endswith("_test.cc"):
            file = path.read_text()
            for name, value in re.findall(r'constexpr char (k\w+)\[\] = ("[^"]+");', file):
                file = re.sub(rf"\b{name}\b", value, file)
            text += file
    return text


def named(row: str) -> set[str]:
    page = (ROOT / "lib/api/REFERENCE.md").read_text()
    return set(re.findall(r"`([^`]+)`", re.search(rf"^\| `{row}` \|.*$", page, re.M)[0]))


def test_every_part_is_named() -> None:
    entries = re.findall(r'return \{"([^"]+)"(, true)?\};', (ROOT / "lib/engine/part.cc").read_text())
    parts = {name if not of_rail else "rail R" if name == "rail" else f"{name} of rail R" for name, of_rail in entries}
    assert {"writing the record", "record of rail R", "rates", "rail R"} <= parts
    assert parts <= named("railcni_up")


def test_every_cause_is_named() -> None:
    causes = set(re.findall(r'node_status_\.Repaired\("([^"]+)"', code()))
    listed = re.search(r"kRepairCauses = .*?\{(.*?)\}", (ROOT / "lib/engine/view.h").read_text(), re.S)[1]
    assert {"rules", "device", "rates"} <= causes
    assert causes == set(re.findall(r'"([^"]+)"', listed)), "the metrics page counts those of the list"
    assert causes <= named("railcni_repairs_total")
