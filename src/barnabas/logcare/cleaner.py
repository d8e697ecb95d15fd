"""Compacts logs whose topics want it: the dirtiest first, as many at once as ``log.cleaner.threads`` says.

    every log.cleaner.backoff.ms: look at all logs -> the dirtiest that is due -> a job for a worker process
    a group is durable as .cleaned files -> swapped in, on this thread; the next is being cleaned meanwhile
    the pass is done -> the log is clean up to where it went, and that is written down; the next log at once

What may come between, and what becomes of it:

- the topic is deleted or the replica moves away: the worker is killed, nothing more is swapped;
- the log is cut, or retention takes segments: a group that is no longer the log's is thrown away, and the log is looked at again;
- the worker dies: what it left is thrown away, the log is tried again soon, and after some deaths in a row left alone;
- a batch cannot be read: the log is left alone, which is said once and counted, until the node has opened it anew;
- the disk is full: tried again soon. Any other error of the disk costs the directory, as everywhere;
- the node is killed: recovery finishes or forgets a swap, and an old checkpoint only means that something is compacted twice.

Who leads does not matter: every replica compacts its own log, below the high watermark.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
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
from barnabas.node_context import NodeContext
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.partition import Partition
from barnabas.storage.compaction.cleaned_files import remove_cleaned
from barnabas.storage.compaction.cleaning_job import CleanedSegment, CleaningJob, CleaningResult, CleaningStopped, Uncleanable
from barnabas.storage.compaction.swap import swap_in
from barnabas.storage.compaction_plan import DirtySection, dirtiest, must_roll
from barnabas.storage.delayed_removals import Removals
from barnabas.storage.dirty_log import job_for, measure
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.telemetry.metrics import Reading

# A log under which so many workers died in a row is taken for the reason.
DEATHS_MAX = 5
# How long a log waits at least whose cleaning came to nothing.
PUT_OFF_MS_MIN = 1000


@dataclass(slots=True, eq=False)
class _Cleaning:
    """One pass that is under way."""

    partition: Partition
    log: Log
    worker: CleaningWorker
    job: CleaningJob
    done: set[int] = field(default_factory=set)  # base offsets of groups that were swapped in, or thrown away
    spoiled: bool = False  # the log is no longer what the job was made for


class LogCleaner:
    def __init__(
        self,
        context: NodeContext,
        replicas: LocalReplicas,
        removals: Removals,
        effective: EffectiveConfigs,
        *,
        flush: Callable[[Log], None],
    ) -> None:
        """``flush`` makes a log durable in the background: only what is on the disk may be compacted."""
        self._context = context
        self._flush = flush
        self._replicas = replicas
        self._removals = removals
        self._settings = CleanerSettings.of(effective.broker)
        self._cleanings: dict[Log, _Cleaning] = {}
        self._workers = CleaningWorkers(context.disk, self._settings.bytes_per_second_each)
        self._uncleanable: WeakKeyDictionary[Log, int] = WeakKeyDictionary()  # and the bytes that wait in vain
        self._deaths: WeakKeyDictionary[Log, int] = WeakKeyDictionary()
        self._not_before_ms: WeakKeyDictionary[Log, int] = WeakKeyDictionary()
        self._tasks: dict[asyncio.Task[None], None] = {}  # in order, which a simulation repeats
        self._timer: asyncio.TimerHandle | None = None
        self._running = False
        self._counts = CleanerMetrics(context.metrics)
        self._counts.register(
            now_ms=context.clock.monotonic_ms,
            busy=lambda: len(self._cleanings),
            uncleanable_partitions=lambda: self._per_directory(lambda log: int(log in self._uncleanable)),
            uncleanable_bytes=lambda: self._per_directory(lambda log: self._uncleanable.get(log, 0)),
        )

    # -- its life -------------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        if self._settings.enabled:
            self._running = True
            self._look_later()

    def stop(self) -> None:
        """Workers are killed: what they had not finished will be begun again."""
        self._running = False
        if self._timer is not None:
            self._timer.cancel()
        self._workers.end()
        for task in list(self._tasks):
            task.cancel()

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        """Settings of the broker that change hold at once, also for a pass that is under way where they can."""
        if not any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            return
        settings = CleanerSettings.of(effective.broker)
        before, self._settings = self._settings, settings
        self._workers.pace(settings.bytes_per_second_each)
        if self._running and settings != before:
            self._look_later()

    def forget(self, partition: Partition) -> None:
        """The replica leaves this node, or its log is replaced by another: nothing may be written for it any more."""
        cleaning = self._cleanings.get(partition.log)
        if cleaning is not None:
            cleaning.spoiled = True
            cleaning.worker.end()

    # -- looking --------------------------------------------------------------------------------------------------------------

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
                # Also for partitions that are gone: one of the same name must not inherit.
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
        """Passes over the dirtiest logs, as many as there may be at a time."""
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
            # A log of one segment has nothing but the active one, and most have.
            some = log.settings.compacts and len(log.segments) > 1
            if some and partition.online and log not in self._cleanings and log not in self._uncleanable and not self._is_put_off(log):
                yield partition

    def _put_off(self, log: Log) -> None:
        """So that a log which cannot be cleaned now does not keep others waiting, though it stays the dirtiest."""
        self._not_before_ms[log] = self._context.clock.monotonic_ms() + max(PUT_OFF_MS_MIN, self._settings.backoff_ms)

    def _is_put_off(self, log: Log) -> bool:
        return self._context.clock.monotonic_ms() < self._not_before_ms.get(log, 0)

    def _measure(self, partition: Partition) -> DirtySection:
        return measure(partition.log, high_watermark=partition.high_watermark, now_ms=self._context.clock.wall_ms())

    # -- cleaning -------------------------------------------------------------------------------------------------------------

    def _clean(self, partition: Partition, section: DirtySection) -> None:
        log = partition.log
        job = job_for(log, section, map_bytes_max=self._settings.map_bytes_each, now_ms=self._context.clock.wall_ms())
        cleaning = self._cleanings[log] = _Cleaning(partition, log, self._workers.hire(), job)
        self._do(self._pass(cleaning))

    async def _pass(self, cleaning: _Cleaning) -> None:
        directory = cleaning.partition.directory
        cleaned = False
        try:
            # A segment with gaps may only lie below a recovery point that is on the disk: above, recovery would take a gap for a loss.
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
        except Exception as wrong:
            # We are wrong, and would be again.
            self._leave_alone(cleaning.partition, repr(wrong))
            raise
        finally:
            del self._cleanings[cleaning.log]
            self._workers.rest(cleaning.worker)
        if not cleaned:
            self._put_off(cleaning.log)
        self._begin()

    async def _swapping(self, cleaning: _Cleaning) -> CleaningResult:
        """Every group is put in its place while the worker goes on with the next."""
        loop = asyncio.get_running_loop()
        groups: asyncio.Queue[CleanedSegment | None] = asyncio.Queue()
        worker, job = cleaning.worker, cleaning.job

        def on_cleaned(cleaned: CleanedSegment) -> None:
            loop.call_soon_threadsafe(groups.put_nowait, cleaned)

        def on_done(future: asyncio.Future[CleaningResult]) -> None:
            if not future.cancelled():
                future.exception()  # looked at, also where who waits was cancelled meanwhile and does not ask
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
        """Unless the log is no longer what it was. Then what was cleaned is thrown away, and the rest of the pass is for nothing."""
        if not self._is_wanted(cleaning):
            return
        removal = swap_in(cleaning.log, cleaned)
        if removal is None:
            cleaning.spoiled = True
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
        """Whether the log is still a replica's: the topic may be gone, its directory may have failed, and a replica that was moved has
        another log."""
        topic, number = cleaning.partition.partition
        replica = self._replicas.get(topic, number)
        if replica is None or replica is not cleaning.partition or replica.log is not cleaning.log:
            return False
        return self._running and replica.online and not cleaning.spoiled

    # -- what goes wrong ------------------------------------------------------------------------------------------------------

    def _worker_died(self, cleaning: _Cleaning, died: WorkerDied) -> None:
        if not self._is_wanted(cleaning):
            return
        log = cleaning.log
        # What it was writing, and what it had just written.
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

    def _do(self, deed: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(deed)
        self._tasks[task] = None
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        wrong = None if task.cancelled() else task.exception()
        if wrong is not None:
            # We are wrong. The node goes on, and so do the other logs.
            self._context.log.error("compaction failed", error=repr(wrong), exc_info=wrong)

    def _per_directory(self, count: Callable[[Log], int]) -> list[Reading]:
        """Asked from another thread, so what may change in size is copied before it is walked."""
        return [((each.path,), sum(count(log) for log in list(each.logs.values()))) for each in self._replicas.directories]
