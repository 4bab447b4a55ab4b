"""Install, upgrade, roll back: each command of the pages is shell, and names folders, files, objects and subcommands that there are."""

import json
import re
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from manifests import MANIFESTS, ROOT, binary, kustomizations, kustomize, render
from pages import PAGES, Block, blocks

BLOCKS = [block for page in PAGES for block in blocks(page)]
# What a page tells the user to make, out of what is there.
MADE = {"overlays/yours": "overlays/example-site", "mine.json": "site.json"}
COMMANDS = {"kubectl", "docker", "cp", "for", "done", "./generate.py", "POD=$"}


def by_name(block: Block) -> str:
    return block.name


@pytest.mark.parametrize("block", BLOCKS, ids=by_name)
def test_every_block_is_shell_and_uses_known_commands(block: Block) -> None:
    ran = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert block.commands()
    for words in block.commands():
        assert words[0] in COMMANDS, f"{block.name}: {words[0]} is not a command that the pages use"


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.run], ids=by_name)
def test_a_block_that_is_run_has_nothing_to_fill_in(block: Block) -> None:
    left = re.findall(r"(?<![$\w])(?:NODE|POD|FILE|FOLDER)\b|registry\.example\.com", block.text)
    assert not left, f"{block.name}: {left}"


def paths(block: Block) -> list[str]:
    return [words[i + 1] for words in block.commands() for i, word in enumerate(words[:-1]) if word in ("-k", "-f", "--site")]


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.page != "UNINSTALL.md"], ids=by_name)
def test_every_folder_that_a_command_takes_is_there(block: Block) -> None:
    check_paths(block)


def check_paths(block: Block) -> None:
    for path in paths(block):
        there = MANIFESTS / MADE.get(path, path)
        assert there.exists(), f"{block.name}: there is no {path}"
        if there.is_dir():
            assert str(there.relative_to(MANIFESTS)) in kustomizations(), f"{block.name}: {path} is no kustomization"
    for words in block.commands():
        if words[0] == "cp":
            assert (MANIFESTS / words[-2]).exists() and words[-1] in MADE


def test_the_short_form_in_the_readme_names_what_is_there() -> None:
    section = (MANIFESTS / "README.md").read_text().split("## Install\n")[1].split("\n## ")[0]
    short = Block("README.md", 0, False, "".join(line[4:] + "\n" for line in section.splitlines() if line.startswith("    ")))
    assert len(paths(short)) == 5
    check_paths(short)


def test_what_the_pages_wait_for_is_in_the_manifests() -> None:
    labels, names = set(), set()
    for folder in kustomizations():
        for found in render(folder):
            names.add((found["kind"].lower(), found["metadata"]["name"]))
            below = found.get("spec", {}).get("template", {}).get("metadata", {}).get("labels", {})
            labels |= {f"{key}={value}" for key, value in below.items()}
    text = "".join(block.text for block in BLOCKS if block.page != "UNINSTALL.md")
    # "get pod trainer" and "pod/trainer" are the same
    waited = re.findall(r"\b(daemonset|pod)/([a-z-]+)", re.sub(r"\b(?:get|patch|delete) (daemonset|pod) ", r"\1/", text))
    assert ("daemonset", "raild") in waited and ("pod", "trainer") in waited
    for kind, name in waited:
        assert (kind, name) in names, f"no {kind} {name}"
    for label in re.findall(r" -l (\S+)", text):
        assert label in labels, f"no pod has the label {label}"


def test_the_pages_ask_railctl_for_what_it_has() -> None:
    def has(*words: str) -> set[str]:
        helped = subprocess.run([binary("railctl"), *words, "--help"], capture_output=True, text=True, timeout=120, check=True).stdout
        return set(re.findall(r"^  ([a-z]+)(?:, [a-z]+)*  ", helped.split("Subcommands:")[1], re.MULTILINE))

    asked = set(re.findall(r"railctl (get )?([a-z]+)", "".join(block.text for block in BLOCKS)))
    assert {("get ", "rails"), ("", "doctor")} <= asked
    for group, word in asked:
        assert word in has(*group.split()), f"railctl {group}{word}"


def test_each_page_is_reached_from_the_readme_and_lines_are_as_short_as_elsewhere() -> None:
    readme = (MANIFESTS / "README.md").read_text()
    for page in PAGES:
        assert f"]({page})" in readme
        long = [line for line in (MANIFESTS / page).read_text().splitlines() if len(line) > 142 and not line.startswith(("|", "    /"))]
        assert not long, long


def test_this_version_and_its_format_are_in_the_table_of_rollbacks() -> None:
    version = re.search(r"project\(railcni VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())
    known = re.findall(r"kFormatVersion = (\d+)", "".join(p.read_text() for p in Path(ROOT / "lib/state").glob("*.h")))
    assert version and len(known) == 1
    assert f"\n| {version[1]} | {known[0]} |\n" in (MANIFESTS / "ROLLBACK.md").read_text()


def test_an_older_version_refuses_a_later_format_in_the_words_of_the_page(tmp_path: Path) -> None:
    (said,) = re.findall(r"^    /var/lib/railcni/(state\.db: has format (\d+), written by RailCNI ([\d.]+); .*)$",
                         (MANIFESTS / "ROLLBACK.md").read_text(), re.MULTILINE)
    for folder in ("etc/railcni", "var/lib/railcni"):
        (tmp_path / folder).mkdir(parents=True)
    rails = json.loads((MANIFESTS / "networks/2-rails/node-rails.json").read_text())["rails"]
    config = {"rails": rails, "cluster": "c", "bgp": {"asn": 1, "router_id": "10.0.0.1", "community_asn": 1}}
    (tmp_path / "etc/railcni/node.json").write_text(json.dumps(config))
    with closing(sqlite3.connect(tmp_path / "var/lib/railcni/state.db")) as record:
        record.execute("CREATE TABLE meta (written_by TEXT)")
        record.execute("INSERT INTO meta VALUES (?)", (said[2],))
        record.execute(f"PRAGMA user_version = {int(said[1])}")
        record.commit()
    for verb in ("ADD", "DEL"):
        environment = {"CNI_COMMAND": verb, "CNI_CONTAINERID": "c1", "CNI_NETNS": "/run/netns/none", "CNI_IFNAME": "net1", "CNI_PATH": "/none",
                       "CNI_ARGS": "K8S_POD_NAMESPACE=a;K8S_POD_NAME=b", "RAILCNI_ROOT": str(tmp_path)}
        ran = subprocess.run([binary("ovs-provider")], env=environment, capture_output=True, text=True, timeout=120, check=False,
                             input='{"cniVersion": "1.0.0", "name": "rail0", "rail": "rail0", "deviceID": "0000:3b:00.2", "ipam": {"type": "x"}}')
        assert ran.returncode != 0 and said[0] in json.loads(ran.stdout)["msg"], ran.stdout


def test_the_preparations_of_install_do_what_they_say_and_the_overlay_takes_its_components(tmp_path: Path) -> None:
    shutil.copytree(MANIFESTS, tmp_path / "manifests")
    prepared = [block for block in BLOCKS if block.page == "INSTALL.md" and block.commands()[0][0] == "cp"]
    assert len(prepared) == 2
    for block in prepared:
        ran = subprocess.run(["bash", "-ec", block.text], cwd=tmp_path / "manifests", capture_output=True, text=True, timeout=240, check=False)
        assert ran.returncode == 0, f"{block.name}: {ran.stderr}"
    assert {p.name for p in (tmp_path / "mine").iterdir()} == {"networks", "devices", "examples"}
    overlay = tmp_path / "manifests/overlays/yours"
    file = overlay / "kustomization.yaml"
    file.write_text(re.sub(r"^# (components:|  - )", r"\1", file.read_text(), flags=re.MULTILINE))
    kinds = {o["kind"] for o in kustomize.render(overlay)}
    assert {"SecurityContextConstraints", "PodMonitor", "PrometheusRule", "DaemonSet"} <= kinds
