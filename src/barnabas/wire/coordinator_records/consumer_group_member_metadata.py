"""The subscription of one member of a consumer-protocol group."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Bytes, Int32, String


@coordinator_key(key=5, versions="0", flexible="none")
class ConsumerGroupMemberMetadataKey:
    group_id: String = field("0")
    member_id: String = field("0")


@struct
class ClassicProtocol:
    name: String = field()
    metadata: Bytes = field()


@struct
class ClassicMemberMetadata:
    session_timeout_ms: Int32 = field()
    supported_protocols: list[ClassicProtocol] = field()


@coordinator_value(key=5, versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue:
    instance_id: String | None = field(nullable="0+")
    rack_id: String | None = field(nullable="0+")
    client_id: String = field()
    client_host: String = field()
    subscribed_topic_names: list[String] = field()
    subscribed_topic_regex: String | None = field(nullable="0+")
    rebalance_timeout_ms: Int32 = field(default=-1)
    server_assignor: String | None = field(nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field(nullable="0+", tag=0, tagged="0+", default_factory=ClassicMemberMetadata)
