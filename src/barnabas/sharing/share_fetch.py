"""One share fetch: it reads the logs of its share partitions, acquires records for its member, and
waits if there are too few.

An attempt reads first and acquires afterwards, so that a fetch that goes on waiting for
``min_bytes`` locks nothing. Partitions share ``max_bytes`` evenly and ``max_records`` in their
order. A fetch ends with the first attempt that gets records, with its deadline, or when all its
partitions have errors.

Offsets in remote storage are read there for one partition at a time. Such a fetch waits for the
data or for ``remote.fetch.max.wait.ms``, and the partition serves no other fetch meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Answer, Promise
from barnabas.records.batches import CorruptBatch
from barnabas.replication.reads import PartitionRead
from barnabas.replication.waiting_fetch import Timer
from barnabas.sharing.core.acquiring import Acquired, LogBatch
from barnabas.sharing.core.record_state import PartitionState
from barnabas.sharing.core.sessions import SharedPartition
from barnabas.sharing.fetched_batches import FetchedBatches
from barnabas.sharing.local_share_partition import LocalSharePartition, SharingPorts
from barnabas.storage.log import OffsetIsRemote, OffsetOutOfRange
from barnabas.storage.regions import FileRegion
from barnabas.storage.transaction_index import AbortedTransaction

# Reads of one partition in one attempt. A read that finds only records of aborted transactions, or
# none because the log was compacted, is followed by another; then the member asks again.
READS_MAX = 16

# How long a fetch waits for records after its acknowledgements were written. On a busy topic
# records come in that time, and one response carries both. At the end of a topic, the member learns
# of its acknowledgements after this instead of ``max_wait_ms``.
CONFIRMATION_WAIT_MS = 10


class FetchedShare(NamedTuple):
    """The result for one partition."""

    partition: SharedPartition
    error: ErrorCode
    records: FileRegion | bytes | None = None
    acquired: Sequence[Acquired] = ()


class Target(NamedTuple):
    """A partition of the fetch: its share partition on this broker, or the error."""

    partition: SharedPartition
    share: LocalSharePartition | ErrorCode


@dataclass(frozen=True, slots=True)
class FetchLimits:
    min_bytes: int
    max_bytes: int
    max_records: int
    max_wait_ms: int
    batch_size: int
    mode: int
    remote_wait_ms: int


class _Ready(NamedTuple):
    """A partition that can deliver records, from ``offset`` on."""

    target: Target
    share: LocalSharePartition
    offset: int
    source: FileRegion | None
    remote: bool = False


class ShareFetch:
    def __init__(self, member_id: str, targets: Sequence[Target], limits: FetchLimits, ports: SharingPorts) -> None:
        self._member_id = member_id
        self._targets = targets
        self._limits = limits
        self._ports = ports
        self._answer: Promise[list[FetchedShare]] | None = None
        self._timer: Timer | None = None
        self._stop_remote: Callable[[], object] | None = None

    def start(self) -> Answer[list[FetchedShare]]:
        limits = self._limits
        found = self._attempt(final=limits.max_wait_ms <= 0)
        if found is not None:
            return found
        answer = self._answer = Promise()
        answer.if_abandoned(self._stop)
        if self._stop_remote is None:
            self._wait()
        return answer

    # -- waiting -----------------------------------------------------------------------------------

    def _wait(self) -> None:
        for _, share in self._targets:
            if isinstance(share, LocalSharePartition):
                share.wait(self)
        if self._timer is None:
            self._timer = self._ports.loop.call_later(self._limits.max_wait_ms / 1000, self._expire)

    def shorten_wait(self) -> None:
        """Ends the wait soon: the response has acknowledgements to confirm."""
        if self._timer is not None:
            self._timer.cancel()
            wait_ms = min(CONFIRMATION_WAIT_MS, self._limits.max_wait_ms)
            self._timer = self._ports.loop.call_later(wait_ms / 1000, self._expire)

    def try_again(self) -> None:
        if self._answer is None or self._answer.done or self._stop_remote is not None:
            return
        found = self._attempt(final=False)
        if found is not None:
            self._resolve(found)

    def _expire(self) -> None:
        self._timer = None
        if self._stop_remote is not None:
            return
        found = self._attempt(final=True)
        if found is not None:
            self._resolve(found)

    def _resolve(self, found: list[FetchedShare]) -> None:
        answer = self._answer
        assert answer is not None
        self._leave()
        answer.resolve(found)

    def _leave(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for _, share in self._targets:
            if isinstance(share, LocalSharePartition):
                share.stop_waiting(self)

    def _stop(self) -> None:
        """The connection is gone."""
        self._answer = None
        self._leave()
        if self._stop_remote is not None:
            self._stop_remote()

    # -- attempts ----------------------------------------------------------------------------------

    def _attempt(self, *, final: bool) -> list[FetchedShare] | None:
        """The results, or None if the fetch must wait. A remote read that begins makes it wait
        too."""
        errors = self._errors()
        if len(errors) == len(self._targets):
            return errors
        ready, failed, size = self._read()
        if any(each.remote for each in ready):
            self._read_remotely(ready)
            return None
        if size < self._limits.min_bytes and not final and not failed:
            for each in ready:
                if each.source is not None:
                    each.source.release()
            return None
        fetched = self._acquire(ready)
        if not final and not failed and not any(each.acquired for each in fetched):
            return None
        return [*fetched, *failed, *errors]

    def _errors(self) -> list[FetchedShare]:
        found = []
        for partition, share in self._targets:
            if isinstance(share, ErrorCode):
                found.append(FetchedShare(partition, share))
            elif share.state in (PartitionState.FAILED, PartitionState.FENCED):
                found.append(FetchedShare(partition, share.error))
        return found

    def _read(self) -> tuple[list[_Ready], list[FetchedShare], int]:
        """The partitions that can deliver records, those whose logs cannot be read, and the bytes
        that were found."""
        now_ms = self._ports.clock.monotonic_ms()
        able: list[tuple[Target, LocalSharePartition, int]] = []
        for target in self._targets:
            share = target.share
            if isinstance(share, ErrorCode) or not share.active or share.reading:
                continue
            offset = share.machine.next_fetch_offset(now_ms)
            if share.machine.can_acquire(offset):
                able.append((target, share, offset))
        ready: list[_Ready] = []
        failed: list[FetchedShare] = []
        size = 0
        each_max = max(1, self._limits.max_bytes // len(able)) if able else 0
        for target, share, offset in able:
            try:
                source = self._read_one(share, offset, each_max, at_least_one=size == 0)
            except OffsetIsRemote:
                ready.append(_Ready(target, share, offset, None, remote=True))
                continue
            except OSError as error:
                self._ports.replicas.disk_failed(share.replica.directory, error)
                failed.append(FetchedShare(target.partition, ErrorCode.KAFKA_STORAGE_ERROR))
                continue
            if source is not None:
                size += len(source)
            ready.append(_Ready(target, share, offset, source))
        return ready, failed, size

    @staticmethod
    def _read_one(share: LocalSharePartition, offset: int, size_bytes_max: int, *, at_least_one: bool) -> FileRegion | None:
        end = share.visible_end
        log = share.replica.log
        if offset < log.log_start_offset:
            share.machine.log_starts_at(log.log_start_offset)
            return None
        if offset >= end:
            return None
        try:
            region = log.read(offset, size_bytes_max=size_bytes_max, end_offset=end, at_least_one=at_least_one).region
        except OffsetOutOfRange:
            return None
        if region is None and at_least_one:
            # Compaction removed everything up to the end of what is visible.
            share.machine.log_has_none(offset, end)
        return region

    def _acquire(self, ready: Sequence[_Ready]) -> list[FetchedShare]:
        left = self._limits.max_records
        fetched: list[FetchedShare] = []
        for target, share, offset, source, _ in ready:
            if left <= 0:
                if source is not None:
                    source.release()
                continue
            found = self._acquire_one(target.partition, share, offset, source, left)
            left -= sum(last - first + 1 for first, last, _ in found.acquired)
            fetched.append(found)
        return fetched

    def _acquire_one(
        self, partition: SharedPartition, share: LocalSharePartition, offset: int, source: FileRegion | bytes | None, records_max: int
    ) -> FetchedShare:
        """Acquire from what was read at ``offset``, and read on while that gives nothing."""
        now_ms = self._ports.clock.monotonic_ms()
        machine = share.machine
        try:
            for _ in range(READS_MAX):
                if source is not None:
                    found = self._acquire_from(source, share, offset, records_max, now_ms)
                    if found is not None:
                        records, acquired = found
                        return FetchedShare(partition, ErrorCode.NONE, records, acquired)
                following = machine.next_fetch_offset(now_ms)
                if following == offset or not machine.can_acquire(following):
                    break
                offset = following
                source = self._read_one(share, offset, self._limits.max_bytes, at_least_one=True)
        except CorruptBatch as error:
            self._ports.log.error("a batch on this disk is damaged", partition=str(share.replica.partition), reason=str(error))
            return FetchedShare(partition, ErrorCode.KAFKA_STORAGE_ERROR)
        except OSError as error:
            self._ports.replicas.disk_failed(share.replica.directory, error)
            return FetchedShare(partition, ErrorCode.KAFKA_STORAGE_ERROR)
        except OffsetIsRemote:
            # The member asks again, and the next attempt reads there.
            pass
        return FetchedShare(partition, ErrorCode.NONE)

    def _acquire_from(
        self,
        source: FileRegion | bytes,
        share: LocalSharePartition,
        offset: int,
        records_max: int,
        now_ms: int,
        aborted: Sequence[AbortedTransaction] | None = None,
    ) -> tuple[FileRegion | bytes, list[Acquired]] | None:
        limits = self._limits
        committed = share.settings.read_committed
        # The window takes no more than its limit, however much the member asks for.
        wanted = min(records_max, share.settings.record_locks_max)
        fetched = FetchedBatches(source, offset + wanted - 1, with_producers=committed)
        batches = fetched.batches
        if not batches:
            fetched.release()
            return None
        hidden: Sequence[LogBatch] = ()
        if committed:
            if aborted is None:
                aborted = share.replica.log.aborted_transactions(offset, batches[-1].last + 1)
            hidden = fetched.aborted(aborted) if aborted else ()
        acquired = share.machine.acquire(
            self._member_id,
            offset,
            batches,
            mode=limits.mode,
            records_max=records_max,
            batch_size=limits.batch_size,
            now_ms=now_ms,
            aborted=hidden,
        )
        if not acquired:
            fetched.release()
            return None
        share.set_timer()
        return fetched.span(acquired[0].first, acquired[-1].last), acquired

    # -- remote storage ----------------------------------------------------------------------------

    def _read_remotely(self, ready: Sequence[_Ready]) -> None:
        """Read one partition remotely; the others get their turn when its data is here."""
        for each in ready:
            if each.source is not None:
                each.source.release()
        target, share, offset, _, _ = next(each for each in ready if each.remote)
        remote_log, limits = self._ports.remote_log, self._limits
        if remote_log is None:
            promise = Promise.kept(PartitionRead(ErrorCode.REPLICA_NOT_AVAILABLE))
        else:
            promise = remote_log.read(
                share.replica, offset, size_bytes_max=limits.max_bytes, at_least_one=True, committed=share.settings.read_committed
            )
        share.reading = True
        timer = self._ports.loop.call_later(limits.remote_wait_ms / 1000, lambda: self._remote_late(share))

        def stop() -> None:
            timer.cancel()
            share.reading = False
            self._stop_remote = None
            promise.abandon()

        self._stop_remote = stop
        promise.then(lambda read: self._remote_arrived(target.partition, share, offset, read))

    def _remote_late(self, share: LocalSharePartition) -> None:
        if self._stop_remote is not None:
            self._stop_remote()
            self._resolve(self._attempt_local())
            share.wake()

    def _remote_arrived(self, partition: SharedPartition, share: LocalSharePartition, offset: int, read: PartitionRead) -> None:
        stop = self._stop_remote
        if stop is None:
            return
        stop()
        error, records, acquired = read.error, None, None
        if not error and read.records and share.active:
            now_ms = self._ports.clock.monotonic_ms()
            found = self._acquire_from(bytes(read.records), share, offset, self._limits.max_records, now_ms, read.aborted or ())
            if found is not None:
                records, acquired = found
        self._finish_remote([FetchedShare(partition, error, records, acquired or ())], share)

    def _finish_remote(self, found: list[FetchedShare], share: LocalSharePartition) -> None:
        if self._answer is None:
            # The promise was kept at once, before the caller has one to wait for.
            self._ports.loop.call_soon(self._finish_remote, found, share)
            return
        if not self._answer.done:
            self._resolve(found)
        share.wake()

    def _attempt_local(self) -> list[FetchedShare]:
        ready, failed, _ = self._read()
        return [*self._acquire([each for each in ready if not each.remote]), *failed, *self._errors()]
