"""Faults inside a pod: what somebody with NET_ADMIN in it has changed. raild changes nothing there, so the remedy is the doctor's command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from causes import Row, Stage
from railcni_lab import fabric, kernel, pods
from railcni_lab.layout import bridge, device, representor
from world import eventually, settle

POD = "a1"
SUBJECT = "tenant-a/a1 net1"


def whole(stage: Stage) -> bool:
    status, _, _ = stage.railctl("check", f"tenant-a/{POD}")
    return status == 0


def inside(*commands: str) -> Callable[[Stage], AbstractContextManager[None]]:
    """Shell commands in the pod's namespace. {a}, {a6}, {i}: its addresses and interface; {gateway}: the address that IPAM names."""

    @contextmanager
    def make(stage: Stage) -> Iterator[None]:
        port = stage.port(POD)
        words = {"a": port.ipv4, "a6": port.ipv6, "i": port.ifname, "gateway": port.ipv4.rpartition(".")[0] + ".1"}
        for command in commands:
            kernel.run(["ip", "netns", "exec", port.namespace, "sh", "-c", command.format(**words)])
        try:
            yield
        finally:  # what ADD makes, once more, for a test that has ended early
            if not whole(stage):
                lines = (f"ip link set {port.ifname} up mtu 4200 address {port.mac}",
                         f"ip address replace {port.ipv4}/32 dev {port.ifname}",
                         f"ip address replace {port.ipv6}/128 dev {port.ifname} nodad")
                kernel.run(["ip", "netns", "exec", port.namespace, "sh", "-c", " && ".join(lines)])

    return make


def differs(fault: str, *commands: str) -> Row:
    return Row(fault, "attachment-differs", SUBJECT, inside(*commands), "nsenter")


@contextmanager
def device_is_gone(stage: Stage) -> Iterator[None]:
    """As after a reset of the NIC: the link in the pod goes, and later there is another of the same name on the host."""
    pod = pods.find(stage.world.lab, POD)
    index = int(pod.devices[stage.rail].rpartition("x")[2])
    kernel.run(["ip", "-n", pods.namespace(stage.world.lab, POD), "link", "del", pods.ifname(stage.rail)])
    try:
        yield
    finally:
        eventually("the representor went with it", lambda: representor(stage.rail, index) in kernel.links(stage.node.namespace),
                   lambda there: not there)
        fabric.add_devices(stage.node, [(stage.rail, index)])
        eventually(f"{device(stage.rail, index)} is back in its pod", lambda: whole(stage), bool, 60)
        # The userspace datapath still reads the socket of the link that is gone, where the kernel's lets a port go with its link.
        stage.world.vsctl(stage.node, "del-port", bridge(stage.rail), representor(stage.rail, index))
        settle(stage.world, seconds=60)


ROWS: list[Row] = [
    differs("link down inside the pod", "ip link set {i} down"),
    differs("address removed inside the pod", "ip address del {a}/32 dev {i}"),
    differs("IPv6 address removed inside the pod", "ip address del {a6}/128 dev {i}"),
    differs("route removed inside the pod", "ip route flush table 524100"),
    differs("policy rule removed inside the pod", "ip rule del from {a}"),
    differs("MTU changed inside the pod", "ip link set {i} mtu 1400"),
    differs("MAC changed inside the pod", "ip link set {i} address 02:66:66:66:66:66"),
    differs("gateway's neighbour entry removed inside the pod", "ip neighbour del {gateway} dev {i}"),
    differs("gateway's neighbour entry changed inside the pod",
            "ip neighbour replace {gateway} lladdr 02:00:00:00:00:01 nud permanent dev {i}"),
    differs("IPv6 disabled inside the pod", "sysctl -qw net.ipv6.conf.{i}.disable_ipv6=1"),
    Row("the NIC was reset, the pod's device is gone", "device-lost", SUBJECT, device_is_gone),
]
