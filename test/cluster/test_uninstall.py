"""The words of manifests/UNINSTALL.md: a node is what it was before RailCNI. The last file of the session that runs: nothing of RailCNI is left."""

import re

from conftest import PODS, Cost
from kube import Kube, eventually
from railcni_lab import kernel, vty
from railcni_lab.layout import REPOSITORY
from readme import blocks, manifests, run

PAGE = REPOSITORY / "manifests/UNINSTALL.md"


def labels(kube: Kube) -> set[str]:
    return {key for node in kube.items("nodes") for key in node["metadata"]["labels"] if key.startswith("railcni.io/")}


def test_the_words_of_the_page_give_every_node_back(resident: Kube, cost: Cost) -> None:
    folder = manifests(resident)
    for name, space, _ in PODS:
        resident.delete_pods(space, name)
    cost.nothing_left(resident)
    # What the page says where node.json has topology.labels, as it has after test_tenants.
    own = "overlays/uninstall-with-labels" if labels(resident) else "uninstall"
    for command in blocks(PAGE.read_text(), True):
        run(resident, command.replace("-k uninstall", f"-k {own}"), folder)
    assert not labels(resident)
    for node in resident.cluster.nodes():
        names = kernel.links(node.lab_node.namespace)
        assert not [n for n in names if n.startswith("br-rail")], f"{node.name} still has bridges: {names}"
        assert not resident.vsctl(node, "list-br"), f"Open vSwitch of {node.name} still has bridges"
        running = vty.show(node.lab_node.frr_dir, "show running-config")
        assert not re.search(r"^router bgp", running, re.M), f"bgpd of {node.name} is still configured:\n{running}"
        plugins = node.store / "opt-upper/cni/bin"
        left = [p for p in ("ovs-provider", "tenant-isolation", "frr-provider") if (plugins / p).is_file()]
        assert not left, f"{node.name} still has the plugins {left}"
        assert not (node.store / "var-lib-railcni/state.db").exists(), f"{node.name} still has its record"
    for rail in resident.rails:
        eventually(f"leaf {rail} knows of no pod", lambda r=rail: resident.leaf_prefixes(r), lambda found: not found)
