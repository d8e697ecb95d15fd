"""One quota of one entity, set or removed."""

from barnabas.wire.declare import field, metadata_record, struct
from barnabas.wire.types import Bool, Float64, String


@struct
class EntityData:
    entity_type: String = field()
    entity_name: String | None = field(nullable="0+")


@metadata_record(key=14, versions="0", flexible="0+")
class ClientQuotaRecord:
    entity: list[EntityData] = field()
    key: String = field()
    value: Float64 = field()
    remove: Bool = field()
