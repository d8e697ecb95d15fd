"""ListTransactions (key 66): the transactional ids this broker looks after, by state, producer, age and name.

Behaviour: filters that are empty let everything through; states nobody knows are given back. COORDINATOR_LOAD_IN_PROGRESS while a shard is
being loaded, because a part of the list would look like all of it. A pattern that is none is INVALID_REGULAR_EXPRESSION.

Version notes: 1 filters by how long a transaction has been running, 2 by a pattern that the whole transactional id must match.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.coordinators.pattern import matcher
from barnabas.coordinators.transaction.listing import TransactionFilter
from barnabas.coordinators.transaction.state import STATE_BY_TITLE
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse, TransactionState


def handle(broker: Broker, caller: Caller, request: ListTransactionsRequest) -> ListTransactionsResponse:
    runtime = broker.transactions.runtime
    if runtime.loading:
        return _answer(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    pattern = matcher(request.transactional_id_pattern) if request.transactional_id_pattern else None
    if isinstance(pattern, str):
        return _answer(ErrorCode.INVALID_REGULAR_EXPRESSION)
    wanted = TransactionFilter(
        states=frozenset(STATE_BY_TITLE[each] for each in request.state_filters if each in STATE_BY_TITLE)
        if request.state_filters
        else None,
        producer_ids=frozenset(request.producer_id_filters),
        running_ms_min=request.duration_filter,
        transactional_id=pattern,
    )
    now_ms = broker.clock.wall_ms()
    shown = [
        TransactionState(transactional_id=each.transactional_id, producer_id=each.producer_id, transaction_state=each.state.title)
        for machine in runtime.machines()
        for each in machine.transactions.values()
        if wanted.shows(each, now_ms)
    ]
    return _answer(ErrorCode.NONE, [each for each in request.state_filters if each not in STATE_BY_TITLE], shown)


def _answer(
    error: ErrorCode, unknown_states: list[str] | None = None, shown: list[TransactionState] | None = None
) -> ListTransactionsResponse:
    return ListTransactionsResponse(
        throttle_time_ms=0, error_code=error, unknown_state_filters=unknown_states or [], transaction_states=shown or []
    )
