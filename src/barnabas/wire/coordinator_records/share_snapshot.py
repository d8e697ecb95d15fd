"""The whole delivery state of a share partition."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int8, Int16, Int32, Int64, String, Uuid


@coordinator_key(key=0, versions="0", flexible="none")
class ShareSnapshotKey:
    group_id: String = field("0")
    topic_id: Uuid = field("0")
    partition: Int32 = field("0")


@struct
class StateBatch:
    first_offset: Int64 = field()
    last_offset: Int64 = field()
    delivery_state: Int8 = field()
    delivery_count: Int16 = field()


@coordinator_value(key=0, versions="0", flexible="0+")
class ShareSnapshotValue:
    snapshot_epoch: Int32 = field()
    state_epoch: Int32 = field()
    leader_epoch: Int32 = field()
    start_offset: Int64 = field()
    delivery_complete_count: Int32 = field(tag=0, tagged="0+", default=-1)
    create_timestamp: Int64 = field()
    write_timestamp: Int64 = field()
    state_batches: list[StateBatch] = field()
