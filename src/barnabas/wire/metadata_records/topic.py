"""Creates a topic with this id. Its partitions follow as records of their own."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import String, Uuid


@metadata_record(key=2, versions="0", flexible="0+")
class TopicRecord:
    name: String = field()
    topic_id: Uuid = field()
