"""EndTxn: permission to end a transaction, and the answer to a repeated request.

Clients of version 0 and 1 keep their epoch. A repeated end looks like a second one, so both get the
same answer:

    state            commit                        abort
    Empty            INVALID_TXN_STATE             INVALID_TXN_STATE
    Ongoing          PrepareCommit                 PrepareAbort
    Prepare*         CONCURRENT_TRANSACTIONS       CONCURRENT_TRANSACTIONS
    CompleteCommit   NONE                          INVALID_TXN_STATE
    CompleteAbort    INVALID_TXN_STATE             NONE

Clients of version 2 get a new epoch with every end, so a request with the previous epoch is a
repetition (KIP-890). After an error such a client does not know whether a partition has joined, so
it may abort a transaction that never began:

    state            current epoch                       previous epoch
                     commit              abort           commit              abort
    Empty            INVALID_TXN_STATE   PrepareAbort    PRODUCER_FENCED     PRODUCER_FENCED
    Ongoing          PrepareCommit       PrepareAbort    PRODUCER_FENCED     PRODUCER_FENCED
    CompleteCommit   INVALID_TXN_STATE   PrepareAbort    current identity    INVALID_TXN_STATE
    CompleteAbort    INVALID_TXN_STATE   PrepareAbort    INVALID_TXN_STATE   current identity

In Prepare* every request gets CONCURRENT_TRANSACTIONS, because its producer id may be the one that
takes over when the markers are written.

Any other epoch is PRODUCER_FENCED, any other producer id INVALID_PRODUCER_ID_MAPPING. After a
change of producer id the last epoch of the previous id is the previous epoch.
"""

from __future__ import annotations

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.decision import NEEDS_PRODUCER_ID, Decision
from barnabas.coordinators.transaction.state import AT_REST, PREPARED, TransactionState
from barnabas.coordinators.transaction.transaction import EPOCH_MAX, Transaction, exhausted
from barnabas.coordinators.transaction.transaction_version import raises_epoch
from barnabas.model.errors import ErrorCode

_ENDED = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


def end(
    transaction: Transaction | None,
    given: ProducerIdentity,
    *,
    committed: bool,
    client_version: int,
    offered: int | None,
    now_ms: int,
) -> Decision:
    if transaction is None:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if raises_epoch(client_version):
        return _end_raising(transaction, given, committed, client_version, offered, now_ms)
    return _end_keeping(transaction, given, committed, client_version, now_ms)


def _end_keeping(transaction: Transaction, given: ProducerIdentity, committed: bool, client_version: int, now_ms: int) -> Decision:
    if given.producer_id != transaction.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if given.producer_epoch != transaction.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    if transaction.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if transaction.state is TransactionState.ONGOING:
        return transaction.prepared(committed=committed, client_version=client_version, now_ms=now_ms)
    if transaction.state in _ENDED and transaction.committed == committed:
        return transaction.identity
    return ErrorCode.INVALID_TXN_STATE


def _end_raising(
    transaction: Transaction, given: ProducerIdentity, committed: bool, client_version: int, offered: int | None, now_ms: int
) -> Decision:
    if transaction.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    repeated = transaction.state in _ENDED and _ended_as(transaction, given)
    if not repeated:
        if given.producer_id != transaction.producer_id:
            return ErrorCode.INVALID_PRODUCER_ID_MAPPING
        if given.producer_epoch != transaction.producer_epoch:
            return ErrorCode.PRODUCER_FENCED
    # This request repeats a timeout's abort that used the last epoch: its owner gets a new producer
    # id, as it would have at its own end.
    elif transaction.producer_epoch != EPOCH_MAX:
        return transaction.identity if transaction.committed == committed else ErrorCode.INVALID_TXN_STATE
    if committed and transaction.state in AT_REST:
        return ErrorCode.INVALID_TXN_STATE
    if not exhausted(transaction.producer_epoch):
        return transaction.prepared(committed=committed, client_version=client_version, now_ms=now_ms)
    if offered is None:
        return NEEDS_PRODUCER_ID
    return transaction.prepared(committed=committed, client_version=client_version, now_ms=now_ms, next_producer_id=offered)


def _ended_as(transaction: Transaction, given: ProducerIdentity) -> bool:
    """Whether the current identity was granted for the end of a transaction of ``given``."""
    if given.producer_id == transaction.producer_id and given.producer_epoch == transaction.producer_epoch - 1:
        return True
    return transaction.producer_epoch == 0 and given == (transaction.previous_producer_id, EPOCH_MAX - 1)
