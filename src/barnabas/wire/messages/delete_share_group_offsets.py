"""DeleteShareGroupOffsets: delete a share group's start offsets in some topics."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String, Uuid


@struct
class DeleteShareGroupOffsetsRequestTopic:
    topic_name: String = field()


@request(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest:
    group_id: String = field()
    topics: list[DeleteShareGroupOffsetsRequestTopic] = field()


@struct
class DeleteShareGroupOffsetsResponseTopic:
    topic_name: String = field()
    topic_id: Uuid = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@response(key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = field()
