"""One transactional id: its producer, and the state of its transaction. A value; every step returns
a new one.

    state           step                                   next state
    Empty           begun, renewed, rotated                Empty
                    joined by partitions                   Ongoing
                    prepared: abort, client version 2      PrepareAbort
    Ongoing         joined by partitions                   Ongoing
                    prepared: commit                       PrepareCommit
                    prepared: abort                        PrepareAbort
                    fenced (new producer, timeout)         PrepareAbort
    PrepareCommit   completed (markers are written)        CompleteCommit
    PrepareAbort    completed                              CompleteAbort
    CompleteCommit  renewed, rotated                       Empty
    CompleteAbort   joined by partitions                   Ongoing
                    prepared: abort, client version 2      PrepareAbort
    at rest         expired                                (tombstone)

InitProducerId begins, renews and rotates. Fencing passes through Kafka's PrepareEpochFence, which
is never written.

Epochs of one producer id only rise. 32767 is above every epoch that a client ever gets, so that one
epoch is always left for fencing. A client of version 2 gets a new epoch with every end. When the
epochs are exhausted it gets a new producer id, which takes over once the markers, still with the
old id, are written.

Permission for each step, and the answers to other requests, are not decided here: see
``beginning.py``, ``ending.py`` and ``machine.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.state import AT_REST, PREPARED, TransactionState
from barnabas.coordinators.transaction.transaction_version import OLDEST, raises_epoch
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import TopicPartition

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
EPOCH_MAX: Final = 2**15 - 1
_CLIENT_EPOCH_MAX: Final = EPOCH_MAX - 1
# A transaction with this timeout is ended only by its owner (KIP-939).
TWO_PHASE_TIMEOUT_MS: Final = 2**31 - 1


def exhausted(epoch: int) -> bool:
    """Whether a client with this epoch cannot get another."""
    return epoch >= _CLIENT_EPOCH_MAX


@dataclass(frozen=True, slots=True)
class Transaction:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    update_ms: int
    start_ms: int = NO_TIME
    partitions: frozenset[TopicPartition] = frozenset()
    previous_producer_id: int = NO_PRODUCER_ID
    """The producer id before the last step, which identifies a retry with that id."""
    next_producer_id: int = NO_PRODUCER_ID
    """The producer id after the markers are written, if the epochs are exhausted."""
    client_version: int = OLDEST
    """The transaction version of the last step."""
    last_epoch: int = NO_EPOCH
    """The epoch for which the current one was granted, so that a retry gets the same answer. It is
    not in the log: the next coordinator fences instead.
    """

    @property
    def identity(self) -> ProducerIdentity:
        return ProducerIdentity(self.producer_id, self.producer_epoch)

    @property
    def committed(self) -> bool:
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)

    def out_of_time(self, now_ms: int) -> bool:
        return (
            self.state is TransactionState.ONGOING and self.timeout_ms != TWO_PHASE_TIMEOUT_MS and self.start_ms + self.timeout_ms < now_ms
        )

    def expired(self, now_ms: int, expiration_ms: int) -> bool:
        return self.state in AT_REST and self.update_ms <= now_ms - expiration_ms

    # -- InitProducerId ----------------------------------------------------------------------------

    @classmethod
    def begun(cls, transactional_id: str, producer_id: int, *, timeout_ms: int, now_ms: int) -> Transaction:
        return cls(transactional_id, producer_id, 0, timeout_ms, TransactionState.EMPTY, now_ms, previous_producer_id=producer_id)

    def renewed(self, epoch: int, *, last_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        assert self.state in AT_REST, self
        assert self.producer_epoch <= epoch <= _CLIENT_EPOCH_MAX, (self, epoch)
        return self._emptied(self.producer_id, epoch, last_epoch, timeout_ms, now_ms)

    def rotated(self, producer_id: int, *, last_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        """Change to a new producer id, because the epochs of the old one are exhausted."""
        assert self.state in AT_REST, self
        assert exhausted(self.producer_epoch), self
        return self._emptied(producer_id, 0, last_epoch, timeout_ms, now_ms)

    def _emptied(self, producer_id: int, epoch: int, last_epoch: int, timeout_ms: int, now_ms: int) -> Transaction:
        return replace(
            self,
            producer_id=producer_id,
            producer_epoch=epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            last_epoch=last_epoch,
            timeout_ms=timeout_ms,
            state=TransactionState.EMPTY,
            partitions=frozenset(),
            start_ms=NO_TIME,
            update_ms=now_ms,
        )

    # -- partitions and end ------------------------------------------------------------------------

    def joined(self, partitions: frozenset[TopicPartition], *, client_version: int, now_ms: int) -> Transaction:
        assert self.state not in PREPARED, self
        ongoing = self.state is TransactionState.ONGOING
        return replace(
            self,
            previous_producer_id=self.producer_id,
            state=TransactionState.ONGOING,
            partitions=self.partitions | partitions if ongoing else partitions,
            start_ms=self.start_ms if ongoing else now_ms,
            update_ms=now_ms,
            client_version=client_version,
        )

    def prepared(self, *, committed: bool, client_version: int, now_ms: int, next_producer_id: int = NO_PRODUCER_ID) -> Transaction:
        ongoing = self.state is TransactionState.ONGOING
        assert ongoing or (not committed and self.state in AT_REST and raises_epoch(client_version)), self
        raised = raises_epoch(client_version) and self.producer_epoch < EPOCH_MAX
        return replace(
            self,
            producer_epoch=self.producer_epoch + 1 if raised else self.producer_epoch,
            last_epoch=self.producer_epoch if raises_epoch(client_version) else self.last_epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=next_producer_id,
            state=TransactionState.PREPARE_COMMIT if committed else TransactionState.PREPARE_ABORT,
            # The abort of a transaction without partitions needs a start time, as every ended
            # transaction has one.
            start_ms=self.start_ms if ongoing else now_ms,
            update_ms=now_ms,
            client_version=client_version,
        )

    def fenced(self, *, transaction_version: int, now_ms: int, next_producer_id: int = NO_PRODUCER_ID) -> Transaction:
        """Abort by the coordinator: the previous owner is left with an old epoch."""
        assert self.state is TransactionState.ONGOING, self
        if raises_epoch(transaction_version):
            return self.prepared(committed=False, client_version=transaction_version, now_ms=now_ms, next_producer_id=next_producer_id)
        assert self.producer_epoch < EPOCH_MAX, self
        ended = self.prepared(committed=False, client_version=OLDEST, now_ms=now_ms)
        return replace(ended, producer_epoch=self.producer_epoch + 1, last_epoch=NO_EPOCH)

    def completed(self, now_ms: int) -> Transaction:
        assert self.state in PREPARED, self
        rotates = self.next_producer_id != NO_PRODUCER_ID
        return replace(
            self,
            producer_id=self.next_producer_id if rotates else self.producer_id,
            producer_epoch=0 if rotates else self.producer_epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            state=TransactionState.COMPLETE_COMMIT if self.committed else TransactionState.COMPLETE_ABORT,
            partitions=frozenset(),
            update_ms=now_ms,
        )
