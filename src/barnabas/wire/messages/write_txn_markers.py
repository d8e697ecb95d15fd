"""WriteTxnMarkers: the transaction coordinator sends the outcome of a transaction to partition
leaders.
"""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int8, Int16, Int32, Int64, String


@struct
class WritableTxnMarkerTopic:
    name: String = field()
    partition_indexes: list[Int32] = field()


@struct
class WritableTxnMarker:
    producer_id: Int64 = field()
    producer_epoch: Int16 = field()
    transaction_result: Bool = field()
    topics: list[WritableTxnMarkerTopic] = field()
    coordinator_epoch: Int32 = field()
    transaction_version: Int8 = field("2+", default=0, ignorable=True)


@request(key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersRequest:
    markers: list[WritableTxnMarker] = field()


@struct
class WritableTxnMarkerPartitionResult:
    partition_index: Int32 = field()
    error_code: Int16 = field()


@struct
class WritableTxnMarkerTopicResult:
    name: String = field()
    partitions: list[WritableTxnMarkerPartitionResult] = field()


@struct
class WritableTxnMarkerResult:
    producer_id: Int64 = field()
    topics: list[WritableTxnMarkerTopicResult] = field()


@response(key=27, versions="1-2", flexible="1+")
class WriteTxnMarkersResponse:
    markers: list[WritableTxnMarkerResult] = field()
