"""The subscription of one member of a share group."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field
from barnabas.wire.types import String


@coordinator_key(key=10, versions="0", flexible="none")
class ShareGroupMemberMetadataKey:
    group_id: String = field("0")
    member_id: String = field("0")


@coordinator_value(key=10, versions="0", flexible="0+")
class ShareGroupMemberMetadataValue:
    rack_id: String | None = field(nullable="0+")
    client_id: String = field()
    client_host: String = field()
    subscribed_topic_names: list[String] = field()
