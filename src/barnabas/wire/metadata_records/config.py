"""One setting of one resource; a null value removes it."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int8, String


@metadata_record(key=4, versions="0", flexible="0+")
class ConfigRecord:
    resource_type: Int8 = field()
    resource_name: String = field()
    name: String = field()
    value: String | None = field(nullable="0+")
