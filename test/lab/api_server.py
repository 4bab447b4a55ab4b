"""An API server as far as raild needs one, at the same address of every node's loopback: namespaces with versions and watches, the
node's condition, events, ResourceSlices. For a real one see the cluster tier.

Use:     with ApiServer(lab.nodes) as api:
             api.label("tenant-a", "red");  ... node.json: "kubernetes": {"api": api.url} ...;  api.conditions["n1"]
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
import uuid
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from railcni_lab import kernel
from railcni_lab.layout import Host

PORT = 8001
KEY = "railcni.io/tenant"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"


class ApiServer:
    url = f"http://127.0.0.1:{PORT}"

    def __init__(self, nodes: Iterable[Host]) -> None:
        self.nodes = list(nodes)
        self.news = threading.Condition()
        self.version = 100
        self.namespaces: dict[str, dict[str, Any]] = {}
        self.changes: list[tuple[int, str, dict[str, Any]]] = []
        self.conditions: dict[str, dict[str, Any]] = {}
        self.labels: dict[str, dict[str, str]] = {}  # of nodes
        self.events: list[dict[str, Any]] = []
        self.slices: dict[str, dict[str, Any]] = {}  # of devices, by name
        self.requests: list[str] = []
        self.away = False
        self.ended = False
        self.open: set[socket.socket] = set()
        self.servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> ApiServer:
        for node in self.nodes:
            server = ThreadingHTTPServer(("127.0.0.1", PORT), self._handler(), bind_and_activate=False)
            server.daemon_threads = True
            with kernel.inside(node.namespace):
                server.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            server.allow_reuse_address = True
            server.server_bind()
            server.server_activate()
            threading.Thread(target=server.serve_forever, daemon=True).start()
            self.servers.append(server)
        return self

    def __exit__(self, *_: object) -> None:
        self.ended = True
        self.go_away()
        for server in self.servers:
            server.shutdown()
            server.server_close()

    def create(self, name: str, tenant: str | None = None, created: float | None = None) -> None:
        """Makes the namespace, or labels it: a new version, which every watch hears of."""
        with self.news:
            old = self.namespaces.get(name)
            stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(0 if created is None else created))
            self.version += 1
            labels = {} if tenant is None else {KEY: tenant}
            self.namespaces[name] = {"kind": "Namespace", "metadata": {
                "name": name, "resourceVersion": str(self.version), "labels": labels,
                "uid": old["metadata"]["uid"] if old else str(uuid.uuid4()),
                "creationTimestamp": old["metadata"]["creationTimestamp"] if old else stamp}}
            self._changed("MODIFIED" if old else "ADDED", self.namespaces[name])

    label = create

    def delete(self, name: str) -> None:
        with self.news:
            self.version += 1
            gone = self.namespaces.pop(name)
            gone["metadata"]["resourceVersion"] = str(self.version)
            self._changed("DELETED", gone)

    def go_away(self) -> None:
        """Ends every connection and answers nothing until come_back."""
        with self.news:
            self.away = True
            for s in self.open:
                with contextlib.suppress(OSError):
                    s.shutdown(socket.SHUT_RDWR)
            self.news.notify_all()

    def come_back(self) -> None:
        with self.news:
            self.away = False

    def _changed(self, kind: str, thing: dict[str, Any]) -> None:
        self.changes.append((self.version, kind, json.loads(json.dumps(thing))))
        self.news.notify_all()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def _begin(self) -> bool:
                with api.news:
                    api.requests.append(f"{self.command} {self.path}")
                    api.open.add(self.connection)
                    if api.away:
                        self.close_connection = True
                        self.connection.close()
                    return not api.away

            def _answer(self, status: int, body: dict[str, Any]) -> None:
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self) -> None:  # noqa: N802  the library's name
                if not self._begin():
                    return
                url = urlsplit(self.path)
                query = {key: values[0] for key, values in parse_qs(url.query).items()}
                if url.path.startswith("/api/v1/nodes/"):
                    name = url.path.rpartition("/")[2]
                    with api.news:
                        labels = dict(api.labels.get(name, {}))
                    self._answer(200, {"kind": "Node", "metadata": {"name": name, "uid": f"uid-{name}", "labels": labels}})
                elif url.path == "/apis/resource.k8s.io":
                    self._answer(200, {"kind": "APIGroup", "versions": [{"version": "v1"}]})
                elif url.path.startswith(SLICES):
                    with api.news:
                        self._answer(200, {"kind": "ResourceSliceList", "items": list(api.slices.values())})
                elif query.get("watch") == "true":
                    self._watch(int(query["resourceVersion"]))
                else:
                    with api.news:
                        listed = {"metadata": {"resourceVersion": str(api.version)}, "items": list(api.namespaces.values())}
                    self._answer(200, listed)

            def _watch(self, sent: int) -> None:
                self.close_connection = True
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                with contextlib.suppress(OSError):
                    while True:
                        with api.news:
                            api.news.wait_for(lambda: api.away or (api.changes and api.changes[-1][0] > sent))
                            if api.away:
                                return
                            fresh = [c for c in api.changes if c[0] > sent]
                        sent = fresh[-1][0]
                        for _, kind, thing in fresh:
                            line = json.dumps({"type": kind, "object": thing}).encode() + b"\n"
                            self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")

            def _body(self) -> dict[str, Any]:
                return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

            def do_PATCH(self) -> None:  # noqa: N802
                if self._begin():
                    body = self._body()
                    name = self.path.split("/")[4]
                    with api.news:
                        if self.path.endswith("/status"):
                            api.conditions[name] = body["status"]["conditions"][0]
                        labels = api.labels.setdefault(name, {})
                        for key, value in body.get("metadata", {}).get("labels", {}).items():  # RFC 7386: null removes
                            labels.pop(key, None)
                            if value is not None:
                                labels[key] = value
                    self._answer(200, {})

            def do_POST(self) -> None:  # noqa: N802
                if self._begin():
                    body = self._body()
                    if self.path.startswith(SLICES):
                        self._store(body)
                        return
                    with api.news:
                        api.events.append(body)
                    self._answer(201, {})

            def do_PUT(self) -> None:  # noqa: N802
                if self._begin():
                    self._store(self._body())

            def _store(self, piece: dict[str, Any]) -> None:
                with api.news:
                    api.version += 1
                    piece["metadata"] |= {"uid": f"uid-{piece['metadata']['name']}", "resourceVersion": str(api.version)}
                    api.slices[piece["metadata"]["name"]] = piece
                self._answer(201, piece)

            def do_DELETE(self) -> None:  # noqa: N802
                if self._begin():
                    with api.news:
                        api.slices.pop(urlsplit(self.path).path.rpartition("/")[2], None)
                    self._answer(200, {})

        return Handler
