"""INSTALL.md names the versions of test/versions/seen.yaml, and the packages of this system are among them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "versions"))
import seen


def test_the_page_has_the_table() -> None:
    text = seen.PAGE.read_text()
    assert seen.page_with(text) == text, "run test/versions/seen.py"


@pytest.mark.parametrize(("program", "command"), [("FRRouting", ["/usr/lib/frr/bgpd", "--version"]), ("Open vSwitch", ["ovs-vswitchd", "--version"])])
def test_what_the_lab_runs_on_is_in_it(program: str, command: list[str]) -> None:
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert seen.names(program, said, "lab"), said
