"""An access rule, with an id of its own."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int8, String, Uuid


@metadata_record(key=18, versions="0", flexible="0+")
class AccessControlEntryRecord:
    id: Uuid = field()
    resource_type: Int8 = field()
    resource_name: String = field()
    pattern_type: Int8 = field()
    principal: String = field()
    host: String = field()
    operation: Int8 = field()
    permission_type: Int8 = field()
