"""Who may include what. The table is the architecture: a line that must change here is a decision, not a detail."""

import re
from pathlib import Path

import tree

# lib folder -> the lib folders that it may include besides itself.
ALLOWED: dict[str, set[str]] = {
    "base": set(),
    "api": set(),
    "rpc": {"base"},
    "printing": {"base", "api"},
    "config": {"base"},
    "tenancy": {"base", "config"},
    "netlink": {"base"},
    "sriov": {"base", "netlink"},
    "qos": {"base", "config", "netlink", "sriov"},
    "pcie": {"base", "sriov"},
    "kubelet": {"base", "pcie"},
    "guard": {"base", "netlink"},
    "device": {"base", "config", "netlink", "sriov"},
    "podnet": {"base", "config", "netlink", "device"},
    "ovs": {"base"},
    "frr": {"base", "config", "tenancy"},
    "lldp": {"base"},
    "state": {"base", "tenancy"},
    "cni": {"base"},
    "engine": {"base", "config", "tenancy", "netlink", "qos", "sriov", "guard", "device", "podnet", "ovs", "frr", "state", "cni"},
    "counters": {"base", "config", "tenancy", "netlink", "sriov", "state", "engine"},
    "inspect": {"base", "config", "counters", "tenancy", "netlink", "qos", "sriov", "guard", "pcie", "podnet", "ovs", "frr", "state", "engine"},
    "event": {"base"},
    "fabric": {"base", "api"},
    "http": {"base", "event"},
    "kubernetes": {"base", "config", "tenancy"},
    "wire": {"base", "config", "tenancy", "netlink", "qos", "sriov", "guard", "device", "podnet", "ovs", "frr", "state", "event", "cni", "engine"},
}

# Inside a lib folder that has folders of its own ("": beside them): each may include itself and those before it.
INSIDE: dict[str, list[str]] = {
    "engine": ["attach", "learned", "", "repair"],
    "frr": ["bmp", ""],
}

# The interfaces: what others may see of a folder that talks to the kernel, OVS, FRR or a disk. Its other headers are the real
# thing (or its inside), which only a composition root may name: main.cc and wire.cc. A monitor is seen too: it is a
# descriptor for the daemon's loop to watch, and the descriptor is the seam.
INTERFACES: dict[str, set[str]] = {
    "netlink": {"netlink.h", "drop_rule.h", "vf.h", "dcb.h", "devlink.h", "devlink_monitor.h", "exits.h", "netns.h", "rates.h", "rdma.h", "monitor.h", "stats.h", "sysfs_view.h", "tcp_monitor.h", "text.h", "xdp.h"},
    "guard": {"guard.h"},
    "device": {"device.h"},
    "ovs": {"ovsdb.h", "db_monitor.h", "openflow.h", "flow_monitor.h", "rule.h", "vswitchd.h"},
    "frr": {"bgp.h", "config_rest.h", "session_down.h", "message.h", "update.h", "collector.h"},
    "podnet": {"podnet.h", "commands.h"},
    "state": {"store.h"},
}

# Real things that use another real thing on purpose: (folder, header) -> why.
KNOWN_REAL = {
    ("engine", "lib/frr/echo.h"): "its types, for an opener; the function itself is named in wire.cc alone",
    ("podnet", "lib/netlink/kernel.h"): "each call opens the kernel on a thread inside the pod; an interface cannot be handed in",
}

WIRE = "lib/wire/"  # the composition root that the plugins and the daemon share; seen by their main.cc alone
PLUGINS_NEVER_INSIDE = ("lib/frr/bmp/", "lib/engine/repair/", "lib/engine/learned/", "lib/engine/view.h", "lib/engine/part.h")  # raild's; nor wire.cc, which they link
PLUGINS_NEVER = {"api", "fabric", "rpc", "printing", "event", "counters", "http", "inspect", "kubernetes", "kubelet", "pcie", "lldp"}  # the daemon's
COMPOSITION_ROOTS = {"main.cc", "wire.cc"}

# Slow to compile, or a dependency that must stay in one file: never in a header of ours.
NOT_IN_HEADERS = ("nlohmann/json.hpp", "spdlog/", "CLI/", "grpc/", "grpcpp/", "asio", "google/protobuf/", "sqlite3.h", "curl/",
                  "openvswitch/")
# A gRPC service is a class, and its generated base has to be seen where it is declared: in the daemon and the CLI only.
NOT_IN_HEADERS_BUT_IN_CMD = ("grpc/", "grpcpp/", "google/protobuf/")
# Their includers already are gRPC's: templates that servers share, with gRPC's reactor as a base; channels and credentials, which are gRPC's types.
GRPC_HEADERS = ("lib/kubelet/watches.h", "lib/rpc/")
WITHOUT_PROTOBUF = ("attach", "learned")  # of lib/engine: what plugins link
NOT_IN_PLUGINS = ("grpc/", "grpcpp/", "google/protobuf/", "CLI/", "asio")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def check(root: Path) -> list[str]:
    found = []
    for name in tree.files(root):
        if not tree.is_cpp(name) or not name.startswith(("lib/", "plugins/", "cmd/")):
            continue
        content = tree.text(root, name)
        for match in INCLUDE.finditer(content):
            line = content.count("\n", 0, match.start()) + 1
            problem = _problem(name, match[2], quoted=match[1] == '"')
            if problem:
                found.append(f"{name}:{line}: {problem}")
        folder = _folder(name)
        if name.startswith("lib/") and folder not in ALLOWED and folder != "cmake":
            found.append(f"{name}:1: lib/{folder} is not in the table of test/lint/layers.py: say there what it may include")
    return found


def _folder(name: str) -> str:
    parts = name.split("/")
    return parts[1] if len(parts) > 2 else ""


def _problem(name: str, include: str, *, quoted: bool) -> str:
    ours = include.startswith(("lib/", "plugins/", "cmd/"))
    if not ours:
        return _third_party(name, include, quoted)
    if "/testing/" in include and not tree.is_test(name):
        return f"product code includes the test double {include}"
    if tree.is_test(name):
        return ""
    if name.startswith(("plugins/", WIRE)) and include.startswith(PLUGINS_NEVER_INSIDE):
        return f"a plugin would link {include}: that is raild's"
    if name.startswith("lib/"):
        return _from_lib(name, include)
    if include.startswith("lib/"):
        if name.startswith("plugins/") and _folder(include) in PLUGINS_NEVER:
            return f"a plugin includes {include}: lib/{_folder(include)} belongs to the daemon"
        return _real(name, include)
    if include.split("/")[:2] != name.split("/")[:2]:
        return f"{'/'.join(name.split('/')[:2])} includes {include}: programs and plugins share code through lib/ only"
    return ""


def _from_lib(name: str, include: str) -> str:
    if not include.startswith("lib/"):
        return f"lib includes {include}: lib never depends on a program or a plugin"
    here, there = _folder(name), _folder(include)
    if here == there:
        return _inside(here, name, include)
    if here not in ALLOWED:
        return ""
    if there not in ALLOWED[here]:
        may = ", ".join(sorted(ALLOWED[here])) or "nothing of ours"
        return f"lib/{here} includes {include}; it may include: {may}"
    return _real(name, include)


def _inside(folder: str, name: str, include: str) -> str:
    order = INSIDE.get(folder)
    if order is None:
        return ""
    here, there = (each.split("/")[2] if each.count("/") > 2 else "" for each in (name, include))
    for part in (here, there):
        if part not in order:
            return f"lib/{folder}/{part} is not in the order of test/lint/layers.py: say there what it may include"
    if order.index(there) > order.index(here):
        return f"lib/{folder}/{here or '(beside)'} includes {include}; the order is {', '.join(each or '(beside)' for each in order)}"
    return ""


def _real(name: str, include: str) -> str:
    folder, header = _folder(include), include.split("/")[-1]
    if name.startswith(WIRE) or (name.startswith("lib/") and (_folder(name), include) in KNOWN_REAL):
        return ""
    if include.startswith(WIRE) and Path(name).name not in COMPOSITION_ROOTS:
        return f"includes {include}: only main.cc and wire.cc wire real implementations"
    if folder not in INTERFACES or header in INTERFACES[folder]:
        return ""
    if Path(name).name in COMPOSITION_ROOTS and name.startswith(("plugins/", "cmd/")):
        return ""
    seen = ", ".join(sorted(INTERFACES[folder]))
    return f"includes {include}; only main.cc and wire.cc name real implementations, others see lib/{folder}/: {seen}"


def _third_party(name: str, include: str, quoted: bool) -> str:
    if quoted and "/" not in include and not name.endswith(".c") and not include.endswith((".pb.h", ".inc")):
        return f'"{include}": includes of ours are written from the root ("lib/netlink/netlink.h")'
    if tree.is_test(name):
        return ""
    if name.startswith("plugins/") and (include.startswith(NOT_IN_PLUGINS) or include.endswith(".pb.h")):
        return f"a plugin includes {include}: plugins are static and take no gRPC, protobuf, CLI11 or asio"
    if name.startswith("lib/engine/") and name.split("/")[2] in WITHOUT_PROTOBUF and include.endswith(".pb.h"):
        return f"{include}: the plugins link lib/engine/{name.split('/')[2]}, and protobuf stays out of them"
    if name.endswith(".h") and include.startswith(NOT_IN_HEADERS):
        if (name.startswith("cmd/") or name.startswith(GRPC_HEADERS)) and include.startswith(NOT_IN_HEADERS_BUT_IN_CMD):
            return ""
        return f"{include} in a header: keep it in one .cc file"
    return ""
