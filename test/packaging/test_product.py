"""The target `product`, which the quick start and the image build: what is installed, and no test."""

import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BINARIES = {"ovs-provider", "tenant-isolation", "frr-provider", "raild", "railctl", "railfabric"}


def outputs(target: str) -> set[str]:
    """What has to be made for it in an empty folder: objects, libraries, programs."""
    commands = subprocess.run(["ninja", "-C", str(ROOT / "build"), "-t", "commands", target], capture_output=True, text=True,
                              check=True, timeout=240).stdout
    return set(re.findall(r" -o (\S+)", commands)) | set(re.findall(r"\bar qc (\S+)", commands))


def test_it_is_the_binaries_and_no_test() -> None:
    made = outputs("product")
    assert {name.removeprefix("bin/") for name in made if name.startswith("bin/")} == BINARIES
    assert not [name for name in made if "test" in name], "tests, or what only tests need"
    assert [name for name in outputs("all") if "test" in name], "the names of tests say that they are tests"


def test_quick_start_and_image_build_it() -> None:
    presets = json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]
    assert next(preset for preset in presets if preset["name"] == "product")["targets"] == ["product"]
    for name in ("deploy/quickstart.sh", "Dockerfile"):
        assert re.findall(r"cmake --build ([\w -]*\w)", (ROOT / name).read_text()) == ["--preset product"], name
