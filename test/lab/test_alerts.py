"""Every alert of deploy/prometheus fires once, of a real fault, by a real Prometheus that scrapes raild; and then every query of the
dashboards has an answer. build/reports/lab/alerts.txt has the fault and the time of each alert."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator

import alert_rows
import pytest
from alert_rows import LINE_RATE, MOVES, N1, N2, NIC, ROWS, AlertRow, Theatre
from api_server import ApiServer
from conftest import PODS, lab_of_its_own
from judge import DEPLOY, dashboard_queries, firing, prometheus, query, results, served
from railcni_lab import pods
from railcni_lab.layout import Shape, write_json
from tables import Tables
from world import eventually, settle

HEAD = ("alert", "fault", "fires after", "shown by")


@pytest.fixture(scope="module")
def theatre(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    """2 nodes, 2 rails, a front end; n2 has tenants of an API server and looks for bursts, of which its uplink of rail1 is full."""
    shape = Shape(nodes=2, rails=2, spines=1, devices=8, frontend=True)
    with lab_of_its_own(request.config, "w", shape, PODS) as world, ApiServer([world.lab.find_node("n2")]) as api:
        stage = alert_rows.of_world(world, api)
        for namespace in ("tenant-a", "tenant-b"):
            api.create(namespace)
        api.create(MOVES, "red")
        config = json.loads(stage.n2.config_file.read_text())
        config["kubernetes"] = {"tenants": True, "report": False, "api": api.url}
        config["bursts"] = {"every_ms": 10, "line_rate_mbit": LINE_RATE}
        write_json(stage.n2.config_file, config)
        alert_rows.restarted(world.lab, stage.n2)
        eventually("n2 has the list", (stage.n2.root / "var/lib/railcni/tenants.json").exists, bool, 20)
        pods.add(world.lab, "m1", "n2", MOVES, None)
        settle(world)
        a2, a1 = world.port("a2", 1), world.port("a1", 1)
        with served(stage.node, 9478, stage.page_of_n2), served(stage.node, 9479, stage.page_of_the_nic), \
                prometheus(stage.node, tmp_path_factory.mktemp("prometheus"), [N1, N2, NIC], waits="1s"), alert_rows.steady(a2, a1.ipv4):
            eventually("all is scraped", lambda: query(stage.node, 'sum(up{job="railcni"})'), lambda found: found == {"": 3}, 60)
            yield stage


def fires(stage: Theatre, alert: str, instance: str) -> bool | None:
    """None: Prometheus does not answer. An alert may be of all nodes together."""
    found = firing(stage.node)
    return None if found is None else bool({(alert, instance), (alert, "")} & found)


@pytest.mark.parametrize("row", [pytest.param(row, id=row.fault.replace(" ", "-").replace(",", "")) for row in ROWS])
def test_it_fires(theatre: Theatre, tables: Tables, row: AlertRow) -> None:
    for alert in row.alerts:
        if row.make is not alert_rows.nothing:
            eventually(f"{alert} does not fire before", lambda a=alert: fires(theatre, a, row.instance), lambda f: f is False, max(60, row.seconds))
    began = time.monotonic()
    with row.make(theatre):
        for alert in row.alerts:
            eventually(f"{row.fault}: {alert} fires", lambda a=alert: fires(theatre, a, row.instance), bool, row.seconds)
            tables.row("alerts", HEAD, (alert, row.fault, f"{time.monotonic() - began:.0f} s", row.shown_by))
    for alert in row.alerts if row.ends else ():
        eventually(f"{alert} ends", lambda a=alert: fires(theatre, a, row.instance), lambda f: f is False, max(90, row.seconds))


def test_each_alert_has_its_fault() -> None:
    alerts = re.findall(r"^ +- alert: (\w+)$", (DEPLOY / "prometheus/alerts.yaml").read_text(), re.M)
    rows = [alert for row in ROWS for alert in row.alerts]
    assert sorted(alerts) == sorted(rows) and len(alerts) > 30


def test_each_query_of_a_dashboard_has_an_answer(theatre: Theatre, tables: Tables) -> None:
    """A number, not only a series: pods come and go meanwhile, all talk, and the NIC is in trouble."""
    queries = dashboard_queries()
    assert len(queries) > 30
    if theatre.nic_trouble is None:
        theatre.nic_trouble = time.monotonic()

    def unanswered() -> list[str]:
        pods.add(theatre.world.lab, "visits", "n1", "tenant-a", [0])
        pods.delete(theatre.world.lab, "visits")
        answers = {expression: results(theatre.node, expression) for expression in queries}
        return [expression for expression, found in answers.items()
                if not found or all(math.isnan(float(each["value"][1])) for each in found)]

    eventually("each query has an answer", unanswered, lambda missing: not missing, 90)
    tables.row("dashboards", ("dashboards' queries", "answered by Prometheus with a number"), (str(len(queries)), str(len(queries))))
