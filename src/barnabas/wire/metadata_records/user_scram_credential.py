"""A user's salted SCRAM credential."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Bytes, Int8, Int32, String


@metadata_record(key=11, versions="0", flexible="0+")
class UserScramCredentialRecord:
    name: String = field()
    mechanism: Int8 = field()
    salt: Bytes = field(secret=True)
    stored_key: Bytes = field(secret=True)
    server_key: Bytes = field(secret=True)
    iterations: Int32 = field()
