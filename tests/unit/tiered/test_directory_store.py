"""A directory as a remote store."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from random import Random

import pytest

from barnabas.simulation.disk import Operation, PowerCut, SimulatedDisk
from barnabas.tiered.store.directory_store import DirectoryStore
from barnabas.tiered.store.store import ObjectMissing, RemoteDataDamaged, StoredObject, StoreRefused, StoreUnavailable
from tests.unit.tiered.worlds import REMOTE, disk_with_store


def test_an_object_is_read_whole_and_in_ranges() -> None:
    _, store = disk_with_store()
    store.put("c/t/0/a.log", (piece for piece in (b"hello ", b"world")))
    assert store.get("c/t/0/a.log", size_bytes_max=11) == b"hello world"
    assert store.get_range("c/t/0/a.log", 6, 3) == b"wor"
    assert store.get_range("c/t/0/a.log", 6, 300) == b"world"
    assert store.get_range("c/t/0/a.log", 11, 3) == b""
    with pytest.raises(RemoteDataDamaged):
        store.get("c/t/0/a.log", size_bytes_max=10)


def test_a_missing_object_raises_and_is_not_created() -> None:
    disk, store = disk_with_store()
    store.put("c/t/0/a.log", b"x")
    with pytest.raises(ObjectMissing):
        store.get("c/t/0/b.log", size_bytes_max=1)
    with pytest.raises(ObjectMissing):
        store.get_range("d/b", 0, 1)
    assert disk.names(f"{REMOTE}/c/t/0") == ["a.log"]


def test_a_listing_has_the_complete_objects_under_a_prefix() -> None:
    disk, store = disk_with_store()
    for name in ("c/t-1/0/a.log", "c/t-1/1/b.log", "c/t-12/0/c.log"):
        store.put(name, b"12345")
    disk.open(f"{REMOTE}/c/t-1/0/d.log.part")
    assert list(store.list("c/t-1/")) == [StoredObject("c/t-1/0/a.log", 5), StoredObject("c/t-1/1/b.log", 5)]
    assert [each.name for each in store.list("")] == ["c/t-1/0/a.log", "c/t-1/1/b.log", "c/t-12/0/c.log"]
    assert list(store.list("e/")) == []


def test_a_deletion_may_be_repeated_and_removes_incomplete_objects() -> None:
    disk, store = disk_with_store()
    store.put("c/t/0/a.log", b"x")
    disk.open(f"{REMOTE}/c/t/0/b.log.part")
    for _ in range(2):
        store.delete(["c/t/0/a.log", "c/t/0/b.log", "never/there.log"])
    assert disk.names(f"{REMOTE}/c/t/0") == []


def test_a_source_that_fails_leaves_no_visible_object() -> None:
    _, store = disk_with_store()

    def pieces() -> Iterator[bytes]:
        yield b"half"
        raise KeyError("the other half")

    with pytest.raises(KeyError, match="the other half"):
        store.put("c/a.log", pieces())
    assert list(store.list("")) == []


def test_nothing_is_created_where_the_mount_is_missing() -> None:
    disk = SimulatedDisk(Random(0))
    store = DirectoryStore(disk, REMOTE)
    for deed in (lambda: store.put("c/a.log", b"x"), lambda: store.delete(["c/a.log"]), lambda: next(store.list(""))):
        with pytest.raises(StoreUnavailable, match="does not exist"):
            deed()
    assert not disk.exists(REMOTE)


@pytest.mark.parametrize(("number", "kind"), [(errno.ENOSPC, StoreUnavailable), (errno.EROFS, StoreRefused), (errno.EIO, StoreUnavailable)])
@pytest.mark.parametrize("operation", [Operation.WRITE, Operation.SYNC, Operation.RENAME])
def test_a_failing_disk_makes_the_store_fail(operation: Operation, number: int, kind: type[Exception]) -> None:
    disk, store = disk_with_store()
    disk.fail_with(number, [operation], path_part=REMOTE)
    with pytest.raises(kind):
        store.put("c/a.log", b"x")
    disk.stop_failing()
    assert disk.names(f"{REMOTE}/c") == [], "what was half written takes no room"
    store.put("c/a.log", b"y")
    assert store.get("c/a.log", size_bytes_max=1) == b"y"


def test_an_object_is_whole_or_missing_after_a_power_cut_at_any_moment() -> None:
    content = bytes(range(256)) * 20
    for step in range(1, 100):
        disk, store = disk_with_store(step)
        disk.crash_after(step)
        returned = False
        try:
            store.put("cluster/topic/0/a.log", (content[at : at + 512] for at in range(0, len(content), 512)))
            returned = True
            disk.check_power()
        except PowerCut:
            pass
        for _ in range(3):
            survivor = DirectoryStore(disk.crash(), REMOTE)
            found = {each.name: survivor.get(each.name, size_bytes_max=1 << 20) for each in survivor.list("")}
            assert found in ({}, {"cluster/topic/0/a.log": content})
            assert found or not returned
        if returned:
            return
    raise AssertionError("the object was never put")
