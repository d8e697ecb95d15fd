"""Reads from remote storage, for fetches and for offsets by time. Each waits on a worker thread,
and nothing local waits for it.

A read takes the chain of its beginning. When it ends, the next segment may have been copied and
have left the local disk: it is in neither the read's chain nor the local log. An answer that needs
both therefore checks that the chain still reaches up to the local log.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.replication.partition import Partition
from barnabas.replication.reads import READ_COMMITTED, PartitionRead, read_partition
from barnabas.storage.finding_by_time import TimestampOffset
from barnabas.storage.transaction_index import AbortedTransaction
from barnabas.telemetry.logs import EventLog
from barnabas.tiered.metadata.chain import RemoteChain
from barnabas.tiered.quota import LOOK_SECONDS, RemoteQuota
from barnabas.tiered.reading.reader import OffsetNotRemote, RemoteRead, RemoteReader
from barnabas.tiered.remote_metrics import RemoteMetrics
from barnabas.tiered.store.store import RemoteStoreError
from barnabas.tiered.tiered_partition import TieredPartition
from barnabas.tiered.workers import TooManyWaiting, Workers

# With this error consumers look the partition up again and come back, with their offsets unchanged.
# Any other error would be shown to users, or make consumers jump to another offset, for a store
# that may be back in a second.
_NOT_NOW = ErrorCode.REPLICA_NOT_AVAILABLE
# How much of the local log a reader gets that came for the remote one and found a gap.
BEHIND_GAP_BYTES = 1024 * 1024


class RemoteReads:
    def __init__(
        self,
        reader: RemoteReader,
        workers: Workers,
        quota: RemoteQuota,
        metrics: RemoteMetrics,
        log: EventLog,
        tiered: Callable[[Partition], TieredPartition | None],
    ) -> None:
        self._reader = reader
        self._workers = workers
        self._quota = quota
        self._metrics = metrics
        self._log = log
        self._tiered = tiered
        self._last_failure = ""

    # -- batches -----------------------------------------------------------------------------------

    def read(
        self, partition: Partition, offset: int, *, size_bytes_max: int, at_least_one: bool, committed: bool
    ) -> Promise[PartitionRead]:
        tiered = self._tiered(partition)
        if tiered is None or not tiered.ready:
            return Promise.kept(PartitionRead(_NOT_NOW))
        answer: Promise[PartitionRead] = Promise()

        def begin() -> None:
            if self._quota.exceeded():
                # A client that gets an empty response at once asks again at once, so the read waits
                # here; its caller has a timeout of its own.
                timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, begin)
                answer.if_abandoned(timer.cancel)
                return
            self._metrics.reads(partition.partition.topic).value += 1
            chain = tiered.chain
            reading = self._workers.run(
                lambda: self._reader.read(chain, offset, size_bytes_max=size_bytes_max, at_least_one=at_least_one, aborted=committed)
            )
            answer.if_abandoned(reading.cancel)
            reading.add_done_callback(lambda done: self._read_done(partition, chain, offset, committed, done, answer))

        begin()
        return answer

    def _read_done(
        self,
        partition: Partition,
        chain: RemoteChain,
        offset: int,
        committed: bool,
        done: asyncio.Future[RemoteRead],
        answer: Promise[PartitionRead],
    ) -> None:
        if done.cancelled():
            answer.resolve(_with_offsets(partition))
            return
        failure = done.exception()
        if failure is not None:
            answer.resolve(self._failed(partition, offset, failure))
            return
        read = done.result()
        self._last_failure = ""
        self._quota.record(len(read.records))
        self._metrics.read_bytes(partition.partition.topic).value += len(read.records)
        if not read.records and read.next_offset >= partition.log.local_start_offset:
            # Only a gap was left up to the beginning of the local log.
            answer.resolve(self._read_local(partition, read.next_offset, committed))
            return
        aborted = None
        if committed:
            aborted = list(read.aborted)
            if not read.aborted_complete:
                if not _reaches_local(chain, partition):
                    # Markers of aborts may be in between. The chain of the next read has them.
                    answer.resolve(PartitionRead(_NOT_NOW))
                    return
                aborted = _merged(aborted, partition.log.aborted_transactions(read.first_offset, read.next_offset))
        answer.resolve(_with_offsets(partition)._replace(records=read.records or None, aborted=aborted))

    @staticmethod
    def _read_local(partition: Partition, offset: int, committed: bool) -> PartitionRead:
        isolation = READ_COMMITTED if committed else 0
        read = read_partition(
            partition, offset=offset, size_bytes_max=BEHIND_GAP_BYTES, isolation=isolation, at_least_one=True, leader_only=False
        )
        if read.region is None:
            return read
        # Read into memory like everything remote, because no caller releases the region of such a
        # response.
        records = read.region.read()
        read.region.release()
        return read._replace(region=None, records=records)

    def _failed(self, partition: Partition, offset: int, failure: BaseException) -> PartitionRead:
        if isinstance(failure, OffsetNotRemote) and not _is_remote(partition, offset):
            # The offset has expired since, or is local after all; the client learns which when it
            # asks again.
            return PartitionRead(ErrorCode.OFFSET_OUT_OF_RANGE if offset < partition.log.log_start_offset else _NOT_NOW)
        self._metrics.read_errors(partition.partition.topic).value += 1
        if not isinstance(failure, (OffsetNotRemote, TooManyWaiting, RemoteStoreError, OSError)):
            # A bug of ours. The waiting client needs a response all the same.
            self._log.error("a remote read went wrong", partition=str(partition.partition), offset=offset, error=repr(failure))
        elif str(failure) != self._last_failure:
            self._last_failure = str(failure)
            self._log.warning("a remote read failed", partition=str(partition.partition), offset=offset, error=str(failure))
        return PartitionRead(_NOT_NOW)

    # -- offsets by time ---------------------------------------------------------------------------

    def offset_for_timestamp(self, partition: Partition, timestamp: int) -> Promise[TimestampOffset | ErrorCode | None]:
        """Searches the whole log: the remote part first, and then the local one. None when no
        record is that new."""
        tiered = self._tiered(partition)
        if tiered is None or not tiered.ready:
            return Promise.kept(_NOT_NOW)
        answer: Promise[TimestampOffset | ErrorCode | None] = Promise()

        def look() -> None:
            chain, start = tiered.chain, partition.log.log_start_offset
            looking = self._workers.run(lambda: self._reader.offset_for_timestamp(chain, timestamp, start))
            answer.if_abandoned(looking.cancel)
            looking.add_done_callback(lambda done: came(chain, start, done))

        def came(chain: RemoteChain, start: int, done: asyncio.Future[TimestampOffset | None]) -> None:
            if done.cancelled():
                answer.resolve(_NOT_NOW)
                return
            failure = done.exception()
            if failure is not None:
                answer.resolve(self._failed(partition, start, failure).error)
                return
            found = done.result()
            if found is None and not _reaches_local(chain, partition) and tiered.chain.end_offset > chain.end_offset:
                # Every further search needs another segment that was copied during the last one.
                look()
                return
            answer.resolve(found if found is not None else partition.log.offset_for_timestamp(timestamp))

        look()
        return answer


def _is_remote(partition: Partition, offset: int) -> bool:
    return partition.log.log_start_offset <= offset < partition.log.local_start_offset


def _reaches_local(chain: RemoteChain, partition: Partition) -> bool:
    return chain.end_offset + 1 >= partition.log.local_start_offset


def _with_offsets(partition: Partition) -> PartitionRead:
    return PartitionRead(ErrorCode.NONE, partition.high_watermark, partition.last_stable_offset, partition.log.log_start_offset)


def _merged(remote: list[AbortedTransaction], local: list[AbortedTransaction]) -> list[AbortedTransaction]:
    """A segment that is both local and remote has its transactions in both lists."""
    known = {(each.producer_id, each.first_offset) for each in remote}
    return remote + [each for each in local if (each.producer_id, each.first_offset) not in known]
