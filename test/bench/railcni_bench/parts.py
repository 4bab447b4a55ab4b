"""The parts of the benchmark. Each measures on a lab that is up and adds its rows."""

from __future__ import annotations

import json
import os
import signal
import socket
import statistics
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railcni_lab import daemons, fabric, kernel, pods
from railcni_lab.layout import Lab, Node, bridge, write_json

from .link import there_and_back
from .measure import BenchError, Budget, Report, Row, Spread, execute, idle_percent, memory_kib, number, on_cpu_ns
from .ours import IFNAME, Ours, Slot, cni_environment, make_slots
from .ovs_cni import OvsCni
from .ovs_cni import program as ovs_cni
from .probe import PORT, Prober
from .spent import Totals, report_parts, told
from .tools import Tools

PLUGINS = ("ovs-provider", "tenant-isolation", "frr-provider")


@dataclass(frozen=True)
class Rounds:
    """How often."""

    starts: int
    fills: int
    pods: int  # of one fill; fills * pods attachments are measured
    pod_of_rails: int
    converge: int
    path_pairs: int
    path_seconds: float
    idle_seconds: float


FULL = Rounds(starts=300, fills=5, pods=20, pod_of_rails=20, converge=40, path_pairs=20, path_seconds=0.4, idle_seconds=10)
SMOKE = Rounds(starts=20, fills=2, pods=4, pod_of_rails=1, converge=3, path_pairs=3, path_seconds=0.2, idle_seconds=2)


def start(report: Report, binaries: Path, rounds: Rounds) -> None:
    """VERSION of each program, in turns, so that all see the same machine."""
    programs = {"/bin/true": ["/bin/true"], "host-local (Go)": ["/usr/lib/cni/host-local"]}
    programs |= {name: [str(binaries / name)] for name in PLUGINS}
    environment = {**cni_environment(binaries, Path("/nonexistent")), "CNI_COMMAND": "VERSION"}
    times: dict[str, list[float]] = {name: [] for name in programs}
    for _ in range(rounds.starts):
        for name, command in programs.items():
            times[name].append(execute(command, environment, '{"cniVersion":"1.0.0"}').ms)
    spreads = {name: Spread.of(values) for name, values in times.items()}
    go, least = spreads["host-local (Go)"].p50, spreads["/bin/true"].p50
    for name, spread in spreads.items():
        ratio = "" if name == "/bin/true" else f"{number(spread.p50 / least)} x true"
        if name in PLUGINS:
            ratio += f", {number(spread.p50 / go)} x Go"
            report.numbers[f"start.{name}.of_go"] = spread.p50 / go
        report.add(f"start.{name}", f"process start, {name}", spread, budget=Budget(1.5) if name in PLUGINS else None, ratio=ratio)


Steps = dict[str, list[float]]
Way = Ours | Tools | OvsCni


def _collect(steps: Steps, times: dict[str, float]) -> None:
    for name, ms in times.items():
        steps.setdefault(name, []).append(ms)
    steps.setdefault("all", []).append(sum(times.values()))


def _emptied(slots: list[Slot], way: Way) -> None:
    """After a failure: what can be detached is detached, so that the lab goes down quietly."""
    for slot in slots:
        if slot.container_id:
            try:
                way.delete(slot)
            except BenchError:
                pass


def chain(report: Report, lab: Lab, node: Node, rounds: Rounds) -> None:
    """Fills the node with pods and empties it, by the chain as it is shipped, by one that waits for the Adj-RIB-Out, and by tools,
    in turns; beside them the kernel's bare move of the same links."""
    slots = make_slots(lab, node, rounds.pods + 1)
    model = slots.pop()
    ours = Ours(lab, node, 0)
    with kernel.inside(node.namespace):
        ours.add(model)
        ways: dict[str, Way] = {"": ours, "wait": Ours(lab, node, 0, wait_for="adj-rib-out"), "tools": Tools(lab, node, 0, model)}
        if ovs_cni().exists():
            ways["ovs-cni"] = OvsCni(lab, node, 0)
        add: dict[str, Steps] = {way: {} for way in ways}
        delete: dict[str, Steps] = {way: {} for way in ways}
        moves: list[float] = []
        spent: Totals = {}
        for _ in range(rounds.fills):
            for slot in slots:
                moves += _bare_moves(node, slot, IFNAME)
            for name, way in ways.items():
                before = told() if name == "" else {}
                try:
                    for slot in slots:
                        _collect(add[name], way.add(slot))
                except BaseException:
                    _emptied(slots, way)
                    raise
                for slot in slots:
                    _collect(delete[name], way.delete(slot))
                if name == "":
                    for key, value in told().items():
                        spent[key] = spent.get(key, 0) + value - before.get(key, 0)
        ours.delete(model)
    for verb, steps in (("ADD", add[""]), ("DEL", delete[""])):
        for plugin in PLUGINS:
            spent[plugin, verb, "wall"] = sum(steps[plugin])
    bare = Spread.of(moves)
    report.add("link.bare", "a link moved into a pod and back, by the kernel alone", bare)
    _chain_rows(report, "ADD", add, bare, ours.cpu_ms["ADD"])
    _chain_rows(report, "DEL", delete, bare, ours.cpu_ms["DEL"])
    report_parts(report, PLUGINS, spent)


def _bare_moves(node: Node, slot: Slot, ifname: str) -> list[float]:
    return there_and_back(slot.device, node.namespace, Path(slot.netns).name, ifname)


def _chain_rows(report: Report, verb: str, steps: dict[str, Steps], bare: Spread, cpu_ms: list[float]) -> None:
    key = verb.lower()
    tools = Spread.of(steps["tools"]["all"])
    spare, worst = (7, 15) if verb == "ADD" else (6, None)
    budget = Budget(bare.p50 + spare, why=f"bare link move + {spare} ms")
    for way, title, limit in (("", f"chain {verb}", budget),
                              ("wait", f"chain {verb}, Adj-RIB-Out waited for" if verb == "ADD" else "", None)):
        if not title:
            continue
        spread = Spread.of(steps[way]["all"])
        ratio = spread.p50 / tools.p50
        report.numbers[f"{key}{'.wait' if way else ''}.of_tools"] = ratio
        report.add(f"{key}{'.wait' if way else ''}", title, spread, budget=limit, ratio=f"{number(ratio)} x tools")
    if worst is not None:
        slowest = Spread.of(steps[""]["all"]).p99
        report.add(f"{key}.p99", f"chain {verb}, the slowest of a hundred", slowest, budget=Budget(bare.p50 + worst, why=f"bare link move + {worst} ms"))
    for plugin in PLUGINS:
        note = " (with host-local)" if plugin == "ovs-provider" else ""
        report.add(f"{key}.{plugin}", f"  {plugin}{note}", Spread.of(steps[""][plugin]))
    whole = [sum(cpu_ms[i:i + len(PLUGINS)]) for i in range(0, len(cpu_ms), len(PLUGINS))]
    report.add(f"{key}.cpu", "  CPU time of all, host-local's too", Spread.of(whole))
    if verb == "ADD":
        report.add("add.wait.frr-provider", "  frr-provider when it waits for that", Spread.of(steps["wait"]["frr-provider"]))
    if "ovs-cni" in steps:
        alone = Spread.of(steps["ovs-cni"]["all"])
        report.add(f"{key}.ovs-cni", f"ovs-cni + host-local alone, {verb}", alone,
                   ratio=f"the chain is {number(Spread.of(steps['']['all']).p50 / alone.p50)} x this")
    else:
        report.rows.append(Row(f"ovs-cni + host-local alone, {verb}", f"{ovs_cni()} is not here"))
    report.add(f"{key}.tools", f"the same {verb} by tools", tools)
    for tool, values in steps["tools"].items():
        if tool != "all":
            report.add(f"{key}.tools.{tool}", f"  {tool}", Spread.of(values))


def rails(report: Report, lab: Lab, node: Node, rounds: Rounds) -> None:
    """All rails of one pod, one after another, as Multus does it."""
    count = lab.shape().rails
    slots = [make_slots(lab, node, 1, rail)[0] for rail in range(count)]
    totals: dict[str, list[float]] = {"add": [], "add.wait": [], "del": []}
    moves: list[float] = []
    vswitchd, switched = daemons.pid_of(node, "ovs-vswitchd"), 0
    assert vswitchd is not None
    with kernel.inside(node.namespace):
        for _ in range(rounds.pod_of_rails):
            for rail, slot in enumerate(slots):
                moves += _bare_moves(node, slot, pods.ifname(rail))
            for wait_for, key in ((None, "add"), ("adj-rib-out", "add.wait")):
                chains = [Ours(lab, node, rail, wait_for=wait_for) for rail in range(count)]
                for rail, one in enumerate(chains):
                    one.ifname = pods.ifname(rail)
                before = on_cpu_ns(vswitchd)
                totals[key].append(sum(sum(one.add(slot).values()) for one, slot in zip(chains, slots, strict=True)))
                gone = sum(sum(one.delete(slot).values()) for one, slot in reversed(list(zip(chains, slots, strict=True))))
                totals["del"].append(gone)
                switched += on_cpu_ns(vswitchd) - before
    bare = Spread.of(moves)
    report.add("rails.link.bare", f"a link moved into a pod and back, {count} rails", bare)
    report.add("rails.add", f"{count} rails of one pod, ADD", Spread.of(totals["add"]),
               budget=Budget(count * (bare.p50 + 7), why=f"{count} bare moves + 7 ms each"))
    report.add("rails.add.wait", f"{count} rails of one pod, ADD, Adj-RIB-Out waited for", Spread.of(totals["add.wait"]))
    report.add("rails.del", f"{count} rails of one pod, DEL", Spread.of(totals["del"]))
    report.add("rails.vswitchd", f"ovs-vswitchd's CPU for ADD and DEL of {count} rails", switched / 1e6 / len(totals["del"]), budget=Budget(8))


SO_TIMESTAMPNS = 35  # socket(7); not in Python's module


def converge(report: Report, lab: Lab, here: Node, there: Node, rounds: Rounds) -> None:
    """ADD on one node; from when on does a datagram from a pod on the other one arrive? Both nodes hold a pod of the
    tenant already, as when a job grows."""
    tenant = "converge"
    pods.add(lab, "stay1", here.name, tenant, [0])
    other = pods.add(lab, "stay2", there.name, tenant, [0])
    sender = pods.namespace(lab, other.name)
    slot, ours = make_slots(lab, here, 1)[0], Ours(lab, here, 0, tenant=tenant)
    late: list[float] = []
    with kernel.inside(here.namespace):
        for _ in range(rounds.converge):
            late.append(_converge_once(ours, slot, sender, other.addresses(0)[4]) * 1000)
            ours.delete(slot)
    for name in ("stay1", "stay2"):
        pods.delete(lab, name)
    report.add("converge", "ADD returns -> the other node's datagram arrives", Spread.of(late), budget=Budget(150, of="p99"))


def _converge_once(ours: Ours, slot: Slot, sender: str, source: str) -> float:
    """Seconds from the return of ADD to the first datagram; 0 when it came before."""
    first, *others = ours.network["plugins"]
    slot.container_id, slot.result = os.urandom(32).hex(), {}
    ours.step("ADD", first, slot)
    address = slot.addresses()[0]
    with kernel.inside(Path(slot.netns).name):
        receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    prober = Prober(sender, source, address)
    try:
        receiver.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        receiver.bind((address, PORT))
        receiver.settimeout(20)
        prober.start()
        for plugin in others:
            ours.step("ADD", plugin, slot)
        returned = time.time_ns()
        try:
            _, ancillary, _, _ = receiver.recvmsg(64, 64)
        except TimeoutError:
            raise BenchError(f"nothing from {sender} arrived at {address} within 20 s of its ADD") from None
        arrived = next(seconds * 1_000_000_000 + ns for _, _, value in ancillary
                       for seconds, ns in [struct.unpack("qq", value[:16])])
        return max(0.0, (arrived - returned) / 1e9)
    finally:
        prober.stop()
        receiver.close()


SENDER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind((sys.argv[1], 0))
s.connect((sys.argv[2], 4791))
data = bytes(64)
while True:
    try:
        s.send(data)
    except OSError:
        pass
"""


def path(report: Report, lab: Lab, node: Node, rounds: Rounds) -> None:
    """Datagrams between two pods of a node, by our rules and by one output rule per direction, in turns. Counted at the
    receiver's interface. One core forwards them, so packets per second of ovs-vswitchd's time is the steadier number. The sender's
    guard looks at each packet either way; a third turn has our rules and no guard."""
    one, two = (pods.add(lab, name, node.name, "path", [0]) for name in ("path1", "path2"))
    ends = [pods.namespace(lab, pod.name) for pod in (one, two)]
    target = two.addresses(0)[4]
    vswitchd = daemons.pid_of(node, "ovs-vswitchd")
    if vswitchd is None:
        raise BenchError(f"ovs-vswitchd of {node.name} does not run")
    turns = {"our rules": _nothing, "the output rule": lambda: _plain_rules(lab, node, [one, two]),
             "our rules without guards": lambda: _unguarded(node, [one, two])}
    per_second: dict[str, list[float]] = {turn: [] for turn in turns}
    per_cpu: dict[str, list[float]] = {turn: [] for turn in turns}
    with kernel.inside(ends[1]):
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)  # open and never read: no ICMP error comes back
    sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sink.bind((target, 4791))
    with kernel.inside(ends[0]):
        sender = subprocess.Popen(["/usr/bin/python3", "-S", "-c", SENDER, one.addresses(0)[4], target], stdin=subprocess.DEVNULL)
    try:
        with fabric.foreign_flows_stay(lab, node):
            for _ in range(rounds.path_pairs):
                for turn, conditions in turns.items():
                    with conditions():
                        time.sleep(0.1)  # the megaflow is cached, the old one gone
                        packets, cpu, seconds = _traffic(ends[1], vswitchd, rounds.path_seconds)
                    if packets == 0:
                        raise BenchError(f"no packet went from {one.name} to {two.name} by {turn}")
                    per_second[turn].append(packets / seconds)
                    per_cpu[turn].append(packets / cpu)
    finally:
        sender.kill()
        sender.wait()
        sink.close()
    for pod in (one, two):
        pods.delete(lab, pod.name)
    for values, key, name in ((per_second, "path", "packets/s between two pods"),
                              (per_cpu, "path.cpu", "  per second of ovs-vswitchd's CPU time")):
        ours, plain, unguarded = values.values()
        ratio = statistics.median(a / b for a, b in zip(ours, plain, strict=True))
        report.numbers[f"{key}.of_plain"] = ratio
        report.add(key, name, statistics.median(ours), "",
                   budget=Budget(0.98, "x plain", at_least=True, value=ratio), ratio=f"{ratio:.3f} x plain")
        report.add(f"{key}.plain", f"{name}, plain output rule", statistics.median(plain), "")
        ratio = statistics.median(a / b for a, b in zip(unguarded, ours, strict=True))
        report.add(f"{key}.unguarded", f"{name}, without guards", statistics.median(unguarded), "", ratio=f"{ratio:.3f} x with them")


@contextmanager
def _nothing() -> Iterator[None]:
    yield


@contextmanager
def _plain_rules(lab: Lab, node: Node, both: list[pods.Pod]) -> Iterator[None]:
    """in_port=X,actions=output:Y and back, above everything in table 0; a cookie that raild does not take for its own. Each gives the
    packet the receiver's MAC, so that the receiver does the same work either way."""
    ports = [int(kernel.run(["ovs-vsctl", f"--db=unix:{node.ovs_dir}/db.sock", "get", "Interface", name, "ofport"]))
             for name in _representors(node, both)]
    macs = [pod.results[0]["interfaces"][1]["mac"] for pod in both]
    switch = ["ovs-ofctl", "-O", "OpenFlow15", "--bundle", "add-flows", f"unix:{node.ovs_dir}/{bridge(0)}.mgmt", "-"]
    kernel.run(switch, stdin="".join(
        f"cookie=0x91a1,table=0,priority=65535,in_port={ports[a]},actions=set_field:{macs[b]}->eth_dst,output:{ports[b]}\n"
        for a, b in ((0, 1), (1, 0))))
    try:
        yield
    finally:
        kernel.run(switch, stdin="delete cookie=0x91a1/-1\n")


@contextmanager
def _unguarded(node: Node, both: list[pods.Pod]) -> Iterator[None]:
    """While raild is stopped, which would guard the pods again."""
    raild = daemons.pid_of(node, "raild")
    if raild is None:
        raise BenchError(f"raild of {node.name} does not run")
    guarded = "xdpgeneric"
    os.kill(raild, signal.SIGSTOP)
    try:
        for name in _representors(node, both):
            kernel.run(["ip", "-n", node.namespace, "link", "set", "dev", name, guarded, "off"])
        yield
    finally:
        os.kill(raild, signal.SIGCONT)
    daemons.wait_until("raild guards the pods again", lambda: all(
        guarded in kernel.run(["ip", "-n", node.namespace, "link", "show", "dev", name]) for name in _representors(node, both)), 60)


def _representors(node: Node, both: list[pods.Pod]) -> list[str]:
    config = json.loads(node.config_file.read_text())
    by_device = {d["device"]: d["representor"] for d in config["rails"][0]["devices"]}
    return [by_device[pod.devices[0]] for pod in both]


def _received(namespace: str) -> int:
    with kernel.inside(namespace):
        for line in Path("/proc/thread-self/net/dev").read_text().splitlines():
            name, _, values = line.partition(":")
            if name.strip() == IFNAME:
                return int(values.split()[1])
    raise BenchError(f"{namespace} has no {IFNAME}")


def _traffic(namespace: str, pid: int, seconds: float) -> tuple[int, float, float]:
    """Packets that arrived, seconds that the process ran, seconds that passed."""
    began, packets, cpu = time.perf_counter(), _received(namespace), on_cpu_ns(pid)
    time.sleep(seconds)
    return _received(namespace) - packets, (on_cpu_ns(pid) - cpu) / 1e9, time.perf_counter() - began


def memory(report: Report, lab: Lab, node: Node, rounds: Rounds, programs: Path) -> None:
    slot, ours = make_slots(lab, node, 1)[0], Ours(lab, node, 0)
    slot.container_id, slot.result = os.urandom(32).hex(), {}
    with kernel.inside(node.namespace):
        for plugin in ours.network["plugins"]:
            kib = ours.step("ADD", plugin, slot, under=[str(programs / "peak_rss")])
            report.add(f"memory.{plugin['type']}", f"peak RSS, {plugin['type']} ADD", kib / 1024, "MiB", budget=Budget(20, "MiB"))
        pid = daemons.pid_of(node, "raild")
        if pid is None:
            raise BenchError(f"raild of {node.name} does not run")
        percent = idle_percent(pid, rounds.idle_seconds)
        ours.delete(slot)
    report.add("memory.raild", "RSS of raild, one pod", memory_kib(pid, "VmRSS") / 1024, "MiB")
    report.add("idle.raild", "raild, nothing happens", percent, "% of a core", budget=Budget(0.5, "% of a core"))


def bursts(report: Report, lab: Lab, node: Node, rounds: Rounds) -> None:
    """What it costs to read the counters of 16 ports every 10 ms: the CPU time of the thread that does nothing else."""
    slots = [make_slots(lab, node, 1, rail)[0] for rail in range(lab.shape().rails)]
    chains = [Ours(lab, node, rail) for rail in range(len(slots))]
    before = node.config_file.read_text()
    write_json(node.config_file, json.loads(before) | {"bursts": {"every_ms": 10}})
    try:
        with kernel.inside(node.namespace):
            for rail, (one, slot) in enumerate(zip(chains, slots, strict=True)):
                one.ifname = pods.ifname(rail)
                one.add(slot)
        deadline = time.monotonic() + 60
        while not (_counters(lab, node).get("bursts_on") and len(_counters(lab, node)["ports"]) == 2 * len(slots)):
            if time.monotonic() > deadline:
                raise BenchError("raild does not read the counters of all ports")
            time.sleep(0.2)
        pid = daemons.pid_of(node, "raild") or 0
        cpu, began = _sampler_ns(pid), time.perf_counter()
        time.sleep(rounds.idle_seconds)
        percent = (_sampler_ns(pid) - cpu) / 1e7 / (time.perf_counter() - began)
        with kernel.inside(node.namespace):
            for one, slot in zip(chains, slots, strict=True):
                one.delete(slot)
    finally:
        node.config_file.write_text(before)
    report.add("bursts.cpu", f"counters of {2 * len(slots)} ports every 10 ms", percent, "% of a core", budget=Budget(1, "% of a core"))


def _counters(lab: Lab, node: Node) -> dict[str, Any]:
    asked = subprocess.run([str(lab.binaries / "railctl"), "get", "counters", "-o", "json"], capture_output=True, text=True, timeout=20,
                           check=False, env={**os.environ, "RAILCNI_ROOT": str(node.root)})
    found: dict[str, Any] = json.loads(asked.stdout) if asked.returncode == 0 else {}
    return found


def _sampler_ns(pid: int) -> int:
    """The time on a CPU of raild's thread "counters"."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().strip() == "counters":
            return int((task / "schedstat").read_text().split()[0])
    raise BenchError("raild has no thread that reads counters")


LIBRARY: dict[str, tuple[str, Budget | None]] = {
    "CanonicalForm": ("canonical form of a rule", None),
    "DifferenceOfManyRules/0": ("difference of 20,000 rules, none differs", None),
    "DifferenceOfManyRules/20000": ("difference of 20,000 rules, all differ", None),
    "StateOfOneAttachment/real_time": ("record of an attachment: made, 4 steps, undone", None),
    "OpenState/real_time": ("record opened and looked into", None),
    "ParseNodeJson": ("node.json of 8 rails x 16 devices parsed", None),
    "RestoreManyRules/iterations:3/real_time": ("20,000 rules into an empty switch", Budget(1000)),
    "AuditManyRules/iterations:3/real_time": ("20,000 rules read back and compared", None),
}


def library(report: Report, programs: Path, smoke: bool) -> None:
    command = [str(programs / "lib_benchmark"), "--benchmark_format=json", f"--benchmark_min_time={0.02 if smoke else 0.5}"]
    ran = execute(command, {"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")})
    seen = {each["name"]: each for each in json.loads(ran.output)["benchmarks"]}
    if seen.keys() != LIBRARY.keys():
        raise BenchError(f"lib_benchmark: not what parts.py knows: {', '.join(sorted(seen.keys() ^ LIBRARY.keys()))}")
    for name, (title, budget) in LIBRARY.items():
        each = seen[name]
        if each.get("error_occurred"):
            raise BenchError(f"lib_benchmark {name}: {each['error_message']}")
        report.add(f"lib.{name.split('/real')[0].split('/iter')[0]}", title, each["real_time"], each["time_unit"], budget=budget)
