"""The records that follow take effect together or not at all."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import String


@metadata_record(key=23, versions="0", flexible="0+")
class BeginTransactionRecord:
    name: String | None = field(nullable="0+", tag=0, tagged="0+", default=None)
