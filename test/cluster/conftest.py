"""One cluster for the session; skipped as a whole, in one line, where the machine cannot run it. The report of what each test cost."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "deploy/lab"), str(ROOT / "test/lab")]

from railcni_cluster import cluster as clusters  # noqa: E402  the path above comes first
from railcni_cluster import kubernetes_build, requirements  # noqa: E402
from railcni_cluster.layout import Cluster, kubernetes_binaries  # noqa: E402
from railcni_lab.layout import Lab, LabError  # noqa: E402
from kube import Kube, eventually  # noqa: E402
from leftovers import none  # noqa: E402
from tables import Tables  # noqa: E402
from tutorial import Tutorial  # noqa: E402

PODS = (("a1", "tenant-a", "n1"), ("a2", "tenant-a", "n2"), ("b1", "tenant-b", "n1"), ("b2", "tenant-b", "n2"))
TIER_SECONDS, BUILD_SECONDS = 1080, 1200  # on a busy machine
KUBE: pytest.StashKey[Kube] = pytest.StashKey()
TABLES: pytest.StashKey[Tables] = pytest.StashKey()


@dataclass
class Cost:
    """What a test says of itself for the report."""

    left_over: str = "-"
    lost: str = "-"
    began: float = field(default_factory=time.monotonic)

    def nothing_left(self, kube: Kube) -> None:
        self.left_over = f"none of {none(kube)}"


COST: pytest.StashKey[Cost] = pytest.StashKey()
FAILED: pytest.StashKey[bool] = pytest.StashKey()


def too_late() -> str | None:
    """Why there is not enough time left in a run that has an end (RAILCNI_TEST_SECONDS); None: there is."""
    left = int(os.environ.get("RAILCNI_TIER_SECONDS", "86400"))
    needed = TIER_SECONDS if kubernetes_build.there(kubernetes_binaries()) else TIER_SECONDS + BUILD_SECONDS
    return f"the run has {left // 60} minutes left, and these tests may need {needed // 60}" if left < needed else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tier is one line when it is skipped."""
    mine = [item for item in items if HERE in item.path.parents]
    reason = (requirements.refusal() or too_late()) if mine else None
    if reason is not None:
        items[:] = [item for item in items if item not in mine] + mine[:1]
        mine[0].add_marker(pytest.mark.skip(reason=f"no cluster here: {reason}"))


@pytest.fixture(scope="session")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    lab = Lab(os.environ.get("RAILCNI_TEST_CLUSTER", f"k{os.getpid()}"), Lab.from_environment().binaries)
    cluster = Cluster(lab)
    if "RAILCNI_TEST_CLUSTER" in os.environ and cluster.folder.exists():  # one that is up, while tests are written
        yield cluster
        return
    try:
        clusters.up(cluster)
        yield cluster
    except LabError as error:
        pytest.exit(str(error), returncode=2)
    finally:
        if "RAILCNI_TEST_KEEP_LAB" not in os.environ:
            clusters.down(cluster)
            left = sorted(Path("/sys/fs/cgroup").glob(f"**/railcni-{lab.prefix}-n*"))
            assert not left, f"cgroups of nodes that are down: {left}"


@pytest.fixture(scope="session")
def kube(cluster: Cluster, request: pytest.FixtureRequest) -> Kube:
    """Kubernetes with RailCNI installed by the words of manifests/README.md."""
    from readme import install
    kube = Kube(cluster)
    request.config.stash[KUBE] = kube
    install(kube)
    kube.rolled_out(180)
    eventually("every BGP session is Established", kube.sessions_up, bool, 60)
    return kube


@pytest.fixture(scope="session")
def resident(kube: Kube, request: pytest.FixtureRequest) -> Kube:
    """Four pods of two tenants on two nodes, which stay for the whole session."""
    if any("tutorial" in item.fixturenames for item in request.session.items if isinstance(item, pytest.Function)):
        request.getfixturevalue("tutorial")
    kube.run_pods(*PODS)
    return kube


@pytest.fixture(scope="session")
def tutorial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tutorial]:
    """It runs beside the other tests: it waits more than it computes, and they must bear company."""
    run = Tutorial(tmp_path_factory.mktemp("tutorial"))
    yield run
    run.end()


@pytest.fixture(autouse=True)
def pods_of_a_failed_test_go(request: pytest.FixtureRequest) -> Iterator[None]:
    """So that one failure is not the cause of the next."""
    yield
    kube = request.config.stash.get(KUBE, None)
    if kube is None or not request.node.stash.get(FAILED, False):
        return
    resident = {(space, name) for name, space, _ in PODS} | {("team-a", "trainer")}
    try:
        kube.ctl("delete", "deployment", "-n", "tenant-d", "--all", "--wait=false")
        for pod in kube.items("pods", "-A"):
            space, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
            if space.startswith("te") and (space, name) not in resident:
                kube.ctl("-n", space, "delete", "pod", name, "--force", "--grace-period=0", "--ignore-not-found")
    except LabError as error:
        print(f"after the failed test: {error}")


@pytest.fixture
def cost(request: pytest.FixtureRequest) -> Cost:
    cost = Cost()
    request.node.stash[COST] = cost
    return cost


def pytest_configure(config: pytest.Config) -> None:
    # A run whose time is up takes its cluster down, too.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("ended by SIGTERM", returncode=143))
    config.stash[TABLES] = Tables(ROOT / "build/reports/cluster")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    outcome = yield
    report = outcome.get_result()
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    if report.when == "call":
        cost = item.stash.get(COST, Cost())
        item.config.stash[TABLES].row("cluster", ("test", "result", "left over", "packets lost", "seconds"), (
            item.name.removeprefix("test_").replace("_", " "), report.outcome, cost.left_over, cost.lost, f"{call.duration:.1f}"))
    kube = item.config.stash.get(KUBE, None)
    if report.failed and kube is not None:
        for title, words in (("pods", ("get", "pods", "-A", "-o", "wide")), ("events", ("get", "events", "-A", "--sort-by=.lastTimestamp")),
                             ("raild", ("-n", "railcni-system", "describe", "pods"))):
            try:
                report.sections.append((title, "\n".join(kube.ctl(*words).splitlines()[-60:])))
            except (LabError, OSError) as error:
                report.sections.append((title, str(error)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for text in config.stash[TABLES].write():
        terminalreporter.write_line(text)
    if config.stash.get(KUBE, None) is not None:
        terminalreporter.write_line(f"Multus: {os.environ.get('RAILCNI_MULTUS', 'the stand-in of deploy/lab/railcni_cluster')}")
