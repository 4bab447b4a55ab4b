"""The units: systemd takes them, and the capabilities of raild's are those that raild keeps."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
UNIT = ROOT / "deploy/systemd/raild.service"


def kept() -> set[str]:
    """As cmd/raild/privileges.cc has them."""
    code = (ROOT / "cmd/raild/privileges.cc").read_text()
    return set(re.findall(r"\bCAP_[A-Z_]+", code.partition("NeededCapabilities")[2].partition("}")[0]))


def setting(name: str) -> list[str]:
    return re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.M)


def test_capabilities_are_those_that_raild_keeps_and_that_its_manual_explains() -> None:
    assert set(setting("CapabilityBoundingSet")[0].split()) == kept()
    explained = set(re.findall(r"^\| ([A-Z_]+) \|", (ROOT / "cmd/raild/README.md").read_text(), re.M))
    assert {f"CAP_{name}" for name in explained} == kept()
    # In a container there is no group to give the socket to.
    manifest = (ROOT / "manifests/base/daemonset.yaml").read_text()
    assert set(re.findall(r"^ +- ([A-Z_]+) +#", manifest, re.M)) == {c[4:] for c in kept()} - {"CHOWN"}


def test_every_family_of_sockets_that_the_code_opens_is_allowed() -> None:
    opened: dict[str, str] = {}
    for folder in ("cmd/raild", "lib"):
        for path in sorted((ROOT / folder).rglob("*.cc")):
            if path.name.endswith("_test.cc") or "testing" in path.parts:
                continue
            opened |= dict.fromkeys(re.findall(r"\bsocket(?:pair)?\((AF_[A-Z0-9]+)", path.read_text()), str(path))
    assert "AF_PACKET" in opened, "lib/lldp hears leaves by one"
    allowed = set(setting("RestrictAddressFamilies")[0].split())
    assert not {family: path for family, path in opened.items() if family not in allowed}


def system_calls(groups: dict[str, set[str]], names: str) -> set[str]:
    found: set[str] = set()
    for name in names.split():
        found |= system_calls(groups, " ".join(groups[name])) if name.startswith("@") else {name}
    return found


def test_every_system_call_that_the_code_makes_is_allowed() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze (package systemd) is not installed here")
    said = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], text=True, capture_output=True, timeout=240, check=True).stdout
    groups = {name: set(re.findall(r"^    ([@a-z]\S*)$", body, re.M)) for name, body in re.findall(r"^(@\S+)\n((?:    .*\n)+)", said, re.M)}
    made: dict[str, str] = {}
    for folder in ("cmd/raild", "lib"):
        for path in sorted((ROOT / folder).rglob("*.cc")):
            if not path.name.endswith("_test.cc") and "testing" not in path.parts:
                made |= dict.fromkeys(re.findall(r"(?:\bSYS_|[^\w:]::)([a-z0-9_]+)\b", path.read_text()), str(path))
    assert {"setns", "fsmount", "accept4"} <= set(made), "what the code calls is not found any more"
    allow, forbid = setting("SystemCallFilter")
    allowed = system_calls(groups, allow) - system_calls(groups, forbid.removeprefix("~"))
    every = system_calls(groups, "@known") - {"syscall", "gethostname"}  # the C library's; the latter asks uname(2)
    assert not {call: path for call, path in made.items() if call in every - allowed}


def test_readiness_watchdog_and_end_leave_a_round_its_time() -> None:
    assert setting("Type") == ["notify"]
    for name in ("WatchdogSec", "TimeoutStartSec"):
        assert int(setting(name)[0]) > 20, "a round of raild may take 20 s"
    manifest = (ROOT / "manifests/base/daemonset.yaml").read_text()
    grace = [int(seconds) for seconds in re.findall(r"^      terminationGracePeriodSeconds: (\d+)", manifest, re.M)]
    assert [int(setting("TimeoutStopSec")[0])] == grace
    promised = re.search(r"up to (\d+) s where ovs-vswitchd hangs", (ROOT / "cmd/raild/README.md").read_text())
    assert promised and grace[0] >= int(promised[1]) >= 60, "two rounds of 8 rails, 20 s for the first and 1 s for each after it"


@pytest.mark.parametrize("name", ["raild", "railfabric"])
def test_systemd_takes_it(name: str, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze (package systemd) is not installed here")
    unit = tmp_path / f"{name}.service"
    unit.write_text((UNIT.parent / unit.name).read_text().replace(f"/usr/bin/{name}", shutil.which("true") or "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", str(unit)], text=True,
                          capture_output=True, timeout=240, check=False)
    words = [line for line in (done.stdout + done.stderr).splitlines() if unit.name in line]
    assert not words and done.returncode == 0, done.stdout + done.stderr
