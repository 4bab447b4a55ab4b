"""A pod comes and goes: nothing of it stays. raild dies and comes back: nothing of the data path moves."""

from __future__ import annotations

from railcni_lab import daemons, fabric, kernel, pods
from railcni_lab.layout import bridge
from world import World, eventually, kill_raild, link_mac, settle


def reserved(world: World, node_name: str, address: str) -> bool:
    return any(world.lab.find_node(node_name).ipam_dir.glob(f"*/{address}"))


def test_deleted_pod_leaves_nothing(world: World) -> None:
    lab, rails = world.lab, (0, 1)
    node = lab.find_node("n2")
    settle(world)
    before = {rail: len(world.flows(node, rail)) for rail in rails}
    pod = pods.add(lab, "gone", "n2", "tenant-c", None)
    ports = {rail: world.port("gone", rail) for rail in rails}
    for rail, port in ports.items():
        prefixes = {f"{port.ipv4}/32", f"{port.ipv6}/128"}
        eventually("both prefixes at the leaf", lambda r=rail: world.leaf_prefixes(r), lambda p, w=prefixes: w <= p)
        assert reserved(world, "n2", port.ipv4)
        assert len(world.flows(node, rail)) > before[rail]
    eventually("raild knows its attachments", lambda: [a for a in attachments(world, "n2") if "gone" in str(a)],
               lambda a: len(a) == len(rails))
    assert world.record(node, pod.container_id)["attachment"] == len(rails)
    claimed = {value for port in ports.values() for value in (port.ipv4, port.ipv6, port.representor)}
    assert claimed <= world.claims(node)

    pods.delete(lab, "gone")
    assert world.record(node, pod.container_id) == {"attachment": 0, "claim": 0, "step": 0}
    assert not claimed & world.claims(node)
    for rail, port in ports.items():
        for prefix in (f"{port.ipv4}/32", f"{port.ipv6}/128"):
            eventually(f"{prefix} gone from the leaf", lambda r=rail: world.leaf_prefixes(r),
                       lambda p, w=prefix: w not in p)
        rules = world.flows(node, rail)
        assert not [f for f in rules if port.ipv4 in str(f) or port.ipv6 in str(f) or f"in_port={port.ofport}," in f["match"]]
        assert len(rules) == before[rail], "also the tenant's rule in table 3 is gone"
        assert port.representor not in world.vsctl(node, "list-ports", bridge(rail)).split()
        assert not reserved(world, "n2", port.ipv4) and not reserved(world, "n2", port.ipv6)
        device = port.representor.replace("rep", "vf")
        assert link_mac(node.namespace, device) == port.mac, "the device is back on the host as it was"
    eventually("the record gone", lambda: [a for a in attachments(world, "n2") if "gone" in str(a)], lambda a: not a)
    assert pods.namespace(lab, "gone") not in kernel.namespaces()


def attachments(world: World, node_name: str) -> list[dict[str, object]]:
    return world.railctl(world.lab.find_node(node_name), "get", "attachments").get("attachments", [])


def test_delete_works_twice_and_after_the_namespace_is_gone(world: World) -> None:
    settle(world)
    lab = world.lab
    pod = pods.add(lab, "lost", "n1", "tenant-c", [0])
    port, node = world.port("lost"), lab.find_node("n1")
    kernel.delete_namespace(pods.namespace(lab, "lost"))
    attachment, chain = pods.attachment(lab, pod, 0), pods.chain(lab, node, 0)
    assert attachment.netns == ""
    chain.delete(attachment)
    chain.delete(attachment)
    pods.delete(lab, "lost")
    assert port.representor not in world.vsctl(node, "list-ports", bridge(0)).split()
    assert not reserved(world, "n1", port.ipv4)
    eventually("the prefix gone from the leaf", lambda: world.leaf_prefixes(0), lambda p: f"{port.ipv4}/32" not in p)
    assert port.representor in kernel.links(node.namespace), "the lab made the pair again"


def test_restart_of_raild_leaves_flows_untouched(world: World) -> None:
    settle(world)
    lab = world.lab
    node = lab.find_node("n1")

    def snapshot() -> dict[tuple[int, int, int, str, str], tuple[float, int]]:
        return {(rail, f["table"], f["priority"], f["match"], f["actions"]): (f["duration"], f["n_packets"])
                for rail in (0, 1) for f in world.flows(node, rail)}

    before = snapshot()
    kill_raild(node)
    settle(world)  # traffic goes on without it
    daemons.start_raild(lab, node)
    daemons.wait_until("raild answers", lambda: daemons.raild_answers(node), 30)
    fabric.wait_for_bridges(node, 2)
    eventually("raild knows the attachments again", lambda: len(attachments(world, "n1")), lambda n: n == 3 * 2)
    settle(world)
    after = snapshot()
    assert after.keys() == before.keys(), f"gone {before.keys() - after.keys()}, new {after.keys() - before.keys()}"
    assert all(after[rule][0] > before[rule][0] for rule in before), "a rule was installed anew"
    assert all(after[rule][1] >= before[rule][1] for rule in before)
    assert sum(n for _, n in after.values()) > sum(n for _, n in before.values()), "and they count on"


def test_new_pod_is_reached_from_the_other_node(world: World) -> None:
    """Remotes are learned: a pod that comes later is known to the other node's raild."""
    lab = world.lab
    pods.add(lab, "late", "n2", "tenant-a", [0])
    try:
        settle(world)
        eventually("the remote in raild's list", lambda: str(world.railctl(lab.find_node("n1"), "get", "remotes")),
                   lambda text: world.port("late").ipv4 in text)
    finally:
        pods.delete(lab, "late")
