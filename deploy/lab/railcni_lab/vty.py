"""Speaks with an FRRouting daemon over its vty socket: one command per frame, NUL at its end; the answer ends with three NULs
and a status byte (FRRouting: doc/developer/vtysh.rst)."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from .layout import LabError

DONE, WARNED = 0, 1  # FRRouting: CMD_SUCCESS, CMD_WARNING


def _answers(run_dir: Path, daemon: str, lines: Iterable[str]) -> Iterator[tuple[str, int]]:
    """Enters line after line over one connection: the text and the status of each answer, before the next line is sent."""
    path = run_dir / f"{daemon}.vty"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(20)  # a bgpd that was told 100,000 routes just now is busy for seconds
        try:
            s.connect(str(path))
            for line in lines:
                s.sendall(line.encode() + b"\0")
                answer = b""
                while answer[-4:-1] != b"\0\0\0":
                    part = s.recv(65536)
                    if not part:
                        raise LabError(f"{daemon} closed {path} during `{line}`")
                    answer += part
                yield answer[:-4].decode(), answer[-1]
        except OSError as error:
            raise LabError(f"{daemon} does not answer at {path}: {error}") from None


def show(run_dir: Path, command: str, daemon: str = "bgpd") -> str:
    [(text, _)] = _answers(run_dir, daemon, [command])
    return text


def session(run_dir: Path, lines: list[str], daemon: str = "bgpd", accepted: tuple[int, ...] = (DONE, WARNED)) -> list[str]:
    """The answers to lines that are entered one after another, as by a person who has said `enable` before."""
    entered, texts = ["enable", *lines], []
    for line, (text, status) in zip(entered, _answers(run_dir, daemon, entered), strict=True):
        if status not in accepted:
            raise LabError(f"{daemon} refused `{line}`: {text.strip()}")
        texts.append(text)
    return texts[1:]


def configure(run_dir: Path, *lines: str) -> None:
    """Lines from bgpd's configuration node."""
    session(run_dir, ["configure terminal", *lines, "end"], accepted=(DONE,))


def show_json(run_dir: Path, command: str) -> dict[str, Any]:
    text = show(run_dir, command)
    return json.loads(text) if text.strip() else {}


def sessions(run_dir: Path) -> dict[str, str]:
    """Interface -> state of every BGP session; it is Established when one address family of it is."""
    found: dict[str, str] = {}
    for family in show_json(run_dir, "show bgp summary json").values():
        for name, peer in family.get("peers", {}).items() if isinstance(family, dict) else ():
            if found.get(name) != "Established":
                found[name] = str(peer.get("state", "unknown"))
    return found


def youngest_session(run_dir: Path) -> float:
    """For how many seconds all sessions over links have been Established; 0 while one is not. bgpd counts whole seconds."""
    peers = show_json(run_dir, "show bgp neighbors json")
    ages = [float(peer.get("bgpTimerUpMsec", 0)) / 1000 for name, peer in peers.items() if name[0].isalpha() and isinstance(peer, dict)]
    return min(ages, default=0)


def ends_heard(run_dir: Path) -> dict[str, bool]:
    """Interface -> whether its neighbour has told all its routes of both families (End-of-RIB, RFC 4724)."""
    neighbours = show_json(run_dir, "show bgp neighbors json")
    ends = {name: peer.get("gracefulRestartInfo", {}).get("endOfRibRecv", {})
            for name, peer in neighbours.items() if isinstance(peer, dict)}
    return {name: all(heard.get(family) for family in ("ipv4Unicast", "ipv6Unicast")) for name, heard in ends.items()}


def routes(run_dir: Path) -> list[dict[str, Any]]:
    """Every path of both families: prefix, interface, next hop, AS path, large communities."""
    found = []
    for family in ("ipv4", "ipv6"):
        table = show_json(run_dir, f"show bgp {family} unicast json detail").get("routes", {})
        for prefix, entry in table.items():
            # 8.4: a list of a header and the paths; 10: an object with "paths".
            paths = entry.get("paths", []) if isinstance(entry, dict) else entry
            for path in paths:
                if "nexthops" not in path:
                    continue
                hop = next((h for h in path["nexthops"] if h.get("used")), path["nexthops"][0])
                found.append({"prefix": prefix, "next_hop": hop.get("ip", ""), "peer": peer_name(path),
                              "as_path": path.get("aspath", {}).get("string", ""),
                              "best": bool(path.get("bestpath", {}).get("overall")),
                              "large_communities": path.get("largeCommunity", {}).get("list", [])})
    return found


def peer_name(path: dict[str, Any]) -> str:
    peer = path.get("peer", {})
    return peer.get("interface") or peer.get("hostname") or peer.get("peerId", "")
