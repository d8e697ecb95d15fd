"""Removes the access rule with this id."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Uuid


@metadata_record(key=19, versions="0", flexible="0+")
class RemoveAccessControlEntryRecord:
    id: Uuid = field()
