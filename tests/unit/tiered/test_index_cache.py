"""The cache of remote indexes."""

from __future__ import annotations

import errno
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Lock

import pytest

from barnabas.model.ids import uuid_text
from barnabas.records.control_batch import ControlType
from barnabas.simulation.disk import Operation, PowerCut, SimulatedDisk
from barnabas.tiered.reading import index_cache
from barnabas.tiered.reading.index_cache import CACHE_DIRECTORY, RemoteIndexCache
from barnabas.tiered.store.directory_store import DirectoryStore
from barnabas.tiered.store.object_names import ObjectKind
from barnabas.tiered.store.store import RemoteDataDamaged, StoreUnavailable
from tests.unit.storage.logs import append, fill, marker, open_partition, sent
from tests.unit.tiered.worlds import NAMES, REMOTE, CountingStore, Tiered, disk_with_store

CACHE = f"/data/{CACHE_DIRECTORY}"
ROOM = 1 << 20


def world() -> tuple[SimulatedDisk, CountingStore, Tiered]:
    """Three remote segments, of which the first has an aborted transaction."""
    disk, store = disk_with_store()
    log = open_partition(disk)
    append(log, sent(7, 0, transactional=True))
    append(log, marker(7, ControlType.ABORT))
    fill(log, 30)
    counting = CountingStore(store)
    tiered = Tiered(disk, log, counting)
    assert len(tiered.segments) == 3
    counting.asked.clear()
    return disk, counting, tiered


def cache(disk: SimulatedDisk, store: CountingStore, size_bytes_max: int = ROOM) -> RemoteIndexCache:
    return RemoteIndexCache(disk, "/data", store, NAMES, size_bytes_max=size_bytes_max)


def test_cached_indexes_answer_like_the_local_ones() -> None:
    disk, store, tiered = world()
    for remote, local in zip(tiered.segments, tiered.log.segments, strict=False):
        indexes = cache(disk, store).get(remote)
        for offset in range(remote.start_offset, remote.end_offset + 1):
            assert indexes.position_for(offset) == local.index.lookup(offset)[1]
        for timestamp in range(local.first_timestamp - 2, local.max_timestamp + 2):
            assert indexes.offset_for_timestamp(timestamp) == local.time_index.lookup(timestamp)
        assert indexes.aborted(0, 100, 100)[0] == local.transaction_index.collect(0, 100)[0]


def test_files_have_kafkas_names_and_are_fetched_once() -> None:
    disk, store, tiered = world()
    first, second, _ = tiered.segments
    made = cache(disk, store)
    assert made.get(first) is made.get(first)
    assert store.asked == ["get index", "get timeindex", "get txnindex"]
    made.get(second)
    stems = [f"{each.start_offset}_{uuid_text(each.id.uuid)}" for each in (first, second)]
    assert disk.names(CACHE) == sorted(f"{stem}.{suffix}" for stem in stems for suffix in ("index", "timeindex", "txnindex"))


def test_cached_indexes_survive_a_restart() -> None:
    disk, store, tiered = world()
    first = tiered.segments[0]
    before = cache(disk, store).get(first)
    store.down = True
    again = cache(disk, store)
    assert again.get(first) == before
    assert again.size_bytes == before.size_bytes


def test_incomplete_and_foreign_files_are_removed_at_start() -> None:
    disk, store, tiered = world()
    cache(disk, store).get(tiered.segments[0])
    stem = disk.names(CACHE)[0].partition(".")[0]
    for name in (f"{stem}.index.tmp", "5_x.index", "junk", f"{stem}.index.deleted", "9_AAAAAAAAAAAAAAAAAAAABw.index"):
        disk.open(f"{CACHE}/{name}")
    cache(disk, store)
    assert disk.names(CACHE) == [f"{stem}.{suffix}" for suffix in ("index", "timeindex", "txnindex")]
    disk.remove(f"{CACHE}/{stem}.txnindex")
    cache(disk, store)
    assert disk.names(CACHE) == []


def test_a_corrupt_cached_index_is_fetched_again() -> None:
    disk, store, tiered = world()
    first = tiered.segments[0]
    before = cache(disk, store).get(first)
    disk.flip_bit(f"{CACHE}/{disk.names(CACHE)[0]}", 0, 7)
    store.asked.clear()
    assert cache(disk, store).get(first) == before
    assert store.asked


@pytest.mark.parametrize("kind", [ObjectKind.INDEX, ObjectKind.TIME_INDEX, ObjectKind.TRANSACTION_INDEX])
@pytest.mark.parametrize("content", [b"x", b"\xff" * 816, bytes(range(255))[:240] * 17])
def test_a_corrupt_index_in_the_store_raises_and_is_not_cached(kind: ObjectKind, content: bytes) -> None:
    disk, store, tiered = world()
    first = tiered.segments[0]
    store.inner.put(NAMES.name(first, kind), content)
    made = cache(disk, store)
    with pytest.raises(RemoteDataDamaged, match="damaged"):
        made.get(first)
    assert disk.names(CACHE) == []


def test_the_least_recently_used_index_is_evicted_first() -> None:
    disk, store, tiered = world()
    one, two, three = tiered.segments
    sizes = [cache(disk, store).get(each).size_bytes for each in tiered.segments]
    cache(disk, store).remove([each.id.uuid for each in tiered.segments])
    assert disk.names(CACHE) == []
    made = cache(disk, store, sum(sizes) - 1)
    for each in (one, two, one, three):
        made.get(each)
    stems = {name.partition("_")[0] for name in disk.names(CACHE)}
    assert stems == {str(one.start_offset), str(three.start_offset)}
    assert made.size_bytes == sizes[0] + sizes[2]
    made.resize(0)
    assert disk.names(CACHE) == []
    assert made.size_bytes == 0


def test_a_removed_segment_is_forgotten() -> None:
    disk, store, tiered = world()
    made = cache(disk, store)
    made.get(tiered.segments[0])
    made.remove([tiered.segments[0].id.uuid, tiered.segments[1].id.uuid])
    assert disk.names(CACHE) == []
    store.down = True
    with pytest.raises(StoreUnavailable):
        made.get(tiered.segments[0])


@pytest.mark.parametrize("operation", [Operation.CREATE, Operation.WRITE, Operation.SYNC, Operation.RENAME])
def test_a_full_disk_costs_one_fetch_and_nothing_else(operation: Operation) -> None:
    disk, store, tiered = world()
    made = cache(disk, store)
    disk.fail_with(errno.ENOSPC, [operation], path_part=CACHE)
    assert made.get(tiered.segments[0]) is made.get(tiered.segments[0])
    assert (disk.names(CACHE), made.size_bytes) == ([], 0)


class SlowStore(CountingStore):
    """Every fetch of an offset index is an event, and goes on when the test says so."""

    def __init__(self, inner: CountingStore, events: SimpleQueue[Future[None] | str]) -> None:
        super().__init__(inner)
        self.events = events

    def get(self, name: str, *, size_bytes_max: int) -> bytes:
        if name.endswith(".index"):
            gate: Future[None] = Future()
            self.events.put(gate)
            gate.result(10)
        return super().get(name, size_bytes_max=size_bytes_max)


def test_a_failed_fetch_leaves_the_next_one_to_a_single_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two at once would write the same files, and a third reader could find half of one."""
    disk, store, tiered = world()
    events: SimpleQueue[Future[None] | str] = SimpleQueue()
    made = cache(disk, SlowStore(store, events))

    class AnnouncedLock:
        """A reader that has to wait for another one's fetch is an event too."""

        def __init__(self) -> None:
            self.lock = Lock()

        def __enter__(self) -> None:
            if not self.lock.acquire(blocking=False):
                events.put("waits")
                self.lock.acquire()

        def __exit__(self, *_: object) -> None:
            self.lock.release()

    monkeypatch.setattr(index_cache, "Lock", AnnouncedLock)
    first = tiered.segments[0]
    with ThreadPoolExecutor(3) as readers:
        one = readers.submit(made.get, first)
        fetch = events.get(timeout=10)
        assert isinstance(fetch, Future)
        two = readers.submit(made.get, first)
        assert events.get(timeout=10) == "waits"
        fetch.set_exception(StoreUnavailable("down"))
        with pytest.raises(StoreUnavailable):
            one.result(10)
        fetch = events.get(timeout=10)
        assert isinstance(fetch, Future)
        three = readers.submit(made.get, first)
        assert events.get(timeout=10) == "waits"
        fetch.set_result(None)
        assert two.result(10) is three.result(10)
    assert store.asked == ["get index", "get timeindex", "get txnindex"]
    assert not made._fetching


def test_indexes_are_whole_or_fetched_again_after_a_power_cut_at_any_moment() -> None:
    expected = None
    for step in range(1, 60):
        disk, store, tiered = world()
        first = tiered.segments[0]
        expected = expected or cache(*world()[:2]).get(first)
        disk.crash_after(step)
        try:
            cache(disk, store).get(first)
            disk.check_power()
        except PowerCut:
            for _ in range(3):
                survivor = disk.crash()
                if not survivor.is_directory("/data"):
                    continue
                # The remote store is on another machine, which did not lose power.
                remote = DirectoryStore(disk.kill(), REMOTE)
                fresh = RemoteIndexCache(survivor, "/data", remote, NAMES, size_bytes_max=ROOM)
                assert fresh.get(first) == expected
        else:
            return
    raise AssertionError("the cache was never filled")
