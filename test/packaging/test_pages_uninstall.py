"""UNINSTALL.md: its folders, its DaemonSet and the flags of raild that the pages name."""

import re
import subprocess

import pytest
from manifests import MANIFESTS, binary, render
from pages import PAGES, Block, blocks
from test_pages import check_paths


@pytest.mark.parametrize("block", blocks("UNINSTALL.md"), ids=lambda block: block.name)
def test_every_folder_that_a_command_takes_is_there(block: Block) -> None:
    check_paths(block)


def test_the_daemonset_that_the_page_waits_for_is_there_and_its_logs_are_where_it_says() -> None:
    text = "".join(block.text for block in blocks("UNINSTALL.md"))
    (waited,) = set(re.findall(r"rollout status daemonset/(\S+)", text))
    (found,) = [o for o in render("uninstall") if o["kind"] == "DaemonSet"]
    assert found["metadata"]["name"] == waited
    (label, container) = re.findall(r"logs -l (\S+) -c (\S+)", text)[0]
    key, value = label.split("=")
    assert found["spec"]["template"]["metadata"]["labels"][key] == value
    assert [o for o in render("overlays/uninstall-by-force") if o["kind"] == "DaemonSet"], "named by the page"
    assert container in [c["name"] for c in found["spec"]["template"]["spec"]["initContainers"]]


def test_raild_has_the_flags_that_the_pages_name() -> None:
    helped = subprocess.run([binary("raild"), "--help"], capture_output=True, text=True, timeout=120, check=True).stdout
    text = "".join((MANIFESTS / page).read_text() for page in (*PAGES, "README.md"))
    flags = set(re.findall(r"(?:`|^ *)raild (--[a-z-]+)", text, re.M)) | {"--force", "--nodes", "--node", "--node-ip"}
    assert {"--remove", "--resolve-config", "--check-node"} <= flags
    assert not [flag for flag in sorted(flags) if not re.search(rf"(^|[\s,]){flag}\b", helped)], helped
