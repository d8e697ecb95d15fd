"""Periodic work on logs: flushes of closed segments, checkpoints, and the expiry of idle producers.

Everything that waits for a disk runs on a worker thread, one job per directory at a time. A
directory whose disk fails is taken offline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from weakref import WeakKeyDictionary

from barnabas.config.settings import BrokerSettings
from barnabas.env.clock import Clock
from barnabas.metadata.applier import MetadataView
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.storage.background_sync import sync_in_background
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.telemetry.catalogue import FLUSHES
from barnabas.telemetry.metrics import Metrics

_NEVER_MS = 2**63 - 1


class LogHousekeeping:
    def __init__(
        self, replicas: LocalReplicas, settings: BrokerSettings, metadata: MetadataView, clock: Clock, executor: Executor, metrics: Metrics
    ) -> None:
        self._replicas = replicas
        self._metadata = metadata
        self._clock = clock
        self._executor = executor
        self._flushes = metrics.counter(FLUSHES)
        self._settings = settings
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._flushing: set[Log] = set()
        # when each log last had nothing to flush
        self._flushed_ms: WeakKeyDictionary[Log, int] = WeakKeyDictionary()
        self._stopped = False

    def start(self) -> None:
        milliseconds = self._settings.integer
        self._every(milliseconds("log.flush.offset.checkpoint.interval.ms") / 1000, self._checkpoint_recovery_points)
        self._every(milliseconds("log.flush.start.offset.checkpoint.interval.ms") / 1000, self._checkpoint_start_offsets)
        self._every(milliseconds("replica.high.watermark.checkpoint.interval.ms") / 1000, self._checkpoint_high_watermarks)
        self._every(milliseconds("producer.id.expiration.check.interval.ms") / 1000, self._expire_producers)
        if milliseconds("log.flush.scheduler.interval.ms") < _NEVER_MS:
            self._every(milliseconds("log.flush.scheduler.interval.ms") / 1000, self._flush_by_age)

    def stop(self) -> None:
        self._stopped = True
        for timer in self._timers.values():
            timer.cancel()

    def watch(self, log: Log) -> None:
        """Flush a log whenever it closes a segment."""
        log.on_roll = self.flush

    def _every(self, seconds: float, job: Callable[[], None]) -> None:
        def run() -> None:
            if not self._stopped:
                job()
                self._timers[job.__name__] = asyncio.get_running_loop().call_later(seconds, run)

        self._timers[job.__name__] = asyncio.get_running_loop().call_later(seconds, run)

    # -- flushing ----------------------------------------------------------------------------------

    def flush(self, log: Log) -> None:
        """One flush per log at a time: the next one covers a roll during a flush."""
        if log in self._flushing or self._stopped:
            return
        self._flushing.add(log)
        end_offset, segments = log.flushing.begin(log.log_end_offset)
        done = sync_in_background(self._executor, segments)

        def finish(future: asyncio.Future[None]) -> None:
            self._flushing.discard(log)
            if future.cancelled():
                return
            failure = future.exception()
            if isinstance(failure, OSError):
                self._failed(log, failure)
            elif failure is not None:
                raise failure
            else:
                self._flushes.value += len(segments)
                log.flushing.end(end_offset)

        done.add_done_callback(finish)

    def _failed(self, log: Log, failure: OSError) -> None:
        for directory in self._replicas.directories:
            if directory.logs.get(log.partition) is log:
                self._replicas.disk_failed(directory, failure)

    def _flush_by_age(self) -> None:
        now_ms = self._clock.monotonic_ms()
        for log in (partition.log for partition in self._replicas):
            if log.recovery_point == log.log_end_offset:
                self._flushed_ms[log] = now_ms
            elif now_ms - self._flushed_ms.setdefault(log, now_ms) >= log.settings.flush_ms:
                self._flushed_ms[log] = now_ms
                self.flush(log)

    # -- checkpoints -------------------------------------------------------------------------------

    def _checkpoint_recovery_points(self) -> None:
        for directory in self._replicas.directories:
            self._write(directory, directory.recovery_point_checkpoint)

    def _checkpoint_start_offsets(self) -> None:
        for directory in self._replicas.directories:
            self._write(directory, directory.start_offset_checkpoint)

    def _checkpoint_high_watermarks(self) -> None:
        for directory in self._replicas.directories:
            self._write(directory, directory.high_watermark_checkpoint)

    def _write(self, directory: LogDirectory, take: Callable[[], Callable[[], None] | None]) -> None:
        """Take the values here, on the loop's thread, where nothing changes in the meantime, and
        write them on a worker thread."""
        write = take() if directory.online else None
        if write is None:
            return
        done = asyncio.get_running_loop().run_in_executor(self._executor, write)

        def finish(future: asyncio.Future[None]) -> None:
            failure = None if future.cancelled() else future.exception()
            if isinstance(failure, OSError):
                self._replicas.disk_failed(directory, failure)

        done.add_done_callback(finish)

    # -- producers ---------------------------------------------------------------------------------

    def _expire_producers(self) -> None:
        expiration_ms = self._metadata.effective.broker["producer.id.expiration.ms"]
        assert isinstance(expiration_ms, int)
        oldest = self._clock.wall_ms() - expiration_ms
        for partition in self._replicas:
            partition.log.producers.expire(older_than_ms=oldest)
