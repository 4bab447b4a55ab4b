"""The same attachment done with host-local, ip, sysctl, ovs-vsctl, ovs-ofctl and vtysh: the baseline.

It is made as fast as such a script can be: one execution per tool where the tool has a batch, MAC addresses and port
numbers known beforehand, no record, no validation, no undo, no wait for BGP. The rules are the ones that our plugins
wrote for a pod, with the other pod's port and addresses in them."""

from __future__ import annotations

import ipaddress
import json
import re
import secrets
import shutil

from railcni_lab.layout import MTU, Lab, Node, bridge

from .measure import BenchError, execute
from .ours import IFNAME, Slot, cni_environment

GATEWAY_MAC = "02:52:41:49:4c:{:02x}"
COOKIE = 0xBE7C00000000  # not RailCNI's: raild leaves these rules alone
TENANT = 0x112233445566778899AABBCCDDEE
ROUTE_MAP = "bench"


class Tools:
    def __init__(self, lab: Lab, node: Node, rail: int, model: Slot) -> None:
        """`model`: attached by our chain just now; what its rules look like is taken from the switch."""
        self.node, self.rail, self.model = node, rail, model
        self.bridge, self.database = bridge(rail), f"--db=unix:{node.ovs_dir}/db.sock"
        self.switch = f"unix:{node.ovs_dir}/{self.bridge}.mgmt"
        self.environment = cni_environment(lab.binaries, node.root)
        self.programs = {name: self._program(name) for name in ("ip", "nsenter", "sysctl", "ovs-vsctl", "ovs-ofctl", "vtysh")}
        self.programs["host-local"] = "/usr/lib/cni/host-local"
        self.model_port = int(self._run("ovs-vsctl", [self.database, "get", "Interface", model.representor, "ofport"])[1])
        self.rules = self._rules_of_model()
        self._vtysh([f"route-map {ROUTE_MAP} permit 10", f"set large-community {node.asn}:1:1"])

    def add(self, slot: Slot) -> dict[str, float]:
        """Tool -> milliseconds."""
        times = {}
        slot.container_id = secrets.token_hex(32)
        times["host-local"], answer = self._ipam("ADD", slot)
        slot.result = json.loads(answer)
        port = 1000 + int(slot.device.rpartition("x")[2])
        times["ovs-vsctl"], _ = self._run("ovs-vsctl", [
            self.database, "--timeout=10", "add-port", self.bridge, slot.representor,
            "--", "set", "Port", slot.representor, f"external_ids:contNetns={slot.netns}", f"external_ids:contIface={IFNAME}",
            "--", "set", "Interface", slot.representor, f"mtu_request={MTU}", f"ofport_request={port}"])
        times["ip (host)"], _ = self._run("ip", ["-batch", "-"],
                                          f"link set {slot.representor} mtu {MTU} up\n"
                                          f"link set {slot.device} mtu {MTU}\n"
                                          f"link set {slot.device} netns {slot.netns} name {IFNAME}\n")
        times["sysctl (pod)"], _ = self._run("nsenter", [
            f"--net={slot.netns}", self.programs["sysctl"], "-qw",
            *(f"net/ipv4/conf/{IFNAME}/{k}" for k in ("rp_filter=2", "arp_ignore=1", "arp_announce=2")),
            *(f"net/ipv6/conf/{IFNAME}/{k}" for k in ("addr_gen_mode=1", "accept_ra=0", "disable_ipv6=0"))])
        times["ip (pod)"] = self._pod_ip(slot, [], self._pod_batch(slot))
        times["ip (pod)"] += self._pod_ip(slot, ["-6"], [f"rule add {rule}" for rule in self._policy(slot, 6)])
        times["ovs-ofctl"], _ = self._run("ovs-ofctl", ["-O", "OpenFlow15", "--bundle", "add-flows", self.switch, "-"],
                                          self._rules(slot, port))
        times["vtysh"] = self._announce(slot, "")
        return times

    def delete(self, slot: Slot) -> dict[str, float]:
        times = {"vtysh": self._announce(slot, "no ")}
        times["ovs-ofctl"], _ = self._run("ovs-ofctl", ["-O", "OpenFlow15", "--bundle", "add-flows", self.switch, "-"],
                                          f"delete cookie={self._cookie(slot):#x}/-1\n")
        times["ip (pod)"] = self._pod_ip(slot, ["-6"], [f"rule del {rule}" for rule in self._policy(slot, 6)])
        times["ip (pod)"] += self._pod_ip(slot, [], [*(f"rule del {rule}" for rule in self._policy(slot, 4)),
                                                    f"link set {IFNAME} netns {self.node.namespace} name {slot.device}"])
        times["ovs-vsctl"], _ = self._run("ovs-vsctl", [self.database, "--timeout=10", "del-port", self.bridge, slot.representor])
        times["ip (host)"], _ = self._run("ip", ["-batch", "-"], f"link set {slot.representor} down\n")
        times["host-local"], _ = self._ipam("DEL", slot)
        return times

    # Each tool

    @staticmethod
    def _program(name: str) -> str:
        found = shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")
        if found is None:
            raise BenchError(f"{name} is not installed, and the baseline needs it: run deploy/deps.sh test")
        return found

    def _run(self, tool: str, arguments: list[str], stdin: str = "", extra: dict[str, str] | None = None) -> tuple[float, str]:
        ran = execute([self.programs[tool], *arguments], {**self.environment, **(extra or {})}, stdin)
        return ran.ms, ran.output

    def _ipam(self, verb: str, slot: Slot) -> tuple[float, str]:
        # Another pool than the chain's, so that the two never give the same address.
        config = {"cniVersion": "1.0.0", "name": f"tools-{self.rail}", "type": "tools",
                  "ipam": {"type": "host-local", "dataDir": str(self.node.ipam_dir), "ranges": [
                      [{"subnet": f"10.{self.rail}.{200 + self.node.number}.0/24"}],
                      [{"subnet": f"fd52:4149:{self.rail:x}:{0x200 + self.node.number:x}::/64"}]]}}
        return self._run("host-local", [], json.dumps(config),
                         {"CNI_COMMAND": verb, "CNI_CONTAINERID": slot.container_id, "CNI_NETNS": slot.netns,
                          "CNI_IFNAME": IFNAME})

    def _vtysh(self, statements: list[str]) -> float:
        words = [word for statement in ("configure terminal", *statements) for word in ("-c", statement)]
        return self._run("vtysh", ["--vty_socket", str(self.node.frr_dir), "-d", "bgpd", *words])[0]

    def _announce(self, slot: Slot, no: str) -> float:
        v4, v6 = slot.addresses()
        return self._vtysh([f"router bgp {self.node.asn}",
                            "address-family ipv4 unicast", f"{no}network {v4}/32 route-map {ROUTE_MAP}", "exit-address-family",
                            "address-family ipv6 unicast", f"{no}network {v6}/128 route-map {ROUTE_MAP}"])

    def _policy(self, slot: Slot, version: int) -> list[str]:
        table, address = 524100 + self.rail, slot.addresses()[0 if version == 4 else 1]
        return [f"from {address} table {table} pref {700 + self.rail}", f"oif {IFNAME} table {table} pref {800 + self.rail}"]

    def _pod_ip(self, slot: Slot, options: list[str], lines: list[str]) -> float:
        """`ip rule` takes the family from an option alone, so a pod needs two batches."""
        return self._run("ip", [*options, "-n", slot.netns.rpartition("/")[2], "-batch", "-"],
                         "".join(f"{line}\n" for line in lines))[0]

    def _pod_batch(self, slot: Slot) -> list[str]:
        addresses, table = slot.addresses(), 524100 + self.rail
        gateways = [ip["gateway"] for ip in slot.result["ips"]]
        lines = [f"address add {a}/{32 if '.' in a else 128} dev {IFNAME}" for a in addresses]
        lines += [f"link set {IFNAME} up"]
        lines += [f"neighbour replace {g} lladdr {GATEWAY_MAC.format(self.rail)} nud permanent dev {IFNAME}" for g in gateways]
        lines += [f"route add default via {g} dev {IFNAME} onlink table {table}" for g in gateways]
        return lines + [f"rule add {rule}" for rule in self._policy(slot, 4)]

    # The rules

    def _cookie(self, slot: Slot) -> int:
        return COOKIE + int(slot.device.rpartition("x")[2])

    def _rules_of_model(self) -> list[str]:
        _, text = self._run("ovs-ofctl", ["-O", "OpenFlow15", "--no-names", "--no-stats", "dump-flows", self.switch])
        v4, v6 = (re.escape(a) for a in self.model.addresses())
        port = self.model_port
        mine = re.compile(rf"in_port={port}\b|{v4}\b|{v6}(?![0-9a-f:])|output:{port}\b|table=3, priority=100")
        rules = [line.strip() for line in text.splitlines() if mine.search(line)]
        if not 12 <= len(rules) <= 20:
            raise BenchError(f"{len(rules)} rules of the model pod on {self.bridge}, expected about 15: the baseline would not "
                             "do the same work")
        return rules

    def _rules(self, slot: Slot, port: int) -> str:
        """The model's rules for this pod, of a tenant that our chain does not use."""
        old, new = self.model.addresses(), slot.addresses()
        difference = int(self.model.mac.replace(":", ""), 16) ^ int(slot.mac.replace(":", ""), 16)

        def leading_bits(found: re.Match[str]) -> str:
            value, mask = (int(part.replace(":", ""), 16) for part in found.groups())
            return f"dl_src={(value ^ difference) & mask:012x}/{mask:012x}"

        text = "\n".join(re.sub(r"cookie=0x[0-9a-f]+", f"cookie={self._cookie(slot):#x}", rule) for rule in self.rules)
        text = re.sub(rf"(in_port=|output:){self.model_port}\b", rf"\g<1>{port}", text).replace(self.model.mac, slot.mac)
        for before, after in zip(old, new, strict=True):
            text = re.sub(rf"{re.escape(before)}(?![0-9a-f:.])", after, text)
            gateways = [str(ipaddress.ip_interface(f"{a}/{24 if '.' in a else 64}").network[1]) for a in (before, after)]
            text = re.sub(rf"{re.escape(gateways[0])}(?![0-9a-f:.])", gateways[1], text)
        text = re.sub(r"set_field:0x[0-9a-f]+->xxreg", f"set_field:{TENANT:#x}->xxreg", text)
        return re.sub(r"reg0=.*reg7=[0-9a-fx]+", f"xxreg0={TENANT:#x},xxreg1={TENANT:#x}", text) + "\n"
