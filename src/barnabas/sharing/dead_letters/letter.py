"""The record of a dead letter: the headers of KIP-1191, and the record itself where the group wants
a copy. Pure.

header                           value, as text
==============================   ==================================================================
``__dlq.errors.topic``           the topic of the record
``__dlq.errors.partition``       its partition
``__dlq.errors.offset``          its offset
``__dlq.errors.group``           the share group
``__dlq.errors.delivery.count``  how often it was delivered
``__dlq.errors.message``         why it is a dead letter
"""

from __future__ import annotations

from barnabas.model.ids import TopicPartition
from barnabas.records.record import Record

PREFIX = "__dlq.errors."
TOPIC, PARTITION, OFFSET, GROUP, DELIVERY_COUNT, MESSAGE = (
    PREFIX + name for name in ("topic", "partition", "offset", "group", "delivery.count", "message")
)


def letter(
    record: Record, source: TopicPartition, group_id: str, *, delivery_count: int, message: str, copy: bool, index: int, now_ms: int
) -> Record:
    """``index`` is the place of the letter in its batch. A letter that was sent back to its topic
    and failed again has headers of an earlier failure, which the new ones replace."""
    values = {
        TOPIC: source.topic,
        PARTITION: str(source.partition),
        OFFSET: str(record.offset),
        GROUP: group_id,
        DELIVERY_COUNT: str(delivery_count),
        MESSAGE: message,
    }
    kept = tuple(header for header in record.headers if not header[0].startswith(PREFIX)) if copy else ()
    headers = kept + tuple((name, value.encode()) for name, value in values.items())
    return Record(index, now_ms, record.key if copy else None, record.value if copy else None, headers)
