"""The state of one transactional id."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int8, Int16, Int32, Int64, String


@coordinator_key(key=0, versions="0", flexible="none")
class TransactionLogKey:
    transactional_id: String = field("0")


@struct
class PartitionsSchema:
    topic: String = field()
    partition_ids: list[Int32] = field()


@coordinator_value(key=0, versions="0-1", flexible="1+")
class TransactionLogValue:
    producer_id: Int64 = field()
    previous_producer_id: Int64 = field("1+", tag=0, tagged="1+", default=-1)
    next_producer_id: Int64 = field("1+", tag=1, tagged="1+", default=-1)
    producer_epoch: Int16 = field()
    next_producer_epoch: Int16 = field("1+", tag=3, tagged="1+", default=-1)
    transaction_timeout_ms: Int32 = field()
    transaction_status: Int8 = field()
    transaction_partitions: list[PartitionsSchema] | None = field(nullable="0+")
    transaction_last_update_timestamp_ms: Int64 = field()
    transaction_start_timestamp_ms: Int64 = field()
    client_transaction_version: Int16 = field("1+", tag=2, tagged="1+", default=0)
