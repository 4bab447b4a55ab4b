"""The front end on the bgpd of the rails: the node's own address on two management links. Who is told what is counted in
build/reports/lab/leaks.txt, what a fault costs is in frontend.txt. n1's FRRouting is an administrator's, too: what is theirs stays."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import lab_of_its_own
from railcni_lab import daemons, frontend, kernel, matrix, pods, vty
from railcni_lab.frontend import host_routes, kernels_links, nexthops, replace_default
from railcni_lab.layout import Host, Lab, Node, Shape, bridge, write_json
from tables import Tables
from world import World, eventually, settle

RELOAD = Path("/usr/lib/frr/frr-reload.py")
BOTH = {frontend.link(0), frontend.link(1)}
CUT = 8  # seconds: TCP tries again after 3.0 and 6.2 s
PODS = {"a1": ("n1", "tenant-a"), "a2": ("n2", "tenant-a"), "b1": ("n1", "tenant-b"), "b2": ("n2", "tenant-b")}
THEIRS = ["ip prefix-list theirs seq 5 permit 192.0.2.0/24 le 32", "route-map theirs permit 10", "match ip address prefix-list theirs", "exit"]


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """2 nodes, 2 rails, a spine, a front end."""
    with lab_of_its_own(request.config, "f", Shape(nodes=2, rails=2, spines=1, devices=4, frontend=True), PODS) as world:
        settle(world)
        yield world


@pytest.fixture
def node(world: World) -> Node:
    whole(world)
    return world.lab.find_node("n1")


def whole(world: World, seconds: float = 45) -> None:
    """Both sessions of both nodes, all addresses told, both default routes over both links."""
    for node in world.lab.nodes():
        eventually(f"{node.name}: the kernel uses both links", lambda n=node: kernels_links(n), lambda now: now == [BOTH, BOTH], seconds)
        eventually(f"{node.name}: the front end is whole", lambda n=node: links(world, n), lambda all_links: len(all_links) == 2 and all(
            link.get("bgp_state") == "Established" and not link.get("not_told") and not link.get("leaked")
            and link.get("default_routes") == ["ipv4", "ipv6"] for link in all_links), seconds)


def links(world: World, node: Node) -> list[dict[str, Any]]:
    return list(world.railctl(node, "get", "node")["node"].get("frontend_links", []))


def findings(world: World, node: Node) -> set[str]:
    """Of the front end, with what follows from others."""
    done = subprocess.run([str(world.lab.binaries / "railctl"), "doctor", "-o", "json"], capture_output=True, text=True, timeout=30,
                          check=False, env={**os.environ, "RAILCNI_ROOT": str(node.root)})
    return set(re.findall(r'"(frontend-[a-z-]+)"', json.dumps(json.loads(done.stdout))))


def running(node: Node, daemon: str = "bgpd") -> list[str]:
    [text] = vty.session(node.frr_dir, ["show running-config"], daemon)
    return [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("!")]


def theirs(node: Node) -> list[str]:
    """Every line of the running configuration that is the administrator's, in its order."""
    return [line for line in running(node) if "theirs" in line or "203.0.113." in line]


def received(host: Host, peer: str) -> set[str]:
    """What a switch's session with `peer` has taken, of both families."""
    return {route["prefix"] for route in vty.routes(host.frr_dir) if route["peer"] == peer}


def classes(world: World, prefixes: set[str]) -> dict[str, int]:
    node_addresses = {f"{frontend.address(n, v6)}/{128 if v6 else 32}" for n in world.lab.nodes() for v6 in (False, True)}
    of_pods = {f"{address}/{128 if family == 6 else 32}" for pod in pods.all_pods(world.lab) for rail in pod.results
               for family, address in pod.addresses(rail).items()}
    counts = {"node": len(prefixes & node_addresses), "pod": len(prefixes & of_pods), "default": len(prefixes & {"0.0.0.0/0", "::/0"})}
    return counts | {"other": len(prefixes) - sum(counts.values())}


def test_nothing_leaks(world: World, node: Node, tables: Tables) -> None:
    """What each neighbour was told, by class; and what the host's table has."""
    head = ("from", "to", "node addresses", "pod addresses", "default", "other")

    def row(sender: str, receiver: str, prefixes: set[str]) -> dict[str, int]:
        counts = classes(world, prefixes)
        tables.row("leaks", head, (sender, receiver, *(str(counts[c]) for c in ("node", "pod", "default", "other"))))
        return counts

    for each in world.lab.nodes():
        for leaf in frontend.leaves(world.lab):
            assert row(each.name, leaf.name, received(leaf, each.name)) == {"node": 2, "pod": 0, "default": 0, "other": 0}
        for rail, leaf in enumerate(world.lab.leaves()):
            wanted = 2 * sum(1 for pod in pods.all_pods(world.lab) if pod.node == each.name and rail in pod.results)
            assert row(each.name, leaf.name, received(leaf, each.name)) == {"node": 0, "pod": wanted, "default": 0, "other": 0}
        for i, leaf in enumerate(frontend.leaves(world.lab)):
            assert row(leaf.name, each.name, received(each, frontend.link(i))) == {"node": 0, "pod": 0, "default": 2, "other": 0}
        for rail, leaf in enumerate(world.lab.leaves()):
            counts = row(leaf.name, each.name, received(each, bridge(rail)))
            assert counts["pod"] > 0 and counts["node"] == counts["default"] == counts["other"] == 0
        hosts = host_routes(each)
        assert row(each.name, "its own table", {route["dst"] for route in hosts}) == {"node": 0, "pod": 0, "default": 2, "other": 0}
        for route in hosts:
            assert {hop["dev"] for hop in route["hops"]} == {frontend.link(0), frontend.link(1)}, route


def test_hostile_leaves_change_nothing(world: World, node: Node) -> None:
    """A rail's leaf announces the default route and another node's address, with our communities and without; a leaf of the front end
    announces a pod's address with its communities, and prefixes that nobody accepts."""
    before = host_routes(node)
    pod = world.port("a2").ipv4
    rail_leaf, front_leaf = world.lab.leaf(0), frontend.leaf(world.lab, 0)
    ours = "set large-community 4200000000:1375731712:0"
    vty.configure(rail_leaf.frr_dir, "route-map evil permit 10", ours, "exit", f"router bgp {rail_leaf.asn}", "no bgp network import-check",
                  "address-family ipv4 unicast", "network 0.0.0.0/0 route-map evil", f"network {frontend.address(node)}/32 route-map evil",
                  "network 192.0.2.2/32 route-map evil", "network 198.18.0.0/16", "exit-address-family", "exit")
    vty.configure(front_leaf.frr_dir, "route-map evil permit 10", ours, "exit", f"router bgp {front_leaf.asn}",
                  "no bgp network import-check", "address-family ipv4 unicast", f"network {pod}/32 route-map evil",
                  "network 198.18.0.0/16", "network 10.9.9.9/32", "exit-address-family", "exit")
    try:
        eventually("the front end's leaf tells it", lambda: vty.show_json(
            front_leaf.frr_dir, f"show bgp ipv4 unicast neighbors {node.name} advertised-routes json")["advertisedRoutes"],
            lambda told: {f"{pod}/32", "198.18.0.0/16"} <= set(told), 10)
        eventually("the rail's leaf tells it", lambda: vty.show_json(
            rail_leaf.frr_dir, f"show bgp ipv4 unicast neighbors {node.name} advertised-routes json")["advertisedRoutes"],
            lambda told: {"0.0.0.0/0", "192.0.2.2/32"} <= set(told), 10)
        time.sleep(1)  # not waited for: watched
        assert host_routes(node) == before
        assert matrix_right(world)
    finally:
        for leaf in (rail_leaf, front_leaf):
            vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "address-family ipv4 unicast",
                          *(f"no {line.strip()}" for line in running_of(leaf) if line.strip().startswith("network ")),
                          "exit-address-family", "exit", "no route-map evil")


def running_of(host: Host) -> list[str]:
    return vty.session(host.frr_dir, ["show running-config"])[0].splitlines()


def matrix_right(world: World) -> bool:
    return all(cell.right for cell in matrix.measure(world.lab, "icmp", wait_seconds=20))


def test_loss_of_a_link_or_leaf(world: World, node: Node, tables: Tables) -> None:
    other = world.lab.find_node("n2")
    for i, leaf in enumerate(frontend.leaves(world.lab)):
        for what, down, back in (
                (f"link {frontend.link(i)} of n1 cut", [(leaf, node.name)], [(leaf, node.name)]),
                (f"leaf {leaf.name} lost (all its links)", all_links(world, leaf), all_links(world, leaf))):
            with stream(node, other, v6=i == 1) as gaps:
                time.sleep(0.5)
                cut(down, "down")
                time.sleep(CUT)
                cut(back, "up")
                whole(world)
                time.sleep(0.3)
            gap = max(gaps())
            tables.row("frontend", ("fault", "gap of a TCP stream n1 <-> n2, there and back"), (what, f"{gap * 1000:.0f} ms"))
            assert gap < CUT - 1, f"{what}: the stream stood still for {gap:.1f} s"


def test_the_kernel_has_both_links_again_after_each_flap(world: World, node: Node, tables: Tables) -> None:
    for i in (0, 1, 0):
        leaf = frontend.leaf(world.lab, i)
        cut([(leaf, node.name)], "down")
        eventually("the other link alone", lambda: kernels_links(node), lambda now, i=i: now == [{frontend.link(1 - i)}] * 2, 15)
        cut([(leaf, node.name)], "up")
        began = time.monotonic()
        whole(world)
        tables.row("frontend", ("fault", "gap of a TCP stream n1 <-> n2, there and back"),
                   (f"{frontend.link(i)} of n1 flapped: both in the kernel", f"{time.monotonic() - began:.1f} s"))
        assert findings(world, node) == set()


def test_a_next_hop_that_the_kernel_has_lost_comes_back(world: World, node: Node) -> None:
    hops = nexthops(node)
    replace_default(node, [hop for hop in hops if "mgmt2" in hop])
    eventually("it is named", lambda: links(world, node)[0], lambda link: link.get("unused_default_paths") == ["ipv4"], 5)
    assert findings(world, node) == {"frontend-default-route"}
    eventually("both are in the kernel", lambda: kernels_links(node), lambda now: now == [BOTH, BOTH], 45)
    assert "front end: the session on mgmt1 ended" in (node.log_dir / "raild.log").read_text()


def test_a_next_hop_without_a_path_is_named_and_the_doctors_command_mends_it(world: World, node: Node) -> None:
    hops, leaf = nexthops(node), frontend.leaf(world.lab, 0)
    vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "address-family ipv4 unicast", "no neighbor NODES default-originate",
                  "no neighbor fe1 activate")
    eventually("one next hop", lambda: kernels_links(node)[0], lambda now: now == {"mgmt2"}, 15)
    replace_default(node, hops)
    try:
        eventually("it is named", lambda: findings(world, node), lambda f: f == {"frontend-stray-route"}, 15)
        eventually("its metric", lambda: world.metrics(node)['railcni_frontend_stray_default_routes{link="mgmt1"}'], lambda v: v == 1, 15)
        vty.session(node.frr_dir, ["clear bgp *"])
        eventually("the kernel has bgpd's alone", lambda: kernels_links(node), lambda now: now == [{"mgmt2"}, BOTH], 30)
    finally:
        vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "address-family ipv4 unicast", "neighbor NODES default-originate",
                      "neighbor fe1 activate")
    whole(world)


def all_links(world: World, leaf: Host) -> list[tuple[Host, str]]:
    return [(leaf, name) for name in sorted(kernel.links(leaf.namespace)) if name != "lo"]


def cut(which: list[tuple[Host, str]], state: str) -> None:
    for host, name in which:
        kernel.run(["ip", "-n", host.namespace, "link", "set", name, state])


@contextmanager
def stream(a: Node, b: Node, v6: bool) -> Iterator[Callable[[], list[float]]]:
    """Eight TCP connections from a to b, so that both links carry some: each sends a small message every 10 ms, which b sends back.
    Gives the longest time without an answer of each."""
    family, port = socket.AF_INET6 if v6 else socket.AF_INET, 5201
    with kernel.inside(b.namespace):
        server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((frontend.address(b, v6), port))
    server.listen(8)
    ended = threading.Event()
    threads, worst = [], [0.0] * 8

    def answer(connection: socket.socket) -> None:
        with connection:
            while data := connection.recv(4096):
                connection.sendall(data)

    def ask(number: int, connection: socket.socket) -> None:
        with connection:
            while not ended.is_set():
                began = time.monotonic()
                connection.sendall(struct.pack("Q", number))
                got = b""
                while len(got) < 8:
                    part = connection.recv(8 - len(got))
                    assert part
                    got += part
                worst[number] = max(worst[number], time.monotonic() - began)
                time.sleep(0.01)

    def connected() -> socket.socket | None:
        with kernel.inside(a.namespace):
            client = socket.socket(family, socket.SOCK_STREAM)
        client.settimeout(30)
        client.bind((frontend.address(a, v6), 0))
        try:
            client.connect((frontend.address(b, v6), port))
        except OSError as error:
            client.close()
            if error.errno != errno.ENETUNREACH:
                raise
            return None
        return client

    for number in range(8):
        # zebra tells of a route before the kernel has it.
        client = eventually("the kernel has a route", connected, bool, 30)
        there, _ = server.accept()
        threads += [threading.Thread(target=answer, args=(there,)), threading.Thread(target=ask, args=(number, client))]
    for thread in threads:
        thread.start()
    try:
        yield lambda: worst
    finally:
        ended.set()
        for thread in threads:
            thread.join(40)
        server.close()
    assert not any(thread.is_alive() for thread in threads)


def at_rest(node: Node) -> None:
    """bgpd 8.4 crashes if a session comes up within 5 s after the route-map that it uses was removed (lib/frr/README.md)."""
    eventually(f"{node.name}'s sessions are at rest", lambda: vty.youngest_session(node.frr_dir), lambda age: age >= 6, 60)


@pytest.fixture
def admins(world: World, node: Node) -> Iterator[list[str]]:
    """A neighbour, a map, a list and a VRF's instance of somebody else on n1."""
    vty.configure(node.frr_dir, *THEIRS, f"router bgp {node.asn}", "neighbor 203.0.113.7 remote-as 65001",
                  "neighbor 203.0.113.7 description theirs", "address-family ipv4 unicast", "neighbor 203.0.113.7 route-map theirs out",
                  "exit-address-family", "exit", f"router bgp {node.asn} vrf theirs", "bgp router-id 203.0.113.9", "exit")
    lines = theirs(node)
    assert len(lines) >= 6, lines
    yield lines
    if daemons.pid_of(node, "raild"):
        at_rest(node)
    vty.configure(node.frr_dir, f"no router bgp {node.asn} vrf theirs", f"router bgp {node.asn}", "no neighbor 203.0.113.7", "exit",
                  "no route-map theirs", "no ip prefix-list theirs")


def reload_file(node: Node) -> Path:
    """frr.conf of an administrator who knows nothing of RailCNI: all that runs but for its lines."""
    text = ["frr version 8.4.4", "frr defaults traditional", f"hostname {node.name}", *THEIRS,
            f"router bgp {node.asn}", f" bgp router-id {node.router_id}", " neighbor 203.0.113.7 remote-as 65001",
            " neighbor 203.0.113.7 description theirs", " address-family ipv4 unicast", "  neighbor 203.0.113.7 route-map theirs out",
            " exit-address-family", "exit", f"router bgp {node.asn} vrf theirs", " bgp router-id 203.0.113.9", "exit"]
    path = node.root / "etc/frr/frr.conf"
    path.write_text("\n".join(text) + "\n")
    return path


def reload(node: Node, path: Path) -> None:
    (node.root / "etc/frr/vtysh.conf").touch()
    with kernel.inside(node.namespace):
        done = subprocess.run(["python3", str(RELOAD), "--reload", "--bindir", "/usr/bin", "--confdir", str(path.parent), "--rundir",
                               str(node.frr_dir), "--vty_socket", str(node.frr_dir), "--daemon", "bgpd", "--log-level", "error",
                               "--stdout", str(path)], capture_output=True, text=True, timeout=120,
                              check=False)
    # Without raild, too, FRRouting 8.4's tool fails here: it removes an unnumbered neighbor first, and then each of its lines.
    known = ("we failed to remove this command", "% Specify remote-as or peer-group commands first")
    errors = [line for line in (done.stdout + done.stderr).splitlines() if line and not line.endswith(known)]
    assert not errors, errors


def test_frr_reload_deletes_all_and_raild_puts_it_back(world: World, node: Node, admins: list[str], tables: Tables) -> None:
    if "RAILCNI_FRR" in os.environ and not RELOAD.exists():
        pytest.skip("the folder of RAILCNI_FRR has no frr-reload.py")
    assert RELOAD.exists(), "install frr-pythontools (deploy/deps.sh test)"
    wanted = sorted(running(node))
    log = node.log_dir / "raild.log"
    seen = len(log.read_text())
    lost: list[float] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set():
            if sorted(running(node)) != wanted:
                lost.append(time.monotonic())
            time.sleep(0.05)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        reload(node, reload_file(node))
        ended = time.monotonic()
        eventually("all of it is back", lambda: sorted(running(node)), lambda now: now == wanted, 30)
        took = time.monotonic() - ended
    finally:
        stop.set()
        watcher.join()
    assert lost, "frr-reload.py has deleted nothing"
    said = log.read_text()[seen:]
    tables.row("frontend", ("fault", "gap of a TCP stream n1 <-> n2, there and back"),
               ("frr-reload.py without RailCNI's lines: back after its end", f"{took * 1000:.0f} ms (an event: the sessions' end)"))
    assert "lines of the front end sent" in said, said
    assert theirs(node) == admins
    whole(world)
    settle(world, seconds=45)


def test_the_admin_removes_parts(world: World, node: Node, admins: list[str]) -> None:
    wanted = sorted(running(node))
    own = f"network {frontend.address(node)}/32 route-map railcni-frontend_own"
    in_bgp, family = f"router bgp {node.asn}", "address-family ipv4 unicast"
    for lines in ([in_bgp, "no neighbor mgmt1 interface"],
                  [in_bgp, family, f"no {own}", "exit-address-family", "no neighbor mgmt2 interface", "exit",
                   "no route-map railcni-frontend_out4", "no ip prefix-list railcni-frontend_own"]):
        vty.configure(node.frr_dir, *lines)
        eventually(f"back: {lines[-1]}", lambda: sorted(running(node)), lambda now: now == wanted, 30)
        at_rest(node)
    kernel.run(["ip", "-n", node.namespace, "address", "del", f"{frontend.address(node)}/32", "dev", "lo"])
    eventually("the address is back", lambda: kernel.run(["ip", "-n", node.namespace, "address", "show", "dev", "lo"]),
               lambda text: f"{frontend.address(node)}/32" in text, 5)
    assert theirs(node) == admins


def test_findings(world: World, node: Node, tables: Tables) -> None:
    leaf = frontend.leaf(world.lab, 0)
    assert findings(world, node) == set()
    metrics = world.metrics(node)
    for i in range(2):
        assert metrics[f'railcni_frontend_session_established{{link="{frontend.link(i)}"}}'] == 1
        assert metrics[f'railcni_frontend_leaked_prefixes{{link="{frontend.link(i)}"}}'] == 0
    text = kernel.run([str(world.lab.binaries / "railctl"), "get", "node"], env={"RAILCNI_ROOT": str(node.root)})
    assert re.search(r"mgmt1 +Established +2/2 +ipv4,ipv6", text), text
    cut([(leaf, node.name)], "down")
    eventually("one session", lambda: findings(world, node), lambda f: f == {"frontend-session-down", "frontend-not-redundant"}, 15)
    eventually("its metric", lambda: world.metrics(node)['railcni_frontend_session_established{link="mgmt1"}'], lambda v: v == 0, 15)
    cut([(leaf, node.name)], "up")
    whole(world)
    vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "address-family ipv4 unicast", "no neighbor NODES default-originate",
                  "no neighbor fe1 activate")
    eventually("one next hop", lambda: findings(world, node), lambda f: f == {"frontend-default-route"}, 15)
    vty.configure(leaf.frr_dir, f"router bgp {leaf.asn}", "address-family ipv4 unicast", "neighbor NODES default-originate",
                  "neighbor fe1 activate")
    whole(world)
    # Somebody opens the filter and takes an address out of it: the audit sets it right, until then the doctor names both.
    pod = f"{world.port('a1').ipv4}/32"
    with raild_stands_still(node):
        vty.configure(node.frr_dir, "no ip prefix-list railcni-frontend_own", f"ip prefix-list railcni-frontend_own seq 5 permit {pod}")
        eventually("the leak", lambda: received(leaf, node.name), lambda got: pod in got, 15)
    eventually("its finding", lambda: findings(world, node), lambda f: {"frontend-leak", "frontend-address-not-told"} <= f, 15)
    eventually("it is shut", lambda: received(leaf, node.name), lambda got: pod not in got, 45)
    whole(world)


@contextmanager
def raild_stands_still(node: Node) -> Iterator[None]:
    pid = daemons.pid_of(node, "raild")
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def change(lab: Lab, node: Node, edit: Callable[[dict[str, Any]], None]) -> str:
    """node.json with an edit; returns what was there before."""
    text = node.config_file.read_text()
    config = json.loads(text)
    edit(config)
    write_json(node.config_file, config)
    return text


def test_bfd_only_with_bfdd(world: World, node: Node) -> None:
    before = change(world.lab, node, lambda config: config["frontend"].update(bfd=True))
    eventually("the finding", lambda: findings(world, node), lambda f: f == {"frontend-without-bfd"}, 20)
    assert not [line for line in running(node) if line.strip().endswith(" bfd")]
    conf = node.root / "etc/frr/bfdd.conf"
    conf.touch()
    os.chown(conf, *(os.stat(node.frr_dir).st_uid, os.stat(node.frr_dir).st_gid))
    daemons.start_frr_daemon(node, "bfdd")
    try:
        daemons.restart_raild(world.lab, node)
        eventually("BFD is asked for", lambda: [line.strip() for line in running(node) if line.strip().endswith(" bfd")],
                   lambda lines: lines == ["neighbor mgmt1 bfd", "neighbor mgmt2 bfd"], 20)
        eventually("no finding", lambda: findings(world, node), lambda f: not f, 20)
    finally:
        node.config_file.write_text(before)
        eventually("BFD goes", lambda: [line for line in running(node) if line.strip().endswith(" bfd")], lambda lines: not lines, 20)
        daemons.kill(int((node.frr_dir / "bfdd.pid").read_text()), signal.SIGTERM)
    whole(world)


def test_another_asn_or_router_id_is_refused(world: World, node: Node) -> None:
    configured = sorted(running(node))
    for edit, words in ((lambda c: c["bgp"].update(asn=65000), "bgpd runs as AS"), (lambda c: c["bgp"].update(router_id="10.99.0.1"),
                                                                                       'bgpd has "bgp router-id')):
        before = change(world.lab, node, edit)
        daemons.restart_raild(world.lab, node)
        try:
            eventually("the refusal", lambda: json.dumps(world.railctl(node, "get", "node")), lambda text: words in text.replace('\\"', '"'), 20)
            assert sorted(running(node)) == configured
        finally:
            node.config_file.write_text(before)
            daemons.restart_raild(world.lab, node)
    whole(world)


def restart_frr_as_written(node: Node) -> None:
    """FRRouting restarts, and reads back what the administrator has written."""
    written = "\n".join(running(node)) + "\n"
    for daemon in ("bgpd", "zebra"):
        pid = daemons.pid_of(node, daemon)
        assert pid is not None
        daemons.kill(pid, signal.SIGTERM)
    # vtysh gives route-maps and prefix lists of the one file to every daemon.
    blocks, keep = [], False
    for line in written.splitlines():
        if not line.startswith(" ") and line != "exit":
            keep = line.startswith(("route-map", "ip prefix-list", "ipv6 prefix-list"))
        if keep and "large-community" not in line and "as-path" not in line:
            blocks.append(line)
    (node.root / "etc/frr/zebra.conf").write_text("\n".join(blocks) + "\n")
    daemons.start_frr_daemon(node, "zebra")
    (node.root / "etc/frr/bgpd.conf").write_text(written)
    daemons.start_frr_daemon(node, "bgpd", bmp=True)


def test_written_and_restarted_nothing_doubles(world: World, node: Node, admins: list[str]) -> None:
    wanted = sorted(running(node))
    restart_frr_as_written(node)
    eventually("the same configuration", lambda: sorted(running(node)), lambda now: now == wanted, 30)
    whole(world)
    settle(world, seconds=60)
    assert sorted(running(node)) == wanted and theirs(node) == admins
    for leaf in frontend.leaves(world.lab):
        assert received(leaf, node.name) == {f"{frontend.address(node)}/32", f"{frontend.address(node, True)}/128"}


def test_removal_leaves_the_admins_frr(world: World, node: Node, admins: list[str]) -> None:
    """Last: n1 has no raild after it. Its FRRouting was RailCNI's alone before `admins` came, so only their lines stay."""
    for name, (where, _) in PODS.items():
        if where == node.name:
            pods.delete(world.lab, name)
    pid = daemons.pid_of(node, "raild")
    assert pid is not None
    daemons.kill(pid, signal.SIGTERM)
    with kernel.inside(node.namespace):
        done = subprocess.run([str(world.lab.binaries / "raild"), "--remove"], env={**os.environ, "RAILCNI_ROOT": str(node.root)},
                              capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for daemon in ("bgpd", "zebra"):
        left = [line for line in running(node, daemon) if "railcni" in line or "mgmt" in line or "multipath-relax" in line
                or "nexthop kernel" in line]
        assert not left, left
    assert theirs(node) == admins
    assert frontend.address(node) not in kernel.run(["ip", "-n", node.namespace, "address", "show", "dev", "lo"])
    for leaf in frontend.leaves(world.lab):
        eventually(f"{leaf.name} has forgotten n1", lambda h=leaf: received(h, node.name), lambda got: not got, 15)
