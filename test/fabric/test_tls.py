"""Mutual TLS on both sides of railfabric: to raild, and of those who ask it."""

from __future__ import annotations

import json
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fleet import PATIENCE, Process, World, eventually, start_fabric, start_fleet

HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\x04" + bytes(5)  # the preface, and empty settings


def openssl(*words: str) -> None:
    subprocess.run(["openssl", *words], capture_output=True, timeout=PATIENCE, check=True)


class Authority:
    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj", f"/CN={name}",
                "-keyout", self.key(name), "-out", self.cert(name))

    def sign(self, who: str) -> None:
        """For 127.0.0.1."""
        san = self.folder / "san"
        san.write_text("subjectAltName=IP:127.0.0.1\n")
        request = str(self.folder / f"{who}.csr")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", f"/CN={who}", "-keyout", self.key(who), "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.cert(self.name), "-CAkey", self.key(self.name), "-CAcreateserial", "-days", "1",
                "-extfile", str(san), "-out", self.cert(who))
        Path(self.key(who)).chmod(0o600)

    def key(self, who: str) -> str:
        return str(self.folder / f"{who}.key")

    def cert(self, who: str) -> str:
        return str(self.folder / f"{who}.crt")

    def files(self, who: str) -> dict[str, str]:
        return {"ca_file": self.cert(self.name), "cert_file": self.cert(who), "key_file": self.key(who)}

    def flags(self, who: str) -> list[str]:
        return ["--ca-file", self.cert(self.name), "--cert-file", self.cert(who), "--key-file", self.key(who)]


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@pytest.fixture(scope="module")
def nodes(short: Path) -> Authority:
    """Signs raild, and who may ask it."""
    authority = Authority(short, "nodes")
    authority.sign("raild")
    authority.sign("fabric-as-client")
    return authority


@pytest.fixture(scope="module")
def people(short: Path) -> Authority:
    """Signs railfabric, and who may ask it."""
    authority = Authority(short, "people")
    authority.sign("fabric")
    authority.sign("admin")
    return authority


@pytest.fixture(scope="module")
def fleet(short: Path, nodes: Authority) -> Iterator[Process]:
    process = start_fleet(short, 3, 0, *nodes.files("raild").values())
    yield process
    process.end()


@contextmanager
def serving(short: Path, fleet: Process, people: Authority, raild_tls: dict[str, str]) -> Iterator[World]:
    where = f"127.0.0.1:{free_port()}"
    fabric = start_fabric(short, {"listen": [where], "tls": people.files("fabric"), "nodes": json.loads((short / "nodes.json").read_text()), "raild_tls": raild_tls})
    try:
        world = World(short, fleet, fabric, ["--fabric", where, *people.flags("admin")])
        eventually(world.is_ready, "railfabric is ready")
        yield world
    finally:
        assert fabric.end() == 0


@pytest.fixture(scope="module")
def world(short: Path, fleet: Process, nodes: Authority, people: Authority) -> Iterator[World]:
    with serving(short, fleet, people, nodes.files("fabric-as-client")) as world:
        yield world


def test_certificates_of_both_authorities_are_served(world: World) -> None:
    assert {node["state"] for node in world.json("get", "nodes")["nodes"]} == {"FLEET_READY"}
    assert len(world.json("get", "nodes")["nodes"]) == 3


def test_who_has_no_certificate_is_told_nothing(world: World) -> None:
    host, port = world.ask[1].split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as plain:
        plain.sendall(HTTP2)
        assert said(plain)[:1] in (b"", b"\x15"), "nothing, or an alert of TLS"
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as raw:
        with pytest.raises((ssl.SSLError, ConnectionError)), context.wrap_socket(raw) as tls:
            tls.sendall(HTTP2)
            if tls.recv(1) == b"":
                raise ConnectionResetError  # closed without a word


def said(sock: socket.socket) -> bytes:
    try:
        return sock.recv(4096)
    except ConnectionError:
        return b""


def test_a_certificate_of_another_authority_is_refused(world: World, nodes: Authority, people: Authority) -> None:
    """It has people's authority for the server, and a certificate that people have not signed."""
    flags = ["--ca-file", people.cert("people"), "--cert-file", nodes.cert("fabric-as-client"), "--key-file", nodes.key("fabric-as-client")]
    refused = World(world.folder, world.fleet, world.fabric, ["--fabric", world.ask[1], *flags]).railctl("get", "nodes")
    assert refused.returncode == 1
    assert refused.stdout == ""
    other = World(world.folder, world.fleet, world.fabric, ["--fabric", world.ask[1], *nodes.flags("fabric-as-client")]).railctl("get", "nodes")
    assert other.returncode == 1, "railctl knows its server, too"


def test_raild_refuses_a_railfabric_of_another_authority(short: Path, fleet: Process, nodes: Authority, people: Authority) -> None:
    folder_files = {**people.files("admin"), "ca_file": nodes.cert("nodes")}
    with serving(short, fleet, people, folder_files) as world:
        found = world.json("get", "nodes")["nodes"]
        assert {node["state"] for node in found} == {"FLEET_UNHEARD"}
        assert all("raild at 127.0.0.1:" in node["problem"] for node in found)
        assert world.json("get", "rails")["rails"] == []


def test_files_that_are_wrong_keep_it_from_starting(short: Path, people: Authority) -> None:
    wrong = {**people.files("fabric"), "key_file": people.key("admin")}
    with pytest.raises(AssertionError, match="tls: the key .* is not that of the certificate"):
        start_fabric(short, {"listen": ["127.0.0.1:1"], "tls": wrong, "nodes": [{"name": "n1", "raild": "unix:/nowhere"}]})
