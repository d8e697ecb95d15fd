"""OffsetFetch: a consumer group's committed offsets; from version 8 of several groups at once."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, Int64, String, Uuid


@struct
class OffsetFetchRequestTopic:
    name: String = field("0-7", default="")
    partition_indexes: list[Int32] = field("0-7", default_factory=list)


@struct
class OffsetFetchRequestTopics:
    name: String = field("8-9", default="", ignorable=True)
    topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
    partition_indexes: list[Int32] = field("8+", default_factory=list)


@struct
class OffsetFetchRequestGroup:
    group_id: String = field("8+", default="")
    member_id: String | None = field("9+", nullable="9+", default=None, ignorable=True)
    member_epoch: Int32 = field("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field("8+", nullable="8+", default_factory=list)


@request(key=9, versions="1-10", flexible="6+")
class OffsetFetchRequest:
    group_id: String = field("0-7", default="")
    topics: list[OffsetFetchRequestTopic] | None = field("0-7", nullable="2-7", default_factory=list)
    groups: list[OffsetFetchRequestGroup] = field("8+", default_factory=list)
    require_stable: Bool = field("7+", default=False)


@struct
class OffsetFetchResponsePartition:
    partition_index: Int32 = field("0-7", default=0)
    committed_offset: Int64 = field("0-7", default=0)
    committed_leader_epoch: Int32 = field("5-7", default=-1, ignorable=True)
    metadata: String | None = field("0-7", nullable="0-7", default="")
    error_code: Int16 = field("0-7", default=0)


@struct
class OffsetFetchResponseTopic:
    name: String = field("0-7", default="")
    partitions: list[OffsetFetchResponsePartition] = field("0-7", default_factory=list)


@struct
class OffsetFetchResponsePartitions:
    partition_index: Int32 = field("8+", default=0)
    committed_offset: Int64 = field("8+", default=0)
    committed_leader_epoch: Int32 = field("8+", default=-1, ignorable=True)
    metadata: String | None = field("8+", nullable="8+", default="")
    error_code: Int16 = field("8+", default=0)


@struct
class OffsetFetchResponseTopics:
    name: String = field("8-9", default="", ignorable=True)
    topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = field("8+", default_factory=list)


@struct
class OffsetFetchResponseGroup:
    group_id: String = field("8+", default="")
    topics: list[OffsetFetchResponseTopics] = field("8+", default_factory=list)
    error_code: Int16 = field("8+", default=0)


@response(key=9, versions="1-10", flexible="6+")
class OffsetFetchResponse:
    throttle_time_ms: Int32 = field("3+", default=0, ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field("0-7", default_factory=list)
    error_code: Int16 = field("2-7", default=0, ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field("8+", default_factory=list)
