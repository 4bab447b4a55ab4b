"""site.json: the description of a site. Strict: an unknown key, a duplicate, a wrong type or a contradiction is an error."""

from __future__ import annotations

import ipaddress
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
RAIL = re.compile(r"[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?")  # as in node.json (lib/config)
LINK = re.compile(r"[^/:\s]{1,15}")
PCI = re.compile(r"(?:[0-9a-f]{4}|[1-9a-f][0-9a-f]{4,7}):[0-9a-f]{2}:[01][0-9a-f]\.[0-7]")  # as lib/base/pci_address.h
DOMAIN = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
HEX = re.compile(r"[0-9a-f]{4}")
WORD = re.compile(r"\S+")
IPAMS = ("nv-ipam", "whereabouts", "host-local")


class SiteError(Exception):
    """Every problem of the file, each with the key that has it."""


@dataclass(frozen=True)
class Rail:
    index: int
    name: str
    pf: str  # a link's name or a PCI address
    bridge: str
    subnet: ipaddress.IPv4Network
    place: tuple[int, int] | None = None  # which plane of which rail it is: rail, plane

    @property
    def selector(self) -> tuple[str, str]:
        """How a device plugin and the operator find the PF."""
        return ("rootDevices" if PCI.fullmatch(self.pf) else "pfNames"), self.pf


@dataclass(frozen=True)
class Site:
    rails: tuple[Rail, ...]
    sizes: tuple[int, ...]
    mtu: int
    wait_ms: int
    networks_namespace: str
    resource_prefix: str
    ipam: tuple[str, ...]
    node_prefix: int
    nv_ipam_namespace: str
    plugin_namespace: str
    vendor: str
    devices: tuple[str, ...]
    operator_namespace: str
    num_vfs: int
    node_label: str
    team: str
    pod_image: str
    job_image: str
    job_nodes: int
    gpus: int
    units: tuple[str, ...]  # names of scalable units, as their nodes' labels have them

    def resource(self, rail: Rail) -> str:
        return f"{self.resource_prefix}/{rail.name}"

    def accept(self) -> list[str]:
        """The prefixes of all rails, as short as they can be said: what may be learned from a leaf."""
        return [str(net) for net in ipaddress.collapse_addresses(rail.subnet for rail in self.rails)]


class Reader:
    """An object of the file. Every key must be asked for; what is left at the end is unknown."""

    def __init__(self, value: Any, path: str, problems: list[str]) -> None:
        self.path, self.problems, self.asked = path, problems, set[str]()
        if not isinstance(value, dict):
            problems.append(f"{path or 'the file'}: must be an object")
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}

    def at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key

    def take(self, key: str) -> Any:
        self.asked.add(key)
        if key not in self.value:
            self.problems.append(f"{self.at(key)}: is required")
        return self.value.get(key)

    def text(self, key: str, form: re.Pattern[str], rule: str) -> str:
        value = self.take(key)
        if isinstance(value, str) and form.fullmatch(value):
            return value
        if value is not None:
            self.problems.append(f"{self.at(key)}: must be {rule}")
        return ""

    def number(self, key: str, low: int, high: int) -> int:
        value = self.take(key)
        if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
            return value
        if value is not None:
            self.problems.append(f"{self.at(key)}: must be a whole number from {low} to {high}")
        return low

    def array(self, key: str) -> list[Any]:
        value = self.take(key)
        if isinstance(value, list) and value:
            return value
        if value is not None:
            self.problems.append(f"{self.at(key)}: must be a list with at least one member")
        return []

    def has(self, key: str) -> bool:
        return key in self.value

    def below(self, key: str) -> Reader:
        return Reader(self.take(key) or {}, self.at(key), self.problems)

    def end(self) -> None:
        self.problems += [f"{self.at(key)}: unknown key" for key in self.value if key not in self.asked]


def read(path: Path) -> Site:
    problems: list[str] = []
    try:
        text = path.read_text(encoding="utf-8")
        value = json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, problems))
    except (OSError, ValueError) as error:
        raise SiteError(f"{path} cannot be read: {error}") from error
    site = _site(Reader(value, "", problems), problems)
    if problems:
        raise SiteError(f"{path}: {'; '.join(problems)}")
    return site


def _once(pairs: list[tuple[str, Any]], problems: list[str]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    problems += [f"{key}: is there twice" for key in sorted({key for key in keys if keys.count(key) > 1})]
    return dict(pairs)


def _site(top: Reader, problems: list[str]) -> Site:
    rails = tuple(_rail(index, Reader(value, f"rails[{index}]", problems)) for index, value in enumerate(top.array("rails")))
    for key in ("name", "pf", "bridge"):
        values = [getattr(rail, key) for rail in rails]
        problems += [f"rails[{i}].{key}: {v} is another rail's, too" for i, v in enumerate(values) if v and v in values[:i]]
    problems += [f"rails[{b.index}].subnet: {b.subnet} overlaps that of {a.name}"
                 for b in rails for a in rails[:b.index] if a.subnet.overlaps(b.subnet)]
    places = [rail.place for rail in rails]
    problems += [f"rails[{i}]: plane {p[1]} of rail {p[0]} is another rail's, too" for i, p in enumerate(places) if p and p in places[:i]]
    if any(places) and not all(places):
        problems.append("rails: \"rail\" and \"plane\" are there for some and not for others")
    sizes = tuple(top.array("sizes"))
    problems += [f"sizes: {size!r} must be a whole number from 1 to {len(rails)}, the number of rails" for size in sizes
                 if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= len(rails)]
    ipam = tuple(top.array("ipam"))
    problems += [f"ipam: {kind!r} must be one of {', '.join(IPAMS)}" for kind in ipam if kind not in IPAMS]
    nv_ipam, plugin, operator, examples = (top.below(key) for key in ("nv_ipam", "device_plugin", "sriov_operator", "examples"))
    devices = tuple(plugin.array("devices"))
    problems += [f"device_plugin.devices: {d!r} must be four hexadecimal digits" for d in devices
                 if not (isinstance(d, str) and HEX.fullmatch(d))]
    name = "a name of a-z, 0-9 and -"
    site = Site(
        rails=rails, sizes=sizes, ipam=ipam, devices=devices,
        mtu=top.number("mtu", 1280, 9600),
        wait_ms=top.number("wait_ms", 0, 20000),
        networks_namespace=top.text("networks_namespace", LABEL, name),
        resource_prefix=top.text("resource_prefix", DOMAIN, "a domain name"),
        node_prefix=top.number("node_prefix", 8, 30),
        nv_ipam_namespace=nv_ipam.text("namespace", LABEL, name),
        plugin_namespace=plugin.text("namespace", LABEL, name),
        vendor=plugin.text("vendor", HEX, "four hexadecimal digits"),
        operator_namespace=operator.text("namespace", LABEL, name),
        num_vfs=operator.number("num_vfs", 1, 1024),
        node_label=operator.text("node_label", WORD, "a label's key"),
        team=examples.text("namespace", LABEL, name),
        pod_image=examples.text("pod_image", WORD, "an image"),
        job_image=examples.text("job_image", WORD, "an image"),
        job_nodes=examples.number("job_nodes", 2, 16),
        gpus=examples.number("gpus", 1, 16),
        units=tuple(examples.array("units")))
    problems += [f"node_prefix: /{site.node_prefix} is no part of rails[{r.index}].subnet {r.subnet}" for r in rails
                 if site.node_prefix <= r.subnet.prefixlen]
    problems += [f"examples.units: {unit!r} must be the value of a label, in lower case" for unit in site.units
                 if not isinstance(unit, str) or not LABEL.fullmatch(unit)]
    problems += [f"examples.units: {unit!r} is there twice" for i, unit in enumerate(site.units) if unit in site.units[:i]]
    for reader in (top, nv_ipam, plugin, operator, examples):
        reader.end()
    return site


def _rail(index: int, one: Reader) -> Rail:
    name = one.text("name", RAIL, "1..15 of a-z, 0-9, -, as in node.json")
    pf = one.text("pf", re.compile(f"{PCI.pattern}|{LINK.pattern}"), "a link's name or a PCI address such as 0000:3b:00.0")
    bridge = one.text("bridge", LINK, "a link's name of at most 15 bytes")
    text = one.take("subnet")
    subnet = ipaddress.IPv4Network("0.0.0.0/32")
    try:
        subnet = ipaddress.IPv4Network(text)
    except ValueError:
        one.problems.append(f"{one.at('subnet')}: must be an IPv4 prefix without host bits")
    place = None
    if one.has("rail") or one.has("plane"):
        place = one.number("rail", 0, 99), one.number("plane", 0, 12)
    one.end()
    return Rail(index, name, pf, bridge, subnet, place)
