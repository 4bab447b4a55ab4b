"""The lab as the tests see it: ports, addresses, counters, captures."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import guards
from railcni_lab import daemons, kernel, matrix, pods, vty
from railcni_lab.fabric import METRICS
from railcni_lab.layout import Host, Lab, LabError, Node, bridge, uplink

ETH_P_ALL = 3
METRICS_PORT = int(METRICS.rpartition(":")[2])


@dataclass(frozen=True)
class Port:
    """A pod's attachment to a rail, seen from all sides."""

    pod: str
    rail: int
    node: Node
    namespace: str
    ifname: str
    mac: str
    ipv4: str
    ipv6: str
    representor: str
    ofport: int


class World:
    def __init__(self, lab: Lab) -> None:
        self.lab = lab

    # Ports and addresses

    def port(self, name: str, rail: int = 0) -> Port:
        pod = pods.find(self.lab, name)
        node = self.lab.find_node(pod.node)
        config = json.loads(node.config_file.read_text())
        representor = next(d["representor"] for d in config["rails"][rail]["devices"] if d["device"] == pod.devices[rail])
        namespace, ifname = pods.namespace(self.lab, name), pods.ifname(rail)
        addresses = pod.addresses(rail)
        return Port(name, rail, node, namespace, ifname, link_mac(namespace, ifname), addresses[4], addresses[6],
                    representor, self.ofport(node, representor))

    def ofport(self, node: Node, interface: str) -> int:
        """0: the switch has given it none yet."""
        given = self.vsctl(node, "get", "Interface", interface, "ofport")
        return 0 if given == "[]" else int(given)

    def uplink_ofport(self, node: Node, rail: int) -> int:
        return self.ofport(node, uplink(rail))

    def bridge_mac(self, node: Node, rail: int) -> str:
        return link_mac(node.namespace, bridge(rail))

    def leaf_mac(self, node: Node, rail: int) -> str:
        return link_mac(self.lab.leaf(rail).namespace, node.name)

    @staticmethod
    def gateway_mac(rail: int) -> str:
        return f"02:52:41:49:4c:{rail:02x}"

    # Open vSwitch, by its own tools

    def vsctl(self, node: Node, *words: str) -> str:
        return kernel.run(["ovs-vsctl", f"--db=unix:{node.ovs_dir}/db.sock", "--timeout=10", *words]).strip()

    def appctl(self, node: Node, *words: str) -> str:
        return kernel.run(["ovs-appctl", "-t", f"{node.ovs_dir}/ovs-vswitchd.ctl", *words])

    def flows(self, node: Node, rail: int, match: str = "") -> list[dict[str, Any]]:
        text = kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "--no-names", "dump-flows",
                           f"unix:{node.ovs_dir}/{bridge(rail)}.mgmt", *([match] if match else [])])
        return [parse_flow(line) for line in text.splitlines() if "n_packets=" in line]

    def run_on_switch(self, node: Node, rail: int, command: str, *words: str) -> str:
        return kernel.run(["ovs-ofctl", "-O", "OpenFlow15", command, f"unix:{node.ovs_dir}/{bridge(rail)}.mgmt", *words],
                          timeout=100)

    def drops(self, port: Port) -> int:
        """Frames that the pod sent and may not send: its guard counts them, and table 6 what passes the guard."""
        rules = self.flows(port.node, port.rail, f"table=6,in_port={port.ofport}")
        assert len(rules) == 1 and rules[0]["actions"] == "drop", \
            f"{port.representor}: wanted one rule in table 6 that drops, found {rules}"
        return int(rules[0]["n_packets"]) + sum(guards.refused(port.node.namespace, port.representor).values())

    def renew_guard(self, port: Port) -> None:
        """Takes the guard away, so that raild gives the port its guard again, which knows no destination then."""
        kernel.run(["ip", "-n", port.node.namespace, "link", "set", "dev", port.representor, "xdpgeneric", "off"])
        eventually("raild guards it again", lambda: guards.program_of(port.node.namespace, port.representor), bool)

    def unknown_destination_drops(self, node: Node, rail: int) -> int:
        return sum(int(f["n_packets"]) for f in self.flows(node, rail, "table=3") if f["match"].startswith("reg4=0,"))

    def leaving_rules(self, node: Node, rail: int) -> list[dict]:
        """The rules of addresses that are leaving a tenant."""
        return [f for f in self.flows(node, rail) if re.search(r"set_field:0x\w+->xxreg[23]", f["actions"])]

    def trace(self, node: Node, rail: int, flow: str) -> tuple[str, str]:
        """The Megaflow and the Datapath actions of ofproto/trace."""
        text = self.appctl(node, "ofproto/trace", bridge(rail), flow)
        megaflow = re.search(r"^Megaflow: (.*)$", text, re.M)
        actions = re.search(r"^Datapath actions: (.*)$", text, re.M)
        assert megaflow and actions, text
        return megaflow[1], actions[1]

    # BGP

    def leaf_prefixes(self, rail: int) -> set[str]:
        return {r["prefix"] for r in vty.routes(self.lab.leaf(rail).frr_dir)}

    # The product's own view

    def railctl(self, node: Node, *words: str) -> Any:
        text = kernel.run([str(self.lab.binaries / "railctl"), *words, "-o", "json"],
                          env={"RAILCNI_ROOT": str(node.root)})
        return json.loads(text)

    def metrics_page(self, node: Node, path: str = "/metrics") -> tuple[int, str]:
        """The status and the text of a page of raild's HTTP port."""
        with kernel.inside(node.namespace):
            connection = socket.create_connection(("127.0.0.1", METRICS_PORT), timeout=30)
        with connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {node.name}\r\n\r\n".encode())
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, answer.read().decode()

    def metrics(self, node: Node) -> dict[str, float]:
        """Samples as they are written: 'railcni_rail_carrier{rail="rail0"}' -> 1.0."""
        status, text = self.metrics_page(node)
        assert status == 200, text
        return {name: float(value) for name, _, value in
                (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))}

    def record(self, node: Node, container_id: str) -> dict[str, int]:
        """Rows of the node's state.db that belong to a container (lib/state/FORMAT.md)."""
        mine = "SELECT id FROM attachment WHERE container_id = ?"
        with closing(sqlite3.connect(f"file:{node.root}/var/lib/railcni/state.db?mode=ro", uri=True, timeout=10)) as db:
            return {table: db.execute(f"SELECT count(*) FROM {table} WHERE {column} IN ({mine})",
                                      (container_id,)).fetchone()[0]
                    for table, column in (("attachment", "id"), ("claim", "attachment"), ("step", "attachment"))}

    def claims(self, node: Node) -> set[str]:
        """Values that the record says belong to some attachment: devices, addresses, ports."""
        with closing(sqlite3.connect(f"file:{node.root}/var/lib/railcni/state.db?mode=ro", uri=True, timeout=10)) as db:
            return {value for value, in db.execute("SELECT value FROM claim")}

    # When a test has failed

    def evidence(self) -> Iterator[tuple[str, str]]:
        shape = self.lab.shape()
        for node in self.lab.nodes():
            log = node.log_dir / "raild.log"
            yield f"{node.name}: raild.log", tail(log)
            for rail in range(shape.rails):
                yield f"{node.name}: flows of {bridge(rail)}", attempt(lambda n=node, r=rail: kernel.run(
                    ["ovs-ofctl", "-O", "OpenFlow15", "dump-flows", f"unix:{n.ovs_dir}/{bridge(r)}.mgmt"]))
            yield f"{node.name}: remotes", attempt(lambda n=node: kernel.run(
                [str(self.lab.binaries / "railctl"), "get", "remotes"], env={"RAILCNI_ROOT": str(n.root)}))
            yield f"{node.name}: BGP table", attempt(lambda n=node: vty.show(n.frr_dir, "show bgp ipv4 unicast"))
            yield f"{node.name}: ports", attempt(lambda n=node: self.vsctl(n, "show"))
        for host in [*self.lab.nodes(), *self.lab.leaves()]:
            yield f"{host.name}: BGP", attempt(lambda h=host: bgp_summary(h))


def bgp_summary(host: Host) -> str:
    return f"{vty.sessions(host.frr_dir)}\n" + "\n".join(
        f"{r['prefix']} from {r['peer']} {r['large_communities']}" for r in vty.routes(host.frr_dir))


def attempt(get: Callable[[], str]) -> str:
    try:
        return get()
    except LabError as error:
        return str(error)


def tail(path: Path, lines: int = 60) -> str:
    return "\n".join(path.read_text(errors="replace").splitlines()[-lines:]) if path.exists() else f"{path} is not there"


def link_mac(namespace: str, name: str) -> str:
    links = json.loads(kernel.run(["ip", "-n", namespace, "-json", "link", "show", "dev", name]))
    return links[0]["address"]


def parse_flow(line: str) -> dict[str, Any]:
    """A line of `ovs-ofctl dump-flows`: its statistics, table, priority, match and actions."""
    head, _, actions = line.strip().partition(" actions=")
    found: dict[str, Any] = {"actions": actions, "priority": 32768, "match": ""}
    for word in head.replace(", ", " ").split():
        key, _, value = word.partition("=")
        if key in ("cookie", "n_packets", "n_bytes", "table"):
            found[key] = int(value, 0)
        elif key == "duration":
            found[key] = float(value.rstrip("s"))
        else:  # "priority=100,in_port=3,ip,..."
            parts = word.split(",")
            for part in parts:
                if part.startswith("priority="):
                    found["priority"] = int(part[9:])
            found["match"] = ",".join(p for p in parts if not p.startswith(("priority=", "reset_counts")))
    return found


# A look at something that is just coming or going may fail: a port without a number, a daemon without a socket.
NOT_YET = (LabError, OSError, ValueError, LookupError)


PATIENCE = 4  # how much longer than on a quiet machine an event may take: a loaded machine is no fault of the product


def eventually(what: str, get: Callable[[], Any], wanted: Callable[[Any], bool], seconds: float = 20,
               not_yet: tuple[type[Exception], ...] = NOT_YET) -> Any:
    """The first value that is wanted; fails with the last one, or with why there was none. `seconds`: more than it takes on a quiet
    machine. `not_yet`: errors that may pass."""
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        try:
            value = get()
            if wanted(value):
                return value
        except not_yet as error:
            value = error
        assert time.monotonic() < deadline, f"{what}: not within {seconds:.0f} s; last seen: {value!r}"
        time.sleep(0.05)


LOST_FOR = 10  # seconds; a leaf whose port is up looks for its neighbour each second

REMOTE = 0x80  # the kind, in bits 24-31 of a cookie: what a remote's rule carries


def installed_remotes(world: World, node: Node, rail: int) -> set[str]:
    """The addresses of the pods elsewhere whose rules are on a bridge."""
    return {f["match"].rpartition("=")[2] for f in world.flows(node, rail) if f["cookie"] >> 24 & 0xFF == REMOTE}


def wanted_remotes(world: World, node: Node, rail: int) -> set[str]:
    """Those of tenants that have a pod on this rail here: every address that is not on this bridge itself."""
    everybody = pods.all_pods(world.lab)
    present = {pod.tenant for pod in everybody if pod.node == node.name and rail in pod.results}
    return {address for pod in everybody if pod.tenant in present for r in pod.results
            if (pod.node, r) != (node.name, rail) for address in pod.addresses(r).values()}


def has_lost_its_neighbour(leaf: Host, port: str) -> bool:
    """Whether bgpd of a leaf (FRRouting 8.4) has no address for a neighbour that its zebra has heard on the port. It comes about when the
    port has just come up (once in some 200 times beside a busy machine), lasts for ever, and `clear bgp` does not end it."""
    return "(unspec)" in vty.show(leaf.frr_dir, f"show bgp neighbors {port}").partition("\n")[0] and \
        "Neighbor address(s):" in vty.show(leaf.frr_dir, f"show interface {port}", "zebra")


def sessions_established(world: World, node: Node, seconds: float) -> None:
    """Waits for the node's sessions. The port of a leaf that has lost its neighbour goes down and up again: the leaf is no part of what is
    tested. A node that the leaf has not heard is, and fails."""
    lost_since: dict[tuple[str, str], float] = {}

    def look() -> dict[str, str]:
        sessions = vty.sessions(node.frr_dir)
        for leaf in world.lab.leaves() if set(sessions.values()) != {"Established"} else ():
            for port, state in vty.sessions(leaf.frr_dir).items():
                key = (leaf.namespace, port)
                if state != "Idle" or not has_lost_its_neighbour(leaf, port):
                    lost_since.pop(key, None)
                elif time.monotonic() - lost_since.setdefault(key, time.monotonic()) > LOST_FOR:
                    lost_since.pop(key)
                    print(f"lab: {leaf.name} has lost the neighbour of its port {port}: down and up again")
                    for to in ("down", "up"):
                        kernel.run(["ip", "-n", leaf.namespace, "link", "set", "dev", port, to])
                        time.sleep(1)  # at once is what bgpd does not bear
        return sessions

    eventually(f"{node.name}: sessions with its leaves", look,
               lambda s: all(s[bridge(rail)] == "Established" for rail in range(world.lab.shape().rails)), seconds)


def settle(world: World, seconds: float = 40) -> None:
    """Waits until every session is up, everybody reaches whom they should and every bridge knows just the remotes that it
    should. Pods talk without a session, too, while what it had told is kept; an ADD then finds nobody to announce to."""
    for node in world.lab.nodes():
        sessions_established(world, node, seconds)
    cells = matrix.measure(world.lab, "udp", wait_seconds=seconds)
    assert all(c.right for c in cells), matrix.table(cells, "udp")
    for node in world.lab.nodes():
        for rail in range(world.lab.shape().rails):
            wanted = wanted_remotes(world, node, rail)
            eventually(f"{node.name}, rail {rail}: the remotes {sorted(wanted)}",
                       lambda n=node, r=rail: installed_remotes(world, n, r), lambda found, w=wanted: found == w, seconds)


class Capture:
    """Every frame that comes in on a link, from the moment of opening."""

    def __init__(self, namespace: str, name: str) -> None:
        with kernel.inside(namespace):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.bind((name, ETH_P_ALL))
        self.where = f"{namespace}:{name}"

    def frames(self, patience: float = 0.2) -> list[bytes]:
        """What has come in until nothing came for `patience` seconds. Frames that the link itself sends are left out."""
        self.socket.settimeout(patience)
        found = []
        while True:
            try:
                data, sender = self.socket.recvfrom(65536)
            except TimeoutError:
                return found
            if sender[2] != socket.PACKET_OUTGOING:
                found.append(data)

    def close(self) -> None:
        self.socket.close()


@contextmanager
def captures(*where: tuple[str, str]) -> Iterator[list[Capture]]:
    opened = [Capture(namespace, name) for namespace, name in where]
    try:
        yield opened
    finally:
        for capture in opened:
            capture.close()


def send_frames(port: Port, frames: list[bytes]) -> None:
    """Puts the frames on the pod's interface as they are, slowly enough for the socket that Open vSwitch reads."""
    send_frames_on(port.namespace, port.ifname, frames)


def send_frames_on(namespace: str, link: str, frames: list[bytes]) -> None:
    with kernel.inside(namespace):
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    with raw:
        raw.bind((link, 0))
        for number, frame in enumerate(frames):
            raw.send(frame)
            if number % 32 == 31:
                time.sleep(0.005)


@contextmanager
def hanging(host: Host, daemon: str) -> Iterator[None]:
    """The daemon stands still: its sockets are there, and nobody answers."""
    pid = daemons.pid_of(host, daemon)
    assert pid is not None, f"{daemon} of {host.name} does not run"
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def killed(host: Host, daemon: str, start: Callable[[Host], None]) -> Iterator[None]:
    """The daemon is gone until `start`."""
    pid = daemons.pid_of(host, daemon)
    assert pid is not None, f"{daemon} of {host.name} does not run"
    daemons.kill(pid)
    try:
        yield
    finally:
        start(host)


def kill_raild(node: Node) -> None:
    pid = daemons.pid_of(node, "raild")
    assert pid is not None, f"raild of {node.name} does not run"
    daemons.kill(pid)
