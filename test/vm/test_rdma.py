"""Soft-RoCE (rdma_rxe) on the pods' interfaces, through the whole chain, by the tools that an operator would use."""

from __future__ import annotations

import functools
import json
import os
import re
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from acceptance_stage import Stage, keep_foreign_flows, on_switch, stage
from doctor import named
from frames import ROCE_PORT, packed
from railcni_lab import daemons, kernel, matrix, pods
from railcni_lab.layout import REPOSITORY
from switched import lab_of, on_pod_path, row_of
from tables import Tables
from world import World, captures, eventually

PODS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "b1": ("n1", "tenant-b")}
RAIL_TABLE = 524100  # of rail 0 (lib/config/KEYS.md, pods.first_table)
TOOL_PORT = 18515  # perftest's: the two sides tell each other their queue pairs over TCP
DSCP_26 = 26 << 2
ECT_0, CE = 0b10, 0b11  # RFC 3168, section 5
PATIENCE = 120


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with lab_of(PODS, more=3) as world:
        cells = matrix.measure(world.lab, "udp", wait_seconds=120)
        assert all(c.right for c in cells), matrix.table(cells, "udp")
        for name in PODS:
            kernel.run([*in_pod(world, name), "rdma", "link", "add", f"rxe-{name}", "type", "rxe", "netdev", "net1"])
            # The tools agree on their queue pairs over TCP, from whichever address the main table says. In a pod that is
            # eth0's, and there is none here: so the rail's.
            kernel.run([*in_pod(world, name), "ip", "route", "add", "default", "via", gateway(world, name), "dev", "net1",
                        "onlink"])
        yield world


def in_pod(world: World, name: str) -> list[str]:
    return ["ip", "netns", "exec", pods.namespace(world.lab, name)]


def gateway(world: World, name: str) -> str:
    show = ["ip", "-json", "-4", "route", "show", "table", str(RAIL_TABLE), "default"]
    return json.loads(kernel.run([*in_pod(world, name), *show]))[0]["gateway"]


def listens(namespace: str, port: int) -> bool:
    with kernel.inside(namespace):
        tables = "".join(Path(f"/proc/thread-self/net/{name}").read_text() for name in ("tcp", "tcp6"))
    lines = [line.split() for line in tables.splitlines()]
    return any(words[1].endswith(f":{port:04X}") and words[3] == "0A" for words in lines)


@contextmanager
def server(world: World, name: str, command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """The tool in a pod, listening."""
    process = subprocess.Popen([*in_pod(world, name), *command], text=True, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        daemons.wait_until(f"{command[0]} listens in {name}", lambda: process.poll() is not None or
                           listens(pods.namespace(world.lab, name), TOOL_PORT), PATIENCE)
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)


def tool(name: str, pod: str, tos: int, *more: str) -> list[str]:
    # -x 1: the GID of the pod's IPv4 address; -F: no complaint about the processor's frequency
    return [name, "-d", f"rxe-{pod}", "-x", "1", "-F", f"--tclass={tos}", *more]


def client(world: World, name: str, source: str, target: str, tos: int, *more: str,
           seconds: int = PATIENCE) -> list[str]:
    return [*in_pod(world, source), "timeout", str(seconds), *tool(name, source, tos, *more),
            world.port(target).ipv4]


# What the tools say about speed is not looked at: on an emulated processor's clock it may be "inf".
def exchange(world: World, name: str, source: str, target: str, tos: int, *more: str) -> tuple[str, set[int]]:
    """Runs the tool between two pods. Returns what the client printed, and the TOS bytes with which RoCE arrived."""
    ends = [(world.port(pod).namespace, "net1") for pod in (source, target)]
    with captures(*ends) as seen, server(world, target, tool(name, target, tos, *more)) as other:
        done = subprocess.run(client(world, name, source, target, tos, *more), text=True, capture_output=True, check=False)
        assert done.returncode == 0, f"{name}, {source} to {target}: status {done.returncode}\n{done.stdout}{done.stderr}"
        assert other.wait(timeout=PATIENCE) == 0
        arrived = {frame[15] for capture in seen for frame in capture.frames() if is_roce(frame)}
    print(done.stdout)
    return done.stdout, arrived


def is_roce(frame: bytes) -> bool:
    return frame[12:14] == b"\x08\x00" and frame[23] == 17 and int.from_bytes(frame[36:38], "big") == ROCE_PORT


def test_ib_write_bw_completes_with_dscp_and_ecn_as_sent(world: World) -> None:
    text, arrived = exchange(world, "ib_write_bw", "a1", "a2", DSCP_26 | ECT_0, "-n", "100", "-s", "65536")
    assert re.search(r"^\s*65536\s+100\s", text, re.M), text
    assert arrived == {DSCP_26 | ECT_0}


def test_what_railctl_libs_names_is_a_device_that_works(world: World) -> None:
    """The device, port and GID that it prints for each pod, given to the tool as they are; each pod's interface is net1, and devices are shared."""
    answers = {name: world.railctl(world.port(name).node, "libs", name) for name in ("a1", "a2")}
    said: dict[str, tuple[str, str]] = {}
    for name, answer in answers.items():
        assert answer["problems"] == []
        hca = next(setting["value"] for setting in answer["settings"] if setting["name"] == "NCCL_IB_HCA")
        assert re.fullmatch(r"=[^:,]+:1:0:0", hca), hca
        device = hca[1:].split(":")[0]
        assert device == f"rxe-{name}", "its own, not another pod's"
        (port,) = answer["ports"]
        assert (port["ifname"], port["rdma"]) == ("net1", device)
        said[name] = device, next(str(gid["index"]) for gid in port["gids"]
                                  if gid["gid"] == f"::ffff:{world.port(name).ipv4}" and gid["type"] == "RoCE v2")
    older = world.railctl(world.port("a1").node, "libs", "a1", "--nccl", "2.29")
    assert next(each["value"] for each in older["settings"] if each["name"] == "NCCL_IB_HCA") == "=rxe-a1:1"

    def command(name: str) -> list[str]:
        device, gid = said[name]
        return ["ib_write_bw", "-d", device, "-i", "1", "-x", gid, "-F", "-n", "50", "-s", "65536"]

    with server(world, "a2", command("a2")) as other:
        done = subprocess.run([*in_pod(world, "a1"), "timeout", str(PATIENCE), *command("a1"), world.port("a2").ipv4], text=True,
                              capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        assert other.wait(timeout=PATIENCE) == 0
    assert re.search(r"^\s*65536\s+50\s", done.stdout, re.M), done.stdout


def test_ucx_takes_what_the_file_of_a_container_says(world: World, tmp_path: Path) -> None:
    """Debian's UCX is told nothing but where its file is."""
    files = world.railctl(world.port("a1").node, "libs", "a1")["files"]
    (tmp_path / "ucx.conf").write_text(next(file["text"] for file in files if file["name"] == "ucx.conf"))
    said = kernel.run([*in_pod(world, "a1"), "env", f"UCX_CONFIG_DIR={tmp_path}", "ucx_info", "-c"])
    assert "\nUCX_NET_DEVICES=rxe-a1:1\n" in said, "of the three that it sees"


def test_the_counters_of_a_pods_device_move_with_its_traffic(world: World) -> None:
    """raild reads them in the pod's namespace by rdma netlink, while somebody asks."""
    def counters() -> dict[str, int]:
        [port] = world.railctl(world.port("a1").node, "get", "counters", "a1", "-n", "tenant-a")["ports"]
        return {each["name"]: int(each.get("value", 0)) for each in port.get("rdma", [])}

    before = eventually("the device is found", counters, bool, PATIENCE)
    own = json.loads(kernel.run([*in_pod(world, "a1"), "rdma", "-j", "statistic", "show", "link", "rxe-a1/1"]))[0]
    assert set(before) == set(own) - {"ifname", "port"}, "all that the kernel counts"
    exchange(world, "ib_write_bw", "a1", "a2", 0, "-n", "100", "-s", "65536")
    after = eventually("they have moved", counters, lambda now: now["sent_pkts"] - before["sent_pkts"] >= 100 * 65536 // 4096, PATIENCE)
    assert after["rcvd_pkts"] > before["rcvd_pkts"], "acknowledgements"


@contextmanager
def traffic(world: World) -> Iterator[None]:
    """From a1 to a2. rdma_rxe takes what follows a lost packet for an invalid request now and then, and the tool gives up: it begins anew."""
    # Four queue pairs that wait 4 ms for an acknowledgement: more than ten losses a second on the slowest machine.
    more = ("-D", "30", "-s", "65536", "-q", "4", "-u", "10")
    over = threading.Event()
    senders: list[subprocess.Popen[bytes]] = []

    def send() -> None:
        while not over.is_set():
            with server(world, "a2", tool("ib_write_bw", "a2", 0, *more)):
                senders.append(subprocess.Popen(client(world, "ib_write_bw", "a1", "a2", 0, *more), stdin=subprocess.DEVNULL,
                                                stdout=subprocess.DEVNULL))
                senders[-1].wait()

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        for sender in senders:  # the last one alone may run
            sender.terminate()
        thread.join(PATIENCE)


def test_lost_packets_are_counted_and_named(world: World) -> None:
    """netem drops a tenth of what a1 sends. Both ends count what that does to RDMA: gaps at a2, what is asked for again at a1."""
    def lossy(name: str) -> list[tuple[str, str]]:
        return named(world, world.port(name).node, "rdma-out-of-sequence")

    assert not lossy("a1") and not lossy("a2"), "what was sent so far has arrived"
    loss = ["dev", "net1", "root", "netem", "loss", "10%"]
    kernel.run([*in_pod(world, "a1"), "tc", "qdisc", "add", *loss])
    try:
        with traffic(world):
            for name, counter in (("a2", "out_of_seq_request"), ("a1", "rcvd_seq_err")):
                [(subject, what)] = eventually(f"the finding of {name}", functools.partial(lossy, name), bool, PATIENCE)
                print(subject, what)
                assert subject == f"tenant-a/{name} net1 on rail0"
                assert re.match(rf"RDMA on net1 of the pod loses or overtakes packets: .*{counter} \d+/s", what), what
    finally:
        kernel.run([*in_pod(world, "a1"), "tc", "qdisc", "del", *loss])


def test_ib_send_lat_completes_with_a_congestion_mark_as_set(world: World) -> None:
    text, arrived = exchange(world, "ib_send_lat", "a2", "a1", DSCP_26 | CE, "-n", "50", "-s", "64")
    assert re.search(r"^\s*64\s+50\s", text, re.M), text
    assert arrived == {DSCP_26 | CE}


def test_a_pod_of_the_other_tenant_cannot_connect(world: World) -> None:
    stranger, target = world.port("b1"), world.port("a2")

    def dropped() -> int:
        mine = [m for m in on_pod_path(world, stranger.node) if (m.source, m.target) == (stranger.ipv4, target.ipv4)]
        assert all(m.datapath == "tc" and m.actions == "drop" for m in mine), mine
        return sum(m.packets for m in mine)

    before = dropped()
    with captures((target.namespace, "net1")) as (seen,), server(world, "a2", tool("ib_write_bw", "a2", 0)) as other:
        done = subprocess.run(client(world, "ib_write_bw", "b1", "a2", 0, seconds=20), text=True, capture_output=True,
                              check=False)
        assert done.returncode != 0 and "BW peak" not in done.stdout, done.stdout
        assert other.poll() is None, "the server still waits for its first client"
        assert not [f for f in seen.frames() if packed(stranger.ipv4) in f], "nothing of the stranger has arrived"
    assert dropped() > before, "its attempts have ended in tc"


def test_the_traffic_is_in_tc(world: World, tables: Tables) -> None:
    a1, a2 = world.port("a1"), world.port("a2")
    for node in world.lab.nodes():
        found = on_pod_path(world, node)
        row_of(tables, f"rdma, {node.name}", found)
        assert not [m.text for m in found if m.datapath != "tc"]
        for source, target in ((a1.ipv4, a2.ipv4), (a2.ipv4, a1.ipv4)):
            packets = sum(m.packets for m in found if (m.source, m.target) == (source, target))
            assert packets > 50, f"{node.name}: {source} -> {target}: {packets} packets, fewer than the tools have sent"


def test_the_rdma_contract_holds_on_real_devices() -> None:
    for name in ("rxe0", "rxe1"):
        kernel.run(["ip", "link", "add", f"net-{name}", "type", "veth", "peer", "name", f"peer-{name}"])
        kernel.run(["rdma", "link", "add", name, "type", "rxe", "netdev", f"net-{name}"])
    program = REPOSITORY / "build/tests/rdma_contract_test"
    done = subprocess.run([str(program), "--gtest_brief=1"], text=True, capture_output=True, timeout=PATIENCE, check=False,
                          env={**os.environ, "RAILCNI_TEST_RDMA": "rxe0,rxe1"})
    print(done.stdout)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    assert "Kernel" in subprocess.run([str(program), "--gtest_list_tests"], text=True, capture_output=True, check=True,
                                      env={**os.environ, "RAILCNI_TEST_RDMA": "rxe0,rxe1"}).stdout


MORE = {"a3": ("n1", "tenant-a"), "a4": ("n1", "tenant-a"), "b2": ("n2", "tenant-b"), "b3": ("n1", "tenant-b")}
BY_ITS_CLOCK = {"speed.write-bandwidth", "speed.write-latency"}  # of an emulated processor: their figures are none to compare


@pytest.fixture(scope="module")
def accept(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Two tenants with verbs, and a network beside the rail on which all pods are: routed, a /32 each, as many clusters have it."""
    for name, (node, tenant) in MORE.items():
        pods.add(world.lab, name, node, tenant, None)
        kernel.run([*in_pod(world, name), "rdma", "link", "add", f"rxe-{name}", "type", "rxe", "netdev", "net1"])
    kernel.run(["sysctl", "-q", "-w", "net.ipv4.ip_forward=1"])
    for number, name in enumerate([*PODS, *MORE], start=1):
        namespace = pods.namespace(world.lab, name)
        kernel.run(["ip", "link", "add", f"eth-{name}", "type", "veth", "peer", "name", "eth0", "netns", namespace])
        kernel.run(["ip", "addr", "add", "10.99.0.254/32", "dev", f"eth-{name}"])
        kernel.run(["ip", "link", "set", f"eth-{name}", "up"])
        kernel.run(["ip", "route", "add", f"10.99.0.{number}/32", "dev", f"eth-{name}"])
        for words in (["addr", "add", f"10.99.0.{number}/32", "dev", "eth0"], ["link", "set", "eth0", "up"],
                      ["route", "add", "10.99.0.254/32", "dev", "eth0"], ["route", "add", "10.99.0.0/24", "via", "10.99.0.254"]):
            kernel.run([*in_pod(world, name), "ip", *words])
    with stage(world, tmp_path_factory.mktemp("accept"), [*PODS, *MORE]) as made:
        yield made


def test_accept_proves_by_verbs_that_tenants_are_apart(accept: Stage) -> None:
    accept.write(["a1", "a2", "b1", "b2"])
    _, checks = accept.verdicts("--only", "isolation,speed", seconds=900)
    assert checks["isolation.verbs"]["verdict"] == "PASS", checks["isolation.verbs"]["why"]
    for name in BY_ITS_CLOCK:
        measured = {frozenset((a["from"], a["to"])) for a in checks[name]["attempts"] if a["value"] > 0}
        assert measured == {frozenset((f"tenant-{t}/{t}1", f"tenant-{t}/{t}2")) for t in "ab"}, checks[name]
    tried = {(a["from"], a["to"]) for a in checks["isolation.verbs"]["attempts"]}
    assert tried == {("tenant-a/a1", "tenant-b/b1"), ("tenant-b/b1", "tenant-a/a1"), ("tenant-a/a1", "tenant-b/b2"), ("tenant-b/b1", "tenant-a/a2")}
    assert {"-c UD" in a["did"] for a in checks["isolation.verbs"]["attempts"]} == {True, False}
    assert {name for name, check in checks.items() if check["verdict"] != "PASS"} <= BY_ITS_CLOCK, checks


def test_accept_fails_where_verbs_of_another_tenant_arrive(world: World, accept: Stage) -> None:
    """Flows of others lead from a1 to b1 and back."""
    accept.write(["a1", "a3", "b1", "b3"])
    a1, b1 = world.port("a1"), world.port("b1")
    keep_foreign_flows(world)
    there, back = (on_switch(world, "n1", f"ip,nw_src={source.ipv4},nw_dst={target.ipv4},actions=mod_dl_dst:{target.mac},output:{target.ofport}")
                   for source, target in ((a1, b1), (b1, a1)))
    with there, back:
        status, checks = accept.verdicts("--only", "isolation.verbs", seconds=900)
    assert status == 1
    assert len(checks["isolation.verbs"]["attempts"]) == 4
    failed = {(a["from"], a["to"]) for a in checks["isolation.verbs"]["attempts"] if a["verdict"] == "FAIL"}
    assert failed == {("tenant-a/a1", "tenant-b/b1"), ("tenant-b/b1", "tenant-a/a1")}


def test_accept_names_the_slow_one(world: World, accept: Stage) -> None:
    """netem delays what a2 sends: each of its pairs is slow, and it alone is on n2. By round trips alone: perftest counts by a processor's clock,
    which is no measure on an emulated one."""
    accept.write(["a1", "a2", "a3", "a4"])
    delay = ["dev", "net1", "root", "netem", "delay", "30ms"]
    kernel.run([*in_pod(world, "a2"), "tc", "qdisc", "add", *delay])
    try:
        status, checks = accept.verdicts("--only", "speed.reach", seconds=900)
    finally:
        kernel.run([*in_pod(world, "a2"), "tc", "qdisc", "del", *delay])
    assert status == 1
    assert set(checks) == {"speed.reach"}, "what was asked for, and no more"
    reach = checks["speed.reach"]
    slow = {frozenset((a["from"], a["to"])) for a in reach["attempts"] if a["verdict"] == "FAIL"}
    assert slow == {frozenset(("tenant-a/a2", f"tenant-a/{other}")) for other in ("a1", "a3", "a4")}
    assert "n2" in reach["why"] and "n1" not in reach["why"], reach["why"]


WINDOW = 15  # seconds: the two ends meet, and raild is there again
QUEUE_PAIRS = "restart.queue-pairs"


def sent_by_verbs(world: World, name: str, counter: str) -> int:
    [found] = json.loads(kernel.run([*in_pod(world, name), "rdma", "-j", "statistic", "show", "link", f"rxe-{name}/1"]))
    return int(found[counter])


def restart_under_load(world: World) -> None:
    """raild of n2, while both tenants' queue pairs send."""
    before = {name: sent_by_verbs(world, name, "sent_pkts") for name in ("a1", "b1")}
    eventually("queue pairs send", lambda: min(sent_by_verbs(world, name, "sent_pkts") - sent for name, sent in before.items()),
               lambda more: more > 20, PATIENCE)
    daemons.restart_raild(world.lab, world.lab.find_node("n2"))


def test_accept_finds_no_queue_pair_lost_while_a_daemon_restarts(world: World, accept: Stage) -> None:
    accept.write(["a1", "a2", "b1", "b2"])
    status, checks = accept.during("restart", WINDOW, lambda: restart_under_load(world), QUEUE_PAIRS)
    assert set(checks) == {QUEUE_PAIRS}
    assert (status, checks[QUEUE_PAIRS]["verdict"]) == (0, "PASS"), checks
    assert {frozenset((a["from"], a["to"])) for a in checks[QUEUE_PAIRS]["attempts"]} == {frozenset((f"tenant-{t}/{t}1", f"tenant-{t}/{t}2")) for t in "ab"}
    assert {a["control"] for a in checks[QUEUE_PAIRS]["attempts"]} == {"raild of n2 was started"}
