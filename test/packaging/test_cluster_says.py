"""What the Kubernetes of the lab says before work that takes minutes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "deploy/lab"))
from railcni_cluster import cluster, images, kubernetes_build
from railcni_cluster.layout import Cluster


def test_what_takes_minutes_is_said_before_it_begins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the order of things: a build notes itself, so does what is said. Nothing is built."""
    order: list[str] = []

    def product(_: str) -> Path:
        order.append("build of the image")
        return tmp_path

    monkeypatch.setattr(kubernetes_build, "there", lambda _: False)
    monkeypatch.setattr(kubernetes_build, "ensure", lambda *_: order.append("build of Kubernetes"))
    monkeypatch.setattr(images, "product", product)
    for name in ("pause", "workload", "debian"):
        monkeypatch.setattr(images, name, lambda: tmp_path)
    cluster.prepare(Cluster.from_environment(), product=True, say=order.append)
    kubernetes, image = order.index("build of Kubernetes"), order.index("build of the image")
    assert kubernetes > 0 and "10 to 30 minutes" in order[kubernetes - 1]
    assert image > kubernetes + 1 and "minute" in order[image - 1]
