"""A share group's epoch."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field
from barnabas.wire.types import Int32, Int64, String


@coordinator_key(key=11, versions="0", flexible="none")
class ShareGroupMetadataKey:
    group_id: String = field("0")


@coordinator_value(key=11, versions="0", flexible="0+")
class ShareGroupMetadataValue:
    epoch: Int32 = field()
    metadata_hash: Int64 = field()
