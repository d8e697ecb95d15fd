"""Answers from remote storage and the local log together, while segments move from the one to the
other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.records.control_batch import ControlType
from barnabas.replication.reads import PartitionRead
from barnabas.storage.finding_by_time import TimestampOffset
from barnabas.storage.transaction_index import AbortedTransaction
from barnabas.telemetry.logs import EventLog
from barnabas.tiered.metadata.metadata_topic import Subscription
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentUpdate
from barnabas.tiered.quota import RemoteQuota
from barnabas.tiered.reading.remote_reads import RemoteReads
from barnabas.tiered.remote_metrics import RemoteMetrics
from barnabas.tiered.store.directory_store import DirectoryStore
from barnabas.tiered.tiered_partition import TieredPartition
from tests.unit import simulated
from tests.unit.replication.made import World
from tests.unit.storage.logs import NOW_MS, SMALL, append, data, marker, sent
from tests.unit.tiered.made import FINISHED
from tests.unit.tiered.worlds import NAMES, REMOTE, nothing, prepare, reader

ABORTED = AbortedTransaction(producer_id=7, first_offset=0, last_offset=11, last_stable_offset=12)


class OneWorker:
    """Runs each job at once; then ``meanwhile`` happens, before the outcome is known."""

    def __init__(self) -> None:
        self.meanwhile: list[Callable[[], None]] = []

    def run(self, job: Callable[[], Any]) -> asyncio.Future[Any]:
        outcome = asyncio.get_running_loop().create_future()
        outcome.set_result(job())
        if self.meanwhile:
            self.meanwhile.pop(0)()
        return outcome


class Scene:
    """Four segments of ten batches, of which the first is only remote: offset 0 is aborted by a
    marker at offset 11. Timestamps rise with the offsets."""

    def __init__(self) -> None:
        world = World()
        self.disk = world.disk
        for directory in ("/data", REMOTE):
            self.disk.make_directory(directory)
        self.store = DirectoryStore(self.disk, REMOTE)
        self.partition = world.partition(settings=replace(SMALL, remote_enabled=True))
        self.log = self.partition.log
        append(self.log, sent(7, 0, transactional=True))
        while len(self.log.segments) < 4:
            offset = self.log.log_end_offset
            append(self.log, marker(7, ControlType.ABORT) if offset == 11 else data(timestamp=NOW_MS + offset))
        self.log.flush()
        self.tiered = TieredPartition(self.partition, cast(Any, SimpleNamespace(subscribe=Subscription)), lambda *_: None)
        self.tiered.subscription.ready.resolve(None)
        self.worker = OneWorker()
        self.quota = RemoteQuota(lambda: 1 << 20, simulated.LoopClock(), windows=11, window_seconds=1)
        metrics = RemoteMetrics(world.metrics)
        source = reader(self.disk, self.store)
        self.reads = RemoteReads(source, cast(Any, self.worker), self.quota, metrics, EventLog("ERROR"), lambda _: self.tiered)
        self.copies = 0
        self.copy_and_retire()

    def copy_and_retire(self) -> None:
        """The oldest local segment is copied, and then leaves the local disk."""
        self.copies += 1
        copy = prepare(self.disk, self.log, number=self.copies, copied=self.tiered.copied_offset, directory=self.log.directory)
        assert copy is not None
        self.tiered.subscription.replay(copy.metadata)
        copy.run(self.store, NAMES, nothing)
        copy.release()
        self.tiered.subscription.replay(RemoteSegmentUpdate(copy.metadata.id, FINISHED, broker_id=1, event_timestamp=NOW_MS))
        self.retire()

    def retire(self) -> None:
        self.log.retire(1, now_ms=NOW_MS)

    def read(self, *, committed: bool = True) -> Promise[PartitionRead]:
        return self.reads.read(self.partition, 0, size_bytes_max=10_000, at_least_one=True, committed=committed)

    async def offset_at(self, timestamp: int) -> TimestampOffset | ErrorCode | None:
        return await awaited(self.reads.offset_for_timestamp(self.partition, timestamp))


def test_an_abort_in_the_local_log_belongs_to_a_remote_read() -> None:
    async def claim() -> None:
        read = await awaited(Scene().read())
        assert (read.error, read.size_bytes, read.aborted) == (ErrorCode.NONE, 1000, [ABORTED])

    simulated.run(claim())


def test_no_abort_is_lost_when_its_segment_is_copied_and_leaves_the_disk_during_the_read() -> None:
    async def claim() -> None:
        scene = Scene()
        scene.worker.meanwhile = [scene.copy_and_retire]
        # Consumers come back with the same offset after this error.
        assert await awaited(scene.read()) == PartitionRead(ErrorCode.REPLICA_NOT_AVAILABLE)
        again = await awaited(scene.read())
        assert (again.error, again.size_bytes, again.aborted) == (ErrorCode.NONE, 1000, [ABORTED])

    simulated.run(claim())


def test_a_read_of_uncommitted_records_needs_no_local_log() -> None:
    async def claim() -> None:
        scene = Scene()
        scene.worker.meanwhile = [scene.copy_and_retire]
        read = await awaited(scene.read(committed=False))
        assert (read.error, read.size_bytes, read.aborted) == (ErrorCode.NONE, 1000, None)

    simulated.run(claim())


def test_a_read_that_waits_for_the_quota_knows_what_was_copied_meanwhile() -> None:
    async def claim() -> None:
        scene = Scene()
        scene.quota.record(1 << 23)
        waiting = scene.read()
        assert not waiting.done
        scene.copy_and_retire()
        read = await awaited(waiting)
        assert (read.error, read.size_bytes, read.aborted) == (ErrorCode.NONE, 1000, [ABORTED])

    simulated.run(claim())


def test_an_offset_by_time_is_found_in_segments_that_leave_the_disk_during_the_search() -> None:
    async def claim() -> None:
        scene = Scene()
        scene.worker.meanwhile = [scene.copy_and_retire, scene.copy_and_retire]
        assert await scene.offset_at(NOW_MS + 23) == TimestampOffset(NOW_MS + 23, 23, 0)
        assert scene.log.local_start_offset == 30

    simulated.run(claim())


def test_an_offset_by_time_behind_a_hole_is_found_in_the_local_log() -> None:
    """A segment that was lost before it was copied."""

    async def claim() -> None:
        scene = Scene()
        scene.retire()
        assert await scene.offset_at(NOW_MS + 13) == TimestampOffset(NOW_MS + 20, 20, 0)

    simulated.run(claim())
