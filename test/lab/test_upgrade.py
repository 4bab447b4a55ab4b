"""From the last tagged version to this one while pods talk, and back: nothing is lost, and what cannot work says so.

The old version is the last tag v* before this commit, or RAILCNI_UPGRADE_FROM=REVISION. Its five binaries are built once and kept in
the cache; building them takes minutes, so only `./test/run.sh --tier upgrade` does it (RAILCNI_UPGRADE_BUILD=1). Without them the
tests are skipped and say why."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import LAB, standing
from railcni_lab import daemons, fabric, kernel, pods
from railcni_lab.chain import PluginError
from railcni_lab.layout import CLUSTER, Lab, Node, Shape, write_json
from test_restarts import addresses
from traffic import LeafWatch, Traffic
from world import World, eventually, settle

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("RAILCNI_CACHE") or Path.home() / ".cache" / "railcni") / "upgrade"
PLUGINS = ("ovs-provider", "tenant-isolation", "frr-provider")
BINARIES = ("raild", "railctl", *PLUGINS)
TENANTS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "a3": ("n1", "tenant-a"), "b1": ("n1", "tenant-b")}


def git(*words: str) -> str | None:
    """The answer, or None when git has none."""
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def build(revision: str, to: Path) -> None:
    """The product of a revision, as the image builds it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="build-", dir=CACHE) as folder:
        source, binaries = Path(folder) / "src", Path(folder) / "bin"
        source.mkdir()
        binaries.mkdir()
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", revision], capture_output=True, timeout=60, check=True).stdout
        subprocess.run(["tar", "-x", "-C", str(source)], input=archive, timeout=60, check=True)
        environment = {**os.environ, "CCACHE_BASEDIR": str(source), "CCACHE_NOHASHDIR": "1"}
        for command in (["cmake", "--preset", "release", "-Wno-dev"], ["cmake", "--build", "--preset", "product"]):
            done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True, timeout=1800, check=False)
            assert done.returncode == 0, f"{revision}: {' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        for name in BINARIES:
            shutil.copy(source / "build/bin" / name, binaries / name)
        binaries.rename(to)


@pytest.fixture(scope="module")
def old() -> Path:
    """The folder of the old version's binaries."""
    wanted = os.environ.get("RAILCNI_UPGRADE_FROM") or git("describe", "--tags", "--match", "v*", "--abbrev=0", "HEAD^")
    if not wanted:
        pytest.skip("no tag v* to upgrade from; RAILCNI_UPGRADE_FROM=REVISION names another version")
    commit = git("rev-parse", "--verify", f"{wanted}^{{commit}}")
    assert commit, f"{wanted} is no revision of this repository"
    binaries = CACHE / commit
    if not binaries.exists():
        if "RAILCNI_UPGRADE_BUILD" not in os.environ:
            pytest.skip(f"the binaries of {wanted} are not in the cache; ./test/run.sh --tier upgrade builds them, in minutes")
        build(commit, binaries)
    return binaries


def format_of(schema: str) -> int:
    found = re.search(r"kFormatVersion = (\d+);", schema)
    assert found
    return int(found[1])


NEW_FORMAT = format_of((ROOT / "lib/state/schema.h").read_text())


@pytest.fixture(scope="module")
def old_format(old: Path) -> int:
    """Of the record, as the old version writes it."""
    schema = git("show", f"{old.name}:lib/state/schema.h")
    assert schema
    return format_of(schema)


def knows_clusters(old: Path) -> bool:
    """Its reader of node.json, which has been in two places, has the key."""
    return any('"cluster"' in (git("show", f"{old.name}:lib/config/{file}") or "") for file in ("keys.cc", "parse.cc"))


class Upgrade:
    """A lab whose folder of binaries is a node's: what is executed there is what was installed last."""

    def __init__(self, lab: Lab, old: Path, new: Path) -> None:
        self.lab, self.world, self.old, self.new = lab, World(lab), old, new

    def configure_for(self, version: Path) -> None:
        """node.json of every node, as UPGRADE.md says: an old version that knows no name of a cluster has none."""
        if knows_clusters(self.old):
            return
        name: dict[str, Any] = {"cluster": "", "cluster_aliases": [CLUSTER]} if version == self.new else {}
        for node in self.lab.nodes():
            config = json.loads(node.config_file.read_text())
            write_json(node.config_file, {key: value for key, value in config.items() if not key.startswith("cluster")} | name)

    def install_plugins(self, source: Path) -> None:
        """By the product's own installer."""
        with tempfile.TemporaryDirectory(prefix="railcni-plugins-") as folder:
            for name in PLUGINS:
                shutil.copy(source / name, folder)
            kernel.run([str(ROOT / "deploy/install-plugins.sh"), folder, str(self.lab.binaries)])

    def restart_raild(self, node: Node, source: Path) -> None:
        self.end_raild(node)
        daemons.start_raild(self.lab, node, source / "raild")
        daemons.wait_until(f"raild of {node.name} answers", lambda: daemons.raild_answers(node), 30)

    def end_raild(self, node: Node) -> None:
        pid = daemons.pid_of(node, "raild")
        if pid is not None:
            daemons.kill(pid, signal.SIGTERM)

    def record_format(self, node: Node) -> int:
        with closing(sqlite3.connect(f"file:{node.root}/var/lib/railcni/state.db?mode=ro", uri=True, timeout=10)) as db:
            return db.execute("PRAGMA user_version").fetchone()[0]

    def right(self, node: Node) -> bool:
        """raild knows every attachment, and the switch has their rules."""
        found = self.world.railctl(node, "get", "attachments")["attachments"]
        wanted = sum(pod.node == node.name for pod in pods.all_pods(self.lab))
        return len(found) == wanted and all(a["phase"] == "READY" and a.get("rules_in_place") for a in found)


@pytest.fixture(scope="module")
def config_of_old(old: Path) -> Iterator[None]:
    """The lab's node.json, as the old version takes it."""
    of_new = fabric.node_config
    with pytest.MonkeyPatch.context() as patch:
        if not knows_clusters(old):
            patch.setattr(fabric, "node_config", lambda lab, node: {k: v for k, v in of_new(lab, node).items() if k != "cluster"})
        yield


@pytest.fixture(scope="module")
def upgrade(request: pytest.FixtureRequest, old: Path, config_of_old: None) -> Iterator[Upgrade]:
    new = Lab.from_environment().binaries
    with tempfile.TemporaryDirectory(prefix="railcni-upgrade-") as folder:
        for name in BINARIES:
            shutil.copy(old / name, folder)
        lab = Lab(f"g{os.getpid()}", Path(folder))
        before = request.config.stash.get(LAB, None)
        request.config.stash[LAB] = lab
        try:
            with standing(lab, Shape(nodes=2, rails=1, spines=0, devices=4)):
                for name, (node, tenant) in TENANTS.items():
                    pods.add(lab, name, node, tenant, None)
                yield Upgrade(lab, old, new)
        finally:
            if before is not None:
                request.config.stash[LAB] = before


def test_an_upgrade_under_traffic_loses_nothing_and_the_way_back_is_clear(upgrade: Upgrade, old_format: int) -> None:
    lab, world = upgrade.lab, upgrade.world
    n1, n2 = lab.nodes()
    settle(world)
    assert {upgrade.record_format(node) for node in (n1, n2)} == {old_format}
    announced = addresses(world)
    with Traffic([("a1", "a2"), ("a2", "a1"), ("a1", "a3")], world, forbidden=[("a1", "b1"), ("b1", "a2")]) as traffic, \
            LeafWatch(lab.leaf(0), announced) as leaf:
        traffic.flows_again()

        # Configuration and plugins come first, as the DaemonSet and the package have it: the old raild goes on by the configuration that it
        # has, and meets attachments of the new plugins.
        upgrade.configure_for(upgrade.new)
        upgrade.install_plugins(upgrade.new)
        shutil.copy(upgrade.new / "railctl", lab.binaries / "railctl")
        pods.add(lab, "a4", "n1", "tenant-a", None)
        traffic.flows_again()
        for node in (n1, n2):  # between the two, an old raild and a new one understand each other
            upgrade.restart_raild(node, upgrade.new)
            eventually(f"{node.name}: every attachment is right", lambda n=node: upgrade.right(n), bool)
            traffic.flows_again()
        assert {upgrade.record_format(node) for node in (n1, n2)} == {NEW_FORMAT}
        assert traffic.lost() == 0
        settle(world)

        # The way back over a change of format is closed, in words; without one it is open.
        upgrade.end_raild(n1)
        upgrade.configure_for(upgrade.old)
        daemons.start_raild(lab, n1, upgrade.old / "raild")
        log = n1.log_dir / "raild.log"
        old_plugin = pods.chain(lab, n1, 0)
        old_plugin.path = [upgrade.old, *old_plugin.path[1:]]
        a1 = pods.attachment(lab, pods.find(lab, "a1"), 0)
        if old_format == NEW_FORMAT:
            daemons.wait_until("the old raild answers", lambda: daemons.raild_answers(n1), 30)
            eventually("the old raild: every attachment is right", lambda: upgrade.right(n1), bool)
            old_plugin.check(a1)
        else:
            refused = re.compile(rf"state\.db: has format {NEW_FORMAT}, written by RailCNI .*: install the newer version again")
            eventually("the old raild ends", lambda: daemons.pid_of(n1, "raild"), lambda pid: pid is None)
            assert refused.search(log.read_text()), log.read_text()[-2000:]
            with pytest.raises(PluginError, match=f"has format {NEW_FORMAT}"):
                old_plugin.check(a1)
        assert upgrade.record_format(n1) == NEW_FORMAT, "who refuses it changes nothing"
        traffic.flows_again()
        assert traffic.lost() == 0 and not leaf.lost

        # The new plugins delete what the old ones have attached.
        upgrade.configure_for(upgrade.new)
        upgrade.restart_raild(n1, upgrade.new)
        container = pods.find(lab, "b1").container_id
        pods.delete(lab, "b1")
        assert world.record(n1, container) == {"attachment": 0, "claim": 0, "step": 0}
        assert traffic.lost() == 0 and traffic.breaches() == []
    for name in ("a3", "a1", "a2", "a4"):
        pods.delete(lab, name)
    for node in (n1, n2):
        assert world.claims(node) == set()
    eventually("everything is withdrawn", lambda: announced & world.leaf_prefixes(0), lambda left: not left)
