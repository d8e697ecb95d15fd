"""The messages that classic consumers exchange inside JoinGroup and SyncGroup.

The coordinator reads them only to answer for static members and to upgrade a group. Other protocol
types (Connect, registries) put other data in these bytes.
"""

from barnabas.wire.declare import data, field, struct
from barnabas.wire.types import Bytes, Int32, String


@struct
class TopicPartition:
    topic: String = field("1+", default="")
    partitions: list[Int32] = field("1+", default_factory=list)


@data(versions="0-3", flexible="none")
class ConsumerProtocolSubscription:
    topics: list[String] = field()
    user_data: Bytes | None = field(nullable="0+", default=None)
    owned_partitions: list[TopicPartition] = field("1+", default_factory=list, ignorable=True)
    generation_id: Int32 = field("2+", default=-1, ignorable=True)
    rack_id: String | None = field("3+", nullable="3+", default=None, ignorable=True)


@struct
class ConsumerProtocolAssignmentTopicPartition:
    topic: String = field()
    partitions: list[Int32] = field()


@data(versions="0-3", flexible="none")
class ConsumerProtocolAssignment:
    assigned_partitions: list[ConsumerProtocolAssignmentTopicPartition] = field()
    user_data: Bytes | None = field(nullable="0+", default=None)
