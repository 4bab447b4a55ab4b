"""What versions.py puts in the place of this system's programs is what runs."""

import os
import subprocess
from pathlib import Path

import pytest
import seen

VERSIONS = Path(__file__).with_name("versions.py")


def said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(("program", "key", "path"), [
    ("/usr/lib/frr/bgpd", "RAILCNI_FRR", "usr/lib/frr/bgpd"), ("/usr/lib/frr/zebra", "RAILCNI_FRR", "usr/lib/frr/zebra"),
    ("ovs-vsctl", "RAILCNI_OVS", "usr/bin/ovs-vsctl"), ("ovs-ofctl", "RAILCNI_OVS", "usr/bin/ovs-ofctl"),
    ("ovs-vswitchd", "RAILCNI_OVS", "usr/lib/openvswitch-switch/ovs-vswitchd")])
def test_the_program_is_the_folders(program: str, key: str, path: str) -> None:
    assert said(program, "--version") == said("chroot", os.environ[key], f"/{path}", "--version")


@pytest.mark.parametrize(("program", "command"), [("FRRouting", "/usr/lib/frr/zebra"), ("Open vSwitch", "ovs-vswitchd")])
def test_install_md_names_what_is_in_force(program: str, command: str) -> None:
    text = said(command, "--version")
    assert seen.names(program, text, "newer"), text


def test_without_a_folder_the_command_runs_as_it_is() -> None:
    plain = {key: value for key, value in os.environ.items() if key not in ("RAILCNI_FRR", "RAILCNI_OVS")}
    done = subprocess.run([VERSIONS, "readlink", "/proc/self/ns/mnt"], env=plain, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == os.readlink("/proc/self/ns/mnt")
