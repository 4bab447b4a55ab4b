"""What Multus does beyond the verbs of CNI, and what it may ask for: a default route by a rail, two interfaces on one rail."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from lone import Lone
from railcni_lab import kernel, pods
from railcni_lab.chain import PluginError
from railcni_lab.layout import device, write_json
from world import World, eventually


def test_a_pods_default_route_goes_by_the_rail_that_multus_is_told(world: World) -> None:
    """"default-route": [gateway] in the network selection. Multus adds the route after the ADD, without the flag onlink, and writes it
    into the result that it keeps."""
    lab, node = world.lab, world.lab.find_node("n1")
    pod = pods.add(lab, "routed", "n1", "tenant-a", [0, 1])
    namespace, far = pods.namespace(lab, "routed"), world.port("a2", 1)
    try:
        chain, attachment = pods.chain(lab, node, 1), pods.attachment(lab, pod, 1)
        routes = []
        for entry in pod.results[1]["ips"]:
            family, everywhere = ("-6", "::0/0") if ":" in entry["gateway"] else ("-4", "0.0.0.0/0")
            kernel.run(["ip", "-n", namespace, family, "route", "add", "default", "via", entry["gateway"], "dev", "net2"])
            routes.append({"dst": everywhere, "gw": entry["gateway"]})
        assert len(routes) == 2, "one for each family"
        kept = next((lab.folder / "cni" / node.name).glob(f"{chain.name}-{pod.container_id}-net2.json"))
        result = json.loads(kept.read_text())
        write_json(kept, {**result, "routes": [*result.get("routes", []), *routes]})
        for rail in (0, 1):
            pods.chain(lab, node, rail).check(pods.attachment(lab, pod, rail))
        for address in (far.ipv4, far.ipv6):
            eventually(f"{address} answers by the default route", lambda a=address: kernel.run(
                ["ip", "netns", "exec", namespace, "ping", "-c1", "-W1", a]), lambda said: " 0% packet loss" in said)
        # The other rail's own table stays as it is.
        for address in (world.port("a2", 0).ipv4, world.port("a2", 0).ipv6):
            eventually(f"{address} answers by its rail", lambda a=address: kernel.run(
                ["ip", "netns", "exec", namespace, "ping", "-c1", "-W1", "-I", "net1", a]), lambda said: " 0% packet loss" in said)
        chain.delete(attachment)
    finally:
        pods.delete(lab, "routed")


def test_a_second_interface_of_a_pod_on_one_rail_is_refused_before_anything_is_done(lone: Lone) -> None:
    first = lone.attachment("twice", 30)
    second = replace(first, ifname="net2", device_id=device(0, 31))
    try:
        lone.chain().add(first)
        with pytest.raises(PluginError, match="net2 .* cannot be attached to rail rail0: the pod's interface net1 .* is on this rail") as refused:
            lone.chain().add(second)
        assert (refused.value.plugin, refused.value.code) == ("ovs-provider", 7)
        assert device(0, 31) in kernel.links(lone.node.namespace), "it has not moved"
        lone.chain().check(first)
        lone.delete(second)
        lone.chain().check(first)
    finally:
        lone.delete(first)
        lone.end_namespace("twice")
        lone.mend(30)
    assert not lone.left_in_the_end(first)
