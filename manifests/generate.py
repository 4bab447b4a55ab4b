#!/usr/bin/python3
"""Writes the manifests that differ by the number of rails: networks/, devices/, examples/, and the PrometheusRule.

usage: generate.py [--site FILE] [--to FOLDER]             FILE by default site.json, FOLDER this one
       generate.py --check [--site FILE] [--to FOLDER]     changes nothing; exit status 1 and the names of files that differ
       generate.py --host-local NODE [--site FILE] --to FOLDER
                                                           the files of one node for networks/*/host-local: NODE is the node's
                                                           number, from 0, and different on every node
For a cluster of your own: copy site.json, change it, and let --to name a folder of yours.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True
from generator import alerts, claims, devices, examples, networks, units  # noqa: E402
from generator.site import Site, SiteError, read  # noqa: E402
from generator.text import SITE  # noqa: E402

GENERATED = ("networks", "devices", "examples")  # folders that hold nothing else but a README


def make(site: Site, folder: Path) -> dict[str, str]:
    made = networks.files(site) | devices.files(site) | examples.files(site) | units.files(site) | claims.files(site)
    # The alerts are no matter of the site: a folder of one's own takes the component from here.
    return made | (alerts.files(HERE.parent / "deploy/prometheus/alerts.yaml") if folder == HERE else {})


def differences(folder: Path, made: dict[str, str]) -> list[str]:
    found = [name for name, text in made.items() if not (folder / name).is_file() or (folder / name).read_text(encoding="utf-8") != text]
    for top in GENERATED:
        there = [p for p in (folder / top).rglob("*") if p.is_file() and p.name != "README.md"]
        found += [name for name in (str(p.relative_to(folder)) for p in there) if name not in made]
    return sorted(found)


def write(folder: Path, made: dict[str, str]) -> None:
    for name, text in made.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def remove_old(folder: Path, made: dict[str, str]) -> None:
    """Takes away what an earlier site.json made and this one does not. A file that this program did not make stays."""
    for top in GENERATED:
        for path in sorted((folder / top).rglob("*"), reverse=True):  # what is in a folder before the folder
            if path.is_dir():
                if not any(path.iterdir()):
                    path.rmdir()
            elif str(path.relative_to(folder)) not in made and (
                    path.name == networks.NODE_RAILS or path.read_text(encoding="utf-8", errors="replace").startswith(SITE)):
                path.unlink()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--site", type=Path, default=HERE / "site.json")
    parser.add_argument("--to", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--host-local", type=int, metavar="NODE")
    flags = parser.parse_args(arguments)
    if flags.help:
        print(__doc__)
        return 0
    try:
        site = read(flags.site)
        if flags.host_local is not None:
            if flags.to is None:
                print("generate.py: --host-local needs --to: a folder that you copy to the node's /etc/cni/multus/net.d", file=sys.stderr)
                return 2
            files = {f"{rail.name}.conflist": networks.chain(site, rail, "host-local", flags.host_local) for rail in site.rails}
            write(flags.to, files)
            return 0
    except (SiteError, ValueError) as error:
        print(f"generate.py: {error}", file=sys.stderr)
        return 1
    folder = flags.to or HERE
    made = make(site, folder)
    if not flags.check:
        write(folder, made)
        remove_old(folder, made)
        return 0
    found = differences(folder, made)
    for name in found:
        print(f"generate.py: {folder / name} is not what generate.py makes of {flags.site}; run it without --check", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
