"""Retention: every ``log.retention.check.interval.ms`` expired segments leave their logs, and later
the disk.

    decide -> write down the new start and the recovery points -> move the start, rename the files
    -> wait for file.delete.delay.ms -> remove the files

Because of this order no client sees a start that a crash would revert. A crash at any step leaves a
log that opens, without a hole that recovery could take for lost records: recovery does not look
below the start, and everything below the recovery point was flushed. A segment that is not flushed
yet waits for its flush.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from barnabas.env.clock import Clock
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.storage.delayed_removals import DelayedRemovals
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.retention import Expired, Kept, expired
from barnabas.telemetry.catalogue import RETENTION_BYTES, RETENTION_SEGMENTS
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics

# When a segment had to be flushed first, the next look follows after this time.
FLUSH_SECONDS = 1.0


class _Retiring(NamedTuple):
    partition: Partition
    end_offset: int


class LogRetention:
    def __init__(
        self,
        replicas: LocalReplicas,
        clock: Clock,
        executor: Executor,
        removals: DelayedRemovals,
        metrics: Metrics,
        log: EventLog,
        *,
        interval_ms: int,
        flush: Callable[[Log], None],
    ) -> None:
        self._replicas = replicas
        self._clock = clock
        self._executor = executor
        self._removals = removals
        self._log = log
        self._segments = metrics.counter(RETENTION_SEGMENTS)
        self._bytes = metrics.counter(RETENTION_BYTES)
        self._interval_seconds = interval_ms / 1000
        self._flush = flush
        self._next: asyncio.TimerHandle | None = None
        self._stopped = False

    def start(self) -> None:
        self._look_again(self._interval_seconds)

    def stop(self) -> None:
        self._stopped = True
        if self._next is not None:
            self._next.cancel()

    def _look_again(self, seconds: float) -> None:
        if not self._stopped:
            self._next = asyncio.get_running_loop().call_later(seconds, self._look)

    # -- deciding ----------------------------------------------------------------------------------

    def _look(self) -> None:
        retiring: dict[str, list[_Retiring]] = {}
        unflushed = False
        for partition in list(self._replicas):
            if not partition.online:
                continue
            going = self._expired(partition)
            if going.close_active:
                self._close_active(partition)
            if not going.total:
                continue
            if self._flushed(partition, going):
                following = list(partition.log.segments)[going.total :]
                end_offset = following[0].base_offset if following else partition.log.log_end_offset
                retiring.setdefault(partition.directory.path, []).append(_Retiring(partition, end_offset))
            else:
                unflushed = True
        for directory in self._replicas.directories:
            if directory.online and directory.path in retiring:
                self._give_up(directory, retiring[directory.path])
        self._look_again(min(FLUSH_SECONDS, self._interval_seconds) if unflushed else self._interval_seconds)

    def _expired(self, partition: Partition) -> Expired:
        log = partition.log
        segments = list(log.segments)
        ends = [following.base_offset for following in segments[1:]] + [log.log_end_offset]
        return expired(
            [
                Kept(
                    end,
                    segment.size_bytes,
                    # Records without a timestamp count as written when their segment was created.
                    segment.max_timestamp if segment.max_timestamp >= 0 else segment.created_ms,
                    active=segment is log.segments.active,
                )
                for segment, end in zip(segments, ends, strict=True)
            ],
            log.settings,
            start_offset=log.log_start_offset,
            committed_offset=partition.high_watermark,
            remote_end_offset=log.remote_end_offset,
            now_ms=self._clock.wall_ms(),
        )

    def _close_active(self, partition: Partition) -> None:
        try:
            partition.log.roll(now_ms=self._clock.wall_ms())
        except OSError as error:
            self._replicas.disk_failed(partition.directory, error)

    def _flushed(self, partition: Partition, going: Expired) -> bool:
        """Whether all of the segments are known to be on disk; if not, a flush is started."""
        log = partition.log
        last = list(log.segments)[going.total - 1]
        if last.next_offset <= log.recovery_point:
            return True
        if last is log.segments.active:
            self._close_active(partition)
        if partition.online:
            self._flush(log)
        return False

    # -- deleting ---------------------------------------------------------------------------------

    def _give_up(self, directory: LogDirectory, retiring: list[_Retiring]) -> None:
        starts = {each.partition.partition: each.end_offset for each in retiring if not each.partition.log.settings.moves_to_remote}
        written = asyncio.get_running_loop().run_in_executor(self._executor, directory.write_down_bounds(starts))

        def finish(done: asyncio.Future[None]) -> None:
            failure = None if done.cancelled() else done.exception()
            if isinstance(failure, OSError):
                self._replicas.disk_failed(directory, failure)
            elif failure is not None:
                raise failure
            elif not done.cancelled() and not self._stopped:
                for each in retiring:
                    self._retire(*each)

        written.add_done_callback(finish)

    def _retire(self, partition: Partition, end_offset: int) -> None:
        """Check again: the log may have been truncated, moved or deleted while the disk was
        busy."""
        if not partition.online or self._replicas.get(*partition.partition) is not partition:
            return
        going = self._expired(partition)
        count = min(going.total, sum(segment.next_offset <= end_offset for segment in partition.log.segments))
        if not count:
            return
        try:
            removal = partition.log.retire(count, now_ms=self._clock.wall_ms())
        except OSError as error:
            self._replicas.disk_failed(partition.directory, error)
            return
        self._segments.value += removal.segments
        self._bytes.value += removal.size_bytes
        self._log.info(
            "segments deleted",
            partition=str(partition.partition),
            segments=removal.segments,
            bytes=removal.size_bytes,
            below_start=going.below_start,
            by_size=going.by_size,
            by_time=going.by_time,
        )
        self._removals.later(partition.directory, removal.finish, partition.log.settings.file_delete_delay_ms)
