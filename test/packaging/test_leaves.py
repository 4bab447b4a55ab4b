"""The configurations of leaves (deploy/leaves): what a machine can check of each maker's, and that all of them say the same."""

import ipaddress
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

LEAVES = Path(__file__).resolve().parents[2] / "deploy/leaves"
sys.path.insert(0, str(LEAVES))

from railcni_leaves import makers, site  # noqa: E402  the path above comes first
from railcni_leaves.leaf import EVPN, FRONT, VRF, Leaf, of_family  # noqa: E402

SITE = site.read(LEAVES / "site.json")
BY_NAME = {leaf.name: leaf for leaf in SITE.leaves}
EACH = pytest.mark.parametrize("leaf", SITE.leaves, ids=list(BY_NAME))


def text(folder: str, leaf: Leaf, ending: str) -> str:
    return (LEAVES / folder / f"{leaf.name}.{ending}").read_text()


def everything(leaf: Leaf) -> dict[str, str]:
    return {"frr": text("frr", leaf, "conf"), "sonic": text("sonic", leaf, "frr.conf"), "cumulus": text("cumulus", leaf, "yaml"),
            "eos": text("eos", leaf, "conf"), "junos": text("junos", leaf, "set")}


# --- the generator ------------------------------------------------------------------------------------------------------


def generate(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([LEAVES / "generate.py", *words], capture_output=True, text=True, timeout=240, check=False)


def test_what_is_published_is_what_the_generator_makes(tmp_path: Path) -> None:
    assert generate("--check").returncode == 0
    assert generate("--to", str(tmp_path)).returncode == 0 and generate("--to", str(tmp_path), "--check").returncode == 0
    changed = tmp_path / "eos/rail0.conf"
    changed.write_text(changed.read_text().replace("ge 32", "ge 24"))
    (tmp_path / "frr/old.conf").write_text("")
    found = generate("--to", str(tmp_path), "--check")
    assert found.returncode == 1 and "eos/rail0.conf is not what" in found.stderr and "frr/old.conf" in found.stderr


def without(key: str, value: Any) -> dict[str, Any]:
    """site.json with one value of it changed; `key` is a path such as leaves.0.asn."""
    top = json.loads((LEAVES / "site.json").read_text())
    at: Any = top
    *way, last = [int(word) if word.isdigit() else word for word in key.split(".")]
    for word in way:
        at = at[word]
    at[last] = value
    return top


@pytest.mark.parametrize(("key", "value", "words"), [
    ("leaves.0.colour", "red", "leaves[0].colour: unknown key"),
    ("leaves.0.role", "leaf", "leaves[0].role: must be one of rail, front, vrf"),
    ("leaves.0.asn", 0, "leaves[0].asn: must be a number from 1 to 4294967295"),
    ("leaves.0.asn", True, "leaves[0].asn: must be a number"),
    ("leaves.0.accept", ["10.0.0.1/16"], "leaves[0].accept: '10.0.0.1/16' is no prefix"),
    ("leaves.0.accept", ["10.0.0.0/24"], "leaves[0].nodes: the block 10.0.1.0/24 of gpu01 is in none of leaves[0].accept"),
    ("leaves.0.nodes.1.port", 1, "leaves[0]: port 1 is there twice"),
    ("leaves.0.nodes.1.node", "gpu 2\nrouter bgp 1", "leaves[0].nodes[1].node: must be a name"),
    ("leaves.1.name", "rail0", "leaves: rail0 is there twice"),
    ("leaves.2.tenants.1.vlan", 101, "leaves[2].tenants: vlan 101 is there twice"),
    ("leaves.2.tenants.1.vlan", 4095, "leaves[2].tenants[1].vlan: must be a number from 1 to 4094"),
    ("leaves.2.tenants.1.name", "a-name-too-long", "leaves[2].tenants[1].name: must be"),
    ("leaves.2.between", "mpls", "leaves[2].between: must be one of evpn, vrf-lite"),
    ("leaves.3.between", "evpn", "leaves[3].vtep: is missing"),
    ("roce.cnp_dscp", 26, "roce: RoCE and CNP need a DSCP and a priority each"),
    ("node_asns", "2-1", "node_asns: must be FIRST-LAST"),
])
def test_a_site_that_is_wrong_is_refused_by_the_key(tmp_path: Path, key: str, value: Any, words: str) -> None:
    file = tmp_path / "site.json"
    file.write_text(json.dumps(without(key, value)))
    done = generate("--site", str(file), "--to", str(tmp_path / "out"))
    assert done.returncode == 1 and words in done.stderr and not (tmp_path / "out").exists()


# --- each maker ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", sorted([*LEAVES.glob("frr/*.conf"), *LEAVES.glob("sonic/*.frr.conf")]), ids=lambda f: f"{f.parent.name}-{f.name}")
def test_vtysh_knows_every_line(file: Path, tmp_path: Path) -> None:
    assert shutil.which("vtysh"), "Debian package frr"
    good = subprocess.run(["vtysh", "-C", "-f", file], capture_output=True, text=True, timeout=120, check=False)
    assert good.returncode == 0, good.stdout + good.stderr
    bad = tmp_path / "bad.conf"
    bad.write_text(file.read_text().replace("graceful-restart-helper", "graceful-restart-helpers").replace("advertise-all-vni", "advertise-all-vnis"))
    assert subprocess.run(["vtysh", "-C", "-f", bad], capture_output=True, timeout=120, check=False).returncode != 0, "it checks nothing"


@pytest.mark.parametrize("leaf", [leaf for leaf in SITE.leaves if leaf.role == VRF], ids=lambda leaf: leaf.name)
def test_the_links_of_tenants_are_what_ip_takes(leaf: Leaf) -> None:
    lines = text("frr", leaf, "ip").splitlines()
    made = {words[words.index("name") + 1] if "name" in words else words[2]
            for words in (line.split() for line in lines) if words[:2] == ["link", "add"]}
    assert all(len(name) <= 15 for name in made)
    for words in (line.split() for line in lines):
        assert words[:2] in (["link", "add"], ["link", "set"], ["addr", "add"]), words
        if words[:2] == ["link", "set"]:
            assert words[2] in made
    neighbours = set(re.findall(r"neighbor (\S+\.\d+) interface", text("frr", leaf, "conf")))
    assert neighbours and neighbours <= made


@EACH
def test_sonic_refers_to_nothing_that_is_not_there(leaf: Leaf) -> None:
    tables = json.loads(text("sonic", leaf, "config_db.json"))
    assert tables["DEVICE_METADATA"]["localhost"]["docker_routing_config_mode"] == "split-unified"
    ports = set(tables["PORT"])
    names = [name for table in tables.values() for name, fields in table.items()]
    for table, fields in tables.items():
        for key, row in fields.items():
            assert all(isinstance(value, str) for value in row.values()), f"{table}|{key}: SONiC's fields are strings"
    if leaf.role == VRF:
        for name, row in tables["VLAN_SUB_INTERFACE"].items():
            assert len(name) <= 15 and row["vrf_name"] in tables["VRF"] and name.endswith(f".{row['vlan']}")
            assert f"neighbor {name} interface peer-group" in text("sonic", leaf, "frr.conf")
        for name in tables["VRF"]:
            assert name.startswith("Vrf") and f"router bgp {leaf.asn} vrf {name}" in text("sonic", leaf, "frr.conf")
        if leaf.between == EVPN:
            for key, row in tables["VXLAN_TUNNEL_MAP"].items():
                assert key.split("|")[0] in tables["VXLAN_TUNNEL"] and row["vlan"] in tables["VLAN"] and row["vlan"] in tables["VLAN_INTERFACE"]
    if leaf.role == FRONT:
        return
    assert set(tables["PORT_QOS_MAP"]) == ports == set(tables["PFC_WD"]) - {"GLOBAL"}
    maps = {"dscp_to_tc_map": "DSCP_TO_TC_MAP", "tc_to_queue_map": "TC_TO_QUEUE_MAP", "tc_to_pg_map": "TC_TO_PRIORITY_GROUP_MAP",
            "pfc_to_queue_map": "MAP_PFC_PRIORITY_TO_QUEUE", "pfc_to_pg_map": "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP"}
    for row in tables["PORT_QOS_MAP"].values():
        assert all(row[field] in tables[table] for field, table in maps.items()) and row["pfc_enable"] == "3"
    for key, row in tables["QUEUE"].items():
        assert key.split("|")[0] in ports and row["scheduler"] in tables["SCHEDULER"]
        assert ("wred_profile" in row) == key.endswith("|3") and row.get("wred_profile", "RAILCNI-lossless") in tables["WRED_PROFILE"]
    assert names


def lists(leaf: Leaf) -> dict[str, list[str]]:
    """Prefix lists of a neighbor that is a node -> the ranges of which it lets host routes in."""
    if leaf.role == VRF:
        return {t.name: list(t.accept) for t in leaf.tenants}
    return {"NODES": list(leaf.accept)} | {f"NODE-{n.node}": list(n.blocks) for n in leaf.nodes if n.blocks}


@EACH
def test_nvue_is_yaml_and_its_neighbours_have_their_lists(leaf: Leaf) -> None:
    tree = yaml.safe_load(text("cumulus", leaf, "yaml"))[0]["set"]
    policies = tree["router"]["policy"]["prefix-list"]
    for name, ranges in lists(leaf).items():
        for version in (4, 6):
            rules = policies[f"RAILCNI-{name}-v{version}"]
            length = 128 if version == 6 else 32
            assert rules["type"] == f"ipv{version}"
            found = {p: limits for rule in rules["rule"].values() for p, limits in rule["match"].items()}
            assert list(found) == of_family(tuple(ranges), version)
            for prefix, limits in found.items():
                whole = ipaddress.ip_network(prefix).prefixlen == length
                assert limits == ({} if whole else {"min-prefix-len": length, "max-prefix-len": length})
    vrfs = [t.name for t in leaf.tenants] or ["default"]
    for vrf in vrfs:
        bgp = tree["vrf"][vrf]["router"]["bgp"]
        assert set(bgp["neighbor"]) <= set(tree["interface"])
        for version in (4, 6):
            group = bgp["peer-group"]["NODES"]["address-family"][f"ipv{version}-unicast"]
            assert group["policy"]["inbound"]["prefix-list"] in policies and group["prefix-limits"]["inbound"]["maximum"] == leaf.max_prefixes
            assert group["community-advertise"]["large"] is True  # `on`
    assert tree["router"]["bgp"]["graceful-restart"]["mode"] == "helper-only"
    assert (leaf.role == FRONT) == ("qos" not in tree)


@EACH
def test_eos_names_only_what_it_has_defined(leaf: Leaf) -> None:
    conf = text("eos", leaf, "conf")
    lines = conf.splitlines()
    assert lines[-1] == "end" and all((len(line) - len(line.lstrip())) % 3 == 0 and "\t" not in line for line in lines)
    for family in ("ip", "ipv6"):
        defined = set(re.findall(rf"^{family} prefix-list (\S+)$", conf, re.M))
        assert {f"RAILCNI-{name}" for name in lists(leaf)} <= defined
        assert set(re.findall(rf"match {family} address prefix-list (\S+)$", conf, re.M)) == defined
    assert set(re.findall(r"route-map (\S+) (?:in|out)$", conf, re.M)) <= set(re.findall(r"^route-map (\S+) permit", conf, re.M))
    assert set(re.findall(r"peer-filter (\S+)$", conf, re.M)) <= set(re.findall(r"^peer-filter (\S+)$", conf, re.M))
    groups = set(re.findall(r"^ +neighbor (\S+) peer group$", conf, re.M))
    assert set(re.findall(r"neighbor interface \S+ peer-group (\S+)", conf)) <= groups
    assert set(re.findall(r"neighbor interface (\S+)", conf)) <= set(re.findall(r"^interface (\S+)$", conf, re.M))
    assert set(re.findall(r"service-profile (\S+)$", conf, re.M)) == set(re.findall(r"^qos profile (\S+)$", conf, re.M))
    nodes = {g for g in groups if g.startswith("RAILCNI-")}
    for group in nodes:
        assert f"neighbor {group} maximum-routes {leaf.max_prefixes}\n" in conf
        assert conf.count(f"neighbor {group} route-map {group} in\n") == 2
        assert conf.count(f"route-map {group} permit") == 2, "what no entry matches is denied"
    assert nodes and "   graceful-restart-helper\n" in conf and "missing-policy direction in action deny" in conf


@EACH
def test_junos_is_set_lines_that_name_only_what_they_define(leaf: Leaf) -> None:
    conf = text("junos", leaf, "set")
    for line in conf.splitlines():
        assert re.fullmatch(r"set [a-z-]+( (\[|\]|[\w./:|-]+))+", line) and line.count("[") == line.count("]"), line
    policies = set(re.findall(r"policy-statement (\S+)", conf))
    assert {f"RAILCNI-{name}" for name in lists(leaf)} <= policies
    assert set(re.findall(r"bgp group \S+ (?:import|export) (\S+)", conf)) <= policies
    assert set(re.findall(r"peer-as-list (\S+)", conf)) <= set(re.findall(r"as-list (\S+) members", conf))
    for group in {g for g in re.findall(r"bgp group (RAILCNI-\S+)", conf)}:
        assert f"group {group} import {group}\n" in conf
        for family in ("inet", "inet6"):
            assert f"group {group} family {family} unicast accepted-prefix-limit maximum {leaf.max_prefixes}\n" in conf
    units = {f"{name}.{unit}" for name, unit in re.findall(r"set interfaces (\S+) unit (\d+)", conf)}
    assert set(re.findall(r"peer-auto-discovery interface (\S+)", conf)) <= units
    for name in policies - {"RAILCNI-ECMP"}:
        assert f"policy-statement {name} term rest then reject\n" in conf
    classes = set(re.findall(r"forwarding-classes class (\S+)", conf)) | {"best-effort", "network-control"}
    assert set(re.findall(r"forwarding-class (\S+)", conf)) <= classes


# --- all of them say the same -------------------------------------------------------------------------------------------


@EACH
def test_every_maker_has_every_range_and_bound(leaf: Leaf) -> None:
    for maker, conf in everything(leaf).items():
        for ranges in lists(leaf).values():
            for prefix in ranges:
                assert f"{prefix}" in conf, f"{maker}: {prefix}"
        assert str(leaf.max_prefixes) in conf, maker
        for node in leaf.nodes:
            assert node.node in conf, f"{maker}: {node.node}"


@pytest.mark.parametrize("leaf", [leaf for leaf in SITE.leaves if leaf.role != FRONT], ids=lambda leaf: leaf.name)
def test_roce_is_lossless_and_marked_and_cnp_comes_first(leaf: Leaf) -> None:
    db = json.loads(text("sonic", leaf, "config_db.json"))
    classes = db["DSCP_TO_TC_MAP"]["RAILCNI"]
    assert (classes["26"], classes["48"]) == ("3", "6") and {v for k, v in classes.items() if k not in ("26", "48")} == {"0"} and len(classes) == 64
    assert db["WRED_PROFILE"]["RAILCNI-lossless"]["ecn"] == "ecn_all" and db["SCHEDULER"]["RAILCNI-cnp"] == {"type": "STRICT"}
    eos = text("eos", leaf, "conf")
    for line in ("qos map dscp 26 to traffic-class 3", "qos map dscp 48 to traffic-class 6", "   priority-flow-control priority 3 no-drop"):
        assert f"{line}\n" in eos
    assert eos.count("   service-profile RAILCNI-ROCE\n") == len(leaf.nodes) + len(leaf.fabric)
    junos = text("junos", leaf, "set")
    assert "code-points 011010\n" in junos and "code-points 110000\n" in junos and "input dscp code-point 011010 pfc\n" in junos
    assert junos.count("congestion-notification-profile RAILCNI\n") == len(leaf.nodes) + len(leaf.fabric)


def test_each_leaf_has_a_file_of_each_maker() -> None:
    made = makers.files(SITE)
    for name in BY_NAME:
        assert {f.split("/")[0] for f in made if Path(f).name.startswith(f"{name}.")} == {"frr", "sonic", "cumulus", "eos", "junos"}
