"""EndTxn: commit or abort; from version 5 the response carries the next producer epoch
(KIP-890).
"""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bool, Int16, Int32, Int64, String


@request(key=26, versions="0-5", flexible="3+")
class EndTxnRequest:
    transactional_id: String = field()
    producer_id: Int64 = field()
    producer_epoch: Int16 = field()
    committed: Bool = field()


@response(key=26, versions="0-5", flexible="3+")
class EndTxnResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    producer_id: Int64 = field("5+", default=-1, ignorable=True)
    producer_epoch: Int16 = field("5+", default=-1, ignorable=True)
