"""No change: it lets followers see that the leader's log advances."""

from barnabas.wire.declare import metadata_record


@metadata_record(key=20, versions="0", flexible="0+")
class NoOpRecord:
    pass
