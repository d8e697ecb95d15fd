"""A group's offset in one partition."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import coordinator_key, coordinator_value, field
from barnabas.wire.types import Int32, Int64, String, Uuid


@coordinator_key(key=1, versions="0", flexible="none")
class OffsetCommitKey:
    group: String = field("0")
    topic: String = field("0")
    partition: Int32 = field("0")


@coordinator_value(key=1, versions="0-4", flexible="4+")
class OffsetCommitValue:
    offset: Int64 = field()
    leader_epoch: Int32 = field("3+", default=-1, ignorable=True)
    metadata: String = field()
    commit_timestamp: Int64 = field()
    expire_timestamp: Int64 = field("1", default=-1, ignorable=True)
    topic_id: Uuid = field("4+", tag=0, tagged="4+", default=ZERO_UUID, ignorable=True)
