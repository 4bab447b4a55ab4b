"""Prometheus' rules: promtool takes them, they fire when their tests say, they name only metrics that raild has, and say what to do."""

import re
import shutil
import subprocess
from pathlib import Path

import tree

FOLDER = "deploy/prometheus/"
RULES, TESTS = FOLDER + "alerts.yaml", FOLDER + "alerts_test.yaml"
NAMES = ("lib/api/REFERENCE.md", "cmd/raild/metrics/README.md")  # unit tests compare them with what raild has
ALERT = re.compile(r"^ *- alert: (\w+)$(.*?)(?=^ *- alert: |\Z)", re.MULTILINE | re.DOTALL)
METRIC = re.compile(r"\brailcni_[a-z_]+\b")


def check(root: Path) -> list[str]:
    if shutil.which("promtool") is None:
        return ["promtool is missing: deploy/deps.sh test"]
    rules, tests = tree.text(root, RULES), tree.text(root, TESTS)
    return (promtool(root, "check", "rules", RULES) + promtool(root, "test", "rules", TESTS)
            + promtool(root, "check", "config", FOLDER + "prometheus.yaml")
            + compare(rules, tests, set(re.findall(r"^\| `(railcni_[a-z_]+)` \|", "".join(tree.text(root, name) for name in NAMES), re.MULTILINE))))


def compare(rules: str, tests: str, known: set[str]) -> list[str]:
    found = [f"{RULES}: raild has no metric {name}" for name in sorted(set(METRIC.findall(rules)) - known)]
    found += [f"{TESTS}: raild has no metric {name}" for name in sorted(set(METRIC.findall(tests)) - known)]
    alerts = ALERT.findall(rules)
    if not alerts:
        found.append(f"{RULES}: no alert")
    for name, body in alerts:
        if " Do: " not in re.sub(r"\s+", " ", body):
            found.append(f"{RULES}: {name} does not say what to do (\"Do: ...\")")
        if f'alertname="{name}"' not in tests:
            found.append(f"{TESTS}: no test in which {name} fires")
    return found


def promtool(root: Path, *words: str) -> list[str]:
    done = subprocess.run(["promtool", *words], cwd=root, capture_output=True, text=True, timeout=60, check=False)
    return [] if done.returncode == 0 else [f"promtool {' '.join(words)}: {line.strip()}"
                                            for line in (done.stdout + done.stderr).splitlines() if line.strip()]
