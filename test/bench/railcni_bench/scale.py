"""What a change costs among many remotes: raild's CPU time and memory, the first installation, a tenant that appears at once."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from railcni_lab import daemons, fabric, kernel, pods
from railcni_lab.layout import Lab, Node, bridge
from railcni_lab.speaker import Speaker, addresses, announce, communities, tenant_id, withdraw

from .measure import BenchError, Budget, Report, Spread, idle_percent, memory_kib, number, on_cpu_ns
from .probe import PORT, Prober

REMOTES = "cookie=0x5241494c80000000/0xffffffffff000000"
FIRST, FLOOD, OTHER = "11.0.0.0", "12.0.0.0", "13.0.0.0"
PODS = 8  # of a full node: one for each GPU


@dataclass(frozen=True)
class Sizes:
    counts: tuple[int, ...]  # remotes that are known when one more comes
    rounds: int  # of one more
    idle_seconds: float
    nodes: int  # of the tenant that appears, one address a rail
    appears_seconds: float
    samples: int  # of another tenant's convergence
    many: int  # remotes on eight rails


FULL = Sizes(counts=(1_000, 10_000, 100_000), rounds=20, idle_seconds=65, nodes=2000, appears_seconds=20, samples=60, many=20_000)
SMOKE = Sizes(counts=(1_000, 3_000), rounds=3, idle_seconds=3, nodes=100, appears_seconds=1, samples=4, many=1_200)


class Switch:
    """The rules of a node's bridges, by ovs-ofctl: costs raild nothing."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def target(self, rail: int) -> str:
        return f"unix:{self.node.ovs_dir}/{bridge(rail)}.mgmt"

    def run(self, rail: int, command: str, *words: str, stdin: str | None = None) -> str:
        return kernel.run(["ovs-ofctl", "-O", "OpenFlow15", *(["--bundle"] if command == "add-flows" else []), command,
                           self.target(rail), *words], timeout=120, stdin=stdin)

    def remotes(self, rail: int) -> int:
        return int(re.search(r"flow_count=(\d+)", self.run(rail, "dump-aggregate", REMOTES))[1])  # type: ignore[index]

    def knows(self, rail: int, address: str) -> bool:
        return "actions" in self.run(rail, "dump-flows", f"table=7,ip,nw_src={address}")

    def wait(self, rails: int, remotes: int, pods_here: int, seconds: float = 300) -> None:
        """A pod here is a remote of the other rails, with an address of each family: a rule each, as for all others."""
        rules = remotes + 2 * pods_here * (rails - 1)
        daemons.wait_until(f"{rules} rules of remotes on each bridge",
                           lambda: all(self.remotes(rail) == rules for rail in range(rails)), seconds)


def raild_pid(node: Node) -> int:
    pid = daemons.pid_of(node, "raild")
    if pid is None:
        raise BenchError("raild does not run")
    return pid


@contextmanager
def speaking(lab: Lab) -> Iterator[Speaker]:
    speaker = Speaker(lab, lab.leaf(0))
    try:
        yield speaker
    finally:
        speaker.close()


def two_rails(report: Report, lab: Lab, node: Node, sizes: Sizes) -> None:
    switch, pid = Switch(node), raild_pid(node)
    marks = communities(tenant_id("namespace/scale"), 0)
    every = addresses(FIRST, sizes.counts[-1])
    extra = addresses(FLOOD, sizes.rounds)
    with speaking(lab) as speaker:
        pods.add(lab, "scale", "n1", "scale", [0, 1])
        known = 0
        for count in sizes.counts:
            speaker.send(announce(every[known:count], marks))
            switch.wait(2, count, 1)
            known = count
            cost = _one_more(speaker, switch, pid, 2, extra, marks)
            switch.wait(2, count, 1)
            report.add(f"scale.one_more.{count}", f"one new remote among {count:,} x 2 rails, raild's CPU", cost, budget=Budget(20))
        report.add("scale.idle", f"raild, idle, {known:,} remotes x 2 rails", idle_percent(pid, sizes.idle_seconds), "% of a core", Budget(0.5, "%"))
        _install(report, lab, node, switch, known)
        report.add("scale.rss2", f"raild, {known:,} remotes x 2 rails, resident", memory_kib(pid, "VmRSS") / 1024, "MiB",
                   Budget(200, "MiB"))
        report.add("scale.peak2", "  the most so far", memory_kib(pid, "VmHWM") / 1024, "MiB")
        pods.delete(lab, "scale")
        speaker.send(withdraw(every))


def _one_more(speaker: Speaker, switch: Switch, pid: int, rails: int, extra: list[str], marks: list) -> Spread:
    """One new remote, until every bridge has its rules; raild's CPU time for all that."""
    time.sleep(1)
    costs = []
    for address in extra:
        before = on_cpu_ns(pid)
        speaker.send(announce([address], marks))
        daemons.wait_until("the new remote's rules", lambda a=address: all(switch.knows(rail, a) for rail in range(rails)), 60, 0.01)
        time.sleep(0.1)  # what follows the rules: the published view
        costs.append((on_cpu_ns(pid) - before) / 1e6)
    speaker.send(withdraw(extra))
    return Spread.of(costs)


def _install(report: Report, lab: Lab, node: Node, switch: Switch, count: int) -> None:
    """The first pod of a tenant with many remotes, beside ovs-ofctl with the same rules in one bundle."""
    rules = [switch.run(rail, "dump-flows", "--no-stats", REMOTES) for rail in (0, 1)]
    pods.delete(lab, "scale")
    switch.wait(2, 0, 0)
    size = (node.log_dir / "raild.log").stat().st_size
    cpu, pid = on_cpu_ns(raild_pid(node)), raild_pid(node)
    pods.add(lab, "scale", "n1", "scale", [0, 1])
    switch.wait(2, count, 1)
    time.sleep(0.2)
    with open(node.log_dir / "raild.log", "rb") as log:
        log.seek(size)
        told = re.findall(rb"rail (\w+): (\d+) rules added, \d+ removed, in (\d+) ms", log.read())
    ours = sum(float(ms) for _, added, ms in told if int(added) >= count)
    if ours == 0:
        raise BenchError(f"raild has not told how long it took to add {count} rules: {told}")
    used = (on_cpu_ns(pid) - cpu) / 1e6
    theirs = 0.0
    pods.delete(lab, "scale")
    switch.wait(2, 0, 0)
    for rail in (0, 1):
        text = "\n".join(line.strip() for line in rules[rail].splitlines() if "actions=" in line) + "\n"
        began = time.perf_counter()
        switch.run(rail, "add-flows", "-", stdin=text)
        theirs += (time.perf_counter() - began) * 1000
    daemons.wait_until("raild has removed what is not its", lambda: all(switch.remotes(rail) == 0 for rail in (0, 1)), 120)
    pods.add(lab, "scale", "n1", "scale", [0, 1])
    switch.wait(2, count, 1)
    report.add("scale.install", f"first installation, {count:,} rules on each of 2 bridges", ours, "ms",
               Budget(1.3, "x", value=ours / theirs), f"{number(ours / theirs)} x ovs-ofctl --bundle")
    report.add("scale.install_tools", "  the same rules by ovs-ofctl --bundle", theirs, "ms")
    report.add("scale.install_cpu", "  raild's CPU", used, "ms")


class Arrivals:
    """When a bridge gets the rules of remotes of one prefix, as the switch tells it."""

    def __init__(self, switch: Switch, rail: int, prefix: str) -> None:
        self.seen: dict[str, float] = {}
        self.process = subprocess.Popen(
            ["ovs-ofctl", "-O", "OpenFlow15", "monitor", switch.target(rail), f"watch:!initial,table=7,ip,nw_src={prefix}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=daemons.ovs_environment(switch.node))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        time.sleep(0.5)

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            now = time.perf_counter()
            for address in re.findall(r"event=ADDED.*nw_src=([0-9.]+)", line):
                self.seen.setdefault(address, now)

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


def eight_rails(report: Report, lab: Lab, node: Node, sizes: Sizes) -> None:
    rails, switch, pid = lab.shape().rails, Switch(node), raild_pid(node)
    of = {name: [communities(tenant_id(f"namespace/{name}"), rail) for rail in range(rails)] for name in ("flood", "other")}
    samples = iter(addresses(OTHER, 2 * sizes.samples))
    with speaking(lab) as speaker:
        here = [pods.add(lab, f"pod{i}", "n1", "flood" if i == 0 else "other", list(range(rails))) for i in range(PODS)]
        extra = addresses(FIRST, sizes.rounds)
        report.add("scale.one_more.full", f"one new remote, {rails} rails with {PODS} pods each, raild's CPU",
                   _one_more(speaker, switch, pid, rails, extra, of["other"][0]))
        arrivals = Arrivals(switch, 0, "13.0.0.0/8")
        try:
            quiet = _converge(speaker, arrivals, of["other"][0], samples, sizes.samples, lambda: None, 0.2)
            # A node after another, each with an address on every rail, evenly over the time.
            every = addresses(FLOOD, sizes.many)
            pause = sizes.appears_seconds / sizes.samples
            share = -(-sizes.nodes // sizes.samples)
            at = 0

            def more() -> None:
                nonlocal at
                for _ in range(min(share, sizes.nodes - at // rails)):
                    for rail in range(rails):
                        speaker.send(announce([every[at]], of["flood"][rail]))
                        at += 1
                    time.sleep(0.9 * pause / share)

            cpu, began = on_cpu_ns(pid), time.monotonic()
            loud = _converge(speaker, arrivals, of["other"][0], samples, sizes.samples, more, pause)
            while at < sizes.nodes * rails:
                more()
            sent = time.monotonic()
            switch.wait(rails, at + 2 * sizes.samples, PODS)
            behind = (time.monotonic() - sent) * 1000
            used = 100 * (on_cpu_ns(pid) - cpu) / 1e9 / (time.monotonic() - began)
        finally:
            arrivals.close()
        report.add("scale.quiet", "another node's pod is known here, 8 rails, quiet", quiet)
        report.add("scale.flood", f"  while a tenant of {sizes.nodes:,} nodes x {rails} rails appears in {sizes.appears_seconds:.0f} s", loud,
                   budget=Budget(2 * quiet.p99, of="p99", why="2 x the quiet p99"), ratio=f"{number(loud.p99 / quiet.p99)} x p99")
        report.add("scale.behind", "  all its rules are there, after its last announcement", behind, "ms", Budget(2000))
        report.add("scale.flood_cpu", "  raild's CPU meanwhile", used, "% of a core")
        speaker.send(announce(every[at:], of["flood"][0]))
        switch.wait(rails, sizes.many + 2 * sizes.samples, PODS)
        time.sleep(1)
        report.add("scale.rss8", f"raild, {sizes.many:,} remotes x {rails} rails, resident", memory_kib(pid, "VmRSS") / 1024, "MiB",
                   Budget(400, "MiB"))
        _restart(report, lab, node, switch, sizes.many + 2 * sizes.samples, here[1:3])


def _restart(report: Report, lab: Lab, node: Node, switch: Switch, remotes: int, pair: list[pods.Pod]) -> None:
    """ovs-vswitchd comes back with no rules: how long until two pods of this node talk, and until every bridge has all its rules."""
    rails = lab.shape().rails
    source, target = (pod.addresses(0)[4] for pod in pair)
    with kernel.inside(pods.namespace(lab, pair[1].name)):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    prober = Prober(pods.namespace(lab, pair[0].name), source, target)
    try:
        receiver.bind((target, PORT))
        receiver.settimeout(60)
        prober.start()
        receiver.recv(64)
        pid = daemons.pid_of(node, "ovs-vswitchd")
        if pid is None:
            raise BenchError("ovs-vswitchd does not run")
        daemons.kill(pid)
        receiver.setblocking(False)
        with suppress(BlockingIOError):
            while receiver.recv(64):  # what came before it ended
                pass
        receiver.settimeout(60)
        began = time.monotonic()
        daemons.start_vswitchd(node)
        receiver.recv(64)
        talks = time.monotonic() - began
        fabric.wait_for_bridges(node, rails)
        switch.wait(rails, remotes, PODS)
        whole = time.monotonic() - began
    finally:
        prober.stop()
        receiver.close()
    rules = rails * (remotes + 2 * PODS * (rails - 1))
    report.add("scale.restart", f"ovs-vswitchd starts anew, {rails} rails, until two pods of the node talk", talks * 1000)
    report.add("scale.restart_all", f"  until all {rules:,} rules of remotes are there", whole * 1000)
    pid = daemons.pid_of(node, "ovs-vswitchd")
    if pid is not None:
        report.add("scale.switch_rss", "  ovs-vswitchd with them, resident", memory_kib(pid, "VmRSS") / 1024, "MiB")


def _converge(speaker: Speaker, arrivals: Arrivals, marks: list, samples: Iterator[str], count: int, meanwhile, pause: float) -> Spread:
    asked = {}
    for _ in range(count):
        began = time.perf_counter()
        meanwhile()
        address = next(samples)
        asked[address] = time.perf_counter()
        speaker.send(announce([address], marks))
        time.sleep(max(0.0, pause - (time.perf_counter() - began)))
    daemons.wait_until("every sample has arrived", lambda: asked.keys() <= arrivals.seen.keys(), 60)
    return Spread.of([(arrivals.seen[a] - t) * 1000 for a, t in asked.items()])
