"""UpdateRaftVoter: a voter's endpoints or supported versions changed."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String, Uint16, Uuid


@struct
class Listener:
    name: String = field()
    host: String = field()
    port: Uint16 = field()


@struct
class KRaftVersionFeature:
    min_supported_version: Int16 = field()
    max_supported_version: Int16 = field()


@request(key=82, versions="0", flexible="0+")
class UpdateRaftVoterRequest:
    cluster_id: String | None = field(nullable="0+")
    current_leader_epoch: Int32 = field()
    voter_id: Int32 = field()
    voter_directory_id: Uuid = field()
    listeners: list[Listener] = field()
    kraft_version_feature: KRaftVersionFeature = field()


@struct
class CurrentLeader:
    leader_id: Int32 = field(default=-1)
    leader_epoch: Int32 = field(default=-1)
    host: String = field()
    port: Int32 = field()


@response(key=82, versions="0", flexible="0+")
class UpdateRaftVoterResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    current_leader: CurrentLeader = field(tag=0, tagged="0+", default_factory=CurrentLeader)
