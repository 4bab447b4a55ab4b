"""Priorities of the emulated NIC, as dcb(8) tells them, and as node.json wants them."""

from __future__ import annotations

import json
from typing import Any

import doctor
from netdevsim import uplink
from railcni_lab import kernel
from railcni_lab.layout import write_json
from world import World


def priorities() -> tuple[list[str], dict[str, list[int]]]:
    """What dcb(8) reads of the uplink: the priorities that pause, the table of DSCPs."""
    pfc = json.loads(kernel.run(["dcb", "-j", "pfc", "show", "dev", uplink()]))["prio_pfc"]
    table = json.loads(kernel.run(["dcb", "-j", "-N", "app", "show", "dev", uplink()])).get("dscp_prio", [])
    found: dict[str, list[int]] = {}
    for dscp, priority in table:
        found.setdefault(str(dscp), []).append(priority)
    return [str(i) for i, on in enumerate(pfc) if on], found


def set_lossless(world: World, wanted: dict[str, Any] | None) -> None:
    """Into node.json; raild takes it by itself."""
    node = world.lab.node(1)
    config = json.loads(node.config_file.read_text())
    config.pop("lossless", None)
    write_json(node.config_file, {**config, **({"lossless": wanted} if wanted else {})})


def differences(world: World) -> dict[str, str]:
    """The doctor's findings about priorities: id -> remedy."""
    return {each["id"]: each["fix"] for each in doctor.findings(world, world.lab.node(1)) if each["id"].startswith("lossless-")}
