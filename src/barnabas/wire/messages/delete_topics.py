"""DeleteTopics: by name, and from version 6 also by id."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String, Uuid


@struct
class DeleteTopicState:
    name: String | None = field("6+", nullable="6+", default=None)
    topic_id: Uuid = field("6+", default=ZERO_UUID)


@request(key=20, versions="1-6", flexible="4+")
class DeleteTopicsRequest:
    topics: list[DeleteTopicState] = field("6+", default_factory=list)
    topic_names: list[String] = field("0-5", default_factory=list, ignorable=True)
    timeout_ms: Int32 = field()


@struct
class DeletableTopicResult:
    name: String | None = field(nullable="6+")
    topic_id: Uuid = field("6+", default=ZERO_UUID, ignorable=True)
    error_code: Int16 = field()
    error_message: String | None = field("5+", nullable="5+", default=None, ignorable=True)


@response(key=20, versions="1-6", flexible="4+")
class DeleteTopicsResponse:
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    responses: list[DeletableTopicResult] = field()
