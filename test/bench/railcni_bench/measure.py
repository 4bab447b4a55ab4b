"""Running a program and timing it; what a set of times says; the table."""

from __future__ import annotations

import math
import os
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class BenchError(Exception):
    """Something is broken: not a slow number, but none."""


@dataclass(frozen=True)
class Ran:
    ms: float  # from before posix_spawn(3) until the child was reaped
    cpu_ms: float  # that it and its children ran
    output: str
    descriptor3: str


def execute(command: Sequence[str], environment: dict[str, str], stdin: str = "") -> Ran:
    """Runs a program in the calling thread's network namespace. Input and outputs are files in memory, so that
    nothing but the program is waited for. Errors: BenchError when it cannot run or fails, with its words."""
    files = [os.memfd_create(name) for name in ("in", "out", "err", "three")]
    try:
        os.write(files[0], stdin.encode())
        os.lseek(files[0], 0, os.SEEK_SET)
        actions = [(os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(files)]
        started = time.perf_counter_ns()
        try:
            pid = os.posix_spawn(command[0], command, environment, file_actions=actions)
        except OSError as error:
            raise BenchError(f"{command[0]}: {error.strerror}") from None
        _, status, usage = os.wait4(pid, 0)
        took = time.perf_counter_ns() - started
        output, words, three = (_content(fd) for fd in files[1:])
        if status != 0:
            raise BenchError(f"`{' '.join(command)}` ended with status {os.waitstatus_to_exitcode(status)}: "
                             f"{(words + output).strip() or 'no message'}")
        return Ran(took / 1e6, (usage.ru_utime + usage.ru_stime) * 1000, output, three)
    finally:
        for fd in files:
            os.close(fd)


def _content(fd: int) -> str:
    size = os.fstat(fd).st_size
    return os.pread(fd, size, 0).decode(errors="replace") if size else ""


def percentile(values: Sequence[float], percent: float) -> float:
    """Nearest rank: the smallest value that `percent` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


@dataclass(frozen=True)
class Spread:
    p50: float
    p99: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        return cls(statistics.median(values), percentile(values, 99), len(values))

    def text(self, unit: str = "ms") -> str:
        return f"p50 {number(self.p50)}  p99 {number(self.p99)} {unit}  (n={self.count})"


def number(value: float) -> str:
    """Three significant digits, never an exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    return f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"


@dataclass(frozen=True)
class Budget:
    """What a row may be. `of`: which number of a Spread is meant; `value`: the number that is meant where it is not the row's own (a
    ratio); `why`: how the limit came about."""

    limit: float
    unit: str = "ms"
    of: str = "p50"
    at_least: bool = False
    value: float | None = None
    why: str = ""

    def measured(self, row: float | Spread) -> float:
        if self.value is not None:
            return self.value
        return float(getattr(row, self.of)) if isinstance(row, Spread) else row

    def missed(self, row: float | Spread) -> bool:
        measured = self.measured(row)
        return measured < self.limit if self.at_least else measured > self.limit

    def text(self, row: float | Spread) -> str:
        which = f"{self.of} " if isinstance(row, Spread) and self.value is None else ""
        why = f" ({self.why})" if self.why else ""
        return f"{which}{'>=' if self.at_least else '<='} {number(self.limit)} {self.unit}{why}"


@dataclass(frozen=True)
class Row:
    name: str
    measured: str
    budget: str = ""
    ratio: str = ""


class Report:
    """Rows for people, numbers for programs, and which budgets were missed."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.numbers: dict[str, float] = {}
        self.budgets = 0
        self.missed: list[dict[str, str | float]] = []
        self.more: list[str] = []  # tables of their own, printed after the one of the rows

    def add(self, key: str, name: str, value: float | Spread, unit: str = "ms", budget: Budget | None = None,
            ratio: str = "") -> None:
        if isinstance(value, Spread):
            self.numbers |= {f"{key}.p50": value.p50, f"{key}.p99": value.p99, f"{key}.count": value.count}
            measured = value.text(unit)
        else:
            self.numbers[key] = value
            measured = f"{number(value)} {unit}".strip()
        text = ""
        if budget is not None:
            text = budget.text(value)
            self.budgets += 1
            if budget.missed(value):
                text += "  MISSED"
                self.missed.append({"row": name.strip(), "measured": budget.measured(value), "budget": budget.limit,
                                    "unit": budget.unit, "at_least": budget.at_least})
        self.rows.append(Row(name, measured, text, ratio))

    def table(self) -> str:
        rows = [("row", "measured", "budget", "ratio"), *((r.name, r.measured, r.budget, r.ratio) for r in self.rows)]
        return "\n\n".join([columns(rows), *self.more])

    def verdict(self) -> str:
        """The closing lines: how many budgets were kept, and each that was not."""
        lines = [f"{self.budgets - len(self.missed)} of {self.budgets} budgets kept"]
        lines += [f"missed: {m['row']}: {number(float(m['measured']))} {m['unit']}, "
                  f"budget {'>=' if m['at_least'] else '<='} {number(float(m['budget']))} {m['unit']}" for m in self.missed]
        return "\n".join(lines)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Cells under each other; the first row is the heading."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = [" | ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "-+-".join("-" * width for width in widths))
    return "\n".join(lines)


def on_cpu_ns(pid: int) -> int:
    """Nanoseconds that the threads of a process have run, by /proc/PID/task/*/schedstat."""
    return sum(int((task / "schedstat").read_text().split()[0]) for task in Path(f"/proc/{pid}/task").iterdir())


def idle_percent(pid: int, seconds: float) -> float:
    """Of a core, in so many seconds in which nothing happens. First the process comes to rest: what follows from what has just happened,
    an audit most of all, belongs to that and would be the whole of a short measurement."""
    rest, deadline = 0, time.monotonic() + 30
    while rest < 4 and time.monotonic() < deadline:
        cpu = on_cpu_ns(pid)
        time.sleep(0.5)
        rest = rest + 1 if on_cpu_ns(pid) - cpu < 5_000_000 else 0  # below 1 % of a core
    cpu, began = on_cpu_ns(pid), time.perf_counter()
    time.sleep(seconds)
    return (on_cpu_ns(pid) - cpu) / 1e7 / (time.perf_counter() - began)


def memory_kib(pid: int, field: str) -> int:
    """A field of /proc/PID/status that is in kB: VmRSS, VmHWM."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1])
    raise BenchError(f"process {pid}: no {field}")
