"""Copying one segment."""

from __future__ import annotations

import pytest

from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import Log
from barnabas.storage.producer_snapshot import decode_snapshot
from barnabas.tiered.aux_state import decode_leader_epochs, encode_leader_epochs, fetch_aux_state
from barnabas.tiered.segment_copy import SegmentCopy, SegmentDamaged, SegmentGone
from barnabas.tiered.store.directory_store import DirectoryStore
from barnabas.tiered.store.object_names import ObjectKind
from barnabas.tiered.store.store import RemoteDataDamaged, StoreUnavailable
from tests.unit.storage.logs import DIRECTORY, append, data, fill, marker, open_partition, sent
from tests.unit.tiered.worlds import NAMES, CountingStore, disk_with_store, nothing, prepare

MIB = 1024 * 1024


def world() -> tuple[SimulatedDisk, DirectoryStore, Log, SegmentCopy]:
    """The first segment of two, in which a transaction was aborted and the leader changed."""
    disk, store = disk_with_store()
    log = open_partition(disk)
    append(log, sent(7, 0, transactional=True))
    append(log, marker(7, ControlType.ABORT))
    fill(log, 12, leader_epoch=3)
    copy = prepare(disk, log)
    assert copy is not None
    return disk, store, log, copy


def objects(store: DirectoryStore, copy: SegmentCopy) -> dict[str, bytes]:
    found = {kind.value: NAMES.name(copy.metadata, kind) for kind in ObjectKind}
    there = {each.name for each in store.list("")}
    assert there <= set(found.values())
    return {kind: store.get(name, size_bytes_max=MIB) for kind, name in found.items() if name in there}


def test_a_copy_has_all_files_of_the_segment_byte_for_byte() -> None:
    disk, store, _log, copy = world()
    taken: list[int] = []
    copy.run(store, NAMES, taken.append)
    found = objects(store, copy)
    for kind in (".log", ".index", ".timeindex", ".txnindex"):
        assert found[kind] == disk.read(f"{DIRECTORY}/{0:020d}{kind}")
    assert found[".snapshot"] == disk.read(f"{DIRECTORY}/{copy.metadata.end_offset + 1:020d}.snapshot")
    assert found[".leader-epoch-checkpoint"] == b"0\n2\n0 0\n3 2\n"
    assert sum(taken) == sum(map(len, found.values()))
    assert copy.metadata.size_bytes == len(found[".log"])
    assert not copy.metadata.txn_index_empty


def test_a_segment_without_aborts_has_no_transaction_index() -> None:
    disk, store = disk_with_store()
    log = open_partition(disk)
    fill(log, 12)
    copy = prepare(disk, log)
    assert copy is not None
    copy.run(store, NAMES, nothing)
    assert ".txnindex" not in objects(store, copy)
    assert copy.metadata.txn_index_empty


def test_the_log_comes_last() -> None:
    _, store, _, copy = world()
    counting = CountingStore(store)
    copy.run(counting, NAMES, nothing)
    assert counting.asked[-1] == "put log"


def test_files_that_are_removed_meanwhile_end_the_copy() -> None:
    _disk, store, log, copy = world()
    log.truncate_fully(100)
    with pytest.raises(SegmentGone):
        copy.run(store, NAMES, nothing)
    copy.release()


def test_the_log_file_may_be_renamed_and_removed_while_it_is_read() -> None:
    disk, store, log, copy = world()
    before = disk.read(f"{DIRECTORY}/{0:020d}.log")

    def take(size_bytes: int) -> None:
        path = f"{DIRECTORY}/{0:020d}.log"
        if disk.exists(path) and any(each.name.endswith("checkpoint") for each in store.list("")):
            log.segments.first.file.close()
            disk.remove(path)

    copy.run(store, NAMES, take)
    copy.release()
    assert not disk.exists(f"{DIRECTORY}/{0:020d}.log")
    assert objects(store, copy)[".log"] == before


def test_a_corrupt_segment_is_not_copied() -> None:
    for position in (3, 16, 20, 70, 350):
        disk, store, _, copy = world()
        disk.flip_bit(f"{DIRECTORY}/{0:020d}.log", position, 6)
        with pytest.raises(SegmentDamaged):
            copy.run(store, NAMES, nothing)
        assert ".log" not in objects(store, copy)


def test_a_truncated_segment_is_not_copied() -> None:
    _disk, store, log, copy = world()
    log.segments.first.file.truncate(250)
    with pytest.raises(SegmentDamaged):
        copy.run(store, NAMES, nothing)


def test_batches_larger_than_a_piece_are_copied() -> None:
    disk, store = disk_with_store()
    log = open_partition(disk, open_partition(disk).settings.__class__(segment_bytes=4 * MIB))
    for size in (10, 3 * MIB // 2, 100, MIB, 2 * MIB + 5, 3):
        append(log, data(value=bytes(size)))
    copy = prepare(disk, log)
    assert copy is not None
    copy.run(store, NAMES, nothing)
    name = NAMES.name(copy.metadata, ObjectKind.LOG)
    assert store.get(name, size_bytes_max=10 * MIB) == disk.read(f"{DIRECTORY}/{0:020d}.log")


def test_the_quota_callback_may_end_the_copy() -> None:
    _, store, _, copy = world()

    class NoLongerLeader(Exception):
        pass

    def take(size_bytes: int) -> None:
        raise NoLongerLeader

    with pytest.raises(NoLongerLeader):
        copy.run(store, NAMES, take)
    assert objects(store, copy) == {}


def test_a_copy_to_a_store_that_is_down_raises() -> None:
    _, store, _, copy = world()
    counting = CountingStore(store)
    counting.down = True
    with pytest.raises(StoreUnavailable):
        copy.run(counting, NAMES, nothing)


def test_a_follower_gets_epochs_and_producers_as_of_the_segments_end() -> None:
    _, store, _log, copy = world()
    copy.run(store, NAMES, nothing)
    state = fetch_aux_state(store, NAMES, copy.metadata)
    assert state.offset == copy.metadata.end_offset + 1
    assert state.leader_epochs == (EpochStart(0, 0), EpochStart(3, 2))
    assert [producer.producer_id for producer in state.producers] == [7]
    assert len(decode_snapshot(state.producer_snapshot)) == 1


@pytest.mark.parametrize("kind", [ObjectKind.LEADER_EPOCHS, ObjectKind.SNAPSHOT])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe", b"0\n3\n0 0\n", b"1\n0\n", b"0\n2\n3 5\n1 9\n", b"0\n1\nx y\n"])
def test_corrupt_auxiliary_state_raises(kind: ObjectKind, content: bytes) -> None:
    _, store, _, copy = world()
    copy.run(store, NAMES, nothing)
    store.put(NAMES.name(copy.metadata, kind), content)
    with pytest.raises(RemoteDataDamaged):
        fetch_aux_state(store, NAMES, copy.metadata)


def test_epochs_survive_writing_and_reading() -> None:
    for epochs in ((), (EpochStart(0, 0),), (EpochStart(1, 5), EpochStart(4, 9))):
        assert decode_leader_epochs(encode_leader_epochs(epochs)) == epochs
