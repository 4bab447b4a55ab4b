"""Bursts that an average hides, and the counters of uplinks and pods, as railctl and Prometheus see them."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import socket
import statistics
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from alert_rows import discards
from causes import Stage
from railcni_lab import daemons, kernel
from railcni_lab.layout import Node, write_json
from tables import Tables
from world import Port, World, eventually, settle

LINE_RATE = 20  # Mbit/s: what counts as line rate here, which a userspace datapath reaches on any machine
PAYLOAD = bytes(1400)
LASTS = 0.1  # seconds
SLOT = 0.001
BURSTS = 5


@pytest.fixture(scope="module")
def node(world: World) -> Iterator[Node]:
    """n1, whose raild reads counters every 10 ms."""
    node = world.lab.find_node("n1")
    before = node.config_file.read_text()
    write_json(node.config_file, json.loads(before) | {"bursts": {"every_ms": 10, "line_rate_mbit": LINE_RATE}})
    try:
        eventually("bursts are on", lambda: world.railctl(node, "get", "counters")["bursts_on"], bool, 30)
        settle(world)
        yield node
    finally:
        node.config_file.write_text(before)
        settle(world)


def burst(port: Port, to: str) -> tuple[float, float]:
    """Twice line rate for 100 ms; when it began and ended."""
    with kernel.inside(port.namespace):
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender:
        sender.bind((port.ipv4, 0))  # the pod routes by its own address
        sender.sendto(b"first", (to, 4791))  # what must be learned on the way, is
        time.sleep(0.5)
        each_slot = 2 * LINE_RATE * 1e6 / 8 * SLOT / (len(PAYLOAD) + 42)
        began, sent = time.time(), 0
        while (passed := time.time() - began) < LASTS:
            while sent < passed / SLOT * each_slot:
                sender.sendto(PAYLOAD, (to, 4791))
                sent += 1
            time.sleep(SLOT)
        return began, time.time()


def unix(stamp: str) -> float:
    """2026-11-23T21:29:51.120Z"""
    whole, _, part = stamp.rstrip("Z").partition(".")
    return time.mktime(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) - time.timezone + float(f"0.{part or 0}")


def test_a_burst_of_100_ms_that_an_average_hides_is_caught(world: World, node: Node, tables: Tables) -> None:
    pod, to = world.port("a1"), world.port("a2").ipv4
    assert pod.node == node
    off: list[float] = []
    for number in range(BURSTS):
        began, ended = burst(pod, to)
        time.sleep(1.5)  # the second in which it was is over

        def near(found: dict[str, Any], of: Callable[[dict[str, Any]], bool], start: float = began, end: float = ended) -> list[dict[str, Any]]:
            return [b for b in found["bursts"] if of(b["port"]) and b["direction"] == "SENT" and start - 0.1 < unix(b["start"]) < end + 0.1]

        found = world.railctl(node, "bursts", "--since", "30s", "--rail", "rail0")
        at_pod = sorted(near(found, lambda port: port["pod"] == "a1"), key=lambda b: b["start"])
        at_uplink = near(found, lambda port: port["attachment"] == 0)
        assert at_pod, f"no burst of a1 near {began}: {found['bursts']}"
        first = at_pod[0]
        together = sum(b["ms"] for b in at_pod)
        off.append(1000 * abs(unix(first["start"]) - began))
        tables.row("bursts", ("burst", "made", "seen", "start off by", "at the uplink"),
                   (str(number + 1), f"{1000 * (ended - began):.0f} ms at {2 * LINE_RATE} Mbit/s",
                    f"{together} ms, peak {8 * max(b['peak'] for b in at_pod) / 1e6:.0f} Mbit/s", f"{off[-1]:.0f} ms",
                    f"{sum(b['ms'] for b in at_uplink)} ms"))
        assert 40 <= together <= 1000 * (ended - began) + 60
        assert at_uplink, "what the pod sent has left by the uplink"
    assert statistics.median(off) <= 20, off

    # The average of 5 s around the last one, as a graph of it would show.
    seconds = world.railctl(node, "bursts", "--since", "5s", "--rail", "rail0")["seconds"]
    mine = next(s for s in seconds if s["port"]["pod"] == "a1" and s["direction"] == "SENT")
    average, peak = 8 * mine["average"] / 1e6, 8 * mine["peak"] / 1e6
    tables.row("bursts", ("burst", "made", "seen", "start off by", "at the uplink"),
               ("average", f"{average:.1f} Mbit/s over 5 s", f"peak {peak:.0f} Mbit/s", "-", "-"))
    assert average < 0.25 * LINE_RATE < 0.9 * LINE_RATE < peak


def test_the_doctor_names_the_rail_that_carries_less(world: World, node: Node) -> None:
    """a1 has sent on rail0 alone; a second later on both, as much on each."""
    def slower() -> list[tuple[str, str]]:
        done = subprocess.run([str(world.lab.binaries / "railctl"), "--socket", str(node.raild_socket), "-o", "json", "doctor"],
                              capture_output=True, text=True, timeout=30, check=False)  # 1: it has found something
        assert done.returncode in (0, 1), done.stderr
        return [(f["subject"], f["what"]) for f in json.loads(done.stdout).get("findings", []) if f["id"] == "rail-slower-than-siblings"]

    burst(world.port("a1"), world.port("a2").ipv4)
    [(subject, what)] = eventually("the finding", slower, bool, 20)
    assert subject == "rail1" and re.search(r"pods carry \d+ Mbit/s on rail1 and \d+ Mbit/s on each", what), (subject, what)
    for _ in range(20):
        if not slower():
            break
        burst(world.port("a1", 1), world.port("a2", 1).ipv4)
    assert not slower(), "as much on each"


def test_a_burst_says_who_carried_it(world: World, node: Node) -> None:
    burst(world.port("a1"), world.port("a2").ipv4)
    time.sleep(1.2)
    found = world.railctl(node, "bursts", "--since", "5s", "a1", "-n", "tenant-a", "--rail", "rail0")["bursts"]
    assert found and all(b["port"]["pod"] == "a1" for b in found)
    assert any(w["port"]["attachment"] == 0 for w in found[0].get("with", [])), "by the uplink"
    text = kernel.run([str(world.lab.binaries / "railctl"), "bursts", "--since", "5s", "--rail", "rail0"], env={"RAILCNI_ROOT": str(node.root)})
    assert re.search(r"tenant-a/a1 net1 +sent", text) and "uplink" in text and "FASTEST-SECOND" in text


def test_metrics_have_them(world: World, node: Node) -> None:
    def values() -> dict[str, float]:
        return world.metrics(node)

    def sent(found: dict[str, float]) -> float:
        return found['railcni_tenant_bytes_total{rail="rail0",tenant="tenant-a",direction="sent"}']

    before = values()
    burst(world.port("a1"), world.port("a2").ipv4)
    key = '{rail="rail0",of="pods",direction="sent"}'
    lasted = f"railcni_burst_seconds_total{key}"
    # A second may be published in the middle of the burst.
    after = eventually("the burst is counted whole", values, lambda now: now[lasted] > before[lasted] + 0.04, 10)
    assert after[f"railcni_bursts_total{key}"] > before[f"railcni_bursts_total{key}"]
    eventually("the tenant's bytes are counted", lambda: sent(values()) - sent(before), lambda n: n > 200_000, 10)
    assert after['railcni_uplink_line_rate_bytes_per_second{rail="rail0"}'] == LINE_RATE * 125_000
    eventually("the uplink's second with its peak is over",
               lambda: values()['railcni_uplink_peak_bytes_per_second{rail="rail0",direction="sent"}'],
               lambda peak: peak > 0.9 * LINE_RATE * 125_000, 10)
    assert not [name for name in after if name.startswith("railcni_pod_")], "pods are no label unless the operator says so"


def test_counters_are_listed_and_followed(world: World, node: Node) -> None:
    ports = world.railctl(node, "get", "counters")["ports"]
    names = {(p["port"]["rail"], p["port"]["pod"]) for p in ports}
    assert {("rail0", ""), ("rail1", ""), ("rail0", "a1"), ("rail0", "b1")} <= names
    only = world.railctl(node, "get", "counters", "-n", "tenant-b")["ports"]
    assert {p["port"]["pod"] for p in only} == {"b1"}
    stamps = followed(world, node, 3)
    assert len(set(stamps)) == 3, "one a second, each newer"


def followed(world: World, node: Node, count: int) -> list[float]:
    """When the counters were read that `get counters -w` prints."""
    with subprocess.Popen([str(world.lab.binaries / "railctl"), "get", "counters", "-w", "-o", "json"], stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "RAILCNI_ROOT": str(node.root)}) as process:
        assert process.stdout is not None
        try:
            return [unix(json.loads(process.stdout.readline())["read"]) for _ in range(count)]
        finally:
            process.terminate()


def test_without_bursts_counters_are_read_when_somebody_asks(world: World) -> None:
    """n2 looks for no bursts: its last reading may be ten seconds old, and whoever asks is told of now."""
    other = world.lab.find_node("n2")
    for _ in range(2):
        asked = time.time()
        found = world.railctl(other, "get", "counters")
        assert not found["bursts_on"] and unix(found["read"]) > asked - 1.1, "fresh"
        time.sleep(5)  # nobody asks
    stamps = followed(world, other, 6)
    steps = [after - before for before, after in zip(stamps[1:], stamps[2:], strict=False)]  # the first may be an old one
    assert all(0.9 < step < 3 for step in steps), steps


# --- top, in a terminal -------------------------------------------------------------------------------------------------


class Terminal:
    """What a terminal shows: enough of ECMA-48 for a program that draws line by line."""

    def __init__(self, command: list[str], env: dict[str, str], rows: int = 24, columns: int = 100) -> None:
        self.rows, self.columns = rows, columns
        self.lines = [""] * rows
        self.at = 0
        self.other_screen = False
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, {**os.environ, **env, "TERM": "xterm"})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.fd)

    def take(self, text: str) -> None:
        for token in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\r\n|[^\x1b\r\n]+", text):
            if token == "\x1b[H":
                self.at, self.lines[0] = 0, ""
            elif token == "\r\n":
                self.at += 1
                assert self.at < self.rows, "it has drawn below the screen"
                self.lines[self.at] = ""
            elif token == "\x1b[J":
                self.lines[self.at + 1:] = [""] * (self.rows - self.at - 1)
            elif token in ("\x1b[?1049h", "\x1b[?1049l"):
                self.other_screen = token.endswith("h")
            elif not token.startswith("\x1b"):
                self.lines[self.at] += token
                assert len(self.lines[self.at]) <= self.columns, "it has drawn beyond the screen"

    def until(self, what: Callable[[list[str]], bool], seconds: float = 10) -> list[str]:
        deadline = time.monotonic() + seconds
        while not what(self.lines):
            ready = select.select([self.fd], [], [], max(0.0, deadline - time.monotonic()))[0]
            assert ready, "the screen is\n" + "\n".join(self.lines)
            self.raw += os.read(self.fd, 65536)
            # A screen is complete when its last line is cleared.
            whole, mark, rest = self.raw.rpartition(b"\x1b[J")
            if mark:
                self.take((whole + mark).decode())
                self.raw = rest
        return list(self.lines)

    def press(self, key: str) -> None:
        os.write(self.fd, key.encode())

    def end(self) -> int:
        while True:
            try:
                part = os.read(self.fd, 65536)
            except OSError:
                break
            if not part:
                break
            self.raw += part
        self.take(self.raw.decode())
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def test_top_in_a_terminal(world: World, node: Node) -> None:
    top = Terminal([str(world.lab.binaries / "railctl"), "top"], {"RAILCNI_ROOT": str(node.root)})
    pods_here = {f"{ns}/{name} net{rail + 1}" for ns, name in (("tenant-a", "a1"), ("tenant-a", "a3"), ("tenant-b", "b1")) for rail in (0, 1)}
    shown = top.until(lambda lines: "by rate" in lines[0] and "RAIL" in lines[1])
    assert top.other_screen
    row = re.compile(r"^(rail\d) {4}(\S.{23}) +[\d.]+[kMG]? +[\d.]+[kMG]?  \[([#\- ]{20})\]  +\d+% +\d+ +-$")
    rows = [line for line in shown[2:] if line]
    assert all(row.match(line) for line in rows), rows
    assert {found[2].strip() for line in rows if (found := row.match(line))} == pods_here | {"uplink up0", "uplink up1"} or \
        {found[2].strip() for line in rows if (found := row.match(line)) and not found[2].startswith("uplink")} == pods_here
    assert not any(shown[2 + len(rows):]), "below is nothing"

    top.press("p")
    uplinks = top.until(lambda lines: "2 uplinks" in lines[0])
    assert sum(line.startswith("rail") for line in uplinks) == 2
    top.press("p")
    top.press("r")
    of_rail = top.until(lambda lines: "3 pods of rail0" in lines[0])
    assert {line.split()[1] for line in of_rail[2:5]} == {"tenant-a/a1", "tenant-a/a3", "tenant-b/b1"}
    top.press("s")
    top.until(lambda lines: "by peak" in lines[0])
    burst(world.port("a1"), world.port("a2").ipv4)
    top.until(lambda lines: lines[2].startswith("rail0    tenant-a/a1 net1") and int(lines[2].split()[-2]) >= 30, 5)
    top.press("q")
    assert top.end() == 0
    assert not top.other_screen, "the screen of before is back"


def test_the_doctor_names_an_uplink_that_discards(world: World, node: Node) -> None:
    """The leaf's port is smaller than what a1 sends. Both are said: the port, and what it costs."""
    stage = Stage(world)
    with discards(stage):
        done = eventually("the finding", lambda: stage.railctl("doctor")[1], lambda text: "packets-discarded: rail0" in text, 60)
    assert re.search(r"discards \d+ packets a second that are sent \(0/s of them with errors", done), done
