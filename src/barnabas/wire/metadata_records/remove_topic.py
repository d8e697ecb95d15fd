"""Removes a topic and all its partitions."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Uuid


@metadata_record(key=9, versions="0", flexible="0+")
class RemoveTopicRecord:
    topic_id: Uuid = field()
