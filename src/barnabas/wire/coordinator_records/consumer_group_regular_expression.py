"""The topics a member's regular expression resolved to."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field
from barnabas.wire.types import Int64, String


@coordinator_key(key=16, versions="0", flexible="none")
class ConsumerGroupRegularExpressionKey:
    group_id: String = field("0")
    regular_expression: String = field("0")


@coordinator_value(key=16, versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue:
    topics: list[String] = field()
    version: Int64 = field()
    timestamp: Int64 = field()
