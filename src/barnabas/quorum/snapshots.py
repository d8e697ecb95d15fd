"""Writes snapshots of the metadata log, when enough bytes or enough time have passed since the last
one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor

from barnabas.config.settings import BrokerSettings
from barnabas.env.clock import Clock
from barnabas.env.disk import out_of_room
from barnabas.metadata.applier import MetadataApplier
from barnabas.metadata.snapshot import SnapshotId
from barnabas.quorum.driver import QuorumDriver
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.telemetry.catalogue import METADATA_SNAPSHOTS
from barnabas.telemetry.metrics import Metrics

CHECK_SECONDS = 1.0


class Snapshots:
    def __init__(
        self,
        log: MetadataLog,
        applier: MetadataApplier,
        quorum: QuorumDriver,
        settings: BrokerSettings,
        clock: Clock,
        executor: Executor,
        metrics: Metrics,
        on_fatal: Callable[[BaseException], None],
    ) -> None:
        self._log = log
        self._applier = applier
        self._quorum = quorum
        self._clock = clock
        self._executor = executor
        self._on_fatal = on_fatal
        self._written = metrics.counter(METADATA_SNAPSHOTS)
        self._bytes_max = settings.integer("metadata.log.max.record.bytes.between.snapshots")
        self._interval_ms = settings.integer("metadata.log.max.snapshot.interval.ms")
        self._retention_bytes = settings.integer("metadata.max.retention.bytes")
        self._retention_ms = settings.integer("metadata.max.retention.ms")
        self._latest = SnapshotId(0, 0)
        self._latest_ms = clock.monotonic_ms()
        self._timer: asyncio.TimerHandle | None = None
        self._busy = False

    def loaded(self, snapshot: SnapshotId) -> None:
        self._latest = snapshot

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._check)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _check(self) -> None:
        due = self._interval_ms > 0 and self._clock.monotonic_ms() - self._latest_ms >= self._interval_ms
        if (due or self._applier.bytes_since_snapshot >= self._bytes_max) and not self._busy:
            self.write()
        self.start()

    def write(self) -> None:
        """Write a snapshot of the image that is published now. The records are made here, the file
        on a worker thread."""
        image = self._applier.image
        snapshot = SnapshotId(image.provenance.offset + 1, image.provenance.epoch)
        self._latest_ms = self._clock.monotonic_ms()
        if snapshot.end_offset <= self._latest.end_offset:
            return
        self._busy = True
        self._applier.bytes_since_snapshot = 0
        records = list(image.records())
        now_ms = self._clock.wall_ms()
        timestamp = image.provenance.timestamp_ms
        controls = self._quorum.control_records_at(snapshot.end_offset - 1)
        done = asyncio.get_running_loop().run_in_executor(
            self._executor, lambda: self._log.write_snapshot(snapshot, records, last_timestamp=timestamp, now_ms=now_ms, controls=controls)
        )
        done.add_done_callback(lambda future: self._finish(future, snapshot))

    def _finish(self, done: asyncio.Future[None], snapshot: SnapshotId) -> None:
        self._busy = False
        if done.cancelled():
            return
        failure = done.exception()
        if isinstance(failure, OSError) and out_of_room(failure):
            # The log still has everything. The next attempt, when the log has grown by as much
            # again, may find room.
            self._latest_ms = self._clock.monotonic_ms()
            return
        if failure is not None:
            self._on_fatal(failure)
            return
        self._latest = snapshot
        self._written.value += 1
        self._log.retain(size_bytes_max=self._retention_bytes, older_than_ms=self._clock.wall_ms() - self._retention_ms)
        self._quorum.snapshots_changed()
