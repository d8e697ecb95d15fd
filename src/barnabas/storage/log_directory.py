"""One directory of ``log.dirs``: its lock, its partitions, its checkpoints, and whether it is
online.

A directory fails as a whole: after an ``OSError`` nothing in it is written any more and its
partitions answer KAFKA_STORAGE_ERROR, while the other directories continue. It comes back with a
restart, through recovery.

Directories with names that end in ``-delete`` are removed at the next start. ``-stray`` ones
belonged to no topic when they were checked and are kept: missing metadata must never delete data. A
``-future`` one is a copy of a replica that lies in another directory, and will take its place (see
:mod:`barnabas.replication.future_replica`).

A directory may also be full, or *cordoned*: then it gets no new replicas, and serves those it has.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from threading import Lock

from barnabas.env.disk import DirectoryLock, Disk, write_atomically
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import METADATA_TOPIC, TopicPartition, Uuid
from barnabas.records.batches import CorruptBatch
from barnabas.storage import checkpoints
from barnabas.storage.checkpoints import CheckpointDamaged, read_offsets, write_offsets
from barnabas.storage.file_names import (
    DELETE_DIRECTORY_SUFFIX,
    FUTURE_DIRECTORY_SUFFIX,
    STRAY_DIRECTORY_SUFFIX,
    is_marked,
    marked_directory_name,
    parse_future_directory,
    parse_partition_directory,
    partition_directory_name,
)
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.partition_metadata import read_topic_id, write_topic_id
from barnabas.storage.recovery import RecoveryReport, open_log

LOCK = ".lock"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH = -1


@dataclass(frozen=True, slots=True)
class FoundLog:
    """A partition's log as it was found at start."""

    log: Log
    topic_id: Uuid | None
    high_watermark: int
    report: RecoveryReport
    future: bool = False  # a copy that may be incomplete


class DirectoryLocked(Exception):
    """Another process uses the directory."""


class LogDirectory:
    def __init__(self, disk: Disk, path: str, directory_id: Uuid) -> None:
        self.disk = disk
        self.path = path
        self.directory_id = directory_id
        self.logs: dict[TopicPartition, Log] = {}
        self.futures: dict[TopicPartition, Log] = {}
        self.high_watermarks: dict[TopicPartition, Callable[[], int]] = {}
        self.failure: str | None = None
        self._lock: DirectoryLock | None = None
        self._written: dict[str, Mapping[TopicPartition, int]] = {}
        self._writing = Lock()
        # By name, the turn of the newest checkpoint written to the file.
        self._turns: dict[str, int] = {}
        self._turn = 0
        self.reserved = 0  # logs that are about to be created here
        self.cordoned = False
        self.strays = 0  # directories that are kept and belong to no topic

    # -- owning it

    def lock(self) -> None:
        """Raises ``DirectoryLocked`` when another process, which may be Kafka, holds the lock."""
        self._lock = self.disk.lock(f"{self.path}/{LOCK}")
        if self._lock is None:
            raise DirectoryLocked(f"{self.path} is in use by another process, which holds its {LOCK} file.")

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def online(self) -> bool:
        return self.failure is None

    def fail(self, reason: str) -> None:
        """Take the directory offline. Nothing is written any more, so that recovery finds it as the
        failure left it.
        """
        if self.failure is None:
            self.failure = reason
            for log in (*self.logs.values(), *self.futures.values()):
                log.abandon()

    # -- opening

    def take_clean_shutdown(self) -> tuple[bool, int]:
        """Whether the last owner stopped cleanly, and the broker epoch it had. The mark is removed,
        because it is valid only once.
        """
        path = f"{self.path}/{CLEAN_SHUTDOWN}"
        if not self.disk.exists(path):
            return False, UNKNOWN_BROKER_EPOCH
        try:
            epoch = int(json.loads(self.disk.read(path))["brokerEpoch"])
        except (ValueError, KeyError, TypeError):
            epoch = UNKNOWN_BROKER_EPOCH
        self.disk.remove(path)
        self.disk.sync_directory(self.path)
        return True, epoch

    def open_logs(self, settings_of: Callable[[str], LogSettings], *, clean: bool, now_ms: int) -> Iterator[FoundLog]:
        """Open every partition found here, recovering each as needed. Damaged checkpoints cost
        time, not data.
        """
        recovery_points = self._read_checkpoint(checkpoints.RECOVERY_POINTS)
        start_offsets = self._read_checkpoint(checkpoints.LOG_START_OFFSETS)
        high_watermarks = self._read_checkpoint(checkpoints.HIGH_WATERMARKS)
        cleaned_to = self._written[checkpoints.CLEANER_OFFSETS] = self._read_checkpoint(checkpoints.CLEANER_OFFSETS)
        for name in self.disk.names(self.path):
            directory = f"{self.path}/{name}"
            if is_marked(name, DELETE_DIRECTORY_SUFFIX):
                self.disk.remove_directory(directory)
                continue
            if is_marked(name, STRAY_DIRECTORY_SUFFIX):
                self.strays += 1
                continue
            future = parse_future_directory(name)
            if future is not None:
                yield from self._open_future(directory, future, settings_of(future.topic), clean=clean, now_ms=now_ms)
                continue
            partition = parse_partition_directory(name)
            if partition is None or partition.topic == METADATA_TOPIC or not self.disk.is_directory(directory):
                continue
            try:
                log, report = open_log(
                    self.disk,
                    directory,
                    partition,
                    settings_of(partition.topic),
                    clean=clean,
                    recovery_point=recovery_points.get(partition, 0),
                    log_start_offset=start_offsets.get(partition),
                    now_ms=now_ms,
                    cleaned_to=cleaned_to.get(partition, 0),
                )
            except CorruptBatch as damage:
                # The damage is below the recovery point, where truncating would discard flushed
                # records. An operator must decide.
                raise OSError(errno.EIO, f"the log is damaged: {damage}", directory) from damage
            self.logs[partition] = log
            log.cleaned_to = cleaned_to.get(partition)
            high_watermark = min(high_watermarks.get(partition, log.log_start_offset), log.log_end_offset)
            yield FoundLog(log, read_topic_id(self.disk, directory), max(high_watermark, log.log_start_offset), report)

    def _open_future(
        self, directory: str, partition: TopicPartition, settings: LogSettings, *, clean: bool, now_ms: int
    ) -> Iterator[FoundLog]:
        """A future replica is opened without any checkpoint. It is only a copy: damaged or
        incomplete data is removed, and copied again.
        """
        topic_id = read_topic_id(self.disk, directory)
        if partition in self.futures or topic_id is None:
            self.disk.remove_directory(directory)
            return
        try:
            log, report = open_log(
                self.disk, directory, partition, settings, clean=clean, recovery_point=0, log_start_offset=None, now_ms=now_ms
            )
        except CorruptBatch:
            self.disk.remove_directory(directory)
            return
        self.futures[partition] = log
        yield FoundLog(log, topic_id, log.log_start_offset, report, future=True)

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offsets(self.disk, f"{self.path}/{name}")
        except CheckpointDamaged:
            return {}

    # -- partitions

    def create(self, partition: TopicPartition, topic_id: Uuid, settings: LogSettings, *, now_ms: int) -> Log:
        """A new, empty log. Nothing of it is durable before its first flush, which is safe: a crash
        leaves at worst a directory that the metadata creates again.
        """
        return self._create(partition_directory_name(partition), partition, topic_id, settings, start_offset=None, now_ms=now_ms)

    def create_future(
        self, partition: TopicPartition, topic_id: Uuid, settings: LogSettings, unique: Uuid, *, start_offset: int, now_ms: int
    ) -> Log:
        """An empty log that begins at ``start_offset``, in a directory named as a future
        replica.
        """
        name = marked_directory_name(partition, unique, FUTURE_DIRECTORY_SUFFIX)
        return self._create(name, partition, topic_id, settings, start_offset=start_offset, now_ms=now_ms)

    def _create(
        self, name: str, partition: TopicPartition, topic_id: Uuid, settings: LogSettings, *, start_offset: int | None, now_ms: int
    ) -> Log:
        directory = f"{self.path}/{name}"
        self.disk.make_directory(directory)
        try:
            write_topic_id(self.disk, directory, topic_id)
            log, _ = open_log(
                self.disk, directory, partition, settings, clean=True, recovery_point=0, log_start_offset=start_offset, now_ms=now_ms
            )
        except OSError:
            # A half-made directory, left when the disk is full, would be found at the next start.
            with suppress(OSError):
                self.disk.remove_directory(directory)
            raise
        return log

    def add(self, log: Log) -> None:
        self.logs[log.partition] = log

    def adopt_future(self, partition: TopicPartition) -> Log:
        """The copy becomes the replica. Durable on return; its recovery point must be checkpointed
        before.
        """
        log = self.futures[partition]
        name = f"{self.path}/{partition_directory_name(partition)}"
        self.disk.rename(log.directory, name)
        log.moved_to(name)
        self.logs[partition] = self.futures.pop(partition)
        self.disk.sync_directory(self.path)
        return log

    def mark_future_deleted(self, partition: TopicPartition, unique: Uuid) -> str:
        return self._take_away(self.futures.pop(partition), unique, DELETE_DIRECTORY_SUFFIX)

    def mark_future_stray(self, partition: TopicPartition, unique: Uuid) -> str:
        return self._take_away(self.futures.pop(partition), unique, STRAY_DIRECTORY_SUFFIX)

    def mark_deleted(self, partition: TopicPartition, unique: Uuid) -> str:
        """Rename a partition's directory as deleted; returns the path, which :meth:`remove_marked`
        removes later.
        """
        return self._mark(partition, unique, DELETE_DIRECTORY_SUFFIX)

    def mark_stray(self, partition: TopicPartition, unique: Uuid) -> str:
        """Put aside a partition that no topic claims. It is kept."""
        return self._mark(partition, unique, STRAY_DIRECTORY_SUFFIX)

    def _mark(self, partition: TopicPartition, unique: Uuid, suffix: str) -> str:
        log = self.logs.pop(partition)
        self.high_watermarks.pop(partition, None)
        return self._take_away(log, unique, suffix)

    def _take_away(self, log: Log, unique: Uuid, suffix: str) -> str:
        log.abandon()
        marked = f"{self.path}/{marked_directory_name(log.partition, unique, suffix)}"
        self.disk.rename(log.directory, marked)
        log.moved_to(marked)
        self.disk.sync_directory(self.path)
        self.strays += suffix == STRAY_DIRECTORY_SUFFIX
        return marked

    def remove_marked(self, path: str) -> None:
        if self.disk.exists(path):
            self.disk.remove_directory(path)

    # -- checkpoints

    # Each takes the offsets now and returns a function that writes them, for a thread that may wait
    # for the disk. It returns None when nothing changed since the last time, so that an idle node
    # does not touch its disk.

    def recovery_point_checkpoint(self) -> Callable[[], None] | None:
        """Future replicas included: one that becomes the replica must not be recovered as
        unflushed.
        """
        return self._checkpoint(checkpoints.RECOVERY_POINTS, self._recovery_points())

    def _recovery_points(self) -> dict[TopicPartition, int]:
        return {partition: log.recovery_point for logs in (self.futures, self.logs) for partition, log in logs.items()}

    def start_offset_checkpoint(self) -> Callable[[], None] | None:
        return self._checkpoint(checkpoints.LOG_START_OFFSETS, self._starts())

    def _starts(self) -> dict[TopicPartition, int]:
        """Only start offsets that differ from the first segment's; a tiered log begins
        elsewhere.
        """
        return {
            partition: log.log_start_offset
            for logs in (self.futures, self.logs)
            for partition, log in logs.items()
            if log.log_start_offset > log.segments.first.base_offset or log.settings.remote_enabled
        }

    def write_down_bounds(self, starts: Mapping[TopicPartition, int]) -> Callable[[], None]:
        """Checkpoint recovery points, ends of the compacted parts, and log starts. When the
        returned function ends, all are on the disk.
        """
        for name in (checkpoints.LOG_START_OFFSETS, checkpoints.RECOVERY_POINTS, checkpoints.CLEANER_OFFSETS):
            self._written.pop(name, None)
        writes = (
            self._checkpoint(checkpoints.LOG_START_OFFSETS, {**self._starts(), **starts}),
            self._checkpoint(checkpoints.RECOVERY_POINTS, self._recovery_points()),
            self.cleaner_checkpoint(),
        )

        def write_all() -> None:
            for write in writes:
                assert write is not None, "a dropped checkpoint is always due"
                write()

        return write_all

    def high_watermark_checkpoint(self) -> Callable[[], None] | None:
        return self._checkpoint(checkpoints.HIGH_WATERMARKS, {partition: offset() for partition, offset in self.high_watermarks.items()})

    def cleaner_checkpoint(self) -> Callable[[], None] | None:
        """The offset up to which each log was compacted; logs that never were have no line."""
        return self._checkpoint(
            checkpoints.CLEANER_OFFSETS,
            {partition: log.cleaned_to for partition, log in self.logs.items() if log.cleaned_to is not None},
        )

    def _checkpoint(self, name: str, offsets: Mapping[TopicPartition, int]) -> Callable[[], None] | None:
        if self._written.get(name) == offsets:
            return None
        self._written[name] = offsets
        self._turn += 1
        return lambda turn=self._turn: self._write(name, offsets, turn)  # type: ignore[misc]

    def _write(self, name: str, offsets: Mapping[TopicPartition, int], turn: int) -> None:
        """May run on another thread, and after a write of a later checkpoint: an older one must
        never replace a newer one.
        """
        with self._writing:
            if turn > self._turns.get(name, 0):
                try:
                    write_offsets(self.disk, f"{self.path}/{name}", offsets)
                except OSError:
                    # The write failed, so the checkpoint is due again next time, even if no offset
                    # changed.
                    self._written.pop(name, None)
                    raise
                self._turns[name] = turn

    def write_recovery_points(self) -> None:
        """Written at once, because a log was truncated: the next appends must not count as flushed
        or compacted.
        """
        for take in (self.recovery_point_checkpoint, self.cleaner_checkpoint):
            write = take()
            if write is not None:
                write()

    # -- stopping

    def close(self, *, broker_epoch: int) -> None:
        """A clean stop: the mark of it is written last, when it is true. Raises ``OSError`` where
        that fails; the next start recovers.
        """
        try:
            if self.online:
                self._close(broker_epoch)
        finally:
            self.unlock()

    def _close(self, broker_epoch: int) -> None:
        for log in (*self.logs.values(), *self.futures.values()):
            log.close()
        for take in (
            self.recovery_point_checkpoint,
            self.start_offset_checkpoint,
            self.high_watermark_checkpoint,
            self.cleaner_checkpoint,
        ):
            write = take()
            if write is not None:
                write()
        mark = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        write_atomically(self.disk, f"{self.path}/{CLEAN_SHUTDOWN}", mark.encode())
