"""A directory of ``log.dirs``: it has one owner, the next owner finds its logs, and it fails as a
whole.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from random import Random

import pytest

from barnabas.model.ids import METADATA_TOPIC, NodeId, TopicPartition, Uuid
from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.storage.checkpoints import HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS, read_offsets, write_offsets
from barnabas.storage.log import Log
from barnabas.storage.log_directory import CLEAN_SHUTDOWN, DirectoryLocked, FoundLog, LogDirectory
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.meta_properties import (
    META_PROPERTIES,
    MetaProperties,
    MetaPropertiesDamaged,
    read_meta_properties,
    write_meta_properties,
)
from barnabas.storage.partition_metadata import read_topic_id, write_topic_id
from tests.unit.storage.logs import NOW_MS, SMALL, fill, numbered, values

PATH = "/data"
ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks", 3)
ORDERS_ID, CLICKS_ID, UNIQUE = Uuid(b"o" * 16), Uuid(b"c" * 16), Uuid(b"u" * 16)


def new_disk(seed: int = 0) -> SimulatedDisk:
    disk = SimulatedDisk(Random(seed))
    disk.make_directory(PATH)
    disk.sync_directory("/")
    return disk


def directory_on(disk: SimulatedDisk) -> LogDirectory:
    return LogDirectory(disk, PATH, UNIQUE)


def opened(disk: SimulatedDisk, *, clean: bool | None = None) -> tuple[LogDirectory, dict[TopicPartition, FoundLog]]:
    directory = directory_on(disk)
    was_clean, _ = directory.take_clean_shutdown()
    settings: Callable[[str], LogSettings] = lambda topic: SMALL  # noqa: E731
    found = directory.open_logs(settings, clean=was_clean if clean is None else clean, now_ms=NOW_MS)
    return directory, {each.log.partition: each for each in found}


def two_partitions(disk: SimulatedDisk) -> tuple[LogDirectory, Log, Log]:
    directory = directory_on(disk)
    logs = []
    for partition, topic_id, batches in ((ORDERS, ORDERS_ID, 14), (CLICKS, CLICKS_ID, 3)):
        log = directory.create(partition, topic_id, SMALL, now_ms=NOW_MS)
        directory.add(log)
        fill(log, batches)
        logs.append(log)
    return directory, logs[0], logs[1]


# -- owning it


def test_a_directory_has_one_owner() -> None:
    disk = new_disk()
    first, second = directory_on(disk), directory_on(disk)
    first.lock()
    with pytest.raises(DirectoryLocked, match="in use"):
        second.lock()
    first.unlock()
    second.lock()


def test_the_clean_shutdown_mark_is_valid_once() -> None:
    disk = new_disk()
    directory, _, _ = two_partitions(disk)
    directory.lock()
    directory.close(broker_epoch=42)
    assert disk.read(f"{PATH}/{CLEAN_SHUTDOWN}") == b'{"version":0,"brokerEpoch":42}'
    again = directory_on(disk)
    again.lock()
    assert again.take_clean_shutdown() == (True, 42)
    assert again.take_clean_shutdown() == (False, -1)
    assert directory_on(disk.crash()).take_clean_shutdown() == (False, -1), "the mark is removed durably"


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"brokerEpoch": "x"}', b'{"version":0}'])
def test_a_clean_shutdown_mark_without_an_epoch_counts(content: bytes) -> None:
    disk = new_disk()
    disk.open(f"{PATH}/{CLEAN_SHUTDOWN}").write_at(0, content)
    assert directory_on(disk).take_clean_shutdown() == (True, -1)


# -- opening


@pytest.mark.parametrize("clean", [True, False])
def test_every_partition_is_found_again(clean: bool) -> None:
    disk = new_disk()
    directory, orders, _ = two_partitions(disk)
    orders.advance_start(2)
    directory.high_watermarks = {ORDERS: lambda: 9, CLICKS: lambda: 99}
    if clean:
        directory.close(broker_epoch=1)
    else:
        for write in (directory.start_offset_checkpoint(), directory.high_watermark_checkpoint()):
            assert write is not None
            write()
        disk = disk.kill()
    _, found = opened(disk)
    assert {partition: each.topic_id for partition, each in found.items()} == {ORDERS: ORDERS_ID, CLICKS: CLICKS_ID}
    assert values(found[ORDERS].log) == [numbered(n) for n in range(2, 14)]
    assert values(found[CLICKS].log) == [numbered(n) for n in range(3)]
    # A high watermark lies between the start and the end, whatever the checkpoint had.
    assert (found[ORDERS].high_watermark, found[CLICKS].high_watermark) == (9, 3)
    assert found[ORDERS].log.recovery_point == (14 if clean else 0)


def test_directories_that_are_not_partitions_are_left_alone() -> None:
    disk = new_disk()
    two_partitions(disk)
    for name in (f"{METADATA_TOPIC}-0", "remote-log-index-cache", "orders-1." + "a" * 32 + "-stray"):
        disk.make_directory(f"{PATH}/{name}")
    disk.open(f"{PATH}/file-7").write_at(0, b"not a directory")
    before = disk.names(PATH)
    _, found = opened(disk)
    assert set(found) == {ORDERS, CLICKS}
    assert disk.names(PATH) == before


def test_a_future_replica_is_found_and_can_be_adopted() -> None:
    disk = new_disk()
    directory = directory_on(disk)
    log = directory.create_future(ORDERS, ORDERS_ID, SMALL, UNIQUE, start_offset=0, now_ms=NOW_MS)
    directory.futures[ORDERS] = log
    fill(log, 6)
    log.flush()
    assert disk.names(PATH) == [f"orders-0.{UNIQUE.hex()}-future"]
    directory, found = opened(disk.kill())
    assert found[ORDERS].future
    assert found[ORDERS].topic_id == ORDERS_ID
    assert list(directory.futures) == [ORDERS]
    directory.adopt_future(ORDERS)
    fill(directory.logs[ORDERS], 14)
    assert isinstance(directory.disk, SimulatedDisk)
    for after in (directory.disk.kill(), directory.disk.crash()):
        assert after.names(PATH) == ["orders-0"], "durable when it returns"
        _, found = opened(after)
        assert not found[ORDERS].future
        assert values(found[ORDERS].log)[:6] == [numbered(n) for n in range(6)]


def test_a_directory_marked_deleted_is_removed_at_the_next_start() -> None:
    disk = new_disk()
    directory, _, _ = two_partitions(disk)
    marked = directory.mark_deleted(ORDERS, UNIQUE)
    assert marked == f"{PATH}/orders-0.{UNIQUE.hex()}-delete"
    for after in (disk.kill(), disk.crash()):
        assert not after.exists(f"{PATH}/orders-0"), "durable when it returns"
        _, found = opened(after)
        assert set(found) == {CLICKS}
        assert after.names(PATH) == ["clicks-3"]


def test_a_marked_directory_is_removed_once_and_a_stray_one_is_kept() -> None:
    disk = new_disk()
    directory, _, _ = two_partitions(disk)
    marked = directory.mark_deleted(ORDERS, UNIQUE)
    directory.remove_marked(marked)
    directory.remove_marked(marked)
    stray = directory.mark_stray(CLICKS, UNIQUE)
    assert (directory.logs, disk.names(PATH)) == ({}, [stray.removeprefix(f"{PATH}/")])
    _, found = opened(disk)
    assert (found, disk.exists(stray)) == ({}, True)


@pytest.mark.parametrize("name", [RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS])
def test_a_damaged_checkpoint_loses_no_data(name: str) -> None:
    disk = new_disk()
    directory, _, _ = two_partitions(disk)
    directory.close(broker_epoch=1)
    disk.open(f"{PATH}/{name}").write_at(0, b"\xff\xff")
    _, found = opened(disk, clean=False)
    assert values(found[ORDERS].log) == [numbered(n) for n in range(14)]


def test_a_power_cut_leaves_a_new_log_an_unowned_directory_or_nothing() -> None:
    disk = new_disk()
    directory_on(disk).create(ORDERS, ORDERS_ID, SMALL, now_ms=NOW_MS)
    left = set()
    for _ in range(40):
        _, found = opened(disk.crash())
        left.add(found[ORDERS].topic_id if ORDERS in found else b"nothing")
    assert left <= {ORDERS_ID, None, b"nothing"}


def test_a_flushed_log_is_found_again_after_a_power_cut() -> None:
    disk = new_disk()
    log = directory_on(disk).create(ORDERS, ORDERS_ID, SMALL, now_ms=NOW_MS)
    fill(log, 3)
    log.flush()
    for _ in range(40):
        _, found = opened(disk.crash())
        assert found[ORDERS].log.log_end_offset == 3


# -- checkpoints


def test_a_checkpoint_is_written_only_when_an_offset_changed() -> None:
    disk = new_disk()
    directory, orders, _ = two_partitions(disk)
    write = directory.recovery_point_checkpoint()
    assert write is not None
    orders.flush()
    write()
    assert read_offsets(disk, f"{PATH}/{RECOVERY_POINTS}") == {ORDERS: 0, CLICKS: 0}, "the offsets of the moment it was taken"
    write = directory.recovery_point_checkpoint()
    assert write is not None
    write()
    assert read_offsets(disk, f"{PATH}/{RECOVERY_POINTS}") == {ORDERS: 14, CLICKS: 0}
    assert directory.recovery_point_checkpoint() is None


def test_only_start_offsets_inside_a_segment_are_checkpointed() -> None:
    disk = new_disk()
    directory, orders, clicks = two_partitions(disk)
    clicks.truncate_fully(7)
    orders.advance_start(4)
    write = directory.start_offset_checkpoint()
    assert write is not None
    write()
    assert read_offsets(disk, f"{PATH}/{LOG_START_OFFSETS}") == {ORDERS: 4}


# -- stopping


def test_a_failed_directory_is_neither_written_nor_marked_clean() -> None:
    disk = new_disk()
    directory, _, _ = two_partitions(disk)
    directory.lock()
    assert directory.online
    directory.fail("the disk is gone")
    directory.fail("and again")
    operations = disk.operations
    directory.close(broker_epoch=1)
    assert (directory.online, directory.failure) == (False, "the disk is gone")
    assert disk.operations == operations
    assert not disk.exists(f"{PATH}/{CLEAN_SHUTDOWN}")


def test_a_power_cut_during_a_clean_stop_never_leaves_a_false_mark() -> None:
    marks = set()
    for step in count(1):
        disk = new_disk(step)
        directory, orders, _ = two_partitions(disk)
        orders.flush()
        write_offsets(disk, f"{PATH}/{RECOVERY_POINTS}", {ORDERS: 14})
        disk.crash_after(step)
        finished = False
        with suppress(PowerCut):
            directory.close(broker_epoch=1)
            finished = True
        for _ in range(4):
            after = disk.crash()
            marked = after.exists(f"{PATH}/{CLEAN_SHUTDOWN}")
            marks.add(marked)
            _, found = opened(after)
            assert values(found[ORDERS].log) == [numbered(n) for n in range(14)]
            if marked:
                assert values(found[CLICKS].log) == [numbered(n) for n in range(3)]
        if finished:
            break
    assert marks == {True, False}


# -- owners of directories


def test_a_topics_id_is_written_as_kafka_writes_it() -> None:
    disk = new_disk()
    write_topic_id(disk, PATH, ORDERS_ID)
    assert disk.read(f"{PATH}/partition.metadata") == b"version: 0\ntopic_id: b29vb29vb29vb29vb29vbw"
    assert read_topic_id(disk, PATH) == ORDERS_ID


@pytest.mark.parametrize(
    "content",
    [b"", b"version: 1\ntopic_id: b29vb29vb29vb29vb29vbw", b"version: 0\n", b"version: 0\ntopic_id: short", b"\xff\xfe", b"version: 0"],
)
def test_a_partition_without_a_readable_topic_id_belongs_to_no_topic(content: bytes) -> None:
    disk = new_disk()
    assert read_topic_id(disk, PATH) is None
    disk.open(f"{PATH}/partition.metadata").write_at(0, content)
    assert read_topic_id(disk, PATH) is None


META = MetaProperties("4L6g3nShT-eMCtK--X86sw", NodeId(7), UNIQUE)


def test_meta_properties_read_back_as_written() -> None:
    disk = new_disk()
    assert read_meta_properties(disk, PATH) is None
    write_meta_properties(disk, PATH, META)
    assert read_meta_properties(disk, PATH) == META
    assert read_meta_properties(disk.crash(), PATH) == META


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "version None"),
        (b"version=0\nbroker.id=1\n", "version 0"),
        (b"version=1\nnode.id=1\n", "lacks cluster.id"),
        (b"version=1\ncluster.id=x\nnode.id=one\ndirectory.id=x\n", "cannot be read"),
        (b"version=1\ncluster.id=x\nnode.id=1\ndirectory.id=x\n", "cannot be read"),
    ],
)
def test_damaged_meta_properties_are_refused(content: bytes, said: str) -> None:
    disk = new_disk()
    disk.open(f"{PATH}/{META_PROPERTIES}").write_at(0, content)
    with pytest.raises(MetaPropertiesDamaged, match=said):
        read_meta_properties(disk, PATH)
