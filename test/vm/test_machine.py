"""The runner itself: a guest's status comes back, and no guest lives longer than it may."""

from __future__ import annotations

from pathlib import Path

import pytest
from railcni_vm import machine
from railcni_vm.guests import GUESTS
from railcni_vm.kernel import Kernel
from railcni_vm.packages import Unavailable

LIMIT = 300


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    try:
        machine.require()
        return GUESTS["offload"].fetch()
    except Unavailable as reason:
        pytest.skip(f"no guest: {reason}")


def test_the_status_of_the_command_comes_back_and_what_it_wrote_stays_in_the_guest(kernel: Kernel, tmp_path: Path) -> None:
    stray = Path("/etc/railcni-vm-stray")
    outcome = machine.run(kernel, f"echo said by the command\ntouch {stray}\nexit 3\n", tmp_path, LIMIT, [])
    assert outcome.status == 3
    assert "said by the command" in (tmp_path / "transcript").read_text(errors="replace")
    assert not stray.exists()


def test_a_guest_that_crashes_has_no_status(kernel: Kernel, tmp_path: Path) -> None:
    outcome = machine.run(kernel, "echo c >/proc/sysrq-trigger\n", tmp_path, LIMIT, [])
    assert outcome.status is None and not outcome.well
    assert "sysrq" in (tmp_path / "transcript").read_text(errors="replace")


def test_a_guest_that_hangs_is_ended(kernel: Kernel, tmp_path: Path) -> None:
    outcome = machine.run(kernel, "sleep 100000\n", tmp_path, 2, [])
    assert outcome.status is None and "longer than 2 s" in outcome.words


@pytest.mark.parametrize(("aborts", "status"), [(1, 0), (2, None)])
def test_an_emulator_that_aborts_while_it_boots_is_started_once_more(kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, aborts: int,
                                                                     status: int | None) -> None:
    emulator = tmp_path / "emulator"
    emulator.write_text(f"#!/bin/bash\necho call >>{tmp_path}/calls\n[ $(wc -l <{tmp_path}/calls) -gt {aborts} ] || kill -ABRT $$\n"
                        f"echo 0 >{tmp_path}/status\n")
    emulator.chmod(0o755)
    monkeypatch.setattr(machine, "QEMU", str(emulator))
    assert machine.run(kernel, "true\n", tmp_path, LIMIT, []).status == status
    assert (tmp_path / "calls").read_text().splitlines() == ["call", "call"]
    assert (tmp_path / "transcript.aborted").exists()
