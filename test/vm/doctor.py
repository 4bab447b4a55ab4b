"""What `railctl doctor` finds."""

from __future__ import annotations

import json
import os
import subprocess

from railcni_lab.layout import Node
from world import World


def findings(world: World, node: Node) -> list[dict[str, str]]:
    """All of them; its status is 1 where anything is critical."""
    done = subprocess.run([str(world.lab.binaries / "railctl"), "doctor", "-o", "json"], text=True, capture_output=True, check=False,
                          env={**os.environ, "RAILCNI_ROOT": str(node.root)})
    return json.loads(done.stdout)["findings"]


def named(world: World, node: Node, finding: str) -> list[tuple[str, str]]:
    """Those with this id: subject, what."""
    return [(each["subject"], each["what"]) for each in findings(world, node) if each["id"] == finding]
