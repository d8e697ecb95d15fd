"""RemoveRaftVoter: a controller leaves the voters of the quorum."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Int16, Int32, String, Uuid


@request(key=81, versions="0", flexible="0+")
class RemoveRaftVoterRequest:
    cluster_id: String | None = field(nullable="0+")
    voter_id: Int32 = field()
    voter_directory_id: Uuid = field()


@response(key=81, versions="0", flexible="0+")
class RemoveRaftVoterResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", ignorable=True)
