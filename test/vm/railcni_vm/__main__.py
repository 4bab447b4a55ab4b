"""Guests by hand: see run.sh."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from . import machine
from .guests import GUESTS
from .packages import REPOSITORY, Unavailable

TRIED_BY_HAND = REPOSITORY / "build/reports/vm/by-hand"
LIMIT = 600


def main() -> int:
    parser = argparse.ArgumentParser(prog="test/vm/run.sh")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list")
    commands.add_parser("fetch").add_argument("--again", action="store_true")
    for name in ("shell", "exec"):
        one = commands.add_parser(name)
        one.add_argument("guest", choices=sorted(GUESTS))
        if name == "exec":
            one.add_argument("words", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.command == "list":
        for name, guest in GUESTS.items():
            print(f"{name:<10} {guest.suite:<19} {' '.join(guest.modules)}")
        return 0
    try:
        machine.require()
        if options.command == "fetch":
            for name, guest in GUESTS.items():
                print(f"{name}: linux {guest.fetch(options.again).version}", flush=True)
            return 0
        return run(options.guest, options.words if options.command == "exec" else None)
    except Unavailable as reason:
        print(f"vm: {reason}", file=sys.stderr)
        return 2


def run(name: str, words: list[str] | None) -> int:
    guest, shell = GUESTS[name], words is None
    kernel = guest.fetch()
    there = f"export PATH=$PATH:{REPOSITORY}/build/bin:{REPOSITORY}/deploy/lab\ncd {shlex.quote(os.getcwd())}\n"
    command = guest.preamble() + there + (machine.terminal_size() if shell else shlex.join(words))
    outcome = machine.run(kernel, command, TRIED_BY_HAND, LIMIT, guest.devices, shell)
    if not shell:
        print(Path(TRIED_BY_HAND / "transcript").read_text(errors="replace"))
    if outcome.status is None:
        print(f"vm: {outcome.words}", file=sys.stderr)
    return 1 if outcome.status is None else outcome.status


sys.exit(main())
