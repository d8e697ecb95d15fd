"""Removes a user's SCRAM credential."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int8, String


@metadata_record(key=22, versions="0", flexible="0+")
class RemoveUserScramCredentialRecord:
    name: String = field()
    mechanism: Int8 = field()
