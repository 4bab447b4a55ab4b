"""Who reaches whom: same tenant on every rail, across and within nodes, both families; other tenants never."""

from __future__ import annotations

import pytest
from conftest import PODS
from railcni_lab import matrix
from world import World


@pytest.mark.parametrize("kind", ["icmp", "udp"])
def test_same_tenant_reachable_everywhere_and_other_tenant_never(world: World, kind: str) -> None:
    # udp: one direction alone, port 4791, DSCP 26 with ECN bits, payload and TOS byte compared at the other end
    cells = matrix.measure(world.lab, kind, wait_seconds=15)
    wrong = [c for c in cells if not c.right]
    assert not wrong, matrix.table(cells, kind)
    assert len(cells) == len(PODS) * (len(PODS) - 1) * 2 * 2, "pairs x rails x families"
    assert {(c.rail, c.family) for c in cells} == {(r, f) for r in (0, 1) for f in ("IPv4", "IPv6")}
    reached = {(c.source, c.target) for c in cells if c.seen == "yes"}
    assert {("a1", "a3"), ("a3", "a1")} <= reached, "within a node"
    assert {("a1", "a2"), ("a2", "a1"), ("b1", "b2"), ("b2", "b1")} <= reached, "across nodes"
    assert not {(a, b) for a, b in reached if a[0] != b[0]}
