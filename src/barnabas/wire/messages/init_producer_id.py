"""InitProducerId: an identity for an idempotent or transactional producer.

Version 6 (two-phase commit, KIP-939) is unstable in 4.3 and not advertised."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bool, Int16, Int32, Int64, String


@request(key=22, versions="0-6", flexible="2+")
class InitProducerIdRequest:
    transactional_id: String | None = field(nullable="0+")
    transaction_timeout_ms: Int32 = field()
    producer_id: Int64 = field("3+", default=-1)
    producer_epoch: Int16 = field("3+", default=-1)
    enable2_pc: Bool = field("6+", default=False)
    keep_prepared_txn: Bool = field("6+", default=False)


@response(key=22, versions="0-6", flexible="2+")
class InitProducerIdResponse:
    throttle_time_ms: Int32 = field(ignorable=True)
    error_code: Int16 = field()
    producer_id: Int64 = field(default=-1)
    producer_epoch: Int16 = field()
    ongoing_txn_producer_id: Int64 = field("6+", default=-1)
    ongoing_txn_producer_epoch: Int16 = field("6+", default=-1)
