#!/usr/bin/python3
"""Runs one checker over the tree: lint.py NAME [--root DIR] [--binaries DIR] [--build DIR]

Prints one line per finding and exits 1 if there is any. Each checker is the file NAME.py beside this one.
"""

import argparse
import importlib
import sys
from pathlib import Path

CHECKERS = ("layers", "product", "format", "scripts", "documents", "binaries", "acceptance", "alerts", "dashboards", "leaves", "length", "headers", "size")


def main() -> int:
    sys.dont_write_bytecode = True
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checker", choices=CHECKERS)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--binaries", type=Path, help="the folder of built plugins (checker binaries)")
    parser.add_argument("--build", type=Path, help="the folder whose ctest lists the tests (checker acceptance)")
    options = parser.parse_args()
    checker = importlib.import_module(options.checker)
    if options.checker == "binaries":
        if options.binaries is None:
            parser.error("binaries needs --binaries DIR")
        found = checker.check(options.root, options.binaries)
    elif options.checker == "acceptance":
        if options.build is None:
            parser.error("acceptance needs --build DIR")
        found = checker.check(options.root, options.build)
    else:
        found = checker.check(options.root)
    for finding in found:
        print(finding)
    print(f"{options.checker}: {len(found) or 'no'} finding{'' if len(found) == 1 else 's'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
