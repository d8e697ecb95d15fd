"""OffsetForLeaderEpoch: the end offset of a leader epoch, from which a reader sees whether its log
diverged.
"""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String


@struct
class OffsetForLeaderPartition:
    partition: Int32 = field()
    current_leader_epoch: Int32 = field("2+", default=-1, ignorable=True)
    leader_epoch: Int32 = field()


@struct
class OffsetForLeaderTopic:
    topic: String = field()
    partitions: list[OffsetForLeaderPartition] = field()


@request(key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochRequest:
    replica_id: Int32 = field("3+", default=-2, ignorable=True)
    topics: list[OffsetForLeaderTopic] = field()


@struct
class EpochEndOffset:
    error_code: Int16 = field()
    partition: Int32 = field()
    leader_epoch: Int32 = field("1+", default=-1, ignorable=True)
    end_offset: Int64 = field(default=-1)


@struct
class OffsetForLeaderTopicResult:
    topic: String = field()
    partitions: list[EpochEndOffset] = field()


@response(key=23, versions="2-4", flexible="4+")
class OffsetForLeaderEpochResponse:
    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = field()
