"""A delegation token was created or renewed."""

from barnabas.wire.declare import field, metadata_record
from barnabas.wire.types import Int64, String


@metadata_record(key=10, versions="0", flexible="0+")
class DelegationTokenRecord:
    owner: String = field()
    requester: String = field()
    renewers: list[String] = field()
    issue_timestamp: Int64 = field()
    max_timestamp: Int64 = field()
    expiration_timestamp: Int64 = field()
    token_id: String = field()
