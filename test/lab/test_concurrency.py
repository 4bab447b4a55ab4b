"""Many runtimes' calls at once on one node: different pods, the same device, an old and a new owner."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from lone import Lone, PluginError
from railcni_lab import kernel
from railcni_lab.chain import Attachment
from railcni_lab.layout import device

CROWD = 64
RIVALS = 8
ROUNDS = 10
BUSY = 11


def address_of(result: dict[str, object]) -> str:
    return str(result["ips"][0]["address"]).split("/")[0]  # type: ignore[index]


def check_whole(lone: Lone, attachment: Attachment) -> None:
    """CHECK of every plugin, and the interface really is in the pod."""
    lone.chain().check(attachment)
    assert attachment.ifname in kernel.links(Path(attachment.netns).name)


def test_64_pods_are_added_and_deleted_in_parallel(lone: Lone) -> None:
    crowd = [lone.attachment(f"crowd-{i}", i, tenant=f"t-{i % 7}") for i in range(CROWD)]
    with ThreadPoolExecutor(CROWD) as pool:
        added = list(pool.map(lambda a: lone.chain().add(a), crowd))
        assert len({address_of(r) for r in added}) == CROWD, "each its own address"
        for attachment in crowd[::9]:
            check_whole(lone, attachment)
        list(pool.map(lone.delete, crowd))
    for attachment in crowd:
        assert not lone.left_in_the_end(attachment, 15)
    for i in range(CROWD):
        lone.end_namespace(f"crowd-{i}")


def test_adds_and_deletes_of_different_pods_mix_in_parallel(lone: Lone) -> None:
    """One half comes while the other half goes."""
    old = [lone.attachment(f"mix-{i}", i, tenant="t-mix") for i in range(16)]
    new = [lone.attachment(f"mix-{i}", i, tenant="t-mix") for i in range(16, 32)]
    with ThreadPoolExecutor(32) as pool:
        list(pool.map(lambda a: lone.chain().add(a), old))
        going = [pool.submit(lone.delete, a) for a in old]
        coming = [pool.submit(lone.chain().add, a) for a in new]
        for done in [*going, *coming]:
            done.result()
        for attachment in new:
            check_whole(lone, attachment)
        list(pool.map(lone.delete, new))
    for attachment in [*old, *new]:
        assert not lone.left_in_the_end(attachment, 15)
    for i in range(32):
        lone.end_namespace(f"mix-{i}")


def test_of_8_that_ask_for_one_device_exactly_one_wins(lone: Lone) -> None:
    rivals = [lone.attachment(f"rival-{i}", 0, tenant=f"t-{i}") for i in range(RIVALS)]

    def attempt(attachment: Attachment) -> PluginError | None:
        try:
            lone.chain().add(attachment)
            return None
        except PluginError as error:
            return error

    for _ in range(3):
        with ThreadPoolExecutor(RIVALS) as pool:
            answers = list(pool.map(attempt, rivals))
            winners = [a for a, error in zip(rivals, answers, strict=True) if error is None]
            assert len(winners) == 1, [str(e) for e in answers]
            winner = winners[0]
            for error in filter(None, answers):
                assert error.code == BUSY, error
                assert device(0, 0) in error.message, error
            # The losers' DEL, as their runtimes send it, takes nothing from the winner.
            list(pool.map(lone.delete, [a for a in rivals if a is not winner]))
        check_whole(lone, winner)
        lone.delete(winner)
        for attachment in rivals:
            assert not lone.left_in_the_end(attachment)
        assert device(0, 0) in kernel.links(lone.node.namespace)
    for i in range(RIVALS):
        lone.end_namespace(f"rival-{i}")


def test_the_new_owner_survives_the_del_of_the_old_one(lone: Lone) -> None:
    """The new pod asks for the device while the old one's DEL runs; whatever came first, it is whole afterwards."""
    refused = 0
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            old = lone.attachment("owner-old", 1, tenant="t-old")
            new = lone.attachment("owner-new", 1, tenant="t-new")
            lone.chain().add(old)
            going = pool.submit(lone.delete, old)
            for _ in range(500):  # a runtime tries again
                try:
                    lone.chain().add(new)
                    break
                except PluginError as error:
                    assert error.code == BUSY, error
                    refused += 1
                    lone.delete(new)
            else:
                pytest.fail("the device never came free")
            # A late repetition of the old one's DEL.
            pool.submit(lone.delete, old).result()
            going.result()
            check_whole(lone, new)
            lone.delete(new)
            assert not lone.left_in_the_end(old) and not lone.left_in_the_end(new), f"round {number}"
    for name in ("owner-old", "owner-new"):
        lone.end_namespace(name)
    assert lone.rows("SELECT count(*) FROM attachment") == [(0,)]


def test_a_del_that_does_not_wait_for_its_add(lone: Lone) -> None:
    """A runtime that has given an ADD up sends its DEL while the ADD still runs."""
    with ThreadPoolExecutor(2) as pool:
        for number in range(ROUNDS):
            attachment = lone.attachment("hasty", 2)
            adding = pool.submit(lone.chain().add, attachment)
            os.sched_yield()
            for _ in range(1 + number % 3):
                lone.delete(attachment)
            try:
                adding.result()
            except PluginError as error:
                assert error.code in (BUSY, 7, 101), error  # the chain has no record to stand on any more
            lone.delete(attachment)
            assert not lone.left_in_the_end(attachment), f"round {number}"
    lone.end_namespace("hasty")


