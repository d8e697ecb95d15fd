"""Compacts the logs of compacted topics: the dirtiest first, up to ``log.cleaner.threads`` at once.

    every log.cleaner.backoff.ms: look at all logs -> the dirtiest that is due -> a worker's job
    a group is durable as .cleaned files -> this thread swaps it in; the worker cleans the next
    the pass is done -> the cleaner checkpoint moves to its end; the next log follows at once

Events that may come in between:

- The topic is deleted or the replica moves away: the worker is killed, and no further group is
  swapped in.
- The log is truncated, or retention takes segments: a group whose segments are no longer in the log
  is thrown away, and the log is looked at again.
- The worker dies: its unfinished files are removed and the log is tried again soon. After several
  deaths in a row the log is left alone.
- A batch cannot be read: the log is left alone, which is logged once and counted, until the node
  opens it again.
- The disk is full: tried again soon. Any other error of the disk fails the directory, as
  everywhere.
- The node is killed: recovery finishes or discards a swap. An old checkpoint only means that some
  records are compacted twice.

Leadership does not matter: every replica compacts its own log, below the high watermark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

from barnabas.env.disk import out_of_room
from barnabas.logcare.cleaner_metrics import CleanerMetrics
from barnabas.logcare.cleaner_settings import CleanerSettings
from barnabas.logcare.cleaning_process import CleaningWorker, WorkerDied
from barnabas.logcare.cleaning_workers import CleaningWorkers
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.dataclass import dataclass
from barnabas.node_context import NodeContext
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.storage.compaction.cleaned_files import remove_cleaned
from barnabas.storage.compaction.cleaning_job import CleanedSegment, CleaningJob, CleaningResult, CleaningStopped, Uncleanable
from barnabas.storage.compaction.dirty_log import job_for, measure
from barnabas.storage.compaction.plan import DirtySection, dirtiest, must_roll
from barnabas.storage.compaction.swap import swap_in
from barnabas.storage.delayed_removals import DelayedRemovals
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.telemetry.metrics import Reading

# When this many workers in a row died over a log, the log is taken for the reason.
DEATHS_MAX = 5
# The least time that a log waits after a cleaning that failed.
PUT_OFF_MS_MIN = 1000


@dataclass(slots=True, eq=False)
class _Cleaning:
    """One pass in progress."""

    partition: Partition
    log: Log
    worker: CleaningWorker
    job: CleaningJob
    # base offsets of groups that were swapped in, or thrown away
    done: set[int] = field(default_factory=set)
    outdated: bool = False  # the log has changed since the job was made


class LogCleaner:
    def __init__(
        self,
        context: NodeContext,
        replicas: LocalReplicas,
        removals: DelayedRemovals,
        effective: EffectiveConfigs,
        *,
        flush: Callable[[Log], None],
    ) -> None:
        """``flush`` makes a log durable in the background: only flushed records may be
        compacted."""
        self._context = context
        self._flush = flush
        self._replicas = replicas
        self._removals = removals
        self._settings = CleanerSettings.of(effective.broker)
        self._cleanings: dict[Log, _Cleaning] = {}
        self._workers = CleaningWorkers(context.disk, self._settings.bytes_per_second_each)
        # and its bytes that could be compacted
        self._uncleanable: WeakKeyDictionary[Log, int] = WeakKeyDictionary()
        self._deaths: WeakKeyDictionary[Log, int] = WeakKeyDictionary()
        self._not_before_ms: WeakKeyDictionary[Log, int] = WeakKeyDictionary()
        # a dict keeps the order, which a simulation repeats
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._running = False
        self._counts = CleanerMetrics(context.metrics)
        self._counts.register(
            now_ms=context.clock.monotonic_ms,
            busy=lambda: len(self._cleanings),
            uncleanable_partitions=lambda: self._per_directory(lambda log: int(log in self._uncleanable)),
            uncleanable_bytes=lambda: self._per_directory(lambda log: self._uncleanable.get(log, 0)),
        )

    # -- start and stop ---------------------------------------------------------------------------

    def start(self) -> None:
        if self._settings.enabled:
            self._running = True
            self._look_later()

    def stop(self) -> None:
        """Kill the workers; the next start repeats the passes that they had not finished."""
        self._running = False
        if self._timer is not None:
            self._timer.cancel()
        self._workers.end()
        for task in list(self._tasks):
            task.cancel()

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        """Apply changed settings of the broker at once, where possible also to a pass in
        progress."""
        if not any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            return
        settings = CleanerSettings.of(effective.broker)
        before, self._settings = self._settings, settings
        self._workers.pace(settings.bytes_per_second_each)
        if self._running and settings != before:
            self._look_later()

    def forget(self, partition: Partition) -> None:
        """The replica leaves this node, or another log replaces its log: no file may be written for
        it any more."""
        cleaning = self._cleanings.get(partition.log)
        if cleaning is not None:
            cleaning.outdated = True
            cleaning.worker.end()

    # -- looking -----------------------------------------------------------------------------------

    def _look_later(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(self._settings.backoff_ms / 1000, self._look)

    def _look(self) -> None:
        self._roll_overdue()
        for partition in self._candidates():
            if partition.log.recovery_point < partition.log.segments.active.base_offset:
                self._flush(partition.log)
        for partition in self._replicas:
            if partition.log in self._uncleanable:
                self._uncleanable[partition.log] = self._measure(partition).cleanable_bytes
        for directory in self._replicas.directories:
            if directory.online:
                # Also for partitions that are gone: a new partition of the same name must not
                # inherit a checkpoint.
                self._do(self._checkpoint(directory))
        self._begin()
        self._look_later()

    def _roll_overdue(self) -> None:
        now_ms = self._context.clock.wall_ms()
        for partition in self._replicas:
            if partition.online and must_roll(partition.log.segments.active, partition.log.settings, now_ms):
                try:
                    partition.log.roll(now_ms=now_ms)
                except OSError as error:
                    self._disk_failed(partition.directory, error)

    def _begin(self) -> None:
        """Start passes over the dirtiest logs, up to the limit."""
        while self._running:
            looked_at = [(each, self._measure(each), each.log.settings) for each in self._candidates()]
            look = self._counts.look
            look.at_ms = self._context.clock.monotonic_ms()
            look.dirty_ratio_max = max((section.ratio for _, section, _ in looked_at), default=0.0)
            look.overdue_ms_max = max((section.overdue_ms for _, section, _ in looked_at), default=0)
            if len(self._cleanings) >= self._settings.workers:
                return
            chosen = dirtiest(looked_at)
            if chosen is None:
                return
            section = next(section for each, section, _ in looked_at if each is chosen)
            try:
                self._clean(chosen, section)
            except OSError as error:
                self._put_off(chosen.log)
                self._disk_failed(chosen.directory, error)

    def _candidates(self) -> Iterator[Partition]:
        for partition in self._replicas:
            log = partition.log
            # Most logs have one segment, the active one, and nothing to compact.
            some = log.settings.compacts and len(log.segments) > 1
            if some and partition.online and log not in self._cleanings and log not in self._uncleanable and not self._is_put_off(log):
                yield partition

    def _put_off(self, log: Log) -> None:
        """Put a log off that cannot be cleaned now, because it stays the dirtiest and would keep
        the others waiting."""
        self._not_before_ms[log] = self._context.clock.monotonic_ms() + max(PUT_OFF_MS_MIN, self._settings.backoff_ms)

    def _is_put_off(self, log: Log) -> bool:
        return self._context.clock.monotonic_ms() < self._not_before_ms.get(log, 0)

    def _measure(self, partition: Partition) -> DirtySection:
        return measure(partition.log, high_watermark=partition.high_watermark, now_ms=self._context.clock.wall_ms())

    # -- cleaning ----------------------------------------------------------------------------------

    def _clean(self, partition: Partition, section: DirtySection) -> None:
        log = partition.log
        job = job_for(log, section, map_bytes_max=self._settings.map_bytes_each, now_ms=self._context.clock.wall_ms())
        cleaning = self._cleanings[log] = _Cleaning(partition, log, self._workers.hire(), job)
        self._do(self._pass(cleaning))

    async def _pass(self, cleaning: _Cleaning) -> None:
        directory = cleaning.partition.directory
        cleaned = False
        try:
            # A segment with gaps may only lie below a recovery point that is on disk: above it,
            # recovery would take a gap for a loss.
            await self._written(directory.write_down_bounds({}))
            result = await self._swapping(cleaning)
            await self._finish(cleaning, result)
            cleaned = True
        except CleaningStopped as stopped:
            self._context.log.debug("compaction was stopped", partition=str(cleaning.log.partition), reason=str(stopped))
        except WorkerDied as died:
            self._worker_died(cleaning, died)
        except Uncleanable as damage:
            self._leave_alone(cleaning.partition, str(damage))
        except OSError as error:
            if self._is_wanted(cleaning):
                self._disk_failed(directory, error)
        except Exception as error:
            # A bug of ours, which would occur again.
            self._leave_alone(cleaning.partition, repr(error))
            raise
        finally:
            del self._cleanings[cleaning.log]
            self._workers.rest(cleaning.worker)
        if not cleaned:
            self._put_off(cleaning.log)
        self._begin()

    async def _swapping(self, cleaning: _Cleaning) -> CleaningResult:
        """Swap in each group while the worker cleans the next."""
        loop = asyncio.get_running_loop()
        groups: asyncio.Queue[CleanedSegment | None] = asyncio.Queue()
        worker, job = cleaning.worker, cleaning.job

        def on_cleaned(cleaned: CleanedSegment) -> None:
            loop.call_soon_threadsafe(groups.put_nowait, cleaned)

        def on_done(future: asyncio.Future[CleaningResult]) -> None:
            if not future.cancelled():
                # retrieved also when the waiting task was cancelled, or asyncio would log it
                future.exception()
            groups.put_nowait(None)

        working = loop.run_in_executor(worker.executor, worker.clean, job, on_cleaned)
        working.add_done_callback(on_done)
        try:
            while (cleaned := await groups.get()) is not None:
                self._swap(cleaning, cleaned)
        except OSError:
            worker.end()
            await asyncio.gather(working, return_exceptions=True)
            raise
        return working.result()

    def _swap(self, cleaning: _Cleaning, cleaned: CleanedSegment) -> None:
        """Swap a group in, unless the log has changed. In that case the cleaned files are thrown
        away, and the rest of the pass is useless."""
        if not self._is_wanted(cleaning):
            return
        removal = swap_in(cleaning.log, cleaned)
        if removal is None:
            cleaning.outdated = True
            cleaning.worker.end()
            return
        cleaning.done.add(cleaned.base_offset)
        if removal.paths:
            self._counts.reclaimed(removal.size_bytes - cleaned.size_bytes)
            self._removals.later(cleaning.partition.directory, removal.finish, cleaning.log.settings.file_delete_delay_ms)

    async def _finish(self, cleaning: _Cleaning, result: CleaningResult) -> None:
        log, job, stats = cleaning.log, cleaning.job, result.stats
        self._counts.passed(stats)
        self._deaths.pop(log, None)
        if not self._is_wanted(cleaning) or log.truncations != job.truncations:
            return
        if result.cleaned_to <= job.first_dirty_offset:
            self._leave_alone(cleaning.partition, "the keys of one batch do not fit into log.cleaner.dedupe.buffer.size")
            return
        log.cleaned_to = result.cleaned_to
        self._context.log.info(
            "log compacted",
            partition=str(log.partition),
            cleaned_to=result.cleaned_to,
            bytes_before=stats.bytes_read,
            bytes_after=stats.bytes_kept,
            records_before=stats.records_read,
            records_after=stats.records_kept,
            without_key=stats.keyless_records,
        )
        await self._written(cleaning.partition.directory.cleaner_checkpoint())

    async def _checkpoint(self, directory: LogDirectory) -> None:
        try:
            await self._written(directory.cleaner_checkpoint())
        except OSError as error:
            self._disk_failed(directory, error)

    async def _written(self, write: Callable[[], None] | None) -> None:
        if write is not None:
            await asyncio.get_running_loop().run_in_executor(self._context.executor, write)

    def _is_wanted(self, cleaning: _Cleaning) -> bool:
        """Whether the log still belongs to a replica: the topic may be deleted, the directory may
        have failed, and a replica that was moved has another log."""
        topic, number = cleaning.partition.partition
        replica = self._replicas.get(topic, number)
        if replica is None or replica is not cleaning.partition or replica.log is not cleaning.log:
            return False
        return self._running and replica.online and not cleaning.outdated

    # -- failures ---------------------------------------------------------------------------------

    def _worker_died(self, cleaning: _Cleaning, died: WorkerDied) -> None:
        if not self._is_wanted(cleaning):
            return
        log = cleaning.log
        # The group that the worker was writing, and the one that it had just written.
        left = [group[0].base_offset for group in cleaning.job.groups if group[0].base_offset not in cleaning.done]
        for base_offset in left[:2]:
            remove_cleaned(log.disk, log.directory, base_offset)
        self._counts.deaths.value += 1
        deaths = self._deaths[log] = self._deaths.get(log, 0) + 1
        self._context.log.warning("compaction was interrupted", partition=str(log.partition), reason=str(died), times=deaths)
        if deaths >= DEATHS_MAX:
            self._leave_alone(cleaning.partition, f"{deaths} processes died over it")

    def _leave_alone(self, partition: Partition, reason: str) -> None:
        self._uncleanable[partition.log] = self._measure(partition).cleanable_bytes
        self._context.log.error("log cannot be compacted and is left alone", partition=str(partition.partition), reason=reason)

    def _disk_failed(self, directory: LogDirectory, error: OSError) -> None:
        if out_of_room(error):
            self._context.log.warning("no room to compact", directory=directory.path, error=str(error))
        else:
            self._replicas.disk_failed(directory, error)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks[task] = None
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            # A bug of ours. The node continues, and so do the other logs.
            self._context.log.error("compaction failed", error=repr(error), exc_info=error)

    def _per_directory(self, count: Callable[[Log], int]) -> list[Reading]:
        """The caller is another thread, so collections whose size may change are copied before the
        iteration."""
        return [((each.path,), sum(count(log) for log in list(each.logs.values()))) for each in self._replicas.directories]
