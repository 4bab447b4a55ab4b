"""A node alone: attachments one by one, plugin by plugin, and what is left of them anywhere."""

from __future__ import annotations

import os
import secrets
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from railcni_lab import fabric, kernel, pods, vty
from railcni_lab.chain import Attachment, Chain, PluginError
from railcni_lab.layout import Lab, bridge, device, representor
from world import World, parse_flow

RAIL = 0
KINDS = {2: "attachment", 3: "tenant", 4: "compare"}  # of a rule's cookie (lib/ovs/rule.h)


class Lone:
    def __init__(self, lab: Lab) -> None:
        self.lab, self.world = lab, World(lab)
        self.node = lab.find_node("n1")
        self.tests = lab.binaries.parent / "tests"
        self.crashing = lab.folder / "crashing"  # each under the name by which a runtime calls it
        self.crashing.mkdir()
        for plugin in ("ovs-provider", "tenant-isolation", "frr-provider"):
            (self.crashing / plugin).symlink_to(self.tests / f"crashing-{plugin}")
        self.plugins: list[dict[str, Any]] = pods.network(self.node, RAIL)["plugins"]
        self.plugins[-1]["wait_ms"] = 0

    def chain(self, *, kill_at: int | None = None) -> Chain:
        """The node's chain; with `kill_at`, of the plugins that die at that point."""
        own = [self.lab.binaries] if kill_at is None else [self.crashing]
        environment = {"RAILCNI_ROOT": str(self.node.root), "RAILCNI_TEST_KILL_AT": str(kill_at or 0)}
        return Chain({"cniVersion": "1.0.0", "name": f"rail{RAIL}", "plugins": self.plugins},
                     path=[*own, Path("/usr/lib/cni")], cache=self.lab.folder / "cni" / self.node.name,
                     environment=environment, namespace=self.node.namespace)

    # Pods

    def attachment(self, name: str, index: int, tenant: str = "t-lone") -> Attachment:
        """A new container in the namespace of pod `name`, which is made if it is not there."""
        namespace = pods.namespace(self.lab, name)
        if namespace not in kernel.namespaces():
            kernel.run(["ip", "netns", "add", namespace])
            kernel.links_up(namespace, ["lo"])
        container = secrets.token_hex(32)
        return Attachment(container, str(kernel.NETNS_DIR / namespace), "net1", device(RAIL, index),
                          {"IgnoreUnknown": "true", "K8S_POD_NAMESPACE": tenant, "K8S_POD_NAME": name,
                           "K8S_POD_INFRA_CONTAINER_ID": container, "K8S_POD_UID": container[:8]})

    def end_namespace(self, name: str) -> None:
        """The namespace goes, its device with it; the device is made anew."""
        kernel.delete_namespace(pods.namespace(self.lab, name))

    def settle(self, index: int) -> bool:
        """Waits until the kernel has ended a deleted namespace, which it does in its own time; until then the device lives in it.
        True: the device is at home; False: it has died, its representor with it."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            there = kernel.links(self.node.namespace)
            if device(RAIL, index) in there:
                return True
            if representor(RAIL, index) not in there:
                return False
            time.sleep(0.02)
        raise AssertionError(f"{device(RAIL, index)} is neither at home nor gone")

    def mend(self, index: int) -> None:
        """A device that died with a pod's namespace, made anew when the kernel has forgotten the old one."""
        if not self.settle(index):
            fabric.add_devices(self.node, [(RAIL, index)])

    def sweep(self, attachment: Attachment) -> None:
        """raild's sweep of this one, without its minute of grace."""
        with kernel.inside(self.node.namespace):
            kernel.run([str(self.tests / "sweep_now"), attachment.container_id], env={"RAILCNI_ROOT": str(self.node.root)})

    @contextmanager
    def dead_port(self) -> Iterator[tuple[Attachment, Attachment]]:
        """Two pods of a tenant; the first's representor has gone under it, and its interface with it."""
        dead, alive = self.attachment("dead", 20), self.attachment("alive", 21)
        try:
            for each in (dead, alive):
                self.chain().add(each)
            kernel.run(["ip", "-n", self.node.namespace, "link", "del", representor_of(dead)])
            yield dead, alive
        finally:
            for each in (dead, alive):
                self.delete(each)
            for name in ("dead", "alive"):
                self.end_namespace(name)
            self.mend(20)
            self.mend(21)

    def wake(self) -> None:
        """As a plugin tells raild that the record has changed."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            try:
                s.sendto(b"", str(self.node.root / "run/railcni/wake.sock"))
            except OSError:
                pass  # raild is on its way up

    # What is left

    def rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"file:{self.node.root}/var/lib/railcni/state.db?mode=ro", uri=True, timeout=10)) as db:
            return db.execute(query, values).fetchall()

    def pending(self, attachment: Attachment) -> set[str]:
        return {kind for kind, in self.rows(
            "SELECT kind FROM step JOIN attachment AS a ON a.id = step.attachment WHERE a.container_id = ? AND pending <> ''",
            attachment.container_id)}

    def left(self, attachment: Attachment) -> list[str]:
        """One sentence for everything that is left of an attachment, or of any that the record does not name."""
        found = []
        links = kernel.links(self.node.namespace)
        if attachment.device_id not in links and representor_of(attachment) in links:
            found.append(f"device: {attachment.device_id} is not at home")
        ports = set(self.world.vsctl(self.node, "list-ports", bridge(RAIL)).split())
        if representor_of(attachment) in ports:
            found.append(f"port: {representor_of(attachment)}")
        rules = kernel.run(["ovs-ofctl", "-O", "OpenFlow15", "--no-names", "dump-flows",
                            f"unix:{self.node.ovs_dir}/{bridge(RAIL)}.mgmt"])
        announced = {r["prefix"] for r in vty.routes(self.node.frr_dir) if r["as_path"] == ""}
        leases = [f for f in self.node.ipam_dir.glob("*/*")
                  if f.name[0].isalnum() and attachment.container_id in lease(f)]
        found += [f"address: {f.name} is leased" for f in leases]
        # The record last: what is seen and not in it was left behind, and is not being made.
        living = {i: (tenant, set(addresses.split(","))) for i, tenant, addresses in
                  self.rows("SELECT id, tenant_id, addresses FROM attachment")}
        tenants = {int(tenant[-6:] or "0", 16) for tenant, _ in living.values()}
        for line in rules.splitlines():
            if "cookie=0x5241494c" not in line:
                continue
            cookie = int(str(parse_flow(line)["cookie"]))
            kind, owner = cookie >> 24 & 0xff, cookie & 0xffffff
            if kind in (2, 3) and owner not in {i & 0xffffff for i in living} or kind == 4 and owner not in tenants:
                found.append(f"rule: {KINDS[kind]} {line.split('cookie', 1)[1][:120]}")
        known = {address for _, addresses in living.values() for address in addresses}
        found += [f"announcement: {p}" for p in announced if p.split("/")[0] not in known and p.split("/")[1] in ("32", "128")]
        record = self.world.record(self.node, attachment.container_id)
        found += [f"record: {count} rows of {table}" for table, count in record.items() if count]
        namespace = Path(attachment.netns).name
        if namespace in kernel.namespaces():
            if attachment.ifname in kernel.links(namespace):
                found.append(f"pod: {attachment.ifname} is there")
            for family in ("-4", "-6"):
                routes = kernel.run(["ip", "-n", namespace, family, "rule"])
                found += [f"route: {line}" for line in routes.splitlines() if line.split(":")[0] in ("700", "800")]
        return found

    def left_in_the_end(self, attachment: Attachment, seconds: float = 5) -> list[str]:
        """bgpd holds a withdrawal back for 50 ms; beside this, nothing is waited for."""
        deadline = time.monotonic() + seconds
        while True:
            found = self.left(attachment)
            if not found or time.monotonic() > deadline:
                return found
            time.sleep(0.05)

    def delete(self, attachment: Attachment) -> None:
        """As a runtime: all of them in reverse order, to the first error."""
        self.chain().delete(attachment)


def representor_of(attachment: Attachment) -> str:
    return attachment.device_id.replace("vf", "rep", 1)


def lease(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError:
        return ""


def killed_at(error: PluginError) -> str | None:
    """The point where the plugin was killed ("before RecordStep port"), or None when it failed by itself."""
    lines = [line for line in error.message.splitlines() if "killed " in line]
    return lines[-1].split("killed ", 1)[1] if lines and "exit status -9" in error.message else None


def report_folder() -> Path:
    folder = Path(os.environ.get("RAILCNI_REPORTS", Path(__file__).resolve().parents[2] / "build/reports")) / "lab"
    folder.mkdir(parents=True, exist_ok=True)
    return folder

