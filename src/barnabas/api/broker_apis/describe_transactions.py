"""DescribeTransactions (key 65): the state of transactional ids.

Behaviour: each id has its own result. TRANSACTIONAL_ID_NOT_FOUND for an id that was never used or
that expired; NOT_COORDINATOR for an id that another broker coordinates. Topics that the caller may
not describe are left out. An id that is named again is described again, within the limit of
:mod:`~barnabas.api.results_by_id`.

Version notes: one version.
"""

from __future__ import annotations

from typing import cast

from barnabas.api.broker import Broker
from barnabas.api.needs import DESCRIBE_TOPIC, DESCRIBE_TRANSACTIONAL_ID, checked
from barnabas.api.results_by_id import results_by_id
from barnabas.coordinators.transaction.transaction import Transaction
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)

NEEDS = checked(DESCRIBE_TRANSACTIONAL_ID, DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: DescribeTransactionsRequest) -> Promise[DescribeTransactionsResponse]:
    results = results_by_id(
        broker,
        caller,
        request.transactional_ids,
        response=DescribeTransactionsResponse,
        result=TransactionState,
        need=DESCRIBE_TRANSACTIONAL_ID,
        operate=lambda transactional_id: _describe(broker, caller, transactional_id),
        refused=_unknown,
        denied=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
    return results.map(
        lambda states: DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=cast(list[TransactionState], states))
    )


def _describe(broker: Broker, caller: Caller, transactional_id: str) -> Promise[TransactionState]:
    if not transactional_id:
        return Promise.kept(_unknown(transactional_id, ErrorCode.INVALID_REQUEST))
    found = broker.transactions.run(transactional_id, lambda machine, _: machine.describe(transactional_id))
    return found.map(lambda transaction: _state(broker, caller, transactional_id, transaction))


def _state(broker: Broker, caller: Caller, transactional_id: str, found: Transaction | ErrorCode | None) -> TransactionState:
    if found is None:
        return _unknown(transactional_id, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    if isinstance(found, ErrorCode):
        return _unknown(transactional_id, found)
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(found.partitions):
        topics.setdefault(topic, []).append(partition)
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, topics, filters=True)
    return TransactionState(
        error_code=ErrorCode.NONE,
        transactional_id=transactional_id,
        transaction_state=found.state.title,
        transaction_timeout_ms=found.timeout_ms,
        transaction_start_time_ms=found.start_ms,
        producer_id=found.producer_id,
        producer_epoch=found.producer_epoch,
        topics=[TopicData(topic=topic, partitions=partitions) for topic, partitions in topics.items() if topic in may_describe],
    )


def _unknown(transactional_id: str, error: ErrorCode) -> TransactionState:
    # Kafka leaves these fields at zero, not -1, in a result with an error.
    return TransactionState(
        error_code=error,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=[],
    )
