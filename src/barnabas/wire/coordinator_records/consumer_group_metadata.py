"""The epoch of a consumer-protocol group."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field
from barnabas.wire.types import Int32, Int64, String


@coordinator_key(key=3, versions="0", flexible="none")
class ConsumerGroupMetadataKey:
    group_id: String = field("0")


@coordinator_value(key=3, versions="0", flexible="0+")
class ConsumerGroupMetadataValue:
    epoch: Int32 = field()
    metadata_hash: Int64 = field(tag=0, tagged="0+", default=0)
