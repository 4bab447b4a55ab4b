"""ovs-provider after ovs-cni: its port and its addresses are adopted, and nothing of them is taken away on DEL.

The port, the device and the result are made the way ovs-cni makes them (pkg/plugin/plugin.go, pkg/ovsdb/ovsdb.go): representor
on the bridge with four external_ids, VF in the pod with IPAM's prefix, interfaces [representor, VF].
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from railcni_lab import kernel, pods
from railcni_lab.chain import Attachment, Chain, PluginError
from railcni_lab.layout import Node, bridge
from world import World, eventually

OWNER = "ovs-cni.network.kubevirt.io"
ADDRESS, LENGTH, GATEWAY = "10.0.1.200", 24, "10.0.1.1"


@dataclass(frozen=True)
class AfterOvsCni:
    world: World
    node: Node
    chain: Chain
    attachment: Attachment
    previous: dict[str, Any]
    representor: str

    def ip(self, *words: str) -> str:
        return subprocess.run(["nsenter", f"--net={self.attachment.netns}", "ip", *words], check=True, capture_output=True,
                              text=True, timeout=10).stdout

    def add(self) -> dict[str, Any]:
        result: dict[str, Any] | None = self.previous
        for plugin in self.chain.plugins:
            result = self.chain.execute("ADD", plugin, self.attachment, result)
        assert result is not None
        return result

    def each(self, verb: str, plugins: list[dict[str, Any]], previous: dict[str, Any] | None) -> None:
        for plugin in plugins:
            self.chain.execute(verb, plugin, self.attachment, previous)

    def delete(self) -> None:
        self.each("DEL", list(reversed(self.chain.plugins)), self.previous)

    def external_ids(self) -> dict[str, str]:
        _, pairs = json.loads(self.world.vsctl(self.node, "--format=json", "--data=json", "--columns=external_ids", "list", "Port",
                                               self.representor))["data"][0][0]
        return dict(pairs)

    def ids_of_ovs_cni(self) -> dict[str, str]:
        return {"contPodUid": self.attachment.args["K8S_POD_UID"], "contNetns": self.attachment.netns, "contIface": "net1",
                "owner": OWNER}


@pytest.fixture
def adopted(world: World) -> Iterator[AfterOvsCni]:
    lab, node = world.lab, world.lab.find_node("n1")
    pod = pods.add(lab, "kubevirt", "n1", "tenant-a", [0])
    attachment = pods.attachment(lab, pod, 0)
    chain = pods.chain(lab, node, 0)
    chain.delete(attachment)
    chain.version = "1.1.0"
    chain.plugins[0].pop("ipam")
    config = json.loads(node.config_file.read_text())
    representor = next(d["representor"] for d in config["rails"][0]["devices"] if d["device"] == pod.devices[0])
    namespace, vf = pods.namespace(lab, "kubevirt"), pod.devices[0]

    ids = {"contPodUid": pod.uid, "contNetns": attachment.netns, "contIface": "net1", "owner": OWNER}
    kernel.run(["ip", "-n", node.namespace, "link", "set", representor, "mtu", "4200", "up"])
    kernel.run(["ip", "-n", node.namespace, "link", "set", vf, "down"])
    kernel.run(["ip", "-n", node.namespace, "link", "set", vf, "netns", namespace, "name", "net1", "mtu", "4200"])
    kernel.run(["ip", "-n", namespace, "link", "set", "net1", "up"])
    kernel.run(["ip", "-n", namespace, "address", "add", f"{ADDRESS}/{LENGTH}", "dev", "net1"])
    world.vsctl(node, "add-port", bridge(0), representor, "--", "set", "Port", representor,
                *(f'external_ids:{k}="{v}"' for k, v in ids.items()))
    mac = json.loads(kernel.run(["ip", "-n", namespace, "-json", "link", "show", "dev", "net1"]))[0]["address"]
    rep_mac = json.loads(kernel.run(["ip", "-n", node.namespace, "-json", "link", "show", "dev", representor]))[0]["address"]
    previous = {"cniVersion": "1.1.0",
                "interfaces": [{"name": representor, "mac": rep_mac},
                               {"name": "net1", "mac": mac, "sandbox": attachment.netns, "future": {"kept": True}}],
                "ips": [{"interface": 1, "address": f"{ADDRESS}/{LENGTH}", "gateway": GATEWAY}],
                "dns": {"search": ["rail.example"]}, "com.example/other": [1, 2]}
    try:
        yield AfterOvsCni(world, node, chain, attachment, previous, representor)
    finally:
        world.vsctl(node, "--if-exists", "del-port", representor)
        subprocess.run(["ip", "-n", namespace, "link", "set", "net1", "netns", node.namespace, "name", vf], check=False, timeout=10)
        pods.delete(lab, "kubevirt")


def test_b02_port_and_addresses_of_ovs_cni_are_adopted_and_stay_its(adopted: AfterOvsCni) -> None:
    world, node = adopted.world, adopted.node
    port_before = world.ofport(node, adopted.representor)
    assert adopted.add() == adopted.previous, "passed on whole"
    ids = adopted.external_ids()
    assert ids.pop("railcni").isdigit()
    assert ids == adopted.ids_of_ovs_cni()
    assert world.ofport(node, adopted.representor) == port_before
    assert [f for f in world.flows(node, 0) if f["match"].startswith(f"in_port={port_before}") or ADDRESS in str(f)]
    eventually("announced", lambda: world.leaf_prefixes(0), lambda p: f"{ADDRESS}/32" in p)
    adopted.each("CHECK", adopted.chain.plugins, adopted.previous)
    assert world.record(node, adopted.attachment.container_id)["attachment"] == 1
    eventually("traffic to a pod of the tenant on the other node", lambda: subprocess.run(
        ["nsenter", f"--net={adopted.attachment.netns}", "ping", "-c1", "-W1", "-I", ADDRESS, world.port("a2").ipv4],
        check=False, capture_output=True, timeout=10).returncode, lambda status: status == 0)

    for _ in range(2):
        adopted.delete()
        assert adopted.external_ids() == adopted.ids_of_ovs_cni()
        assert world.ofport(node, adopted.representor) == port_before
        assert f"{ADDRESS}/{LENGTH}" in adopted.ip("-4", "address", "show", "dev", "net1")
        assert "UP" in adopted.ip("-br", "link", "show", "dev", "net1")
        assert "lookup 524100" not in adopted.ip("rule"), "our rules are gone with us"
    assert world.record(node, adopted.attachment.container_id) == {"attachment": 0, "claim": 0, "step": 0}
    assert not [f for f in world.flows(node, 0) if f["match"].startswith(f"in_port={port_before},") or ADDRESS in str(f)]
    eventually("withdrawn", lambda: world.leaf_prefixes(0), lambda p: f"{ADDRESS}/32" not in p)


def test_b02_another_rails_bridge_is_refused_and_the_port_left_alone(adopted: AfterOvsCni) -> None:
    plugin = {**adopted.chain.plugins[0], "rail": "rail1"}
    with pytest.raises(PluginError, match=f"{adopted.representor} is a port of bridge {bridge(0)}, but rail rail1 is bridge"):
        adopted.chain.execute("ADD", plugin, adopted.attachment, adopted.previous)
    assert adopted.external_ids() == adopted.ids_of_ovs_cni()
    adopted.delete()


def test_b02_a_failed_add_gives_the_port_back_as_it_was(adopted: AfterOvsCni) -> None:
    broken = {**adopted.previous, "interfaces": [adopted.previous["interfaces"][0]], "ips": []}
    with pytest.raises(PluginError, match="no interface net1 with a sandbox to adopt"):
        adopted.chain.execute("ADD", adopted.chain.plugins[0], adopted.attachment, broken)
    assert adopted.external_ids() == adopted.ids_of_ovs_cni()
    assert adopted.world.record(adopted.node, adopted.attachment.container_id)["attachment"] == 0


def test_b02_without_tenant_isolation_nothing_is_opened(adopted: AfterOvsCni) -> None:
    """Tenancy is per namespace on this node: frr-provider right after ovs-provider announces nothing and refuses."""
    world, node = adopted.world, adopted.node
    ovs_provider, _, frr_provider = adopted.chain.plugins
    result = adopted.chain.execute("ADD", ovs_provider, adopted.attachment, adopted.previous)
    with pytest.raises(PluginError, match="the pod has no tenant: tenant-isolation must stand before frr-provider") as error:
        adopted.chain.execute("ADD", frr_provider, adopted.attachment, result)
    assert error.value.code == 7
    with pytest.raises(PluginError, match="the pod has no tenant"):
        adopted.chain.execute("CHECK", frr_provider, adopted.attachment, result)
    assert not [f for f in world.flows(node, 0) if ADDRESS in str(f) and f["table"] in (1, 2)], "no tenant's door is open"
    status = subprocess.run(["nsenter", f"--net={adopted.attachment.netns}", "ping", "-c2", "-W1", "-I", ADDRESS,
                             world.port("a2").ipv4], check=False, capture_output=True, timeout=10).returncode
    assert status != 0, "and nobody is reached"
    assert f"{ADDRESS}/32" not in world.leaf_prefixes(0)
    adopted.delete()
    assert world.record(node, adopted.attachment.container_id) == {"attachment": 0, "claim": 0, "step": 0}
