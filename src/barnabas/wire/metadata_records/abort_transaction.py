"""The metadata transaction is void: readers drop its records."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import String


@metadata_record(key=25, versions="0", flexible="0+")
class AbortTransactionRecord:
    reason: String | None = field(nullable="0+", tag=0, tagged="0+", default=None)
