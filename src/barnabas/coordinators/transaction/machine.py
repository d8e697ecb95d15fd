"""The transactional ids of one partition of ``__transaction_state``.

``transaction.py`` has the steps, ``beginning.py`` and ``ending.py`` the rules for them. For
partitions the rules are:

    state      add                              verify
    unknown    INVALID_PRODUCER_ID_MAPPING      INVALID_PRODUCER_ID_MAPPING
    Prepare*   CONCURRENT_TRANSACTIONS,         CONCURRENT_TRANSACTIONS,
               for every producer               for the owner only
    any other  INVALID_PRODUCER_ID_MAPPING for another id, PRODUCER_FENCED for another epoch
    Ongoing    NONE; written unless all are in  each partition: NONE, or TRANSACTION_ABORTABLE
    at rest    a transaction starts             TRANSACTION_ABORTABLE

A transaction ends in two records. The first (Prepare*) is the decision, for which the client waits.
Then markers are written to the partitions, which is an effect. Then
:meth:`TransactionMachine.markers_written` writes the second record (Complete*). A machine that
finds the first record without the second in its log requests the markers again; writing them twice
does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.coordinators.timers import Timers
from barnabas.coordinators.transaction import transaction_version as versions
from barnabas.coordinators.transaction.beginning import begin
from barnabas.coordinators.transaction.decision import Decision, Granted
from barnabas.coordinators.transaction.effects import WriteMarkers
from barnabas.coordinators.transaction.ending import end
from barnabas.coordinators.transaction.log_record import record_of, tombstone_of, transaction_of
from barnabas.coordinators.transaction.settings import TransactionSettings
from barnabas.coordinators.transaction.state import PREPARED, TransactionState
from barnabas.coordinators.transaction.transaction import TWO_PHASE_TIMEOUT_MS, Transaction
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import TopicPartition

_ABORT_SCAN = "abort scan"
_EXPIRY_SCAN = "expiry scan"
_UNFINISHED = "unfinished"
# The most tombstones in one batch, which keeps it below a megabyte with the longest transactional
# ids in real use.
_TOMBSTONES_MAX = 1_000


def _newest() -> int:
    return versions.NEWEST


class TransactionMachine:
    def __init__(
        self,
        partition: int,
        settings: TransactionSettings,
        coordinator_epoch: Callable[[], int],
        transaction_version: Callable[[], int] = _newest,
    ) -> None:
        """``coordinator_epoch`` is the leader epoch of the partition, ``transaction_version`` the
        finalized level of that feature.
        """
        self.partition = partition
        self.timers = Timers()
        self.transactions: dict[str, Transaction] = {}
        self._settings = settings
        self._coordinator_epoch = coordinator_epoch
        self._transaction_version = transaction_version
        # The decision that is about to be replayed. It has more than its record (see
        # Transaction.last_epoch).
        self._decided: tuple[CoordinatorRecord, Transaction] | None = None

    # -- the log -----------------------------------------------------------------------------------

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None, offset: int) -> None:
        transactional_id = record.key.transactional_id
        if record.value is None:
            self.transactions.pop(transactional_id, None)
        elif self._decided is not None and self._decided[0] is record:
            self.transactions[transactional_id] = self._decided[1]
        else:
            self.transactions[transactional_id] = transaction_of(transactional_id, record.value)
        self._decided = None

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        """Does nothing: this log describes transactions, but takes part in none."""

    def loaded(self, now_ms: int) -> None:
        # As they are now: a transaction that ends before the timer runs has its markers written by
        # its own request. A second writer could repeat a marker after the next transaction of the
        # same producer has begun, and end that one as well.
        prepared = [each for each in self.transactions.values() if each.state in PREPARED]
        self.timers.set(_UNFINISHED, now_ms, partial(self._finish, prepared))
        self.timers.set(_ABORT_SCAN, now_ms + self._settings.abort_scan_ms, self._scan_for_timeouts)
        self.timers.set(_EXPIRY_SCAN, now_ms + self._settings.expiry_scan_ms, self._scan_for_expired)

    def unloaded(self) -> None:
        """No request waits here: every answer follows from a commit."""

    # -- requests ----------------------------------------------------------------------------------

    def init_producer_id(
        self,
        transactional_id: str,
        *,
        timeout_ms: int,
        given: ProducerIdentity | None,
        offered: int | None,
        now_ms: int,
        two_phase_commit: bool = False,
        keep_prepared: bool = False,
    ) -> Outcome[Granted]:
        """``given`` is the identity that the producer sends; see
        :data:`~.decision.NEEDS_PRODUCER_ID` for ``offered``.
        """
        if two_phase_commit and not self._settings.two_phase_commit:
            return Outcome(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if keep_prepared:
            # Kafka 4.3 knows the field and refuses it: recovery of prepared transactions is not
            # finished there.
            return Outcome(ErrorCode.UNSUPPORTED_VERSION)
        if two_phase_commit:
            timeout_ms = TWO_PHASE_TIMEOUT_MS
        elif not 0 < timeout_ms <= self._settings.timeout_ms_max:
            return Outcome(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        decision = begin(
            self.transactions.get(transactional_id),
            transactional_id,
            given=given,
            timeout_ms=timeout_ms,
            transaction_version=self._transaction_version(),
            offered=offered,
            now_ms=now_ms,
        )
        return self._outcome(decision, now_ms, if_prepared=ErrorCode.CONCURRENT_TRANSACTIONS)

    def add_partitions(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        partitions: Iterable[TopicPartition],
        now_ms: int,
        *,
        transaction_version: int,
    ) -> Outcome[ErrorCode]:
        """``transaction_version`` is that of the client (see ``transaction_version.py``)."""
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            return Outcome(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if transaction.state in PREPARED:
            return Outcome(ErrorCode.CONCURRENT_TRANSACTIONS)
        refused = _not_the_owner(transaction, producer_id, producer_epoch)
        if refused:
            return Outcome(refused)
        joining = frozenset(partitions)
        if transaction.state is TransactionState.ONGOING and joining <= transaction.partitions:
            return Outcome(ErrorCode.NONE)
        joined = transaction.joined(joining, client_version=transaction_version, now_ms=now_ms)
        return Outcome(ErrorCode.NONE, [self._written(joined)])

    def verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partitions: Iterable[TopicPartition]
    ) -> Outcome[dict[TopicPartition, ErrorCode]]:
        """Whether partitions are in the transaction, for brokers that receive a produce request for
        them.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None:
            refused = ErrorCode.INVALID_PRODUCER_ID_MAPPING
        else:
            refused = _not_the_owner(transaction, producer_id, producer_epoch)
            if not refused and transaction.state in PREPARED:
                refused = ErrorCode.CONCURRENT_TRANSACTIONS
        if transaction is None or refused:
            return Outcome(dict.fromkeys(partitions, refused))
        return Outcome({each: ErrorCode.NONE if each in transaction.partitions else ErrorCode.TRANSACTION_ABORTABLE for each in partitions})

    def end(
        self,
        transactional_id: str,
        producer_id: int,
        producer_epoch: int,
        now_ms: int,
        *,
        committed: bool,
        transaction_version: int,
        offered: int | None,
    ) -> Outcome[Granted]:
        """The identity for the next transaction, once the end is decided; the markers are written
        afterwards.
        """
        decision = end(
            self.transactions.get(transactional_id),
            ProducerIdentity(producer_id, producer_epoch),
            committed=committed,
            client_version=transaction_version,
            offered=offered,
            now_ms=now_ms,
        )
        return self._outcome(decision, now_ms)

    def markers_written(self, transactional_id: str, producer_id: int, producer_epoch: int, now_ms: int) -> Outcome[None]:
        """The :class:`WriteMarkers` of this producer is done. A report about an older one changes
        nothing.
        """
        transaction = self.transactions.get(transactional_id)
        if transaction is None or transaction.state not in PREPARED or transaction.identity != (producer_id, producer_epoch):
            return Outcome(None)
        return Outcome(None, [self._written(transaction.completed(now_ms))])

    def describe(self, transactional_id: str) -> Outcome[Transaction | None]:
        return Outcome(self.transactions.get(transactional_id))

    # -- time --------------------------------------------------------------------------------------

    def _finish(self, prepared: Sequence[Transaction], now_ms: int) -> Outcome[None]:
        return Outcome(None, effects=[self._markers_of(each) for each in prepared])

    def _scan_for_timeouts(self, now_ms: int) -> Outcome[None]:
        """Each transaction gets a timer that is due at once, so each is a separate write; the next
        scan finds those that are refused.
        """
        self.timers.set(_ABORT_SCAN, now_ms + self._settings.abort_scan_ms, self._scan_for_timeouts)
        for each in self.transactions.values():
            if each.out_of_time(now_ms):
                self.timers.set(("abort", each.transactional_id), now_ms, partial(self._abort, each.transactional_id))
        return Outcome(None)

    def _abort(self, transactional_id: str, now_ms: int) -> Outcome[None]:
        transaction = self.transactions.get(transactional_id)
        if transaction is None or not transaction.out_of_time(now_ms):
            return Outcome(None)
        fenced = transaction.fenced(transaction_version=self._transaction_version(), now_ms=now_ms)
        return Outcome(None, [self._written(fenced)], effects=[self._markers_of(fenced)])

    def _scan_for_expired(self, now_ms: int) -> Outcome[None]:
        self.timers.set(_EXPIRY_SCAN, now_ms + self._settings.expiry_scan_ms, self._scan_for_expired)
        expiration_ms = self._settings.id_expiration_ms
        expired = [each.transactional_id for each in self.transactions.values() if each.expired(now_ms, expiration_ms)]
        for start in range(0, len(expired), _TOMBSTONES_MAX):
            self.timers.set(("forget", start), now_ms, partial(self._forget, expired[start : start + _TOMBSTONES_MAX]))
        return Outcome(None)

    def _forget(self, transactional_ids: list[str], now_ms: int) -> Outcome[None]:
        known = (self.transactions.get(each) for each in transactional_ids)
        expiration_ms = self._settings.id_expiration_ms
        return Outcome(
            None, [tombstone_of(each.transactional_id) for each in known if each is not None and each.expired(now_ms, expiration_ms)]
        )

    # -- from decisions to outcomes ----------------------------------------------------------------

    def _outcome(self, decision: Decision, now_ms: int, *, if_prepared: ErrorCode | None = None) -> Outcome[Granted]:
        if not isinstance(decision, Transaction):
            return Outcome(decision)
        record = self._written(decision)
        if decision.state not in PREPARED:
            return Outcome(decision.identity, [record])
        # The markers carry the identity of the ended transaction; the client continues with that of
        # the completed one.
        answer: Granted = if_prepared if if_prepared is not None else decision.completed(now_ms).identity
        return Outcome(answer, [record], effects=[self._markers_of(decision)])

    def _written(self, transaction: Transaction) -> CoordinatorRecord:
        record = record_of(transaction, self._transaction_version())
        self._decided = record, transaction
        return record

    def _markers_of(self, transaction: Transaction) -> WriteMarkers:
        return WriteMarkers(
            transaction.transactional_id,
            transaction.producer_id,
            transaction.producer_epoch,
            self._coordinator_epoch(),
            transaction.committed,
            tuple(sorted(transaction.partitions)),
            transaction.client_version,
        )


def _not_the_owner(transaction: Transaction, producer_id: int, producer_epoch: int) -> ErrorCode:
    if transaction.producer_id != producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if transaction.producer_epoch == producer_epoch else ErrorCode.PRODUCER_FENCED
