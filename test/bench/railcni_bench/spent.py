"""Where a verb's time goes: what the plugins tell raild of each part, and what is left of an execution beside it."""

from __future__ import annotations

import http.client
import re

from railcni_lab.fabric import METRICS

from .measure import BenchError, Report, columns

PARTS = {"start": "process start and end", "record": "record (SQLite)", "ovsdb": "OVSDB", "openflow": "OpenFlow",
         "link": "waiting for the kernel's link move", "ipam": "IPAM (a process of its own)", "bgp": "bgpd (vty)",
         "pod": "pod's namespace configured", "other": "other"}
_SAMPLE = re.compile(r'railcni_cni_(part_seconds_total|duration_seconds_count){plugin="([a-z-]+)",verb="([A-Z]+)"(?:,part="([a-z]+)")?} (\S+)')
Totals = dict[tuple[str, str, str], float]  # (plugin, verb, part) -> milliseconds; part "count": executions, "wall": what the caller saw


def told() -> Totals:
    """What the plugins have told the raild of this namespace so far."""
    connection = http.client.HTTPConnection(METRICS, timeout=30)
    connection.request("GET", "/metrics")
    totals: Totals = {}
    for kind, plugin, verb, part, value in _SAMPLE.findall(connection.getresponse().read().decode()):
        count = kind == "duration_seconds_count"
        totals[plugin, verb, "count" if count else part] = float(value) * (1 if count else 1000)
    connection.close()
    return totals


def report_parts(report: Report, plugins: tuple[str, ...], totals: Totals) -> None:
    """Means, which add up."""

    def mean(plugin: str, verb: str, part: str) -> float:
        count = totals.get((plugin, verb, "count"), 0)
        if count == 0:
            raise BenchError(f"{plugin} has told raild of no {verb}")
        if part == "start":
            return (totals[plugin, verb, "wall"] - sum(totals[plugin, verb, p] for p in PARTS if p != "start")) / count
        return totals[plugin, verb, part] / count

    heads = [(verb, plugin) for verb in ("ADD", "DEL") for plugin in (*plugins, "all")]
    rows = [["where each millisecond goes (means)", *(f"{verb} {plugin}" if plugin == "all" else plugin for verb, plugin in heads)]]
    sums = dict.fromkeys(heads, 0.0)
    for part, title in PARTS.items():
        cells = {(verb, plugin): mean(plugin, verb, part) for verb in ("ADD", "DEL") for plugin in plugins}
        for verb in ("ADD", "DEL"):
            cells[verb, "all"] = sum(cells[verb, plugin] for plugin in plugins)
            report.numbers[f"{verb.lower()}.part.{part}"] = cells[verb, "all"]
        for head in heads:
            sums[head] += cells[head]
        rows.append([title, *(f"{cells[head]:.2f}" for head in heads)])
    rows.append(["all, ms", *(f"{sums[head]:.2f}" for head in heads)])
    report.more.append(columns(rows))
