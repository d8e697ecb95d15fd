"""A classic group: its generation, protocol, leader and members."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Bytes, Int32, Int64, String


@coordinator_key(key=2, versions="0", flexible="none")
class GroupMetadataKey:
    group: String = field("0")


@struct
class MemberMetadata:
    member_id: String = field()
    group_instance_id: String | None = field("3+", nullable="3+", default=None, ignorable=True)
    client_id: String = field()
    client_host: String = field()
    rebalance_timeout: Int32 = field("1+", default=-1, ignorable=True)
    session_timeout: Int32 = field()
    subscription: Bytes = field()
    assignment: Bytes = field()


@coordinator_value(key=2, versions="0-4", flexible="4+")
class GroupMetadataValue:
    protocol_type: String = field()
    generation: Int32 = field()
    protocol: String | None = field(nullable="0+")
    leader: String | None = field(nullable="0+")
    current_state_timestamp: Int64 = field("2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = field()
