"""Removes a delegation token."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import String


@metadata_record(key=26, versions="0", flexible="0+")
class RemoveDelegationTokenRecord:
    token_id: String = field()
