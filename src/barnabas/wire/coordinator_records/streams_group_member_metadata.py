"""The metadata that one member of a streams group sent."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int32, String, Uint16


@coordinator_key(key=19, versions="0", flexible="none")
class StreamsGroupMemberMetadataKey:
    group_id: String = field("0")
    member_id: String = field("0")


@struct
class Endpoint:
    host: String = field()
    port: Uint16 = field()


@struct
class KeyValue:
    key: String = field()
    value: String = field()


@coordinator_value(key=19, versions="0", flexible="0+")
class StreamsGroupMemberMetadataValue:
    instance_id: String | None = field(nullable="0+")
    rack_id: String | None = field(nullable="0+")
    client_id: String = field()
    client_host: String = field()
    rebalance_timeout_ms: Int32 = field(default=-1)
    topology_epoch: Int32 = field()
    process_id: String = field()
    user_endpoint: Endpoint | None = field(nullable="0+", default=None)
    client_tags: list[KeyValue] = field()
