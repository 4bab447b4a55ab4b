"""RailCNI by the words of manifests/README.md, the example pods, who reaches whom, what pods and tools are told of the rails."""

import json

from conftest import PODS, Cost
from kube import SYSTEM, Kube, eventually
from railcni_cluster import node
from railcni_cluster.layout import HERE, KubeNode
from railcni_lab.layout import REPOSITORY
from readme import blocks, manifests, run

# What is so because this is a lab: no NIC, packets through the CPU, no RDMA.
OF_A_LAB = {"hw-offload-off", "userspace-datapath", "max-idle-short", "rdma-missing", "bmp-sessions-alike", "prefixes-not-tracked", "tenant-unused",
            "mtu-below-roce", "min-revalidate-pps", "uplink-ipv6-enabled", "cross-rail-off"}


def test_the_words_of_the_readme_install_it_on_every_node(kube: Kube, cost: Cost) -> None:
    for each in kube.cluster.nodes():
        assert (each.store / "opt-upper/cni/bin/ovs-provider").exists(), f"no plugins on {each.name}"
        assert (each.store / "etc-upper/railcni/node.json").exists(), f"no configuration on {each.name}"
        kube.raild(each)
    assert not any(kube.restarts().values()), kube.restarts()
    assert not [p for p in kube.items("-n", SYSTEM, "pods") if any(c["restartCount"] for c in p["status"].get("initContainerStatuses", []))]


def test_the_example_pod_starts_with_an_interface_on_each_rail(kube: Kube, cost: Cost) -> None:
    kube.wait_ready("team-a", "trainer", seconds=120)
    interfaces = kube.execute("team-a", "trainer", "ls /sys/class/net").split()
    assert {"net1", "net2"} <= set(interfaces), interfaces
    # The long form of the same: applied again it changes nothing, and it ends with the pod's end.
    for command in blocks((REPOSITORY / "manifests/INSTALL.md").read_text(), True):
        run(kube, command, manifests(kube))
    cost.nothing_left(kube)


def test_who_reaches_whom_by_kubectl_exec(resident: Kube, cost: Cost) -> None:
    """Every pair of pods, each rail, both families: each pod asks all others at once."""
    where = {(space, name): [resident.addresses(space, name, rail) for rail in resident.rails] for name, space, _ in PODS}
    expected = {(source, target, rail, version): source[0] == target[0] for source in where for target in where if source != target
                for rail in resident.rails for version in (4, 6)}

    def ask() -> dict[tuple[object, ...], bool]:
        seen = {}
        for source in where:
            asked = [key for key in expected if key[0] == source]
            script = "".join(f"( ping{'6' if version == 6 else ''} -c 2 -W 1 -I net{rail + 1} {where[target][rail][version == 6]} >/dev/null 2>&1"
                             f" && echo {number} ) & " for number, (_, target, rail, version) in enumerate(asked)) + "wait; true"
            answers = {int(word) for word in resident.execute(*source, script).split()}
            seen |= {key: number in answers for number, key in enumerate(asked)}
        return seen

    seen = eventually("the matrix is as expected", ask, lambda seen: seen == expected or any(seen[k] and not expected[k] for k in seen), 60)
    assert seen == expected, [key for key in seen if seen[key] != expected[key]]
    cost.lost = f"{len(seen)} pairs right"


def device_by_kubelet(kube: Kube, where: KubeNode, space: str, name: str) -> dict[str, list[str]]:
    """By its pod-resources service; the stand-in of Multus has read its checkpoint."""
    return json.loads(node.run_on(where, ["/usr/bin/python3", "-B", str(HERE / "pod_resources.py"), space, name]))


def test_network_status_names_addresses_and_device(resident: Kube, cost: Cost) -> None:
    for name, space, where in PODS:
        entries = {e["name"]: e for e in resident.network_status(space, name)}
        assert set(entries) == {"default-cni-network", *(f"default/rail{rail}" for rail in resident.rails)}
        mine = resident.node(where)
        for rail in resident.rails:
            entry = entries[f"default/rail{rail}"]
            record = next(r for r in resident.records(mine) if (r["pod_name"], r["rail"]) == (name, f"rail{rail}"))
            assert entry["interface"] == f"net{rail + 1}" and entry["mac"] == record["mac"]
            assert set(entry["ips"]) == {word.partition("/")[0] for word in record["addresses"].split(",")}
            # The lab's devices are no PCI devices: the device plugin's own file arrives here unchanged.
            assert device_by_kubelet(resident, mine, space, name)[f"nvidia.com/rail{rail}"] == [record["device"]]
            assert entry["device-info"]["type"] == "pci" and entry["device-info"]["pci"]["pci-address"] == record["device"]


def test_health_and_doctor_know_of_nothing_but_the_lab(resident: Kube, cost: Cost) -> None:
    for each in resident.cluster.nodes():
        eventually(f"/healthz of {each.name}", lambda n=each: resident.page(n, "/healthz")[0], lambda status: status == 200)

        def findings(n: KubeNode = each) -> set[str]:
            return {f["id"] for f in resident.railctl(n, "doctor").get("findings", [])}

        eventually(f"the doctor of {each.name}", findings, lambda found: found <= OF_A_LAB)
        assert len(resident.railctl(each, "get", "attachments").get("attachments", [])) == 4, json.dumps(resident.railctl(each, "get", "attachments"))
    cost.nothing_left(resident)
