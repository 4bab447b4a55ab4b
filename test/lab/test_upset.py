"""What upsets the whole lab, and therefore runs last: the control plane of a node stands still for a while."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from railcni_lab import pods
from railcni_lab.chain import Chain
from railcni_lab.layout import LabError, bridge
from world import World, eventually, hanging, settle


@pytest.mark.parametrize("plugin", ["ovs-provider", "frr-provider"])
def test_failed_add_leaves_nothing(world: World, plugin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """bgpd is stopped (SIGSTOP) when the plugin's turn comes: it fails, and what it and the plugins before it did is undone."""
    lab, node = world.lab, world.lab.find_node("n1")
    announced = {f"{address}/{32 if version == 4 else 128}" for pod in pods.all_pods(lab) for rail in pod.results
                 for version, address in pod.addresses(rail).items()}
    settle(world)
    eventually("just the pods' prefixes at the leaf", lambda: world.leaf_prefixes(1), lambda p: p == announced)
    ports = set(world.vsctl(node, "list-ports", bridge(1)).split())
    rules = len(world.flows(node, 1))
    with ExitStack() as until_the_end, pytest.raises(LabError, match=f"{plugin} ADD failed.*bgpd"):
        def execute(chain: Chain, verb: str, configuration: dict[str, Any], *others: Any) -> Any:
            if verb == "ADD" and configuration["type"] == plugin:
                until_the_end.enter_context(hanging(node, "bgpd"))
            return run(chain, verb, configuration, *others)

        run = Chain.execute
        monkeypatch.setattr(Chain, "execute", execute)
        pods.add(lab, "never", "n1", "tenant-c", [1])
    eventually("ports as before", lambda: set(world.vsctl(node, "list-ports", bridge(1)).split()), lambda p: p == ports)
    eventually("rules as before", lambda: len(world.flows(node, 1)), lambda n: n == rules)
    eventually("no prefix at the leaf", lambda: world.leaf_prefixes(1), lambda p: p == announced)
    settle(world, seconds=45)  # its sessions were lost meanwhile: what it had learned must come back
