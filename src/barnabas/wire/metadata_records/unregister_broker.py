"""Removes the registration of a broker for good."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int32, Int64


@metadata_record(key=1, versions="0", flexible="0+")
class UnregisterBrokerRecord:
    broker_id: Int32 = field()
    broker_epoch: Int64 = field()
