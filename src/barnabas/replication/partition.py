"""One replica of one partition on this node: the log, and what this node is to it.

    high watermark: everything below is on all in-sync replicas; consumers see nothing above it
    last stable offset: the high watermark, or the first offset of a transaction still open below it

A leader appends and moves the high watermark; it is what this node leads that producers and consumers talk to.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition, Uuid
from barnabas.model.promise import Promise
from barnabas.records.batch_header import ATTRIBUTES_LOW_BYTE_POSITION, HEADER_BYTES, TRANSACTIONAL_BIT, BatchHeader, read_header
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.validation import Refused, validate
from barnabas.replication.topic_counters import TopicCounters
from barnabas.replication.verification import Verification, Verifications
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.storage.log import Appended, Log
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.producer_state import SentBatch

ACKS_ALL = -1

_NOT_LEADER = Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, "this broker does not lead the partition")
_OFFLINE = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the partition's log directory has failed")
_TOO_FEW_REPLICAS = Refused(ErrorCode.NOT_ENOUGH_REPLICAS, "fewer replicas are in sync than min.insync.replicas demands")
# The only refusal that is not the last word: with a verification the same batch may be welcome.
NOT_VERIFIED = Refused(ErrorCode.INVALID_TXN_STATE, "no transaction of this producer is open here")
_REPLICATED: Final[Promise[ErrorCode]] = Promise.kept(ErrorCode.NONE)


class Partition:
    __slots__ = (
        "_alone",
        "_replicating",
        "_unstable_bytes",
        "_waiting",
        "counters",
        "directory",
        "high_watermark",
        "isr",
        "leader_epoch",
        "leads",
        "log",
        "node_id",
        "partition",
        "replicas",
        "topic_id",
        "verifications",
    )

    def __init__(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        log: Log,
        directory: LogDirectory,
        *,
        node_id: int,
        high_watermark: int,
        counters: TopicCounters,
    ) -> None:
        self.partition = partition
        self.topic_id = topic_id
        self.log = log
        self.directory = directory
        self.node_id = node_id
        self.high_watermark = high_watermark
        self.counters = counters
        self.leads = False
        self.leader_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self._alone = False  # in sync
        self._waiting: dict[WaitingFetch, None] = {}
        # Appended since readers of committed data were last woken.
        self._unstable_bytes = 0
        self._replicating: deque[tuple[int, Promise[ErrorCode]]] = deque()  # by end offset
        self.verifications = Verifications()

    # -- roles ----------------------------------------------------------------------------------------------------------------

    def follow_metadata(self, image: PartitionImage) -> None:
        """Be what the metadata says. A new leader writes its epoch down before it takes anything from producers."""
        led, epoch = self.leads, self.leader_epoch
        self.replicas, self.isr, self.leader_epoch = image.replicas, image.isr, image.leader_epoch
        # In a directory that failed nothing is led any more, whatever the metadata says: nothing may be written there.
        self.leads = image.leader == self.node_id and self.directory.failure is None
        self._alone = self.isr == (self.node_id,)
        if self.leads and (not led or epoch != image.leader_epoch):
            self.log.leader_epochs.assign(self.leader_epoch, self.log.log_end_offset)
        if self.leads:
            self._advance_high_watermark()
        elif led:
            self.resign()

    def resign(self) -> None:
        """Stop leading; readers who wait here must learn it and look elsewhere."""
        self.leads = False
        for waiting in list(self._waiting):
            waiting.complete()
        while self._replicating:
            self._replicating.popleft()[1].resolve(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    @property
    def online(self) -> bool:
        return self.directory.failure is None

    # -- producing ------------------------------------------------------------------------------------------------------------

    def append(self, records: memoryview | None, acks: int, now_ms: int, verification: Verification | None = None) -> Appended | Refused:
        """Append one producer's batch. ``OSError`` when the disk failed: the directory must be taken offline.

        The first batch of a transaction needs a ``verification`` by its coordinator, and is :data:`NOT_VERIFIED` without."""
        if not self.leads:
            return _OFFLINE if self.directory.failure is not None else _NOT_LEADER
        log = self.log
        settings = log.settings
        if acks == ACKS_ALL and len(self.isr) < settings.min_insync_replicas:
            return _TOO_FEW_REPLICAS
        if (
            records is not None
            and len(records) >= HEADER_BYTES
            and records[ATTRIBUTES_LOW_BYTE_POSITION] & TRANSACTIONAL_BIT
            and not self._transaction_is_open(read_header(records), verification)
        ):
            # Before anything is changed in the batch: it may come again, verified.
            return NOT_VERIFIED
        counters = self.counters
        valid = validate(records, settings.rules, now_ms)
        if isinstance(valid, Refused):
            counters.batches_refused.value += 1
            return valid
        batch, header, append_time_ms = valid
        outcome = log.append(batch, header, self.leader_epoch, now_ms, append_time_ms)
        if isinstance(outcome, Refused):
            counters.batches_refused.value += 1
            return outcome
        if not outcome.duplicate:
            counters.bytes_in.value += len(batch)
            counters.records_in.value += header.record_count
            self._grew(len(batch))
        return outcome

    def append_own(self, batch: bytearray, now_ms: int) -> Appended | Refused:
        """Append a batch that this node made itself, as a coordinator: it needs no checks of its contents, and all replicas."""
        refused = self._refuses_own()
        if refused is not None:
            return refused
        if len(batch) > self.log.settings.rules.size_bytes_max:
            return Refused(ErrorCode.MESSAGE_TOO_LARGE, f"the coordinator's batch of {len(batch)} bytes is larger than the topic allows")
        return self._append_own(batch, now_ms)

    def end_transaction(
        self, kind: ControlType, *, producer_id: int, producer_epoch: int, coordinator_epoch: int, epoch_rises: bool, now_ms: int
    ) -> Appended | Refused:
        """Write the marker that ends a producer's transaction here. Also where none is open: the coordinator cannot know."""
        refused = self._refuses_own() or self.log.producers.check_marker(
            producer_id, producer_epoch, coordinator_epoch, epoch_rises=epoch_rises
        )
        if refused is not None:
            return refused
        # Whoever is on the way to its coordinator, to ask whether this transaction is open, must not believe the answer.
        self.verifications.void(producer_id)
        marker = build_end_transaction(
            kind, coordinator_epoch=coordinator_epoch, producer_id=producer_id, producer_epoch=producer_epoch, timestamp=now_ms
        )
        return self._append_own(marker, now_ms)

    def _refuses_own(self) -> Refused | None:
        if not self.leads:
            return _OFFLINE if self.directory.failure is not None else _NOT_LEADER
        return _TOO_FEW_REPLICAS if len(self.isr) < self.log.settings.min_insync_replicas else None

    def _append_own(self, batch: bytearray, now_ms: int) -> Appended | Refused:
        view = memoryview(batch)
        outcome = self.log.append(view, read_header(view), self.leader_epoch, now_ms, from_client=False)
        if isinstance(outcome, Appended):
            self._grew(len(batch))
        return outcome

    def _transaction_is_open(self, header: BatchHeader, verification: Verification | None) -> bool:
        producers = self.log.producers
        if producers.in_transaction(header.producer_id, header.producer_epoch):
            return True
        if self.verifications.accepts(verification, header.producer_id, header.producer_epoch):
            return True
        # A batch that came before is answered like the first time, though its transaction has ended since.
        return isinstance(producers.check(header), SentBatch)

    def _grew(self, size_bytes: int) -> None:
        self._advance_high_watermark()
        if self._waiting:
            self._wake(size_bytes)

    def replicated(self, end_offset: int) -> Promise[ErrorCode]:
        """NONE once all in-sync replicas have everything below ``end_offset``; NOT_LEADER_OR_FOLLOWER when this node resigns before."""
        if end_offset <= self.high_watermark:
            return _REPLICATED
        promise: Promise[ErrorCode] = Promise()
        self._replicating.append((end_offset, promise))
        return promise

    def _advance_high_watermark(self) -> None:
        # Followers' progress will be the minimum here; a leader alone in sync is its own minimum.
        if self._alone:
            log = self.log
            self.high_watermark = log.log_end_offset
            if log.producers.unreplicated:
                log.producers.replicated_up_to(log.log_end_offset)
            while self._replicating and self._replicating[0][0] <= self.high_watermark:
                self._replicating.popleft()[1].resolve(ErrorCode.NONE)

    @property
    def last_stable_offset(self) -> int:
        unstable = self.log.producers.first_unstable_offset()
        return self.high_watermark if unstable is None else min(unstable, self.high_watermark)

    def delete_records(self, offset: int) -> int:
        """Move the start up to ``offset`` (-1: to the high watermark); the new start. ``ValueError`` when it is out of range."""
        target = self.high_watermark if offset == -1 else offset
        if not 0 <= target <= self.high_watermark:
            raise ValueError(f"offset {offset} is not between 0 and the high watermark {self.high_watermark}")
        self.log.advance_start(target)
        return self.log.log_start_offset

    # -- waiting --------------------------------------------------------------------------------------------------------------

    def await_data(self, waiting: WaitingFetch) -> None:
        self._waiting[waiting] = None

    def stop_waiting(self, waiting: WaitingFetch) -> None:
        self._waiting.pop(waiting, None)

    def _wake(self, size_bytes: int) -> None:
        """Those who read only what is committed sleep on while a transaction is open: there would be nothing for them."""
        self._unstable_bytes += size_bytes
        stable = self.last_stable_offset == self.high_watermark
        for waiting in list(self._waiting):
            if not waiting.committed_only:
                waiting.arrived(size_bytes)
            elif stable:
                waiting.arrived(self._unstable_bytes)
        if stable:
            self._unstable_bytes = 0
