"""The first producer id that no broker has received yet."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int32, Int64


@metadata_record(key=15, versions="0", flexible="0+")
class ProducerIdsRecord:
    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
    next_producer_id: Int64 = field()
