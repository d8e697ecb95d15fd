"""DescribeClientQuotas: the quotas that match a filter."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Float64, Int8, Int16, Int32, String


@struct
class ComponentData:
    entity_type: String = field()
    match_type: Int8 = field()
    match: String | None = field(nullable="0+")


@request(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    components: list[ComponentData] = field()
    strict: Bool = field()


@struct
class EntityData:
    entity_type: String = field()
    entity_name: String | None = field(nullable="0+")


@struct
class ValueData:
    key: String = field()
    value: Float64 = field()


@struct
class EntryData:
    entity: list[EntityData] = field()
    values: list[ValueData] = field()


@response(key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    entries: list[EntryData] | None = field(nullable="0+")
