"""ListTransactions (key 66): the transactional ids that this broker coordinates, filtered by state,
producer, duration and id.

Behaviour: an empty filter matches everything; unknown states are returned as such. Ids that the
caller may not describe are left out.
COORDINATOR_LOAD_IN_PROGRESS while a shard is being loaded, because the list would be incomplete.
INVALID_REGULAR_EXPRESSION for an invalid pattern.

Version notes: from 1 a filter by the duration of the transaction, from 2 a pattern that must match
the whole transactional id.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import DESCRIBE_TRANSACTIONAL_ID, checked
from barnabas.coordinators.transaction.listing import TransactionFilter
from barnabas.coordinators.transaction.state import STATE_BY_TITLE
from barnabas.model.errors import ErrorCode
from barnabas.model.pattern import matcher
from barnabas.network.caller import Caller
from barnabas.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse, TransactionState

NEEDS = checked(DESCRIBE_TRANSACTIONAL_ID)


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
        if broker.access.may(caller, DESCRIBE_TRANSACTIONAL_ID, each.transactional_id, filters=True)
    ]
    return _answer(ErrorCode.NONE, [each for each in request.state_filters if each not in STATE_BY_TITLE], shown)


def _answer(
    error: ErrorCode, unknown_states: list[str] | None = None, shown: list[TransactionState] | None = None
) -> ListTransactionsResponse:
    return ListTransactionsResponse(
        throttle_time_ms=0, error_code=error, unknown_state_filters=unknown_states or [], transaction_states=shown or []
    )
