"""The chain in every version of the specification that the plugins speak, and a CHECK that notices what is broken."""

from __future__ import annotations

import json
import subprocess

import pytest
from railcni_lab import pods
from railcni_lab.chain import Attachment, Chain, PluginError
from railcni_lab.layout import Node
from world import World

VERSIONS = ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]
PLUGINS = ["ovs-provider", "tenant-isolation", "frr-provider"]


@pytest.fixture
def pod(world: World):
    """A pod whose namespace and device are there and whose interface is not."""
    made = pods.add(world.lab, "spec", "n1", "tenant-c", [0])
    pods.chain(world.lab, world.lab.find_node("n1"), 0).delete(pods.attachment(world.lab, made, 0))
    yield made
    pods.delete(world.lab, "spec")


def chain_of(world: World, version: str) -> tuple[Chain, Node]:
    node = world.lab.find_node("n1")
    made = pods.chain(world.lab, node, 0)
    made.version = version
    # Debian's host-local speaks up to 1.0.0: ovs-provider calls it in the newest version that both speak.
    return made, node


def inside(attachment: Attachment, *command: str) -> None:
    subprocess.run(["nsenter", f"--net={attachment.netns}", *command], check=True, capture_output=True, timeout=10)


@pytest.mark.parametrize("plugin", PLUGINS)
def test_version_names_them_all(world: World, plugin: str) -> None:
    done = subprocess.run([world.lab.binaries / plugin], env={"CNI_COMMAND": "VERSION"}, capture_output=True, text=True,
                          timeout=10, check=True, stdin=subprocess.DEVNULL)
    assert json.loads(done.stdout) == {"cniVersion": "1.1.0", "supportedVersions": VERSIONS}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_chain_in_each_version(world: World, pod: pods.Pod, version: str) -> None:
    chain, node = chain_of(world, version)
    attachment = pods.attachment(world.lab, pod, 0)
    result = chain.add(attachment)
    assert result["cniVersion"] == version
    host, net1 = result["interfaces"]
    assert "sandbox" not in host and net1["name"] == "net1" and net1["sandbox"] == attachment.netns
    assert ("mtu" in net1) == (version == "1.1.0")
    assert [ip["address"].split("/")[1] for ip in result["ips"]] == ["32", "128"]
    assert all(ip["interface"] == 1 for ip in result["ips"])
    assert all(("version" in ip) == version.startswith("0.") for ip in result["ips"])
    if version in ("0.3.0", "0.3.1"):
        with pytest.raises(PluginError, match="config version does not allow CHECK"):
            chain.check(attachment)
    else:
        chain.check(attachment)
    chain.delete(attachment)
    chain.delete(attachment)
    assert world.record(node, pod.container_id) == {"attachment": 0, "claim": 0, "step": 0}


def test_a_second_add_is_refused_and_changes_nothing(world: World, pod: pods.Pod) -> None:
    chain, _ = chain_of(world, "1.0.0")
    attachment = pods.attachment(world.lab, pod, 0)
    chain.add(attachment)
    with pytest.raises(PluginError, match="exists already"):
        chain.add(attachment)
    chain.check(attachment)
    chain.delete(attachment)


def test_check_names_what_is_broken(world: World, pod: pods.Pod) -> None:
    chain, _ = chain_of(world, "1.0.0")
    attachment = pods.attachment(world.lab, pod, 0)
    result = chain.add(attachment)
    address = result["ips"][0]["address"]
    chain.check(attachment)
    broken = {
        "mtu": (("ip", "link", "set", "net1", "mtu", "1400"), ("ip", "link", "set", "net1", "mtu", "4200"), "MTU"),
        "rule": (("ip", "rule", "del", "pref", "700"), ("ip", "rule", "add", "pref", "700", "from", address, "lookup", "524100"),
                 "rule"),
    }
    for what, (breaking, mending, named) in broken.items():
        inside(attachment, *breaking)
        with pytest.raises(PluginError, match=named) as error:
            chain.check(attachment)
        assert error.value.plugin == "ovs-provider", what
        inside(attachment, *mending)
        chain.check(attachment)
    # Last: with its only IPv4 address the kernel also takes the routes and the neighbour away.
    inside(attachment, "ip", "address", "del", address, "dev", "net1")
    with pytest.raises(PluginError, match=address):
        chain.check(attachment)
    chain.delete(attachment)
