"""What a node stands on is down, slow or full: ADD says which within its deadline and leaves nothing; DEL succeeds, gives the device
and the address back, and raild finishes the rest when it is back."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

import pytest
from lone import Lone, PluginError
from railcni_lab import daemons, fabric, kernel
from railcni_lab.chain import Attachment
from world import eventually, hanging

ADD_SECONDS = 30  # the verb's own deadline (lib/engine/session.h); twice that is what the lab's runtime gives it
UNAVAILABLE = (11, 5)


@contextmanager
def gone(lone: Lone, daemon: str) -> Iterator[None]:
    pid = daemons.pid_of(lone.node, daemon)
    assert pid is not None
    daemons.end([pid])
    try:
        yield
    finally:
        if daemon == "bgpd":
            daemons.start_frr(lone.node, which=[daemon], bmp=True)
        else:
            daemons.start_ovs(lone.node, which=[daemon])


@contextmanager
def read_only(lone: Lone) -> Iterator[None]:
    folder = str(lone.node.root / "var/lib/railcni")
    kernel.run(["mount", "--bind", folder, folder])
    try:
        kernel.run(["mount", "-o", "remount,bind,ro", folder])
        yield
    finally:
        kernel.run(["umount", "--lazy", folder])


@contextmanager
def without_config(lone: Lone) -> Iterator[None]:
    text = lone.node.config_file.read_text()
    lone.node.config_file.write_text(text[:-20])
    try:
        yield
    finally:
        lone.node.config_file.write_text(text)


@dataclass(frozen=True)
class Dependency:
    name: str
    down: Callable[[Lone], AbstractContextManager[None]]
    sentence: str  # of ADD
    pending: frozenset[str]


DEPENDENCIES = [
    Dependency("ovsdb-server is down", lambda lone: gone(lone, "ovsdb-server"), r"db\.sock",
               frozenset({"ipam", "port", "admit", "tenant"})),  # ovs-vswitchd answers nobody while it has lost its database
    Dependency("ovsdb-server hangs", lambda lone: hanging(lone.node, "ovsdb-server"), r"db\.sock|OVSDB|ovsdb-server",
               frozenset({"port"})),
    Dependency("ovs-vswitchd hangs", lambda lone: hanging(lone.node, "ovs-vswitchd"), r"ovs-vswitchd",
               frozenset({"ipam", "admit", "tenant"})),
    Dependency("ovs-vswitchd is down", lambda lone: gone(lone, "ovs-vswitchd"), r"ovs-vswitchd|br-rail0",
               frozenset({"ipam", "admit", "tenant"})),
    Dependency("bgpd is down", lambda lone: gone(lone, "bgpd"), r"bgpd", frozenset({"ipam", "announce"})),
    Dependency("the vty hangs", lambda lone: hanging(lone.node, "bgpd"), r"bgpd", frozenset({"ipam", "announce"})),
    Dependency("node.json is cut off", without_config, r"node\.json", frozenset({"ipam", "port", "admit", "tenant", "announce"})),
]


def fails(lone: Lone, attachment: Attachment, sentence: str) -> None:
    began = time.monotonic()
    with pytest.raises(PluginError) as failed:
        lone.chain().add(attachment)
    assert time.monotonic() - began < 2 * ADD_SECONDS
    assert failed.value.code in UNAVAILABLE, failed.value
    assert re.search(sentence, failed.value.message), failed.value


def given_back(lone: Lone, attachment: Attachment) -> None:
    assert attachment.device_id in kernel.links(lone.node.namespace)
    leases = [f for f in lone.node.ipam_dir.glob("*/[0-9a-f]*") if attachment.container_id in f.read_text(errors="replace")]
    assert not leases, leases


def at_home(lone: Lone, attachment: Attachment) -> None:
    """The addresses are free unless rules or an announcement of them are left."""
    if "ipam" in lone.pending(attachment):
        assert attachment.device_id in kernel.links(lone.node.namespace)
        return
    given_back(lone, attachment)
    mine = "SELECT kind FROM claim JOIN attachment AS a ON a.id = claim.attachment WHERE a.container_id = ?"
    assert not lone.rows(mine, attachment.container_id), "the device, the port and the address are free"


@contextmanager
def two(lone: Lone) -> Iterator[tuple[Attachment, Attachment]]:
    """One that is attached, and one that will ask. Deleted in the end, also when the test has failed."""
    whole(lone)
    there = lone.attachment("there", 10, tenant="t-there")
    fresh = lone.attachment("fresh", 11, tenant="t-fresh")
    lone.chain().add(there)
    try:
        yield there, fresh
    finally:
        for attachment in (there, fresh):
            try:
                lone.delete(attachment)
            except PluginError as error:
                print(f"not deleted: {error}")


def whole(lone: Lone) -> None:
    """The node serves an ADD again."""
    def works() -> str:
        probe = lone.attachment("probe", 40)
        try:
            lone.chain().add(probe)
            return ""
        except PluginError as error:
            return str(error)
        finally:
            lone.delete(probe)

    eventually("the node works again", works, lambda said: said == "", 60)


@pytest.mark.parametrize("dependency", DEPENDENCIES, ids=[d.name.replace(" ", "-") for d in DEPENDENCIES])
def test_dependency(lone: Lone, dependency: Dependency) -> None:
    with two(lone) as (there, fresh):
        # raild goes on by the node.json that it has read, and would finish the DEL before anybody looks.
        still = hanging(lone.node, "raild") if dependency.down is without_config else nullcontext()
        with dependency.down(lone), still:
            fails(lone, fresh, dependency.sentence)
            lone.delete(fresh)
            lone.delete(there)
            at_home(lone, there)
            at_home(lone, fresh)
            assert lone.pending(there) == dependency.pending
        # raild finishes it, by itself: nothing but its own rounds and events.
        eventually("raild has finished the DEL", lambda: lone.rows("SELECT container_id FROM attachment"),
                   lambda rows: rows == [], 100)
        if dependency.down is without_config:
            lone.end_namespace("there")  # which rules a rail has in a pod, only node.json says; they do no harm there
            lone.mend(10)
        for attachment in (there, fresh):
            assert not lone.left_in_the_end(attachment, 15)


def test_the_next_owner_need_not_wait_for_raild(lone: Lone) -> None:
    """OVSDB was down during the DEL: its port stays, and the next ADD of the device takes it over and finishes the DEL."""
    with two(lone) as (old, _), hanging(lone.node, "raild"):
        new = lone.attachment("fresh", 10, tenant="t-new")
        with gone(lone, "ovsdb-server"):
            lone.delete(old)
            assert "port" in lone.pending(old)
        eventually("ovs-vswitchd is there again", lambda: lone.world.vsctl(lone.node, "br-exists", "br-rail0"), lambda _: True)

        def add() -> str:
            try:
                lone.chain().add(new)
                return ""
            except PluginError as error:
                lone.delete(new)
                return str(error)

        eventually("the device has a new owner", add, lambda said: said == "", 30)
        assert not lone.rows("SELECT id FROM attachment WHERE container_id = ?", old.container_id)
        lone.chain().check(new)
        lone.delete(new)
    assert not lone.left_in_the_end(new)


def test_an_ovsdb_that_answers_late_is_waited_for(lone: Lone) -> None:
    whole(lone)
    attachment = lone.attachment("there", 10)
    pid = daemons.pid_of(lone.node, "ovsdb-server")
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    late = threading.Timer(2, lambda: os.kill(pid, signal.SIGCONT))
    late.start()
    try:
        lone.chain().add(attachment)
    finally:
        late.join()
    lone.chain().check(attachment)
    lone.delete(attachment)
    assert not lone.left_in_the_end(attachment)


def finished_by_the_sweep(lone: Lone, *attachments: Attachment) -> None:
    """Where the DEL could write nothing, the record says that the pod lives: its namespace tells. raild gives it a minute."""
    for name in ("there", "fresh"):
        lone.end_namespace(name)
    for index in (10, 11):
        lone.settle(index)
    for attachment in attachments:
        lone.sweep(attachment)
    for index in (10, 11):
        lone.mend(index)


def test_the_record_is_read_only(lone: Lone) -> None:
    with two(lone) as (there, fresh):
        with read_only(lone):
            fails(lone, fresh, r"state\.db.*cannot be written")
            lone.delete(fresh)
            lone.delete(there)
            given_back(lone, there)
        finished_by_the_sweep(lone, there, fresh)
        for attachment in (there, fresh):
            assert not lone.left_in_the_end(attachment, 15)


@contextmanager
def on_a_small_disk(lone: Lone) -> Iterator[Callable[[], None]]:
    """The record's folder on a file system of 2 MiB; gives what fills it up."""
    folder = lone.node.root / "var/lib/railcni"

    def restart(change: Callable[[], object]) -> None:
        daemons.end([p for p in [daemons.pid_of(lone.node, "raild")] if p is not None])
        change()
        daemons.start_raild(lone.lab, lone.node)
        fabric.wait_for_bridges(lone.node, 1)

    restart(lambda: kernel.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]))

    def fill() -> None:
        with open(folder / "filler", "wb", buffering=0) as file:
            try:
                while file.write(b"\0" * 4096):
                    pass
            except OSError:
                pass

    try:
        yield fill
    finally:
        restart(lambda: kernel.run(["umount", str(folder)]))


def test_the_disk_is_full(lone: Lone) -> None:
    with on_a_small_disk(lone) as fill, two(lone) as (there, fresh):
        fill()
        # What is left of the last page of the log takes a write or two.
        for _ in range(20):
            try:
                lone.chain().add(fresh)
            except PluginError as error:
                assert error.code in UNAVAILABLE and "the disk is full" in error.message, error
                break
            finally:
                lone.delete(fresh)
        else:
            pytest.fail("ADD never met the full disk")
        lone.delete(there)
        given_back(lone, there)
        (lone.node.root / "var/lib/railcni/filler").unlink()
        finished_by_the_sweep(lone, there, fresh)
        for attachment in (there, fresh):
            assert not lone.left_in_the_end(attachment, 15)


def test_the_record_is_damaged(lone: Lone) -> None:
    """ADD fails and says so; DEL gives the addresses back and says what it could not do, which it does once the record is back."""
    folder = lone.node.root / "var/lib/railcni"
    names = ("state.db", "state.db-wal", "state.db-shm")
    with two(lone) as (there, fresh):
        damaged = folder / "damaged"
        damaged.write_bytes(b"x" * 8192)
        (folder / "state.db.good").hardlink_to(folder / "state.db")
        for name in names[1:]:
            (folder / name).rename(folder / f"{name}.good")
        damaged.rename(folder / "state.db")  # at once: where there is none for a moment, raild makes one
        try:
            fails(lone, fresh, r"state\.db.*damaged")
            with pytest.raises(PluginError) as failed:
                lone.delete(there)
            assert failed.value.code == 11 and failed.value.plugin == "ovs-provider", failed.value
            assert re.search(r"its addresses: given back; its device, .* not undone", failed.value.message)
            assert there.ifname in kernel.links(Path(there.netns).name), "nothing says whose it is"
        finally:
            for name in names:
                (folder / name).unlink(missing_ok=True)
                (folder / f"{name}.good").rename(folder / name)
        lone.delete(there)  # the runtime repeats it
        given_back(lone, there)
        assert not lone.left_in_the_end(there, 15)
