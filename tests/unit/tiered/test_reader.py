"""Reads from remote segments return the records that the local ones held."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.records.batch_header import read_header
from barnabas.records.batches import walk
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.leader_epochs import EpochStart
from barnabas.storage.log import Log
from barnabas.tiered.metadata.chain import RemoteChain, build_chain
from barnabas.tiered.reading import reader as reader_module
from barnabas.tiered.reading.read_ahead import PIECES_AHEAD
from barnabas.tiered.reading.reader import SEARCH_BYTES, OffsetNotRemote, RemoteRead, RemoteReader
from barnabas.tiered.store.object_names import ObjectKind
from barnabas.tiered.store.store import RemoteDataDamaged, RemoteStore, RemoteStoreError, StoreUnavailable
from tests.unit.storage.logs import BATCH_BYTES, NOW_MS, all_batches, append, data, fill, marker, open_partition, sent
from tests.unit.tiered.made import STARTED, catalogue
from tests.unit.tiered.worlds import NAMES, REMOTE, CountingStore, Tiered, chances, disk_with_store, reader


def world(batches: int = 45) -> tuple[SimulatedDisk, CountingStore, Tiered]:
    disk, store = disk_with_store()
    log = open_partition(disk)
    fill(log, batches)
    counting = CountingStore(store)
    return disk, counting, Tiered(disk, log, counting)


def read_all(made: RemoteReader, chain: RemoteChain, offset: int, size_bytes_max: int) -> list[bytes]:
    found = []
    while chain.holding(offset) is not None:
        read = made.read(chain, offset, size_bytes_max=size_bytes_max)
        assert read.records
        found += [bytes(read.records[at : at + header.size_bytes]) for at, header in walk(read.records)]
        assert read_header(found[-1]).last_offset + 1 == read.next_offset
        offset = read.next_offset
    return found


def local_batches(log: Log, end: int) -> list[bytes]:
    return [each for each in all_batches(log) if read_header(each).base_offset <= end]


@pytest.mark.parametrize("size_bytes_max", [1, BATCH_BYTES, 350, 10_000])
@pytest.mark.parametrize("piece_bytes", [64, 100, 333, 4096])
def test_a_reader_gets_every_batch_byte_for_byte(size_bytes_max: int, piece_bytes: int) -> None:
    disk, store, tiered = world()
    made = reader(disk, store, piece_bytes=piece_bytes)
    assert read_all(made, tiered.chain, 0, size_bytes_max) == local_batches(tiered.log, tiered.copied)
    made.close()


def test_every_offset_is_found() -> None:
    disk, store, tiered = world()
    made = reader(disk, store)
    for offset in range(tiered.copied + 1):
        read = made.read(tiered.chain, offset, size_bytes_max=1)
        assert (read.first_offset, read.next_offset) == (offset, offset + 1)
        assert read_header(read.records).base_offset == offset
    made.close()


def test_an_offset_that_is_not_remote_raises() -> None:
    disk, store, tiered = world()
    made = reader(disk, store)
    for offset in (-1, tiered.copied + 1, 10**6):
        with pytest.raises(OffsetNotRemote):
            made.read(tiered.chain, offset, size_bytes_max=1000)


def test_a_batch_above_the_limit_is_returned_alone_or_not_at_all() -> None:
    disk, store, tiered = world()
    made = reader(disk, store)
    alone = made.read(tiered.chain, 3, size_bytes_max=10)
    assert (len(alone.records), alone.oversized) == (BATCH_BYTES, True)
    none = made.read(tiered.chain, 3, size_bytes_max=10, at_least_one=False)
    assert none == RemoteRead(next_offset=3, oversized=True)
    fitting = made.read(tiered.chain, 3, size_bytes_max=2 * BATCH_BYTES, at_least_one=False)
    assert (len(fitting.records), fitting.oversized) == (2 * BATCH_BYTES, False)


@pytest.mark.parametrize("search_bytes", [200, SEARCH_BYTES])
def test_large_batches_over_many_pieces_are_whole(search_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "SEARCH_BYTES", search_bytes)
    disk, store = disk_with_store()
    log = open_partition(disk, open_partition(disk).settings.__class__(segment_bytes=20_000, index_interval_bytes=500))
    chance = chances(3)
    for _ in range(40):
        append(log, data(count=chance.randrange(1, 5), value=bytes(chance.randrange(1, 1500))))
    tiered = Tiered(disk, log, store)
    made = reader(disk, store, piece_bytes=700)
    assert read_all(made, tiered.chain, 0, 1000) == local_batches(log, tiered.copied)
    for offset in range(tiered.copied + 1):
        found = made.offset_for_timestamp(tiered.chain, NOW_MS, offset)
        assert found is not None
        assert found.offset == offset
    made.close()


def test_a_read_in_a_gap_returns_the_next_batch_also_of_the_next_segment() -> None:
    disk, store = disk_with_store()
    log = open_partition(disk)
    batches = [data() for _ in range(31)]
    for index, batch in list(enumerate(batches))[1:]:
        # Offsets 10, 20, 30..., with gaps as compaction leaves them.
        batch[0:8] = (10 * index).to_bytes(8, "big")
        if index and index % 10 == 0:
            log.roll(now_ms=NOW_MS, base_offset=10 * index)
        log.append_as_follower(batch, read_header(batch), NOW_MS)
    log.leader_epochs.assign(0, 0)
    tiered = Tiered(disk, log, store)
    made = reader(disk, store)
    starts = [link.start_offset for link in tiered.chain.links]
    assert len(starts) > 1
    for offset in (1, starts[1] - 5, starts[1] - 1):
        expected = -(-offset // 10) * 10
        assert made.read(tiered.chain, offset, size_bytes_max=BATCH_BYTES).first_offset == expected
    last = tiered.chain.links[-1]
    read = made.read(tiered.chain, last.end_offset, size_bytes_max=1)
    assert (read.records, read.next_offset) == (b"", last.end_offset + 1)


def test_records_of_another_history_are_not_read() -> None:
    disk, store, tiered = world()
    first = tiered.segments[0]
    # In this log epoch 0 ended at offset 4; the segment also holds the records after it, which were
    # truncated.
    chain = build_chain(catalogue(replace(first, state=STARTED)), [EpochStart(0, 0), EpochStart(1, 4)], 100)
    read = reader(disk, store).read(chain, 0, size_bytes_max=10_000)
    assert (read.first_offset, read.next_offset) == (0, 4)


# -- transactions -----------------------------------------------------------------------------


def test_aborted_transactions_are_those_of_the_local_log() -> None:
    disk, store = disk_with_store()
    log = open_partition(disk)
    chance = chances(5)
    open_now: set[int] = set()
    sequences = dict.fromkeys(range(4), 0)
    for _ in range(150):
        producer = chance.randrange(4)
        if producer in open_now and chance.random() < 0.3:
            append(log, marker(producer, chance.choice([ControlType.ABORT, ControlType.COMMIT])))
            open_now.discard(producer)
        else:
            open_now.add(producer)
            append(log, sent(producer, sequences[producer], transactional=True))
            sequences[producer] += 1
    tiered = Tiered(disk, log, store)
    assert len(tiered.segments) > 5
    made = reader(disk, store)
    complete = 0
    for offset in range(tiered.copied + 1):
        read = made.read(tiered.chain, offset, size_bytes_max=3 * BATCH_BYTES, aborted=True)
        expected = log.aborted_transactions(read.first_offset, read.next_offset)
        complete += read.aborted_complete
        if read.aborted_complete:
            assert list(read.aborted) == expected
        else:
            assert set(read.aborted) <= set(expected)
    assert complete > tiered.copied // 2


def test_transactions_are_looked_up_only_by_request() -> None:
    disk, store = disk_with_store()
    log = open_partition(disk)
    append(log, sent(7, 0, transactional=True))
    append(log, marker(7, ControlType.ABORT))
    fill(log, 12)
    counting = CountingStore(store)
    tiered = Tiered(disk, log, counting)
    counting.asked.clear()
    assert reader(disk, counting).read(tiered.chain, 0, size_bytes_max=1000).aborted == ()
    assert "get txnindex" not in counting.asked


# -- by time ----------------------------------------------------------------------------------


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_an_offset_by_time_is_that_of_the_local_log(codec: Codec) -> None:
    disk, store = disk_with_store()
    log = open_partition(disk)
    chance = chances(1)
    for _ in range(60):
        append(log, data(count=chance.randrange(1, 4), timestamp=NOW_MS + chance.randrange(100), codec=codec, value=bytes(20)))
    tiered = Tiered(disk, log, store)
    made = reader(disk, store)
    for timestamp in range(NOW_MS - 1, NOW_MS + 101, 3):
        expected = log.offset_for_timestamp(timestamp)
        found = made.offset_for_timestamp(tiered.chain, timestamp, 0)
        assert found == (expected if expected is not None and expected.offset <= tiered.copied else None)
    later = made.offset_for_timestamp(tiered.chain, NOW_MS, 17)
    assert later is not None
    assert later.offset == 17
    assert made.offset_for_timestamp(tiered.chain, NOW_MS + 1000, 0) is None


# -- damage and failures ----------------------------------------------------------------------


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 999), st.integers(0, 7))
def test_a_flipped_bit_never_reaches_a_client(position: int, bit: int) -> None:
    """Only the leader epoch is outside of the checksum, and readers do not use it."""
    disk, store, tiered = world(12)
    first = tiered.segments[0]
    before = local_batches(tiered.log, tiered.copied)
    disk.flip_bit(f"{REMOTE}/{NAMES.name(first, ObjectKind.LOG)}", position, bit)
    made = reader(disk, store)
    try:
        found = read_all(made, tiered.chain, 0, 10_000)
    except RemoteDataDamaged:
        return
    finally:
        made.close()
    same = [(one[:12], one[16:]) for one in found] == [(one[:12], one[16:]) for one in before]
    moved = [read_header(one).base_offset for one in found] != [read_header(one).base_offset for one in before]
    # A base offset that moved forward, within the segment and below the next batch, looks like any
    # other gap.
    assert same or moved


@pytest.mark.parametrize("by_time", [False, True])
def test_a_corrupt_length_raises_before_the_rest_of_the_segment_is_fetched(by_time: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "SEARCH_BYTES", 2 * BATCH_BYTES)
    disk, store, tiered = world(120)
    log = disk.open(f"{REMOTE}/{NAMES.name(tiered.segments[0], ObjectKind.LOG)}")
    log.write_at(8, (9 * BATCH_BYTES).to_bytes(4, "big"))
    made = reader(disk, store, piece_bytes=BATCH_BYTES)
    store.asked.clear()
    deed = partial(made.offset_for_timestamp, tiered.chain, NOW_MS, 0) if by_time else partial(made.read, tiered.chain, 0, size_bytes_max=1)
    with pytest.raises(RemoteDataDamaged, match="the index has another batch at position"):
        deed()
    made.close()
    assert store.asked.count("range log") <= 2 + PIECES_AHEAD


@pytest.mark.parametrize("size_bytes", [0, 1, 60, 61, 99, 100, 550, 999])
def test_a_shortened_object_raises(size_bytes: int) -> None:
    disk, store, tiered = world(12)
    disk.open(f"{REMOTE}/{NAMES.name(tiered.segments[0], ObjectKind.LOG)}").truncate(size_bytes)
    with pytest.raises(RemoteDataDamaged):
        read_all(reader(disk, store), tiered.chain, 0, 10_000)


def test_a_store_that_recovers_is_read_again() -> None:
    disk, store, tiered = world()
    made = reader(disk, store)
    store.down = True
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            made.read(tiered.chain, 5, size_bytes_max=1000)
    store.down = False
    assert made.read(tiered.chain, 5, size_bytes_max=1000).first_offset == 5


def test_damaged_data_is_not_cached_so_a_later_read_succeeds() -> None:
    disk, store, tiered = world()
    made = reader(disk, store)
    name = f"{REMOTE}/{NAMES.name(tiered.segments[0], ObjectKind.LOG)}"
    for deed in (
        lambda: made.read(tiered.chain, 0, size_bytes_max=10_000).records,
        lambda: made.offset_for_timestamp(tiered.chain, NOW_MS, 0),
    ):
        before = deed()
        disk.flip_bit(name, 80)
        made._read_ahead.forget(tiered.segments[0].id.uuid)
        with pytest.raises(RemoteDataDamaged):
            deed()
        disk.flip_bit(name, 80)
        assert deed() == before


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 31), st.integers(0, 7))
def test_a_flipped_bit_in_an_index_skips_no_records(position: int, bit: int) -> None:
    disk, store, tiered = world(12)
    first = tiered.segments[0]
    disk.flip_bit(f"{REMOTE}/{NAMES.name(first, ObjectKind.INDEX)}", position, bit)
    made = reader(disk, store)
    for offset in range(1, first.end_offset + 1):
        try:
            assert made.read(tiered.chain, offset, size_bytes_max=1).first_offset == offset
        except RemoteDataDamaged:
            continue
    made.close()


def test_a_missing_object_raises() -> None:
    disk, store, tiered = world()
    store.delete(NAMES.all_of(tiered.segments[0]))
    with pytest.raises(RemoteStoreError):
        reader(disk, store).read(tiered.chain, 0, size_bytes_max=1000)


def test_reading_in_sequence_asks_for_every_byte_once_and_for_no_index() -> None:
    disk, store, tiered = world()
    made = reader(disk, store, piece_bytes=350)
    store.asked.clear()
    read_all(made, tiered.chain, 0, 200)
    made.close()
    pieces = sum(-(-each.size_bytes // 350) for each in tiered.segments)
    assert store.asked == ["range log"] * pieces


def the_store(store: RemoteStore) -> RemoteStore:
    """The store fits the port, and mypy checks it."""
    return store
