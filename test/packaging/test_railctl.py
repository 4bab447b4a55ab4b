"""railctl as a shell and a reader of its README meet it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from manifests import binary

README = Path(__file__).resolve().parents[2] / "cmd/railctl/README.md"

# bash: the words after which the key is pressed, then what it offers.
ASK_BASH = 'source "$1"; shift; COMP_WORDS=(railctl "$@"); COMP_CWORD=$#; _railctl; printf "%s\\n" "${COMPREPLY[@]}"'
# zsh: as its completion system would call it, with the two functions that it offers replaced.
ASK_ZSH = ('compdef() { :; }; compadd() { shift; print -l -- "$@"; }; _files() { print FILES; }; source "$1"; shift; '
           'words=(railctl "$@"); CURRENT=$#words; _railctl')


def railctl(*words: str) -> str:
    return subprocess.run([binary("railctl"), *words], capture_output=True, text=True, timeout=120, check=True).stdout


def commands(*path: str) -> set[str]:
    """Every command below `path` that can be run, by what --help says."""
    usage, _, shown = railctl(*path, "--help").partition("Subcommands:")
    found = {" ".join((*path, name)) for name in re.findall(r"^  ([a-z]+)(?:, [a-z]+)*  ", shown, re.MULTILINE)}
    own = {" ".join(path)} if not found or "[SUBCOMMAND]" in usage else set()  # it can be run without one of them
    return own.union(*(commands(*each.split()) for each in found))


def test_the_readme_lists_every_command_of_the_help_and_no_other() -> None:
    listed = set(re.findall(r"^    railctl ((?:get |describe |accept )?[a-z]+) .*  \S", README.read_text(), re.MULTILINE))
    assert {"status", "get rails", "describe rail"} <= listed
    assert listed == commands()


def test_the_readme_has_every_flag_that_selects() -> None:
    table = README.read_text().partition("| flag | of |")[2].partition("\n\n")[0]
    for path in (("get", "attachments"), ("get", "rails"), ("get", "remotes"), ()):
        for flag in re.findall(r"(--[a-z-]+)", railctl(*path, "--help").partition("Options:")[2]):
            if flag not in ("--help", "--namespace", "--all-namespaces", "--watch", "--output"):  # named by their short form
                assert flag in table, f"{' '.join(path)} {flag}"
    for flag in ("-n ", "-A", "-w", "-o wide"):
        assert f"`{flag}" in table


@pytest.fixture(params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return str(request.param)


def offered(shell: str, script: Path, *words: str) -> set[str]:
    ask = ASK_BASH if shell == "bash" else ASK_ZSH
    done = subprocess.run([shell, "-c", ask, shell, str(script), *words], capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == "", done.stderr
    # zsh itself takes those that begin with the word; bash's compgen does it in the script.
    return {word for word in done.stdout.split() if word.startswith(words[-1]) or word == "FILES"}


def test_a_shell_takes_the_script_and_completes(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(railctl("completion", shell))
    assert subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, check=False, timeout=120).stderr == ""
    assert offered(shell, script, "get", "") == {"attachments", "rails", "remotes", "tenants", "flows", "counters", "nics", "gpus", "node", "topology", "job"}
    assert offered(shell, script, "de") == {"describe"}
    assert offered(shell, script, "-o", "json", "describe", "a") == {"attachment"}
    assert offered(shell, script, "get", "rails", "-o", "w") == {"wide"}
    assert offered(shell, script, "get", "rails", "-o", "") == {"table", "wide", "json"}
    assert "dot" in offered(shell, script, "get", "topology", "-o", "")
    assert offered(shell, script, "trace", "ml/a", "10.0.0.1", "--protocol", "") == {"udp", "tcp", "icmp"}
    assert {"--tenant", "--rail", "--no-headers", "--watch", "--socket"} <= offered(shell, script, "get", "attachment", "--")
    assert "--watch" not in offered(shell, script, "get", "flows", "--")
    assert offered(shell, script, "completion", "") == {"bash", "zsh"}


def test_the_names_of_pods_and_rails_come_from_raild(shell: str, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(railctl("completion", shell) + """
railctl() {
  case "$*" in
    "get rails --no-headers") echo "rail0   br-rail0   p0"; echo "rail1   br-rail1   p1" ;;
    "get attachments --no-headers") echo "ml   train-0   net1"; echo "ml   train-0   net2"; echo "web   front   net1" ;;
  esac
}
""")
    assert offered(shell, script, "get", "attachments", "--rail", "") == {"rail0", "rail1"}
    assert offered(shell, script, "describe", "rail", "rail1") == {"rail1"}
    assert offered(shell, script, "trace", "m") == {"ml/train-0"}
