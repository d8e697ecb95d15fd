"""AddOffsetsToTxn: add a group's offsets to a transaction."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Int16, Int32, Int64, String


@request(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest:
    transactional_id: String = field()
    producer_id: Int64 = field()
    producer_epoch: Int16 = field()
    group_id: String = field()


@response(key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
