"""Every pair of pods on every rail: what should be, and what is."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any

from . import kernel, pods, probe
from .layout import Lab, LabError


@dataclass(frozen=True)
class Cell:
    source: str
    target: str
    rail: int
    family: str
    expected: str
    seen: str

    @property
    def right(self) -> bool:
        return self.expected == self.seen


def measure(lab: Lab, kind: str, wait_seconds: float = 0) -> list[Cell]:
    """The whole matrix. While nothing is worse than a pair that does not reach each other yet, tries again for
    `wait_seconds`: a route needs a moment to arrive. A pair that must not reach each other and does ends it at once."""
    deadline = time.monotonic() + wait_seconds
    while True:
        cells = _measure_once(lab, kind)
        wrong = [c for c in cells if not c.right]
        if not wrong or any(c.seen != probe.NO for c in wrong) or time.monotonic() > deadline:
            return cells


def _measure_once(lab: Lab, kind: str) -> list[Cell]:
    there = pods.all_pods(lab)
    gone = [p.name for p in there if pods.namespace(lab, p.name) not in kernel.namespaces()]
    if gone:
        raise LabError(f"the namespace of {', '.join(gone)} is gone: `lab pod del` it")
    ends = [probe.Endpoint(p.name, pods.namespace(lab, p.name), rail, pods.ifname(rail), version, address)
            for p in there for rail in p.results for version, address in p.addresses(rail).items()]
    tenant = {p.name: p.tenant for p in there}
    pairs = [(a, b) for a in ends for b in ends if a.pod != b.pod and a.rail == b.rail and a.version == b.version]
    return [Cell(a.pod, b.pod, a.rail, f"IPv{a.version}", probe.YES if tenant[a.pod] == tenant[b.pod] else probe.NO, seen)
            for (a, b), seen in zip(pairs, probe.run(kind, pairs), strict=True)]


def table(cells: list[Cell], kind: str) -> str:
    """For people: a grid per rail and family, each cell expected/seen, what is wrong in capitals."""
    lines = []
    for rail, family in sorted({(c.rail, c.family) for c in cells}):
        part = {(c.source, c.target): c for c in cells if (c.rail, c.family) == (rail, family)}
        names = sorted({name for pair in part for name in pair})
        width = max(10, *(len(n) + 2 for n in names))
        lines.append(f"rail {rail}, {family}, {kind.upper()}: expected/seen, from the row to the column")
        lines.append(" " * width + "".join(f"{n:<{width}}" for n in names))
        for source in names:
            row = (part.get((source, target)) for target in names)
            lines.append(f"{source:<{width}}" + "".join(f"{_text(c):<{width}}" for c in row))
        lines.append("")
    wrong = [c for c in cells if not c.right]
    lines += [f"WRONG: {c.source} -> {c.target} on rail {c.rail}, {c.family}: expected {c.expected}, seen {c.seen}"
              for c in wrong]
    lines.append(f"{len(cells)} pairs, {len(cells) - len(wrong)} as expected, {len(wrong)} wrong")
    return "\n".join(lines)


def _text(cell: Cell | None) -> str:
    if cell is None:
        return "."
    return f"{cell.expected}/{cell.seen if cell.right else cell.seen.upper()}"


def as_json(cells: list[Cell], kind: str) -> dict[str, Any]:
    return {"probe": kind, "right": all(c.right for c in cells),
            "cells": [{**asdict(c), "right": c.right} for c in cells]}
