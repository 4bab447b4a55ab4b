"""A real Prometheus, Debian's, that scrapes a lab and judges it by the rules of deploy/prometheus; and pages that it scrapes beside raild's.

Use:     with prometheus(node, tmp_path): query(node, "railcni_rail_carrier")
         with served(node, 9478, lambda: page), prometheus(node, tmp_path, [METRICS, "127.0.0.1:9478"], waits="1s"): firing(node)
"""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import threading
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from railcni_lab import kernel
from railcni_lab.fabric import METRICS
from railcni_lab.layout import Node

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PORT = 19090
WAITS = re.compile(r"^( +for:) \w+$", re.M)


@contextmanager
def prometheus(node: Node, folder: Path, targets: Sequence[str] = (METRICS,), waits: str | None = None) -> Iterator[None]:
    """In the node's namespace, with the configuration and the rules as they are, in a hurry: a scrape each second, and `waits` in place of
    what each alert waits for. No expression changes."""
    rules = (DEPLOY / "prometheus/alerts.yaml").read_text()
    (folder / "alerts.yaml").write_text(rules if waits is None else WAITS.sub(rf"\1 {waits}", rules))
    config = (DEPLOY / "prometheus/prometheus.yaml").read_text()
    assert "scrape_interval: 15s" in config and f'["{METRICS}"]' in config
    config = config.replace("scrape_interval: 15s", "scrape_interval: 1s\n  evaluation_interval: 1s")
    (folder / "prometheus.yaml").write_text(config.replace(f'["{METRICS}"]', json.dumps(list(targets))))
    shutil.rmtree(folder / "data", ignore_errors=True)
    with open(folder / "log", "wb") as log, kernel.inside(node.namespace):
        process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
                                    f"--web.listen-address=127.0.0.1:{PORT}"],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder)
    try:
        yield
    except AssertionError:
        print((folder / "log").read_text()[-4000:])
        raise
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def ask(node: Node, path: str) -> Any:
    try:
        with kernel.inside(node.namespace):
            connection = socket.create_connection(("127.0.0.1", PORT), timeout=10)
        with connection:
            connection.sendall(f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
            text = b"".join(iter(lambda: connection.recv(65536), b""))
        return json.loads(text.partition(b"\r\n\r\n")[2])["data"]
    except (OSError, ValueError, KeyError):
        return None  # not up yet


def results(node: Node, expression: str) -> list[dict[str, Any]] | None:
    """The series of an answer; None: Prometheus refuses the question, or does not answer."""
    data = ask(node, f"/api/v1/query?query={urllib.parse.quote(expression)}")
    return None if data is None else list(data["result"])


def query(node: Node, expression: str) -> dict[str, float]:
    """By rail."""
    return {each["metric"].get("rail", ""): float(each["value"][1]) for each in results(node, expression) or []}


def firing(node: Node) -> set[tuple[str, str]] | None:
    """Alerts that fire, each with the instance; None: no answer."""
    data = ask(node, "/api/v1/alerts")
    return None if data is None else {(a["labels"]["alertname"], a["labels"].get("instance", "")) for a in data["alerts"]
                                      if a["state"] == "firing"}


def dashboard_queries() -> list[str]:
    """Of every panel, with all values of each variable."""
    found = []
    for file in sorted((DEPLOY / "grafana").glob("*.json")):
        for panel in json.loads(file.read_text())["panels"]:
            found += [re.sub(r"\$(instance|rail|tenant)", ".*", target["expr"].replace("$__rate_interval", "15s")) for target in panel["targets"]]
    return found


@contextmanager
def served(node: Node, port: int, page: Callable[[], str]) -> Iterator[None]:
    """Serves /metrics on the node's loopback, for Prometheus to scrape. A page that cannot be made is answered with 503."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:  # noqa: N802  the library's name
            try:
                status, text = 200, page()
            except Exception as error:  # noqa: BLE001  whatever it is, Prometheus is told
                status, text = 503, f"{error}\n"
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text.encode())

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler, bind_and_activate=False)
    server.daemon_threads = True
    server.socket.close()
    with kernel.inside(node.namespace):
        server.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    server.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.server_bind()
    server.server_activate()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
