"""FindCoordinator: the coordinator of a group, a transactional id or a share partition."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, String


@request(key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest:
    key: String = field("0-3", default="")
    key_type: Int8 = field("1+", default=0)
    coordinator_keys: list[String] = field("4+", default_factory=list)


@struct
class Coordinator:
    key: String = field("4+", default="")
    node_id: Int32 = field("4+", default=0)
    host: String = field("4+", default="")
    port: Int32 = field("4+", default=0)
    error_code: Int16 = field("4+", default=0)
    error_message: String | None = field("4+", nullable="4+", default="", ignorable=True)


@response(key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse:
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    error_code: Int16 = field("0-3", default=0)
    error_message: String | None = field("1-3", nullable="1-3", default="", ignorable=True)
    node_id: Int32 = field("0-3", default=0)
    host: String = field("0-3", default="")
    port: Int32 = field("0-3", default=0)
    coordinators: list[Coordinator] = field("4+", default_factory=list, encodable=True)
