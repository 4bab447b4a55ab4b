"""A fleet of railds that are not there (fleet.cc), railfabric over it, and railctl that asks it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BINARIES = Path(os.environ.get("RAILCNI_BIN", ROOT / "build" / "bin"))
FLEET = BINARIES.parent / "tests" / "fabric_fleet"
PATIENCE = 120  # seconds: ten times what a busy machine takes

Answer = dict[str, Any]


def eventually(so: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    deadline = time.monotonic() + seconds
    while True:
        found = so()
        if found:
            return found
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.2)


class Process:
    """A program whose lines can be waited for."""

    def __init__(self, command: list[str], log: Path, *, stdin: bool = False) -> None:
        self.log = log
        self.lines: Queue[str] = Queue()
        with open(log, "ab") as file:
            self.popen = subprocess.Popen(command, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=file, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.popen.stdout is not None
        for line in self.popen.stdout:
            self.lines.put(line.rstrip("\n"))

    def line(self, seconds: float = PATIENCE) -> str:
        try:
            return self.lines.get(timeout=seconds)
        except Empty:
            raise AssertionError(f"{self.popen.args}: no word within {seconds} s; it said: {self.log.read_text()[-2000:]}") from None

    def until(self, so: Callable[[Answer], bool], what: str, seconds: float = PATIENCE) -> Answer:
        """The first line of JSON that is so."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            assert left > 0, f"not within {seconds} s: {what}"
            found: Answer = json.loads(self.line(left))
            if so(found):
                return found

    def tell(self, command: str) -> str:
        assert self.popen.stdin is not None
        self.popen.stdin.write(command + "\n")
        self.popen.stdin.flush()
        return self.line()

    def end(self) -> int:
        if self.popen.stdin is not None:
            self.popen.stdin.close()
        else:
            self.popen.terminate()
        try:
            return self.popen.wait(timeout=60)
        finally:
            self.popen.kill()
            self.popen.wait()
            self.reader.join(timeout=10)

    def cpu_seconds(self) -> float:
        words = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def mib(self, what: str) -> float:
        found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{self.popen.pid}/status").read_text(), re.M)
        assert found
        return int(found[1]) / 1024


class World:
    def __init__(self, folder: Path, fleet: Process, fabric: Process, ask: list[str]) -> None:
        self.folder, self.fleet, self.fabric, self.ask = folder, fleet, fabric, ask

    def tell(self, command: str) -> str:
        said = self.fleet.tell(command)
        assert said == "ok" or said.isdigit(), f"{command}: {said}"
        return said

    def railctl(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(BINARIES / "railctl"), *self.ask, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)

    def json(self, *words: str) -> Answer:
        done = self.railctl(*words, "-o", "json")
        assert done.stdout, done.stderr
        found: Answer = json.loads(done.stdout)
        return found

    @contextmanager
    def watch(self, *words: str) -> Iterator[Process]:
        process = Process([str(BINARIES / "railctl"), *self.ask, *words, "-w", "-o", "json"], self.folder / "watch.log")
        try:
            yield process
        finally:
            process.end()

    def is_ready(self) -> bool:
        return self.railctl("health", "--ready").returncode == 0

    def node(self, name: str) -> Answer:
        found: list[Answer] = self.json("get", "nodes", "--node", name)["nodes"]
        assert len(found) == 1
        return found[0]


def start_fleet(folder: Path, nodes: int, changes: float, *tls: str) -> Process:
    assert FLEET.exists(), f"{FLEET} is not built: cmake --build --preset release"
    fleet = Process([str(FLEET), str(folder), str(nodes), str(changes), *tls], folder / "fleet.log", stdin=True)
    try:
        assert fleet.line() == "ready"
    except BaseException:
        fleet.end()
        raise
    return fleet


def start_fabric(folder: Path, settings: Answer) -> Process:
    file = folder / "railfabric.json"
    file.write_text(json.dumps(settings))
    checked = subprocess.run([str(BINARIES / "railfabric"), "--config", str(file), "--check-config"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert checked.returncode == 0, checked.stderr
    return Process([str(BINARIES / "railfabric"), "--config", str(file)], folder / "railfabric.log")


@contextmanager
def standing(folder: Path, nodes: int, changes: float) -> Iterator[World]:
    """Over sockets."""
    fleet = start_fleet(folder, nodes, changes)
    try:
        socket = f"unix:{folder}/fabric.sock"
        fabric = start_fabric(folder, {"listen": [socket], "nodes": json.loads((folder / "nodes.json").read_text())})
        try:
            world = World(folder, fleet, fabric, ["--fabric", socket])
            yield world
        finally:
            status = fabric.end()
        assert status == 0, f"SIGTERM ends it well: {(folder / 'railfabric.log').read_text()[-2000:]}"
    finally:
        fleet.end()
