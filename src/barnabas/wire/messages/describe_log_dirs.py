"""DescribeLogDirs: the directories of a broker and the size of every replica in them."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, Int64, String


@struct
class DescribableLogDirTopic:
    topic: String = field()
    partitions: list[Int32] = field()


@request(key=35, versions="1-5", flexible="2+")
class DescribeLogDirsRequest:
    topics: list[DescribableLogDirTopic] | None = field(nullable="0+")


@struct
class DescribeLogDirsPartition:
    partition_index: Int32 = field()
    partition_size: Int64 = field()
    offset_lag: Int64 = field()
    is_future_key: Bool = field()


@struct
class DescribeLogDirsTopic:
    name: String = field()
    partitions: list[DescribeLogDirsPartition] = field()


@struct
class DescribeLogDirsResult:
    error_code: Int16 = field()
    log_dir: String = field()
    topics: list[DescribeLogDirsTopic] = field()
    total_bytes: Int64 = field("4+", default=-1, ignorable=True)
    usable_bytes: Int64 = field("4+", default=-1, ignorable=True)
    is_cordoned: Bool = field("5+", default=False, ignorable=True)


@response(key=35, versions="1-5", flexible="2+")
class DescribeLogDirsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field("3+", default=0, ignorable=True)
    results: list[DescribeLogDirsResult] = field()
