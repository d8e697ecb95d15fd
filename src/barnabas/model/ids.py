"""Identifiers and positions, as distinct types so that an offset cannot be passed for a
position.
"""

from __future__ import annotations

import base64
import binascii
from typing import NamedTuple, NewType

Offset = NewType("Offset", int)  # a record's logical place in its partition
Position = NewType("Position", int)  # a byte's place in a segment's file
LeaderEpoch = NewType("LeaderEpoch", int)
NodeId = NewType("NodeId", int)
ProducerId = NewType("ProducerId", int)
ProducerEpoch = NewType("ProducerEpoch", int)
BrokerEpoch = NewType("BrokerEpoch", int)

# Sixteen raw bytes rather than uuid.UUID: topic ids are dictionary keys on the hot path, and making
# a UUID object costs more there than the whole lookup.
Uuid = NewType("Uuid", bytes)

ZERO_UUID = Uuid(bytes(16))
METADATA_TOPIC_ID = Uuid(bytes(15) + b"\x01")

NO_NODE = NodeId(-1)
NO_EPOCH = LeaderEpoch(-1)
NO_PRODUCER_ID = ProducerId(-1)

METADATA_TOPIC = "__cluster_metadata"


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


METADATA_PARTITION = TopicPartition(METADATA_TOPIC, 0)


def uuid_text(value: Uuid) -> str:
    """Kafka's 22 characters: URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode("ascii")


def parse_uuid(text: str) -> Uuid:
    """The inverse of :func:`uuid_text`; raises ``ValueError`` with the reason."""
    if "+" in text or "/" in text:
        # Python's decoder also accepts the characters of the other alphabet; Java's does not.
        raise ValueError(f"{text!r} is not a base64 uuid")
    try:
        raw = base64.b64decode(text.encode("ascii") + b"==", altchars=b"-_", validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(f"{text!r} is not a base64 uuid") from error
    if len(raw) != 16:
        raise ValueError(f"{text!r} decodes to {len(raw)} bytes, a uuid has 16")
    return Uuid(raw)
