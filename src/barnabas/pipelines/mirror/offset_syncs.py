"""The topic on the target that maps source offsets: ``A.offset-syncs.internal``, compacted, in JSON
so that people can read it.

A key is a partition of the source and the first source offset of a segment; the value is the target
offset and the number of records. It is written inside the transactions of the records, so it is
never ahead of or behind them. One more key per partition records that the partition received
records from the target: between two such logs no offset can be translated, since each has records
that the other had first.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from barnabas.pipelines.mirror.cluster import ANSWER_SECONDS_MAX, MirrorCluster
from barnabas.pipelines.mirror.offset_map import OffsetMap, Segment
from barnabas.pipelines.transactional_producer import closing_producer

_TWO_WAY = -1  # in place of a source offset
_POLL_SECONDS = 1.0
_RECORDS_AT_ONCE = 1000
_PARTITION_EOF = KafkaError._PARTITION_EOF  # noqa: SLF001 - librdkafka's own errors begin with an underscore


def syncs_topic(source_alias: str) -> str:
    return f"{source_alias}.offset-syncs.internal"


def segment_records(topic: str, partition: int, segments: Sequence[Segment]) -> Iterator[tuple[bytes, bytes]]:
    for each in segments:
        yield _key(topic, partition, each.source), json.dumps({"target": each.target, "count": each.count}).encode()


def two_way_record(topic: str, partition: int) -> tuple[bytes, bytes]:
    return _key(topic, partition, _TWO_WAY), b"{}"


def _key(topic: str, partition: int, source: int) -> bytes:
    return json.dumps({"topic": topic, "partition": partition, "source": source}).encode()


class OffsetSyncs:
    """The contents of the topic; each ``refresh`` reads on to its end."""

    def __init__(self, target: MirrorCluster, topic: str) -> None:
        self._topic = topic
        own = {
            "group.id": "barnabas.mirror",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
        self._consumer = Consumer({**target.client_config(), **own})
        self._producer = Producer(target.client_config())
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self._reached = 0
        self._maps: dict[tuple[str, int], OffsetMap] = defaultdict(OffsetMap)
        self._two_way: set[tuple[str, int]] = set()

    def close(self) -> None:
        self._consumer.close()
        with closing_producer(self._producer):
            pass

    def refresh(self) -> None:
        end = self._consumer.get_watermark_offsets(TopicPartition(self._topic, 0), timeout=ANSWER_SECONDS_MAX)[1]
        while self._reached < end:
            self._read_some()
        for (topic, partition), map_ in self._maps.items():
            for forgotten in map_.thin():
                self._producer.produce(self._topic, None, _key(topic, partition, forgotten.source))
        # Deletions that are not acknowledged in time are repeated after the next start.
        self._producer.flush(ANSWER_SECONDS_MAX)

    def translate(self, topic: str, partition: int, offset: int) -> int | None:
        """None: nothing of it was mirrored, or offsets cannot be translated because records flow
        both ways."""
        if (topic, partition) in self._two_way or (topic, partition) not in self._maps:
            return None
        return self._maps[topic, partition].translate(offset)

    def _read_some(self) -> None:
        message: Any
        for message in self._consumer.consume(_RECORDS_AT_ONCE, timeout=_POLL_SECONDS):
            if message.error() is None:
                self._take(json.loads(message.key()), message.value())
                self._reached = message.offset() + 1
            elif message.error().code() == _PARTITION_EOF:
                # Its offset is after the markers of transactions, which are not records.
                self._reached = message.offset()
            else:
                raise KafkaException(message.error())

    def _take(self, key: dict[str, Any], value: bytes | None) -> None:
        where = key["topic"], key["partition"]
        if key["source"] == _TWO_WAY:
            self._two_way.add(where)
        elif value is None:
            self._maps[where].remove(key["source"])
        else:
            found = json.loads(value)
            self._maps[where].add(Segment(key["source"], found["target"], found["count"]))
