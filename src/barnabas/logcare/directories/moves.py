"""Moves replicas between the directories of this broker, while they lead or follow.

    asked for --> copying --has everything--> flushed --> the controller is told --> copying the rest --has everything--> exchanged
        |             |___ the current log grows, is cut, is compacted: goes on ___|            |
        `-- another directory is asked for, the replica goes, a directory fails: the copy goes  `-- the old one goes, as -delete

The controller is told before the exchange (KIP-858): were the target to fail right after it, it would else believe the replica to be
where it no longer is, and let it lead. A crash between the two leaves the replica where it was and the copy beside it, and the move goes
on; a crash in the middle of the exchange leaves both under the replica's name, and the one that the controller was told of is it.

Pieces are read on a worker's thread and appended a few batches at a time, so that producers wait for none of it.
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
from barnabas.storage.delayed_removals import Removals
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.regions import FileRegion
from barnabas.telemetry.catalogue import REPLICA_MOVE_BYTES, REPLICAS_MOVED, REPLICAS_MOVING
from barnabas.telemetry.logs import Log as EventLog
from barnabas.telemetry.metrics import Metrics

# Large enough that the disk is read in one go, small enough that throttles and cancellations are soon noticed.
PIECE_BYTES = 1024 * 1024
# Appended in one turn of the loop: a few milliseconds, however small the batches are.
BATCHES_PER_TURN = 100
# What may be left to be read and appended in the very turn in which the logs are exchanged.
LAST_PIECE_BYTES = 256 * 1024
# How often a move looks whether its throttle lets it go on, a full disk has room again, or something came that can be read.
LOOK_AGAIN_SECONDS = 0.1
# A batch that reads as damaged may have been compacted or cut meanwhile; one that stays damaged is.
DAMAGED_READS_MAX = 3


class _Move:
    __slots__ = ("flushed", "future", "partition", "task", "told")

    def __init__(self, partition: Partition, future: FutureReplica) -> None:
        self.partition = partition
        self.future = future
        self.task: asyncio.Task[None] | None = None
        self.flushed = False  # since the controller was told: what is left to flush is little
        self.told = False  # the controller believes the replica to be in the target

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
    """Says whose an error is: a move has to do with two directories."""
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
        removals: Removals,
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

    # -- what is asked for ----------------------------------------------------------------------------------------------------

    def move(self, partition: Partition, target: LogDirectory) -> ErrorCode:
        """Begin to move a replica, or end its move where the target is the directory it lies in."""
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
            # A copy may lie in the directory that is away, and come back with it.
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
        """Go on with a copy that is there, perhaps from before a restart."""
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
        """The replica is not this broker's any more."""
        move = self._moves.get(partition)
        if move is not None:
            move.told = False
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
        """The copy goes, and the controller hears where the replica still is."""
        partition, target = move.partition, move.target
        del self._moves[partition]
        partition.health.future = None
        assert move.task is not None
        move.task.cancel()
        self._log.info("move of a replica called off", partition=str(partition.partition), target=target.path, reason=why)
        if move.told:
            self._reports.placed(partition.topic_id, partition.partition.partition, partition.directory)
        if not partition.directory.online:
            # All that is left of it here may be worth a look.
            target.futures.pop(partition.partition, None)
        elif target.online and partition.partition in target.futures:
            try:
                path = target.mark_future_deleted(partition.partition, Uuid(random_uuid(self._entropy)))
            except OSError as error:
                self._replicas.disk_failed(target, error)
            else:
                self._removals.later(target, partial(target.remove_marked, path), 0)

    # -- copying --------------------------------------------------------------------------------------------------------------

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
                    # Only of a directory that failed is the move called off, by who takes it offline.
                    self._replicas.disk_failed(trouble.directory, trouble.error)
                    await asyncio.sleep(LOOK_AGAIN_SECONDS)

    async def _copy(self, move: _Move) -> None:
        """Returns when nothing is left to be copied, in the turn of the loop in which that was so."""
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
                last = move.told and len(region) <= LAST_PIECE_BYTES
                with _on(source):
                    data = region.read() if last else await self._read(region)
                if data and cuts == future.cuts and future.still_has(region):
                    await self._append(move, memoryview(data), cuts, batches_max=len(data) if last else BATCHES_PER_TURN)
            finally:
                region.release()

    async def _read(self, region: FileRegion) -> bytes:
        """Nothing, when the file is not there any more under its name: then its segment is not in the log any more either."""
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

    # -- taking its place -----------------------------------------------------------------------------------------------------

    async def _may_exchange(self, move: _Move) -> bool:
        """False when there is something to be copied first. What the current log has made durable, the copy must have."""
        future, partition = move.future, move.partition
        if move.told and future.log.recovery_point >= partition.log.recovery_point:
            return True
        if move.flushed:
            # Every record is flushed there: the last ones must be here too, in this very turn.
            with _on(move.target):
                future.log.flush()
            if future.log.recovery_point >= partition.log.recovery_point:
                return True
            await asyncio.sleep(LOOK_AGAIN_SECONDS)
            return False
        await self._make_durable(move)
        if move.told:
            move.flushed = True
        else:
            told = self._reports.moving(partition.topic_id, partition.partition.partition, move.target)
            # From here on, whatever comes of it: the controller may have heard.
            move.told = True
            code = await awaited(told)
            if code != ErrorCode.NONE and self._moves.get(partition) is move:
                self._log.error("the controller refuses a replica's directory", partition=str(partition.partition), error=code.name)
                self._call_off(move, "the controller refused it")
        return False

    async def _make_durable(self, move: _Move) -> None:
        log, loop = move.future.log, asyncio.get_running_loop()
        with _on(move.target):
            end_offset, segments = log.flushable()
            await sync_in_background(self._executor, segments)
            log.flushed(end_offset)
            # As the replica it must not be taken for a log that was never flushed, nor for one that begins where its files do.
            source = move.partition.log
            starts = {log.partition: source.log_start_offset} if source.settings.remote_enabled else {}
            await loop.run_in_executor(self._executor, move.target.write_down_bounds(starts))

    def _exchange(self, move: _Move) -> None:
        """In one turn of the loop: nobody appends to the one or reads from the other in between."""
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
