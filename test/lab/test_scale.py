"""100,000 addresses of 1,000 tenants: how long a node takes to learn them, and what that costs. Prints a table; what is asserted
is generous, for a busy machine, and ten times below what a mistake of order would cost."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import lab_of_its_own
from railcni_lab import daemons, pods, vty
from railcni_lab.layout import Node, Shape
from railcni_lab.speaker import Speaker, addresses, announce, communities, tenant_id, withdraw
from world import World, eventually, kill_raild

TENANTS, ADDRESSES, LARGEST = 1000, 100_000, 30_000
RULES_OF_A_BRIDGE = 50  # without a pod
RSS_MIB, LEARN_SECONDS = 200, 5  # the budgets


@pytest.fixture(scope="module")
def alone(request: pytest.FixtureRequest) -> Iterator[World]:
    """A lab of its own: a node, a rail."""
    with lab_of_its_own(request.config, "s", Shape(nodes=1, rails=1, spines=0), {}) as world:
        yield world


def received(node: Node) -> int:
    peers = vty.show_json(node.frr_dir, "show bgp ipv4 unicast summary json").get("peers", {})
    return sum(int(p.get("pfxRcd", 0)) for p in peers.values())


def cpu_seconds(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def rss_mib(pid: int, what: str) -> float:
    found = re.search(rf"^{what}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M)
    assert found
    return int(found[1]) / 1024


def learned(node: Node, since: int) -> tuple[int, float] | None:
    """What the daemon's log says after its first `since` bytes: remotes, and seconds after its start."""
    with open(node.log_dir / "raild.log", "rb") as log:
        log.seek(since)
        found = re.findall(rb"(\d+) remotes of \d+ tenants learned, (\d+) ms after the start", log.read())
    return (int(found[-1][0]), int(found[-1][1]) / 1000) if found else None


def pid_of_raild(node: Node) -> int:
    pid = daemons.pid_of(node, "raild")
    assert pid is not None
    return pid


def count_of_rules(world: World, node: Node) -> int:
    text = world.run_on_switch(node, 0, "dump-aggregate", "cookie=0x5241494c00000000/0xffffffff00000000")
    return int(re.search(r"flow_count=(\d+)", text)[1])


def test_a_hundred_thousand_remotes(alone: World) -> None:
    node, leaf = alone.lab.nodes()[0], alone.lab.leaf(0)
    names = [f"team-{i}" for i in range(TENANTS)]
    every = addresses("11.0.0.0", ADDRESSES)
    shares = {names[0]: every[:LARGEST]}
    rest = every[LARGEST:]
    for i, name in enumerate(names[1:]):
        shares[name] = rest[i::TENANTS - 1]
    rows: list[tuple[str, str, str]] = []
    speaker = Speaker(alone.lab, leaf)
    try:
        raild = pid_of_raild(node)
        idle, cpu = rss_mib(raild, "VmRSS"), cpu_seconds(raild)
        began = time.monotonic()
        for name, share in shares.items():
            speaker.send(announce(share, communities(tenant_id(f"namespace/{name}"), 0)))
        eventually("bgpd of the node has them", lambda: received(node), lambda n: n >= ADDRESSES, 120)
        rows.append(("two bgpds pass on 100,000 routes", f"{time.monotonic() - began:.1f} s", ""))
        first_of_each = {share[-1] for share in shares.values()}
        eventually("raild has them", lambda: alone.railctl(node, "get", "remotes").get("total", 0), lambda n: n >= ADDRESSES, 60)
        assert first_of_each <= {r["address"] for r in alone.railctl(node, "get", "remotes")["remotes"]}
        rows.append(("RSS of raild before", f"{idle:.0f} MiB", ""))
        rows.append(("CPU of raild meanwhile", f"{cpu_seconds(raild) - cpu:.1f} s", "the list by railctl included"))
        assert count_of_rules(alone, node) < RULES_OF_A_BRIDGE, "rules only for tenants that are here"

        # A new raild, all of bgpd's table at once.
        kill_raild(node)
        log_size = (node.log_dir / "raild.log").stat().st_size
        daemons.start_raild(alone.lab, node)
        count, seconds = eventually("a new raild has learned", lambda: learned(node, log_size), lambda found: found is not None, 60)
        raild = pid_of_raild(node)
        assert count == ADDRESSES
        rows.append(("a new raild: from its start until all is learned", f"{seconds:.2f} s", f"<= {LEARN_SECONDS} s"))
        rows.append(("  its CPU time", f"{cpu_seconds(raild):.2f} s", ""))
        rss = rss_mib(raild, "VmRSS")
        rows.append(("  its RSS", f"{rss:.0f} MiB", f"<= {RSS_MIB} MiB"))
        rows.append(("  its peak RSS", f"{rss_mib(raild, 'VmHWM'):.0f} MiB", ""))

        began = time.monotonic()
        page = alone.metrics(node)
        rows.append(("a page of metrics with them", f"{1000 * (time.monotonic() - began):.0f} ms", ""))
        assert page["railcni_remotes"] == ADDRESSES
        assert len(page) < 200, "100,000 remotes add no line"

        # The first pod of the largest tenant.
        began = time.monotonic()
        pods.add(alone.lab, "first", "n1", names[0], [0])
        added = time.monotonic() - began
        eventually("a rule for each remote of its tenant", lambda: count_of_rules(alone, node), lambda n: n >= LARGEST, 120)
        rows.append((f"first pod of a tenant with {LARGEST:,} remotes: ADD", f"{added:.2f} s", ""))
        rows.append(("  until all their rules are in the switch", f"{time.monotonic() - began:.2f} s", ""))
        rows.append(("  RSS of raild then", f"{rss_mib(raild, 'VmRSS'):.0f} MiB", ""))

        # Everything goes.
        began = time.monotonic()
        pods.delete(alone.lab, "first")
        rows.append(("DEL of that pod", f"{time.monotonic() - began:.2f} s", ""))
        eventually("no rule is left", lambda: count_of_rules(alone, node), lambda n: n < RULES_OF_A_BRIDGE, 120)
        rows.append(("  until no rule of its tenant's remotes is left", f"{time.monotonic() - began:.1f} s", ""))
        speaker.send(withdraw(every))
        eventually("nothing is left", lambda: count_of_rules(alone, node), lambda n: n < RULES_OF_A_BRIDGE, 120)
        eventually("bgpd has none", lambda: received(node), lambda n: n == 0, 120)
        rows.append(("all of it withdrawn, no rule left", f"{time.monotonic() - began:.1f} s", ""))
    finally:
        width = max((len(title) for title, _, _ in rows), default=0)
        print("\n" + "\n".join(f"{title:<{width}}  {value:>9}  {budget}".rstrip() for title, value, budget in rows))
        speaker.close()
    assert seconds < 20 * LEARN_SECONDS, f"{seconds:.1f} s"
    assert rss < RSS_MIB, f"{rss:.0f} MiB"
