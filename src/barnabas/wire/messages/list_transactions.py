"""ListTransactions: the transactions of this coordinator, by state, producer and age."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String


@request(key=66, versions="0-2", flexible="0+")
class ListTransactionsRequest:
    state_filters: list[String] = field()
    producer_id_filters: list[Int64] = field()
    duration_filter: Int64 = field("1+", default=-1)
    transactional_id_pattern: String | None = field("2+", nullable="2+", default=None)


@struct
class TransactionState:
    transactional_id: String = field()
    producer_id: Int64 = field()
    transaction_state: String = field()


@response(key=66, versions="0-2", flexible="0+")
class ListTransactionsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    unknown_state_filters: list[String] = field()
    transaction_states: list[TransactionState] = field()
