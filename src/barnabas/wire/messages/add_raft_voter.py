"""AddRaftVoter: a controller joins the voters of the quorum (KIP-853)."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, String, Uint16, Uuid


@struct
class Listener:
    name: String = field()
    host: String = field()
    port: Uint16 = field()


@request(key=80, versions="0-1", flexible="0+")
class AddRaftVoterRequest:
    cluster_id: String | None = field(nullable="0+")
    timeout_ms: Int32 = field()
    voter_id: Int32 = field()
    voter_directory_id: Uuid = field()
    listeners: list[Listener] = field()
    ack_when_committed: Bool = field("1+", default=True)


@response(key=80, versions="0-1", flexible="0+")
class AddRaftVoterResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", ignorable=True)
