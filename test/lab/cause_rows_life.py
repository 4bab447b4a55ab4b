"""Faults of raild's own life: its configuration, its record, its start."""

from __future__ import annotations

import json
import shutil
import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from typing import Any

from causes import ASKED_WITHOUT_DAEMON, Row, Stage
from railcni_lab import daemons, kernel
from railcni_lab.layout import write_json
from world import eventually

Make = Callable[[Stage], AbstractContextManager[None]]


def stop(stage: Stage) -> None:
    daemons.end([pid for pid in [daemons.pid_of(stage.node, "raild")] if pid is not None])


def start(stage: Stage) -> None:
    if daemons.pid_of(stage.node, "raild") is None:
        daemons.start_raild(stage.world.lab, stage.node)
    eventually("raild answers", lambda: daemons.raild_answers(stage.node), bool, 20)


@contextmanager
def stopped(stage: Stage) -> Iterator[None]:
    """raild does not run; in the end it does, whoever has started it."""
    stop(stage)
    try:
        yield
    finally:
        start(stage)


@contextmanager
def damaged_record(stage: Stage) -> Iterator[None]:
    """The head of state.db is overwritten while raild is down, with the log folded into the file: raild does not start any more."""
    with stopped(stage):
        record = stage.node.root / "var/lib/railcni/state.db"
        with closing(sqlite3.connect(record)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        whole = record.read_bytes()
        record.write_bytes(b"\xff" * 100 + whole[100:])
        daemons.start_raild(stage.world.lab, stage.node)
        eventually("raild has given up", lambda: daemons.pid_of(stage.node, "raild"), lambda pid: pid is None, 20)
        try:
            yield
        finally:  # the remedy has begun a new record, which the old one replaces
            stop(stage)
            shutil.rmtree(record.with_name("damaged"), ignore_errors=True)
            for file in record.parent.glob("state.db*"):
                file.unlink()
            record.write_bytes(whole)
            record.chmod(0o640)


@contextmanager
def readable_record(stage: Stage) -> Iterator[None]:
    record = stage.node.root / "var/lib/railcni/state.db"
    mode = record.stat().st_mode & 0o777
    record.chmod(0o644)
    try:
        yield
    finally:
        for file in record.parent.glob("state.db*"):
            if file.is_file():
                file.chmod(mode)


def file_with(edit: Callable[[dict[str, Any]], None]) -> Make:
    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        text = stage.node.config_file.read_text()
        config = json.loads(text)
        edit(config)
        write_json(stage.node.config_file, config)
        try:
            yield
        finally:
            stage.node.config_file.write_text(text)

    return make


@contextmanager
def broken_file_without_raild(stage: Stage) -> Iterator[None]:
    with stopped(stage), file_with(lambda config: config["bgp"].update({"as": 1}))(stage):
        yield


@contextmanager
def socket_is_a_file(stage: Stage) -> Iterator[None]:
    with stopped(stage):
        wake = stage.node.root / "run/railcni/wake.sock"
        wake.write_text("")
        try:
            yield
        finally:
            for each in (wake, wake.with_name("wake.sock.away")):
                if each.is_file():
                    each.unlink()


@contextmanager
def port_taken(stage: Stage) -> Iterator[None]:
    with kernel.inside(stage.node.namespace):
        taken = socket.create_server(("127.0.0.1", 0))
    with taken, stopped(stage), \
            file_with(lambda config: config.update(metrics={"listen": f"127.0.0.1:{taken.getsockname()[1]}"}))(stage):
        yield


def another_mtu(config: dict[str, Any]) -> None:
    config["bgp"]["max_prefixes"] = 1000
    config["rails"][0]["mtu"] = config["rails"][0].get("mtu", 1500) + 1


ROWS: list[Row] = [
    Row("node.json broken", "config-unreadable", "node.json", file_with(lambda config: config["bgp"].update({"as": 1}))),
    Row("node.json changed in what takes a restart", "config-newer-than-raild", "node.json", file_with(another_mtu)),
    Row("state.db readable by all", "record-readable", "state.db", readable_record, "chmod"),
    Row("raild dead", "raild-down", "raild", stopped, "systemctl start raild", ask=ASKED_WITHOUT_DAEMON),
    Row("raild does not start: state.db damaged", "record-unreadable", "state.db", damaged_record, "mkdir", ask=ASKED_WITHOUT_DAEMON),
    Row("raild does not start: node.json broken", "config-unreadable", "node.json", broken_file_without_raild, ask=ASKED_WITHOUT_DAEMON),
    Row("raild does not start: wake.sock is a file", "raild-cannot-start", "wake.sock", socket_is_a_file, "mv", ask=ASKED_WITHOUT_DAEMON),
    Row("raild does not start: its port is taken", "raild-cannot-start", "metrics.listen", port_taken, ask=ASKED_WITHOUT_DAEMON),
]
