"""ovs-cni with host-local, alone, where the machine has it: a peer that puts a pod on the same bridge, without rules and without BGP.

Without an SR-IOV device it makes a veth pair, where our chain moves a link that is there."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path

from railcni_lab.layout import Lab, Node, bridge

from .measure import execute
from .ours import IFNAME, Slot, cni_environment


def program() -> Path:
    return Path(os.environ.get("RAILCNI_OVS_CNI", "/opt/cni/bin/ovs"))


class OvsCni:
    def __init__(self, lab: Lab, node: Node, rail: int) -> None:
        # Another pool than the chain's, so that the two never give the same address.
        self.config = json.dumps({
            "cniVersion": "1.0.0", "name": f"ovs-cni-{rail}", "type": "ovs", "bridge": bridge(rail),
            "socket_file": f"unix:{node.ovs_dir}/db.sock",
            "ipam": {"type": "host-local", "dataDir": str(node.ipam_dir), "ranges": [
                [{"subnet": f"10.{rail}.{220 + node.number}.0/24"}],
                [{"subnet": f"fd52:4149:{rail:x}:{0x220 + node.number:x}::/64"}]]}})
        self.environment = cni_environment(lab.binaries, node.root)

    def add(self, slot: Slot) -> dict[str, float]:
        """Plugin -> milliseconds."""
        slot.container_id = secrets.token_hex(32)
        return self._step("ADD", slot)

    def delete(self, slot: Slot) -> dict[str, float]:
        return self._step("DEL", slot)

    def _step(self, verb: str, slot: Slot) -> dict[str, float]:
        variables = {"CNI_COMMAND": verb, "CNI_CONTAINERID": slot.container_id, "CNI_NETNS": slot.netns, "CNI_IFNAME": IFNAME}
        return {"ovs": execute([str(program())], {**self.environment, **variables}, self.config).ms}
