"""Tables of what tests have measured: printed at the end of the run, kept in build/reports/lab/NAME.txt.

Use:     tables.row("restarts", ("fault", "gap"), ("bgpd killed", "0 ms"))
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


class Tables:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, list[tuple[str, ...]]] = {}

    def row(self, name: str, head: tuple[str, ...], cells: tuple[str, ...]) -> None:
        assert len(head) == len(cells)
        self.rows.setdefault(name, [head]).append(cells)

    def write(self) -> Iterator[str]:
        for name, rows in self.rows.items():
            widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
            text = "\n".join("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows) + "\n"
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / f"{name}.txt").write_text(text)
            yield "\n" + text
