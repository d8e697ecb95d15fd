"""The producers of a partition: enough to drop a retried batch, to refuse a gap, and to track open
transactions.

Per producer id: its epoch, the last five batches (a producer may have five requests in flight, and
any of them may be a retry), and the first offset of its open transaction. Derived from the log:
replaying batches through :meth:`ProducerState.replay` gives the same state as checking and applying
them when they were appended.

    check(header)                before an append, changes nothing:
                                 Refused, a duplicate's SentBatch, or None to continue
    apply(header, base_offset)   after it: the batch is in the log
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import field
from typing import NamedTuple

from barnabas.model.buffers import Buffer
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.records.batch_header import NO_SEQUENCE, BatchHeader
from barnabas.records.control_batch import ControlType, read_end_transaction
from barnabas.records.validation import Refused
from barnabas.storage.transaction_index import AbortedTransaction

REMEMBERED_BATCHES = 5
NO_PRODUCER_EPOCH = -1
_SEQUENCE_MAX = 2**31 - 1


class SentBatch(NamedTuple):
    """A batch as its producer would retry it, and its offset in the log."""

    base_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int
    timestamp: int


@dataclass(slots=True)
class Producer:
    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    batches: deque[SentBatch] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    coordinator_epoch: int = -1
    last_timestamp: int = -1
    transaction_first_offset: int | None = None

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int  # of the marker
    aborted: bool


class ProducerState:
    """Invariant: ``_open`` holds exactly the first offsets of the transactions without a marker, in
    rising order.
    """

    def __init__(self) -> None:
        self.producers: dict[int, Producer] = {}
        self._open: dict[int, int] = {}  # first offset -> producer id
        # Ended, but the marker may not be on all replicas yet: readers must still wait at their
        # first offset.
        self.unreplicated: list[CompletedTransaction] = []

    def __len__(self) -> int:
        return len(self.producers)

    def __iter__(self) -> Iterator[Producer]:
        return iter(self.producers.values())

    def check(self, header: BatchHeader) -> Refused | SentBatch | None:
        """Whether a client's batch with a producer id may be appended; None means yes."""
        producer = self.producers.get(header.producer_id)
        if producer is None:
            # All its records may have been deleted, so an unknown producer may start at any
            # sequence number.
            return None
        if header.producer_epoch < producer.epoch:
            return Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} is at epoch {producer.epoch}, the batch is of {header.producer_epoch}",
            )
        if header.producer_epoch > producer.epoch:
            if header.base_sequence != 0:
                return Refused(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"producer {header.producer_id} must begin epoch {header.producer_epoch} with sequence 0, not {header.base_sequence}",
                )
            return self._check_transaction(producer, header)
        for batch in producer.batches:
            if batch.base_sequence == header.base_sequence and batch.last_sequence == header.last_sequence:
                return batch
        expected = 0 if producer.last_sequence == _SEQUENCE_MAX else producer.last_sequence + 1
        if header.base_sequence != expected:
            return Refused(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} sent sequence {header.base_sequence} where {expected} was expected",
            )
        return self._check_transaction(producer, header)

    def check_marker(self, producer_id: int, producer_epoch: int, coordinator_epoch: int, *, epoch_rises: bool) -> Refused | None:
        """Whether a transaction coordinator may end a producer's transaction. ``epoch_rises`` where
        every end has an epoch of its own (transaction version 2), so that a late marker cannot end
        the transaction after the one it was meant for.
        """
        producer = self.producers.get(producer_id)
        if producer is None:
            return None
        if producer_epoch < producer.epoch or (
            epoch_rises and producer_epoch == producer.epoch and producer.transaction_first_offset is not None
        ):
            return Refused(
                ErrorCode.INVALID_PRODUCER_EPOCH, f"producer {producer_id} is at epoch {producer.epoch}, the marker is of {producer_epoch}"
            )
        if coordinator_epoch < producer.coordinator_epoch:
            return Refused(
                ErrorCode.TRANSACTION_COORDINATOR_FENCED,
                f"coordinator {coordinator_epoch} was replaced by {producer.coordinator_epoch}",
            )
        return None

    def in_transaction(self, producer_id: int, producer_epoch: int) -> bool:
        """Whether the producer, in this epoch, has a transaction open here."""
        producer = self.producers.get(producer_id)
        return producer is not None and producer.transaction_first_offset is not None and producer.epoch == producer_epoch

    @staticmethod
    def _check_transaction(producer: Producer, header: BatchHeader) -> Refused | None:
        if producer.transaction_first_offset is None or header.transactional:
            return None
        return Refused(
            ErrorCode.INVALID_TXN_STATE,
            f"producer {producer.producer_id} has a transaction open since offset {producer.transaction_first_offset} and wrote outside it",
        )

    def apply(self, header: BatchHeader, base_offset: int) -> None:
        """Record a batch of data that is now in the log."""
        producer = self._known(header)
        if header.producer_epoch != producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        producer.last_timestamp = header.max_timestamp
        last_offset = base_offset + header.last_offset_delta
        producer.batches.append(SentBatch(header.base_sequence, header.last_sequence, base_offset, last_offset, header.max_timestamp))
        if header.transactional and producer.transaction_first_offset is None:
            producer.transaction_first_offset = base_offset
            self._open[base_offset] = header.producer_id

    def end_transaction(self, header: BatchHeader, offset: int, kind: ControlType, coordinator_epoch: int) -> CompletedTransaction | None:
        """Apply a marker. None when the producer has no open transaction here, as for a repeated
        marker.
        """
        producer = self._known(header)
        if header.producer_epoch != producer.epoch:
            producer.epoch = header.producer_epoch
            producer.batches.clear()
        producer.coordinator_epoch = coordinator_epoch
        producer.last_timestamp = header.max_timestamp
        first_offset = producer.transaction_first_offset
        if first_offset is None:
            return None
        producer.transaction_first_offset = None
        del self._open[first_offset]
        completed = CompletedTransaction(header.producer_id, first_offset, offset, aborted=kind is ControlType.ABORT)
        self.unreplicated.append(completed)
        return completed

    def _known(self, header: BatchHeader) -> Producer:
        producer = self.producers.get(header.producer_id)
        if producer is None:
            producer = self.producers[header.producer_id] = Producer(header.producer_id)
        return producer

    def replay(self, header: BatchHeader, batch: Buffer, base_offset: int) -> AbortedTransaction | None:
        """Apply a batch of any kind that is in the log at ``base_offset``; returns an abort, to be
        indexed.

        Only control batches are opened.
        """
        if header.producer_id < 0:
            return None
        if not header.control:
            self.apply(header, base_offset)
            return None
        ended = read_end_transaction(batch)
        if ended is None:
            return None
        completed = self.end_transaction(header, base_offset, *ended)
        return self.as_aborted(completed) if completed is not None and completed.aborted else None

    def as_aborted(self, completed: CompletedTransaction) -> AbortedTransaction:
        stable = min(self._open, default=completed.last_offset + 1)
        return AbortedTransaction(completed.producer_id, completed.first_offset, completed.last_offset, stable)

    def first_unstable_offset(self) -> int | None:
        """Readers of committed data must stop here: the first offset without a marker on all
        replicas.
        """
        first = min(self._open, default=None)
        if self.unreplicated:
            waiting = min(each.first_offset for each in self.unreplicated)
            return waiting if first is None else min(first, waiting)
        return first

    def replicated_up_to(self, high_watermark: int) -> None:
        if self.unreplicated:
            self.unreplicated = [each for each in self.unreplicated if each.last_offset >= high_watermark]

    def restore(self, producer: Producer) -> None:
        """Add an entry from a snapshot."""
        self.producers[producer.producer_id] = producer
        if producer.transaction_first_offset is not None:
            self._open[producer.transaction_first_offset] = producer.producer_id

    def clear(self) -> None:
        self.producers.clear()
        self._open.clear()
        self.unreplicated.clear()

    def expire(self, *, older_than_ms: int) -> int:
        """Remove idle producers without an open transaction; returns how many."""
        doomed = [
            producer.producer_id
            for producer in self.producers.values()
            if producer.transaction_first_offset is None and producer.last_timestamp < older_than_ms
        ]
        for producer_id in doomed:
            del self.producers[producer_id]
        return len(doomed)
