"""Clear the eligible leader replicas of one topic, or of all."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import String


@metadata_record(key=28, versions="0", flexible="0+")
class ClearElrRecord:
    topic_name: String = field()
