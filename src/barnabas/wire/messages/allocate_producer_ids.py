"""AllocateProducerIds: a block of producer ids for one broker."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Int16, Int32, Int64


@request(key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest:
    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)


@response(key=67, versions="0", flexible="0+")
class AllocateProducerIdsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    producer_id_start: Int64 = field()
    producer_id_len: Int32 = field()
