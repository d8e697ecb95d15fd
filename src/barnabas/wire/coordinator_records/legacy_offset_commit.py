"""A group's offset in one partition, with the key of Kafka before 0.8.3. Read, never written."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field
from barnabas.wire.types import Int32, Int64, String


@coordinator_key(key=0, versions="0", flexible="none")
class LegacyOffsetCommitKey:
    group: String = field("0")
    topic: String = field("0")
    partition: Int32 = field("0")


@coordinator_value(key=0, versions="0", flexible="none")
class LegacyOffsetCommitValue:
    offset: Int64 = field("0")
    metadata: String = field("0")
    commit_timestamp: Int64 = field("0")
