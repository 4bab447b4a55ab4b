#!/usr/bin/python3
"""Writes the configurations of a site's leaves: frr/, sonic/, cumulus/, eos/, junos/.

usage: generate.py [--site FILE] [--to FOLDER]             FILE by default site.json, FOLDER this one
       generate.py --check [--site FILE] [--to FOLDER]     changes nothing; exit status 1 and the names of files that differ
For leaves of your own: copy site.json, change it, and let --to name a folder of yours.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
from railcni_leaves.makers import files  # noqa: E402  the path above comes first
from railcni_leaves.site import SiteError, read  # noqa: E402

MAKERS = ("frr", "sonic", "cumulus", "eos", "junos")  # folders that hold nothing else


def differences(folder: Path, made: dict[str, str]) -> list[str]:
    found = [name for name, text in made.items() if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text]
    return sorted(found + [name for name in present(folder) if name not in made])


def present(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for maker in MAKERS for path in sorted((folder / maker).glob("*")) if path.is_file()]


def write(folder: Path, made: dict[str, str]) -> None:
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--site", type=Path, default=HERE / "site.json")
    parser.add_argument("--to", type=Path, default=HERE)
    parser.add_argument("--check", action="store_true")
    flags = parser.parse_args(arguments)
    if flags.help:
        print(__doc__)
        return 0
    try:
        made = files(read(flags.site))
    except SiteError as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 1
    if not flags.check:
        write(flags.to, made)
    found = differences(flags.to, made)
    for name in found:
        print(f"generate.py: {flags.to / name} is not what generate.py makes of {flags.site}; "
              + ("remove it: no leaf has it" if name not in made else "run it without --check"), file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
