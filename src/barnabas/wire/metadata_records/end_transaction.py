"""The metadata transaction takes effect."""

from barnabas.wire.declare import metadata_record


@metadata_record(key=24, versions="0", flexible="0+")
class EndTransactionRecord:
    pass
