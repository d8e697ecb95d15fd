"""A broker is unfenced: it may lead again."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int32, Int64


@metadata_record(key=8, versions="0", flexible="0+")
class UnfenceBrokerRecord:
    id: Int32 = field()
    epoch: Int64 = field()
