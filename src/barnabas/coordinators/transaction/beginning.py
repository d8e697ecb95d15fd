"""InitProducerId: the producer id and epoch for a transactional id.

    state        given identity       answer
    unknown      any                  a new producer id, epoch 0
    Prepare*     any                  CONCURRENT_TRANSACTIONS
    any other    another producer     PRODUCER_FENCED
    Ongoing      none, or the owner   the transaction is aborted with a higher epoch;
                                      CONCURRENT_TRANSACTIONS until that is done
    at rest      none                 the next epoch; all other producers are fenced
                 current epoch        the next epoch; the owner continues after an error (KIP-360)
                 previous epoch       the current epoch again, for a retry after a lost answer
                 another epoch        PRODUCER_FENCED

If the epochs are exhausted, the answer is a new producer id with epoch 0, and the last epoch of the
previous id counts as the previous epoch.
"""

from __future__ import annotations

from barnabas.coordinators.outcome import ProducerIdentity
from barnabas.coordinators.transaction.decision import NEEDS_PRODUCER_ID, Decision
from barnabas.coordinators.transaction.state import PREPARED, TransactionState
from barnabas.coordinators.transaction.transaction import NO_EPOCH, NO_PRODUCER_ID, Transaction, exhausted
from barnabas.coordinators.transaction.transaction_version import raises_epoch
from barnabas.model.errors import ErrorCode


def begin(
    transaction: Transaction | None,
    transactional_id: str,
    *,
    given: ProducerIdentity | None,
    timeout_ms: int,
    transaction_version: int,
    offered: int | None,
    now_ms: int,
) -> Decision:
    """``offered`` is an unused producer id, in case one is needed."""
    if transaction is None:
        if offered is None:
            return NEEDS_PRODUCER_ID
        return Transaction.begun(transactional_id, offered, timeout_ms=timeout_ms, now_ms=now_ms)
    if transaction.state in PREPARED:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if given is not None and not _belongs_to(transaction, given):
        return ErrorCode.PRODUCER_FENCED
    if transaction.state is TransactionState.ONGOING:
        return _fence(transaction, transaction_version, offered, now_ms)
    return _next_identity(transaction, None if given is None else given.producer_epoch, timeout_ms, offered, now_ms)


def _belongs_to(transaction: Transaction, given: ProducerIdentity) -> bool:
    return given.producer_id == transaction.producer_id or (
        given.producer_id == transaction.previous_producer_id and exhausted(given.producer_epoch)
    )


def _fence(transaction: Transaction, transaction_version: int, offered: int | None, now_ms: int) -> Decision:
    # An aborted owner of version 2 may learn the epoch of the abort as its own, so it must be an
    # epoch that clients may have.
    if raises_epoch(transaction_version) and exhausted(transaction.producer_epoch):
        if offered is None:
            return NEEDS_PRODUCER_ID
        return transaction.fenced(transaction_version=transaction_version, now_ms=now_ms, next_producer_id=offered)
    return transaction.fenced(transaction_version=transaction_version, now_ms=now_ms, next_producer_id=NO_PRODUCER_ID)


def _next_identity(transaction: Transaction, epoch: int | None, timeout_ms: int, offered: int | None, now_ms: int) -> Decision:
    present = transaction.producer_epoch
    a_retry = epoch is not None and epoch != present and epoch == transaction.last_epoch
    if epoch is not None and epoch != present and not a_retry:
        return ErrorCode.PRODUCER_FENCED
    if a_retry and not _beyond_clients(present):
        return transaction.renewed(present, last_epoch=transaction.last_epoch, timeout_ms=timeout_ms, now_ms=now_ms)
    last_epoch = NO_EPOCH if epoch is None else epoch
    if not exhausted(present):
        return transaction.renewed(present + 1, last_epoch=last_epoch, timeout_ms=timeout_ms, now_ms=now_ms)
    if offered is None:
        return NEEDS_PRODUCER_ID
    return transaction.rotated(offered, last_epoch=last_epoch, timeout_ms=timeout_ms, now_ms=now_ms)


def _beyond_clients(epoch: int) -> bool:
    """The coordinator reserves this epoch for fencing: not even a retry may learn it."""
    return exhausted(epoch - 1)
