#!/usr/bin/python3
"""Runs the benchmarks; see README.md of this folder."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path[:0] = [str(Path(__file__).resolve().parent), str(REPOSITORY / "deploy/lab")]

from railcni_bench import parts, scale  # noqa: E402  the path above comes first
from railcni_bench.measure import BenchError, Report  # noqa: E402
from railcni_lab import fabric  # noqa: E402
from railcni_lab.layout import Lab, LabError, Shape  # noqa: E402

PARTS = ("start", "chain", "converge", "path", "memory", "rails", "bursts", "scale", "lib")
PROGRAMS = REPOSITORY / "build/bench"
STARTED = time.monotonic()


def say(text: str) -> None:
    print(f"bench: {time.monotonic() - STARTED:5.0f} s  {text}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def lab(shape: Shape) -> Iterator[Lab]:
    """A lab of our own, gone afterwards whatever happens."""
    ours = Lab(f"b{os.getpid()}", Lab.from_environment().binaries)
    try:
        say(f"bringing up a lab of {shape.nodes} nodes x {shape.rails} rails")
        with contextlib.redirect_stdout(io.StringIO()):
            fabric.up(ours, shape)
        yield ours
    finally:
        fabric.down(ours, say)


def measure(report: Report, wanted: tuple[str, ...], smoke: bool) -> None:
    rounds = parts.SMOKE if smoke else parts.FULL
    binaries = Lab.from_environment().binaries
    if "start" in wanted:
        say("process start")
        parts.start(report, binaries, rounds)
    if set(wanted) & {"chain", "converge", "path", "memory"}:
        with lab(Shape(nodes=2, rails=1, spines=0, devices=rounds.pods + 4)) as one:
            here, there = one.nodes()
            for name, part in (("chain", lambda: parts.chain(report, one, here, rounds)),
                               ("converge", lambda: parts.converge(report, one, here, there, rounds)),
                               ("path", lambda: parts.path(report, one, here, rounds)),
                               ("memory", lambda: parts.memory(report, one, here, rounds, PROGRAMS))):
                if name in wanted:
                    say(name)
                    part()
    sizes = scale.SMOKE if smoke else scale.FULL
    if set(wanted) & {"rails", "bursts", "scale"}:
        with lab(Shape(nodes=1, rails=8, spines=1, devices=scale.PODS + 1)) as many:
            if "rails" in wanted:
                say("rails")
                parts.rails(report, many, many.nodes()[0], rounds)
            if "bursts" in wanted:
                say("bursts")
                parts.bursts(report, many, many.nodes()[0], rounds)
            if "scale" in wanted:
                say("scale: eight rails")
                scale.eight_rails(report, many, many.nodes()[0], sizes)
    if "scale" in wanted:
        with lab(Shape(nodes=1, rails=2, spines=1, devices=4)) as two:
            say("scale: two rails")
            scale.two_rails(report, two, two.nodes()[0], sizes)
    if "lib" in wanted:
        say("lib")
        parts.library(report, PROGRAMS, smoke)


def main() -> int:
    arguments = argparse.ArgumentParser(prog="test/bench/run.sh", description="Measures RailCNI; see README.md beside it.")
    arguments.add_argument("--smoke", action="store_true", help="a few rounds: does it work at all?")
    arguments.add_argument("--only", choices=PARTS, action="append", help="may be given several times")
    options = arguments.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the lab goes down
    report, load = Report(), os.getloadavg()[0]
    began = time.monotonic()
    try:
        measure(report, tuple(options.only or PARTS), options.smoke)
    except (BenchError, LabError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    print(report.table())
    print(f"\n{report.verdict()}")
    print(f"\n{os.cpu_count()} cores; load before {load:.1f}, after {os.getloadavg()[0]:.1f}; "
          f"{time.monotonic() - began:.0f} s{'; SMOKE: too few rounds to judge by' if options.smoke else ''}")
    PROGRAMS.mkdir(parents=True, exist_ok=True)
    (PROGRAMS / "results.json").write_text(json.dumps(
        {"smoke": options.smoke, "cores": os.cpu_count(), "load_before": load, "load_after": os.getloadavg()[0],
         "missed": report.missed, "numbers": report.numbers}, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
