"""What a lab consists of: its names, numbers, folders and addresses. Touches nothing but its own folder."""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

COMMUNITY_ASN = 4200000000
CLUSTER = "lab"
DATAPATHS = ("netdev", "system")  # Open vSwitch's names: in userspace, or the kernel's, its rules offered to tc
MTU = 4200
REPOSITORY = Path(__file__).resolve().parents[3]
LEAVES = REPOSITORY / "deploy/leaves"


class LabError(Exception):
    """A sentence for the person in front of the lab."""


@dataclass(frozen=True)
class Shape:
    """How big the lab is."""

    nodes: int = 2
    rails: int = 2  # uplinks of a node: rails times planes
    spines: int = 1  # in each plane
    devices: int = 8  # per node and rail: as many pods fit
    datapath: str = DATAPATHS[0]
    frontend: bool = False  # two management links per node, to two leaves
    units: int = 1  # scalable units: each has a leaf for each rail, and an equal share of the nodes
    swaps: list[tuple[str, int, int]] = field(default_factory=list)  # a node and two rails whose cables are swapped
    planes: int = 1  # of each rail: an uplink, a leaf and spines of its own each

    def recabled(self) -> bool:
        """Whether the lab is about cabling: cables may be wrong from the start, or become so."""
        return self.units > 1 or bool(self.swaps)

    def check(self) -> None:
        for value, name, low, high in ((self.nodes, "--nodes", 1, 200), (self.rails, "--rails", 1, 16),
                                       (self.spines, "--spines", 0, 16), (self.units, "--units", 1, 16),
                                       (self.devices, "--devices", 1, 64), (self.planes, "--planes", 1, 8)):
            if not low <= value <= high:
                raise LabError(f"{name} {value} is out of range: {low} to {high}")
        if self.datapath not in DATAPATHS:
            raise LabError(f"--datapath {self.datapath!r} is unknown: {' or '.join(DATAPATHS)}")
        if self.rails % self.planes:
            raise LabError(f"{self.rails} uplinks are no whole number of rails with {self.planes} planes each")
        if self.nodes % self.units:
            raise LabError(f"--units {self.units}: {self.nodes} nodes cannot be shared out equally")
        for node, one, other in self.swaps:
            if int(node[1:]) not in range(1, self.nodes + 1) or one == other or max(one, other) >= self.rails:
                raise LabError(f"--swap {node}:{one},{other}: there is no such node, or there are no such two rails")
        if self.rails * self.units > 1 and self.spines == 0:
            raise LabError("--spines 0 leaves the rails' leaves unconnected: give one spine or more, or --rails 1")


@dataclass(frozen=True)
class Host:
    """A network namespace that runs daemons: a node, a leaf or a spine."""

    name: str
    namespace: str
    root: Path
    asn: int
    router_id: str

    @property
    def frr_dir(self) -> Path:
        return self.root / "run/frr"

    @property
    def ovs_dir(self) -> Path:
        return self.root / "run/openvswitch"

    @property
    def log_dir(self) -> Path:
        return self.root / "log"

    @property
    def pid_dir(self) -> Path:
        return self.root / "pid"


@dataclass(frozen=True)
class Node(Host):
    number: int = 0

    @property
    def config_file(self) -> Path:
        return self.root / "etc/railcni/node.json"

    @property
    def raild_socket(self) -> Path:
        return self.root / "run/railcni/raild.sock"

    @property
    def ipam_dir(self) -> Path:
        return self.root / "var/lib/cni/networks"


def plane_of(shape: Shape, rail: int) -> int:
    return rail % shape.planes


def rail_name(shape: Shape, rail: int) -> str:
    """Of the uplink with this index: rail3, or rail1p1 where rails have planes."""
    return f"rail{rail}" if shape.planes == 1 else f"rail{rail // shape.planes}p{plane_of(shape, rail)}"


def bridge(rail: int) -> str:
    return f"br-rail{rail}"


def uplink(rail: int) -> str:
    """The node's end of the link to leaf `rail`: the PF of node.json."""
    return f"rail{rail}p"


def device(rail: int, index: int) -> str:
    return f"vf{rail}x{index}"


def representor(rail: int, index: int) -> str:
    return f"rep{rail}x{index}"


def subnets(rail: int, node: int) -> list[str]:
    """What a node's pods get their addresses from on a rail: IPv4, IPv6."""
    return [f"10.{rail}.{node}.0/24", f"fd52:4149:{rail:x}:{node:x}::/64"]


def rail_ranges(rail: int) -> list[str]:
    """What holds the subnets of all nodes on a rail, and of no other rail: IPv4, IPv6."""
    return [f"10.{rail}.0.0/16", f"fd52:4149:{rail:x}::/48"]


class Lab:
    """One lab, known by its prefix; several can run side by side."""

    def __init__(self, prefix: str, binaries: Path) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9]{0,11}", prefix):
            raise LabError(f"RAILCNI_LAB={prefix!r} is no lab name: a lower-case letter, then letters and digits, 12 at most")
        self.prefix = prefix
        self.folder = Path(f"/run/railcni-{prefix}")
        self.binaries = binaries

    @classmethod
    def from_environment(cls) -> Lab:
        return cls(os.environ.get("RAILCNI_LAB", "lab"), Path(os.environ.get("RAILCNI_BIN", REPOSITORY / "build/bin")))

    # Names

    def namespace(self, name: str) -> str:
        return f"{self.prefix}-{name}"

    def owns_namespace(self, namespace: str) -> bool:
        return re.fullmatch(rf"{self.prefix}-(n\d+|leaf\d+|spine\d+|fe\d+|pod-[a-z0-9-]+)", namespace) is not None

    def node(self, number: int) -> Node:
        return Node(f"n{number}", self.namespace(f"n{number}"), self.folder / f"n{number}", COMMUNITY_ASN + number,
                    f"10.255.0.{number}", number)

    def leaf(self, number: int) -> Host:
        """In a lab of one unit the leaf of that rail."""
        name = f"leaf{number}"
        return Host(name, self.namespace(name), self.folder / name, COMMUNITY_ASN + 10001 + number,
                    f"10.255.1.{number + 1}")

    def spine(self, number: int) -> Host:
        name = f"spine{number}"
        return Host(name, self.namespace(name), self.folder / name, COMMUNITY_ASN + 20001, f"10.255.2.{number + 1}")

    # The lab that is up

    @property
    def shape_file(self) -> Path:
        return self.folder / "lab.json"

    @property
    def pods_dir(self) -> Path:
        return self.folder / "pods"

    def create(self, shape: Shape) -> None:
        self.folder.mkdir(mode=0o755)
        self.pods_dir.mkdir()
        write_json(self.shape_file, asdict(shape))

    def shape(self) -> Shape:
        try:
            return Shape(**json.loads(self.shape_file.read_text()))
        except FileNotFoundError:
            raise LabError(f"no lab is up ({self.shape_file} is not there): run `lab up` first") from None

    def nodes(self) -> list[Node]:
        return [self.node(i + 1) for i in range(self.shape().nodes)]

    def leaves(self) -> list[Host]:
        shape = self.shape()
        return [self.leaf(number) for number in range(shape.rails * shape.units)]

    def spines(self) -> list[Host]:
        shape = self.shape()
        return [self.spine(s) for s in range(shape.spines * shape.planes)]

    def fabric_links(self) -> list[tuple[Host, Host]]:
        """A leaf and a spine each: planes share no switch."""
        shape = self.shape()
        return [(leaf, spine) for number, leaf in enumerate(self.leaves()) for s, spine in enumerate(self.spines())
                if plane_of(shape, number % shape.rails) == s % shape.planes]

    def find_node(self, name: str) -> Node:
        nodes = self.nodes()
        for node in nodes:
            if node.name == name:
                return node
        raise LabError(f"no node {name!r} in this lab; there are: {', '.join(n.name for n in nodes)}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """One writer of the lab's folder at a time; never held while something is waited for."""
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def write_json(path: Path, value: object) -> None:
    """The whole file or the old one, never a part."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(value, indent=2) + "\n")
    temporary.rename(path)
