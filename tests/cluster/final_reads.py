"""The final reads of a history: every partition from its beginning to its end, read committed."""

from __future__ import annotations

from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, TopicPartition

from tests.cluster.access import Access
from tests.cluster.asking import READ_COMMITTED, READ_UNCOMMITTED, end_offsets
from tests.cluster.history import History, Key
from tests.cluster.workers import QUICK_CLIENT, polled
from tests.waiting import LONG_PATIENCE_SECONDS, until


def read_to_the_end(access: Access, history: History, keys: Sequence[Key]) -> None:
    """The final reads: every partition from its beginning, once no transaction is open."""
    until(lambda: _nothing_open(access, keys), "every transaction is over", seconds_max=LONG_PATIENCE_SECONDS)
    consumer = Consumer(
        {
            **access.librdkafka,
            "group.id": "final",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            **QUICK_CLIENT,
        }
    )
    consumer.assign([TopicPartition(key.topic, key.partition, 0) for key in keys])
    missing = set(keys)
    history.final = {key: [] for key in keys}

    def all_is_read() -> bool:
        message = consumer.poll(1)
        if message is None:
            return not missing
        error, topic, partition = message.error(), message.topic(), message.partition()
        if error is None:
            read = polled(message)
            history.final[read.key].append(read)
        elif error.code() == KafkaError._PARTITION_EOF:
            assert topic is not None
            assert partition is not None
            missing.discard(Key(topic, partition))
        else:
            assert error.retriable() or error.code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN), error
        return not missing

    try:
        until(
            all_is_read,
            "every partition is read to its end",
            seen=lambda: f"not yet: {sorted(missing)}",
            seconds_max=LONG_PATIENCE_SECONDS,
            pause_seconds=0,
        )
    finally:
        consumer.close()


def _nothing_open(access: Access, keys: Sequence[Key]) -> bool:
    for topic in {key.topic for key in keys}:
        partitions = [key.partition for key in keys if key.topic == topic]
        ends = end_offsets(access, topic, partitions, READ_UNCOMMITTED)
        if ends is None or ends != end_offsets(access, topic, partitions, READ_COMMITTED):
            return False
    return True
