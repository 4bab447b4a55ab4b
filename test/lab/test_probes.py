"""What Kubernetes' probes are told: about raild alone, whatever it depends on."""

from __future__ import annotations

import pytest
from railcni_lab import kernel
from railcni_lab.layout import Node
from world import World, eventually, hanging, settle


def probe(world: World, node: Node, *words: str) -> str:
    """Fails with railctl's sentence when its exit status is not 0."""
    return kernel.run([str(world.lab.binaries / "railctl"), "health", *words], env={"RAILCNI_ROOT": str(node.root)})


@pytest.mark.parametrize("daemon", ["ovs-vswitchd", "ovsdb-server", "bgpd"])
def test_a_daemon_that_hangs_is_no_reason_to_restart_raild(world: World, daemon: str) -> None:
    settle(world)
    node = world.lab.find_node("n2")

    def problems() -> list[str]:
        return [h["part"] for h in world.railctl(node, "get", "node")["node"]["health"] if not h.get("ok")]

    with hanging(node, daemon):
        seen = eventually(f"raild notices that {daemon} hangs", problems, lambda parts: parts != [], 60)
        assert "raild" not in seen
        assert probe(world, node) == probe(world, node, "--ready") == "SERVING\n"
    eventually("all is right again", problems, lambda parts: parts == [], 60)
