"""One directory of ``log.dirs``: its lock, its partitions, its checkpoints, and whether it can still be trusted.

A directory fails as a whole: after an ``OSError`` nothing in it is written any more and its partitions answer
KAFKA_STORAGE_ERROR, while the other directories go on. It comes back with a restart, through recovery.

Directories whose names say ``-delete`` are on their way out and are removed at the next start; ``-stray`` ones belonged to no topic
when somebody looked and are kept: metadata that is missing must never delete data.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from threading import Lock

from barnabas.env.disk import DirectoryLock, Disk, write_atomically
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


class DirectoryLocked(Exception):
    """Another process uses the directory."""


class LogDirectory:
    def __init__(self, disk: Disk, path: str, directory_id: Uuid) -> None:
        self.disk = disk
        self.path = path
        self.directory_id = directory_id
        self.logs: dict[TopicPartition, Log] = {}
        self.high_watermarks: dict[TopicPartition, Callable[[], int]] = {}
        self.failure: str | None = None
        self._lock: DirectoryLock | None = None
        self._written: dict[str, Mapping[TopicPartition, int]] = {}
        self._writing = Lock()
        self._turns: dict[str, int] = {}  # of the newest checkpoint that is in its file
        self._turn = 0
        self.reserved = 0  # logs about to be made here

    # -- owning it ------------------------------------------------------------------------------------------------------------

    def lock(self) -> None:
        """``DirectoryLocked`` when somebody else, Kafka included, has it."""
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
        """Give the directory up. Nothing is written any more, so that recovery finds it as the failure left it."""
        if self.failure is None:
            self.failure = reason
            for log in self.logs.values():
                log.abandon()

    # -- opening --------------------------------------------------------------------------------------------------------------

    def take_clean_shutdown(self) -> tuple[bool, int]:
        """Whether the last owner stopped in good order, and the broker epoch it had. The mark is removed: it is true only once."""
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
        """Open every partition found here, recovering each as needed. Damaged checkpoints cost time, not data."""
        recovery_points = self._read_checkpoint(checkpoints.RECOVERY_POINTS)
        start_offsets = self._read_checkpoint(checkpoints.LOG_START_OFFSETS)
        high_watermarks = self._read_checkpoint(checkpoints.HIGH_WATERMARKS)
        cleaned_to = self._written[checkpoints.CLEANER_OFFSETS] = self._read_checkpoint(checkpoints.CLEANER_OFFSETS)
        for name in self.disk.names(self.path):
            directory = f"{self.path}/{name}"
            if is_marked(name, DELETE_DIRECTORY_SUFFIX):
                self.disk.remove_directory(directory)
                continue
            if is_marked(name, STRAY_DIRECTORY_SUFFIX) or is_marked(name, FUTURE_DIRECTORY_SUFFIX):
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
                )
            except CorruptBatch as damage:
                # Below the recovery point, where cutting would throw away what was once safe. Somebody must look at it.
                raise OSError(errno.EIO, f"the log is damaged: {damage}", directory) from damage
            self.logs[partition] = log
            log.cleaned_to = cleaned_to.get(partition)
            high_watermark = min(high_watermarks.get(partition, log.log_start_offset), log.log_end_offset)
            yield FoundLog(log, read_topic_id(self.disk, directory), max(high_watermark, log.log_start_offset), report)

    def _read_checkpoint(self, name: str) -> dict[TopicPartition, int]:
        try:
            return read_offsets(self.disk, f"{self.path}/{name}")
        except CheckpointDamaged:
            return {}

    # -- partitions -----------------------------------------------------------------------------------------------------------

    def create(self, partition: TopicPartition, topic_id: Uuid, settings: LogSettings, *, now_ms: int) -> Log:
        """A new, empty log. Nothing of it is durable before its first flush, and nothing needs to be: a crash leaves at worst
        a directory that the metadata makes again."""
        directory = f"{self.path}/{partition_directory_name(partition)}"
        self.disk.make_directory(directory)
        write_topic_id(self.disk, directory, topic_id)
        log, _ = open_log(self.disk, directory, partition, settings, clean=True, recovery_point=0, log_start_offset=None, now_ms=now_ms)
        return log

    def add(self, log: Log) -> None:
        self.logs[log.partition] = log

    def mark_deleted(self, partition: TopicPartition, unique: Uuid) -> str:
        """Take a partition away under a name that says so; the path that :meth:`remove_marked` wants, some time later."""
        return self._mark(partition, unique, DELETE_DIRECTORY_SUFFIX)

    def mark_stray(self, partition: TopicPartition, unique: Uuid) -> str:
        """Put a partition aside that no topic claims. It is kept."""
        return self._mark(partition, unique, STRAY_DIRECTORY_SUFFIX)

    def _mark(self, partition: TopicPartition, unique: Uuid, suffix: str) -> str:
        log = self.logs.pop(partition)
        self.high_watermarks.pop(partition, None)
        log.abandon()
        marked = f"{self.path}/{marked_directory_name(partition, unique, suffix)}"
        self.disk.rename(log.directory, marked)
        self.disk.sync_directory(self.path)
        return marked

    def remove_marked(self, path: str) -> None:
        if self.disk.exists(path):
            self.disk.remove_directory(path)

    # -- checkpoints ----------------------------------------------------------------------------------------------------------

    # Each takes the offsets now and returns the writing of them, for whichever thread may wait for the disk; None when nothing
    # moved since the last time: an idle node does not touch its disk.

    def recovery_point_checkpoint(self) -> Callable[[], None] | None:
        return self._checkpoint(checkpoints.RECOVERY_POINTS, {partition: log.recovery_point for partition, log in self.logs.items()})

    def start_offset_checkpoint(self) -> Callable[[], None] | None:
        """Only starts that the first segment does not already say; a tiered log begins elsewhere."""
        return self._checkpoint(
            checkpoints.LOG_START_OFFSETS,
            {
                partition: log.log_start_offset
                for partition, log in self.logs.items()
                if log.log_start_offset > log.segments.first.base_offset or log.settings.remote_enabled
            },
        )

    def high_watermark_checkpoint(self) -> Callable[[], None] | None:
        return self._checkpoint(checkpoints.HIGH_WATERMARKS, {partition: offset() for partition, offset in self.high_watermarks.items()})

    def cleaner_checkpoint(self) -> Callable[[], None] | None:
        """Up to where each log was compacted; those that never were have no line."""
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
        """Possibly on another thread, and after one that was taken later: what is older must never replace what is newer."""
        with self._writing:
            if turn > self._turns.get(name, 0):
                try:
                    write_offsets(self.disk, f"{self.path}/{name}", offsets)
                except OSError:
                    # Not written: the next time it is due again, also where nothing moved.
                    self._written.pop(name, None)
                    raise
                self._turns[name] = turn

    def write_recovery_points(self) -> None:
        """Here and now: a log was cut, and what is appended next must be taken neither for flushed nor for compacted."""
        for take in (self.recovery_point_checkpoint, self.cleaner_checkpoint):
            write = take()
            if write is not None:
                write()

    # -- stopping -------------------------------------------------------------------------------------------------------------

    def close(self, *, broker_epoch: int) -> None:
        """A clean stop: the mark that says so is written last, when it is true. ``OSError`` where it cannot be; the next start recovers."""
        try:
            if self.online:
                self._close(broker_epoch)
        finally:
            self.unlock()

    def _close(self, broker_epoch: int) -> None:
        for log in self.logs.values():
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
