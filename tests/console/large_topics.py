"""Topics with many records that are made cheaply: one compressed batch, sent again and again with
another time."""

from __future__ import annotations

import struct
from typing import Final

from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import seal
from barnabas.records.compression import Codec
from barnabas.records.record import Record
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

BATCH_RECORDS: Final = 10_000
BEGIN_MS: Final = 1_700_000_000_000
# The last version that names topics.
_BY_NAME: Final = 12
_MAX_TIMESTAMP_AT: Final = 35
_BASE_TIMESTAMP_AT: Final = 27


def batch_time_ms(number: int) -> int:
    """The time of the records of a batch; a second passes from one to the next."""
    return BEGIN_MS + number * 1_000


def key_of(number: int) -> bytes:
    """Of the record at this place of every batch."""
    return b"k%04d" % number


def fill(bootstrap: str, topic: str, records: int, *, partition: int = 0) -> None:
    """``records`` is a multiple of the size of a batch."""
    made = [Record(offset=each, timestamp=BEGIN_MS, key=key_of(each), value=b"value %d" % (each % 100)) for each in range(BATCH_RECORDS)]
    batch = build_batch(made, codec=Codec.ZSTD)
    with BrokerConnection(bootstrap, {}, seconds_max=120) as connection:
        for number in range(records // BATCH_RECORDS):
            data = PartitionProduceData(index=partition, records=_at(batch, batch_time_ms(number)))
            topics = [TopicProduceData(name=topic, partition_data=[data])]
            request = ProduceRequest(transactional_id=None, acks=1, timeout_ms=60_000, topic_data=topics)
            response = connection.ask(request, version_max=_BY_NAME)
            assert response.responses[0].partition_responses[0].error_code == 0


def _at(batch: bytearray, time_ms: int) -> bytes:
    struct.pack_into(">q", batch, _BASE_TIMESTAMP_AT, time_ms)
    struct.pack_into(">q", batch, _MAX_TIMESTAMP_AT, time_ms)
    seal(batch)
    return bytes(batch)
