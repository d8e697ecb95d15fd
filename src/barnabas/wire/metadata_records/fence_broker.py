"""A broker is fenced: it must not lead, and its replicas do not count."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int32, Int64


@metadata_record(key=7, versions="0", flexible="0+")
class FenceBrokerRecord:
    id: Int32 = field()
    epoch: Int64 = field()
