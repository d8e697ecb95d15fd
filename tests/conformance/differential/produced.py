"""Records on both sides, as material for fetches."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.compression import Codec
from barnabas.records.record import Record
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tests.conformance.differential.pair import Pair

VERSION = 12  # The last version that names topics.


def batch_at(*timestamps: int, codec: Codec = Codec.NONE, value: bytes = b"value") -> bytes:
    return bytes(build_batch([Record(offset, timestamp, b"key", value) for offset, timestamp in enumerate(timestamps)], codec=codec))


def producing(topic: str, batch: bytes | None, partition: int = 0, *, acks: int = -1) -> ProduceRequest:
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)])]
    return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=data)


def produce(pair: Pair, topic: str, batches: Sequence[bytes], partition: int = 0) -> None:
    """The same batches to both, one after the other."""
    for batch in batches:
        for _, barnabas in pair.same(producing(topic, batch, partition), [VERSION]):
            assert barnabas.responses[0].partition_responses[0].error_code == ErrorCode.NONE
