"""Rates of the emulated NIC, as devlink(8) tells them, and as node.json wants them."""

from __future__ import annotations

import json
from typing import Any

import doctor
from railcni_lab import kernel
from railcni_lab.layout import write_json
from railcni_lab.speaker import tenant_id
from world import World

MBIT = 125_000  # bytes/s
Tree = tuple[dict[str, tuple[int, int]], dict[str, str]]


def devlink(*words: str) -> None:
    kernel.run(["devlink", "port", "function", "rate", *words])


def tree() -> Tree:
    """The nodes with their shares and limits in Mbit/s, and the ports that are under one: port -> node."""
    shown = json.loads(kernel.run(["devlink", "-j", "port", "function", "rate", "show"]))["rate"]
    nodes = {name.rpartition("/")[2]: (rate.get("tx_share", 0) // MBIT, rate.get("tx_max", 0) // MBIT)
             for name, rate in shown.items() if rate["type"] == "node"}
    return nodes, {port: rate["parent"] for port, rate in shown.items() if rate["type"] == "leaf" and rate.get("parent")}


def node_of(namespace: str) -> str:
    return f"railcni-{tenant_id(f'namespace/{namespace}'):028x}"


def want(world: World, rates: dict[str, Any] | None) -> None:
    """Into node.json; raild takes it by itself."""
    node = world.lab.node(1)
    config = json.loads(node.config_file.read_text())
    config.pop("rates", None)
    write_json(node.config_file, {**config, **({"rates": rates} if rates else {})})


def findings(world: World) -> dict[str, str]:
    """The doctor's findings about rates: id -> what."""
    return {each["id"]: each["what"] for each in doctor.findings(world, world.lab.node(1)) if each["id"].startswith("rates-")}


def described(world: World, *what: str) -> str:
    """`railctl describe`, for people."""
    return kernel.run([str(world.lab.binaries / "railctl"), "describe", *what], env={"RAILCNI_ROOT": str(world.lab.node(1).root)})
