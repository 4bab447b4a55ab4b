"""`railctl accept` as a Job, by the commands of its README: its report, and that nothing of a run stays, however it ends."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import Cost
from kube import Kube, eventually
from railcni_cluster import node
from railcni_lab.layout import REPOSITORY, LabError
from readme import commands, manifests, run

README = REPOSITORY / "manifests/accept/README.md"
HOME, SPACES = "railcni-accept", ("railcni-accept-a", "railcni-accept-b")
MARK = "railcni.io/accept"
LONG = ("--only", "restart", "--restarts", "90")  # seconds that a run takes at least, so that its middle can be met
LIFETIME = 180  # seconds, from the start or the last renewal on: kLifetime of kubernetes_pods.cc
# A userspace datapath offloads nothing, and the lab has no RDMA.
NEEDS_A_NIC = {"isolation.verbs", "qos.pauses", "offload.ready", "offload.hardware", "offload.masks",
               "speed.write-bandwidth", "speed.write-latency"}


@pytest.fixture(scope="module")
def begun(resident: Kube) -> Iterator[Kube]:
    resident.wait_ready("team-a", "trainer", seconds=240)  # of the README's first pod; one that begins beside a run is a change to it
    yield resident
    resident.ctl("delete", "-k", str(manifests(resident) / "accept"), "--ignore-not-found", seconds=180)


def agents(kube: Kube) -> dict[str, list[str]]:
    """Of each tenant: the pods that its nodes have, by the names of these."""
    return {space: sorted(pod["metadata"]["name"] for pod in kube.items("-n", space, "pods", "-l", f"{MARK}=agent")) for space in SPACES}


def made(kube: Kube) -> list[str]:
    """All that a run makes."""
    return [f"{space} {kind} {thing['metadata']['name']}" for space in SPACES for kind in ("jobs", "pods", "secrets")
            for thing in kube.items("-n", space, kind) if MARK in thing["metadata"].get("labels", {})]


def nothing_stays(kube: Kube, cost: Cost, seconds: int = 180) -> None:
    eventually("nothing of the run is left in Kubernetes", lambda: made(kube), lambda left: not left, seconds)
    cost.nothing_left(kube)


def uids(kube: Kube) -> set[str]:
    return {pod["metadata"]["uid"] for space in SPACES for pod in kube.items("-n", space, "pods")}


def begin(kube: Kube, *words: str) -> None:
    """Another run; `words`: in place of --quick."""
    kube.ctl("-n", HOME, "delete", "job", "accept", "--ignore-not-found", "--wait=true")
    eventually("its pod is gone", lambda: kube.items("-n", HOME, "pods"), lambda pods: not pods, 300)
    folder = manifests(kube) / "accept"
    job = (README.parent / "job.yaml").read_text()
    (folder / "job.yaml").write_text(job.replace('"--quick"', ", ".join(f'"{word}"' for word in words or ("--quick",))))
    kube.ctl("apply", "-k", str(folder))


def driver(kube: Kube) -> dict[str, Any]:
    [pod] = kube.items("-n", HOME, "pods")
    return pod


def is_under_way(kube: Kube) -> bool:
    """Every node has a pod of each tenant, and its agent serves."""
    pods = [pod for space in SPACES for pod in kube.items("-n", space, "pods", "-l", f"{MARK}=agent")]
    ready = [pod for pod in pods if any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))]
    return len(ready) == len(pods) == 4


def said(kube: Kube) -> str:
    try:
        return kube.ctl("-n", HOME, "logs", "job/accept")
    except LabError:  # it has not begun
        return ""


def ended(kube: Kube, seconds: int = 240) -> int:
    """The exit status."""
    def status() -> Any:
        containers = driver(kube)["status"].get("containerStatuses", [])
        return containers and containers[0]["state"].get("terminated", {}).get("exitCode")

    return int(eventually("the run has ended", status, lambda code: isinstance(code, int), seconds))


def test_by_the_readme_a_run_proves_what_it_can_and_leaves_nothing(begun: Kube, tmp_path: Path, cost: Cost) -> None:
    kube = begun
    folder = manifests(kube)
    *before, show, delete = commands(README, "railctl accept, as a Job")
    assert show.startswith("railctl accept show accept.log") and delete == "kubectl delete -k accept"
    for command in before:
        run(kube, command, folder)
    assert ended(kube) == 3, said(kube)
    railctl = str(kube.lab.binaries / "railctl")
    shown = subprocess.run([railctl, *show.split()[1:], "--json-file", "report.json"], cwd=folder, capture_output=True, text=True, check=False)
    assert shown.returncode == 3, shown.stderr
    assert "<html" in (folder / "report.html").read_text()
    report = json.loads((folder / "report.json").read_text())
    verdicts = {check["id"]: check["verdict"] for check in report["checks"]}
    assert {check for check, verdict in verdicts.items() if verdict == "COULD_NOT_MEASURE"} == NEEDS_A_NIC, shown.stdout
    assert "FAIL" not in verdicts.values(), shown.stdout
    assert len(verdicts) == 27
    churned = {check["id"]: {a["from"]: a["seen"] for a in check["attempts"]} for check in report["checks"] if check["group"] == "churn"}
    for verb in ("add", "del"):
        assert set(churned[f"churn.{verb}"]) == {"n1", "n2"}
    assert all("ovs-provider: " in seen and " 0 failed" in seen for seen in churned["churn.add"].values())
    names = {attempt["from"] for check in report["checks"] for attempt in check["attempts"] if check["id"] == "isolation.other-tenant"}
    assert names == {f"{space}/{name}" for space in SPACES for name in ("n1", "n2")}
    cost.lost = f"{report['seconds']:.0f} s"
    nothing_stays(kube, cost)


def test_a_job_that_is_deleted_in_the_middle_takes_its_pods_away(begun: Kube, cost: Cost) -> None:
    begin(begun, *LONG)
    eventually("the run is under way", lambda: is_under_way(begun), bool, 180)
    begun.ctl("-n", HOME, "delete", "job", "accept", "--wait=true", seconds=150)
    eventually("its pod has ended", lambda: begun.items("-n", HOME, "pods"), lambda pods: not pods, 300)
    assert agents(begun) == dict.fromkeys(SPACES, []), "the pod ends after what it has made"
    nothing_stays(begun, cost)


def test_what_a_killed_run_has_left_the_next_one_takes_away(begun: Kube, cost: Cost) -> None:
    begin(begun, *LONG)
    eventually("the run is under way", lambda: is_under_way(begun), bool, 180)
    before = uids(begun)
    assert len(before) == 6, "two agents of each tenant, and what owns them"
    kill(begun)
    assert made(begun), "a killed process takes nothing away"
    begin(begun, "--only", "configuration")
    eventually("what was left is gone, long before the end of its lifetime", lambda: before & uids(begun), lambda left: not left, 120)
    assert ended(begun) in (0, 3)
    nothing_stays(begun, cost)


def test_what_nobody_takes_away_goes_at_the_end_of_its_lifetime(begun: Kube, cost: Cost) -> None:
    begin(begun, *LONG)
    eventually("the run is under way", lambda: is_under_way(begun), bool, 180)
    for space in SPACES:
        eventually("its life is prolonged", lambda space=space: begun.items("-n", space, "jobs"),
                   lambda jobs: jobs[0]["spec"]["activeDeadlineSeconds"] > LIFETIME, 100)
    kill(begun)
    left = made(begun)
    assert {line.split()[1] for line in left} == {"jobs", "pods", "secrets"}
    for space in SPACES:
        [owner] = begun.items("-n", space, "jobs")
        assert LIFETIME < owner["spec"]["activeDeadlineSeconds"] <= 300, "as its last renewal says"
        begun.ctl("-n", space, "patch", "job", "run", "--type=merge", "-p", '{"spec": {"activeDeadlineSeconds": 1}}')  # its time is over
    cost.lost = f"{len(left)} objects left by SIGKILL"
    nothing_stays(begun, cost)


def kill(kube: Kube) -> None:
    pod = driver(kube)
    where = kube.node(pod["spec"]["nodeName"])
    container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    node.run_on(where, ["ctr", "-n", "k8s.io", "tasks", "kill", "--signal", "SIGKILL", container])
    assert ended(kube, 60) == 128 + signal.SIGKILL
