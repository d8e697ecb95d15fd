"""Moves replicas between the directories of this broker, while they lead or follow.

    requested -> copying --has everything--> flushed -> reported to the controller
              -> copying the rest --has everything--> exchanged; the old log becomes -delete

    the current log grows, is truncated or is compacted:    the copy follows
    another directory is requested, the replica leaves
    the broker, or a directory fails:                       the copy is removed

The controller learns of the new directory before the exchange (KIP-858). If the target failed right
after an unreported exchange, the controller would still place the replica in its old directory, and
let it lead. A crash between the report and the exchange leaves the replica where it was and the
copy beside it, and the move continues. A crash in the middle of the exchange leaves two logs under
the replica's name, and the one in the reported directory is the replica.

Pieces are read on a worker thread and appended a few batches at a time, so that producers do not
wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial

from barnabas.config.settings import BrokerSettings
from barnabas.env.awaiting import awaited
from barnabas.env.clock import Clock
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.logcare.directories.reports import DirectoryReports
from barnabas.metadata.applier import MetadataView
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.records.batches import CorruptBatch
from barnabas.replication.future_replica import FutureReplica
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.replication.throttle import UNLIMITED, ByteRate
from barnabas.storage.background_sync import sync_in_background
from barnabas.storage.delayed_removals import DelayedRemovals
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.regions import FileRegion
from barnabas.telemetry.catalogue import REPLICA_MOVE_BYTES, REPLICAS_MOVED, REPLICAS_MOVING
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics

# Large enough to read the disk efficiently, small enough to notice throttles and cancellations
# soon.
PIECE_BYTES = 1024 * 1024
# Appended in one turn of the loop: a few milliseconds, however small the batches are.
BATCHES_PER_TURN = 100
# The most that may be left to read and append in the same turn in which the logs are exchanged.
LAST_PIECE_BYTES = 256 * 1024
# How often a move checks whether its throttle allows more, a full disk has room again, or new
# records can be read.
LOOK_AGAIN_SECONDS = 0.1
# A batch that reads as damaged may have been compacted or truncated in the meantime; one that stays
# damaged is damaged.
DAMAGED_READS_MAX = 3


class _Move:
    __slots__ = ("flushed", "future", "partition", "reported", "task")

    def __init__(self, partition: Partition, future: FutureReplica) -> None:
        self.partition = partition
        self.future = future
        self.task: asyncio.Task[None] | None = None
        self.flushed = False  # since the report to the controller, so that little is left to flush
        self.reported = False  # the controller has the target as the replica's directory

    @property
    def target(self) -> LogDirectory:
        return self.future.directory


class _DiskTrouble(Exception):
    def __init__(self, directory: LogDirectory, error: OSError) -> None:
        super().__init__(str(error))
        self.directory = directory
        self.error = error


@contextmanager
def _on(directory: LogDirectory) -> Iterator[None]:
    """Attach the directory to an error, because a move involves two."""
    try:
        yield
    except OSError as error:
        raise _DiskTrouble(directory, error) from error


class DirectoryMoves:
    def __init__(
        self,
        replicas: LocalReplicas,
        metadata: MetadataView,
        settings: BrokerSettings,
        clock: Clock,
        entropy: Entropy,
        executor: Executor,
        reports: DirectoryReports,
        removals: DelayedRemovals,
        metrics: Metrics,
        log: EventLog,
        *,
        on_new_log: Callable[[Log], None],
    ) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._clock = clock
        self._entropy = entropy
        self._executor = executor
        self._reports = reports
        self._removals = removals
        self._log = log
        self._on_new_log = on_new_log
        self._moves: dict[Partition, _Move] = {}
        workers = settings.integer_or_none("num.replica.alter.log.dirs.threads")
        self._places = asyncio.Semaphore(workers or max(1, len(replicas.directories)))
        self._rate = ByteRate(
            settings.integer("alter.log.dirs.replication.quota.window.num"),
            settings.integer("alter.log.dirs.replication.quota.window.size.seconds") * 1000,
        )
        self._moved = metrics.counter(REPLICAS_MOVED)
        self._bytes = metrics.counter(REPLICA_MOVE_BYTES)
        metrics.reading(REPLICAS_MOVING, lambda: [((), len(self._moves))])

    # -- requests ---------------------------------------------------------------------------------

    def move(self, partition: Partition, target: LogDirectory) -> ErrorCode:
        """Begin to move a replica, or end its move if the target is the directory in which it
        lies."""
        if not target.online or not partition.online:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if target.cordoned:
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT
        under_way = self._moves.get(partition)
        if under_way is not None and under_way.target is target:
            return ErrorCode.NONE
        if under_way is not None:
            self._call_off(under_way, "another directory was asked for")
        if partition.directory is target:
            return ErrorCode.NONE
        if not self._replicas.all_online:
            # A copy may lie in the offline directory, and come back with it.
            return ErrorCode.KAFKA_STORAGE_ERROR
        try:
            log = target.create_future(
                partition.partition,
                partition.topic_id,
                partition.log.settings,
                Uuid(random_uuid(self._entropy)),
                start_offset=partition.log.local_start_offset,
                now_ms=self._clock.wall_ms(),
            )
        except OSError as error:
            self._replicas.disk_failed(target, error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        target.futures[partition.partition] = log
        self.resume(partition, log, target)
        return ErrorCode.NONE

    def resume(self, partition: Partition, log: Log, target: LogDirectory) -> None:
        """Continue with an existing copy, perhaps from before a restart."""
        future = partition.health.future = FutureReplica(partition.log, log, target)
        log.settings = partition.log.settings
        move = self._moves[partition] = _Move(partition, future)
        self._log.info("replica moves", partition=str(partition.partition), source=partition.directory.path, target=target.path)
        move.task = asyncio.get_running_loop().create_task(self._run(move))
        move.task.add_done_callback(lambda task: self._ended(move, task))

    def _ended(self, move: _Move, task: asyncio.Task[None]) -> None:
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            self._log.error("a replica cannot be moved", partition=str(move.partition.partition), error=str(failure), exc_info=failure)

    def forget(self, partition: Partition) -> None:
        """The replica leaves this broker."""
        move = self._moves.get(partition)
        if move is not None:
            move.reported = False
            self._call_off(move, "the replica is gone")

    def directory_failed(self, directory: LogDirectory) -> None:
        for move in list(self._moves.values()):
            if directory in (move.target, move.partition.directory):
                self._call_off(move, "a directory failed")

    def stop(self) -> None:
        """The copies stay where they are: the next start finds them."""
        for move in self._moves.values():
            assert move.task is not None
            move.task.cancel()

    def _call_off(self, move: _Move, why: str) -> None:
        """Remove the copy, and report the replica's present directory to the controller."""
        partition, target = move.partition, move.target
        del self._moves[partition]
        partition.health.future = None
        assert move.task is not None
        move.task.cancel()
        self._log.info("move of a replica called off", partition=str(partition.partition), target=target.path, reason=why)
        if move.reported:
            self._reports.placed(partition.topic_id, partition.partition.partition, partition.directory)
        if not partition.directory.online:
            # The copy is all that is left of the replica here, and an operator may want to look at
            # it.
            target.futures.pop(partition.partition, None)
        elif target.online and partition.partition in target.futures:
            try:
                path = target.mark_future_deleted(partition.partition, Uuid(random_uuid(self._entropy)))
            except OSError as error:
                self._replicas.disk_failed(target, error)
            else:
                self._removals.later(target, partial(target.remove_marked, path), 0)

    # -- copying -----------------------------------------------------------------------------------

    async def _run(self, move: _Move) -> None:
        damaged = 0
        async with self._places:
            while self._moves.get(move.partition) is move:
                try:
                    await self._copy(move)
                    if await self._may_exchange(move):
                        self._exchange(move)
                except CorruptBatch as damage:
                    damaged += 1
                    if damaged >= DAMAGED_READS_MAX:
                        self._log.error("a replica cannot be moved", partition=str(move.partition.partition), damage=str(damage))
                        self._call_off(move, "its log is damaged")
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)
                except _DiskTrouble as trouble:
                    # An error of a failed directory calls the move off, in ``directory_failed``. A
                    # full disk may have room again.
                    self._replicas.disk_failed(trouble.directory, trouble.error)
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _copy(self, move: _Move) -> None:
        """Return when nothing is left to copy, in the same turn of the loop."""
        future, source = move.future, move.partition.directory
        while True:
            with _on(move.target):
                future.settle()
            if future.complete:
                return
            await self._wait_for_throttle()
            with _on(source):
                region = future.next_piece(min(PIECE_BYTES, max(1, self._limit())))
            if region is None:
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
                continue
            cuts = future.cuts
            try:
                last = move.reported and len(region) <= LAST_PIECE_BYTES
                with _on(source):
                    data = region.read() if last else await self._read(region)
                if data and cuts == future.cuts and future.still_has(region):
                    await self._append(move, memoryview(data), cuts, batches_max=len(data) if last else BATCHES_PER_TURN)
            finally:
                region.release()

    async def _read(self, region: FileRegion) -> bytes:
        """Empty when the file no longer exists under its name: its segment has left the log as
        well."""
        disk, path = self._replicas.directories[0].disk, region.file.path
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._executor, disk.read_range, path, region.position, len(region))
        except FileNotFoundError:
            return b""

    async def _append(self, move: _Move, data: memoryview, cuts: int, *, batches_max: int) -> None:
        future, start = move.future, 0
        while start < len(data) and cuts == future.cuts:
            with _on(move.target):
                done = future.append(data[start:], self._clock.wall_ms(), batches_max=batches_max)
            if not done:
                return  # the rest is not a whole batch
            start += done
            self._bytes.value += done
            self._rate.record(done, self._clock.monotonic_ms())
            if not future.complete:
                await asyncio.sleep(0)

    def _limit(self) -> int:
        limit = self._metadata.effective.broker.get("replica.alter.log.dirs.io.max.bytes.per.second")
        return limit if isinstance(limit, int) else UNLIMITED

    async def _wait_for_throttle(self) -> None:
        while self._rate.per_second(self._clock.monotonic_ms()) > self._limit() or self._limit() == 0:
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    # -- exchanging the logs -----------------------------------------------------------------------

    async def _may_exchange(self, move: _Move) -> bool:
        """False when there is something to copy first. Everything that the current log has made
        durable must be durable in the copy."""
        future, partition = move.future, move.partition
        if move.reported and future.log.recovery_point >= partition.log.recovery_point:
            return True
        if move.flushed:
            # The topic flushes every record: the last ones must be flushed here too, in this same
            # turn.
            with _on(move.target):
                future.log.flush()
            if future.log.recovery_point >= partition.log.recovery_point:
                return True
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            return False
        await self._make_durable(move)
        if move.reported:
            move.flushed = True
        else:
            response = self._reports.moving(partition.topic_id, partition.partition.partition, move.target)
            # Set before the response arrives, because the controller may have applied the report in
            # any case.
            move.reported = True
            code = await awaited(response)
            if code != ErrorCode.NONE and self._moves.get(partition) is move:
                self._log.error("the controller refuses a replica's directory", partition=str(partition.partition), error=code.name)
                self._call_off(move, "the controller refused it")
        return False

    async def _make_durable(self, move: _Move) -> None:
        log, loop = move.future.log, asyncio.get_running_loop()
        with _on(move.target):
            end_offset, segments = log.flushing.begin(log.log_end_offset)
            await sync_in_background(self._executor, segments)
            log.flushing.end(end_offset)
            # After the exchange recovery must not take the log for one that was never flushed, nor
            # for one that begins at its first file.
            source = move.partition.log
            starts = {log.partition: source.log_start_offset} if source.settings.remote_enabled else {}
            await loop.run_in_executor(self._executor, move.target.write_down_bounds(starts))

    def _exchange(self, move: _Move) -> None:
        """Exchange the logs in one turn of the loop, so that no append and no read comes in
        between."""
        partition, future, source = move.partition, move.future, move.partition.directory
        assert future.complete
        with _on(move.target):
            future.take_over()
            move.target.adopt_future(partition.partition)
        del self._moves[partition]
        self._replicas.exchange(partition, future)
        self._on_new_log(partition.log)
        self._moved.value += 1
        self._log.info("replica moved", partition=str(partition.partition), source=source.path, target=move.target.path)
        try:
            path = source.mark_deleted(partition.partition, Uuid(random_uuid(self._entropy)))
        except OSError as error:
            self._replicas.disk_failed(source, error)
        else:
            self._removals.later(source, partial(source.remove_marked, path), partition.log.settings.file_delete_delay_ms)
