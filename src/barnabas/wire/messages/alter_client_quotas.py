"""AlterClientQuotas: set and remove quotas of users, client ids and addresses."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Float64, Int16, Int32, String


@struct
class EntityData:
    entity_type: String = field()
    entity_name: String | None = field(nullable="0+")


@struct
class OpData:
    key: String = field()
    value: Float64 = field()
    remove: Bool = field()


@struct
class EntryData:
    entity: list[EntityData] = field()
    ops: list[OpData] = field()


@request(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    entries: list[EntryData] = field()
    validate_only: Bool = field()


@struct
class ResponseEntityData:
    entity_type: String = field()
    entity_name: String | None = field(nullable="0+")


@struct
class ResponseEntryData:
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    entity: list[ResponseEntityData] = field()


@response(key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse:
    throttle_time_ms: Int32 = field()
    entries: list[ResponseEntryData] = field()
