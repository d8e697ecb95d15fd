"""Clients that a Python worker of Spark keeps from batch to batch: a new producer costs connections
and round trips.

A kept producer may have been fenced: Spark gave the partition to another process for a batch, whose
new producer fenced ours. That is normal, and detected before any record is sent
(:func:`open_transaction`); a fenced producer cannot commit anything.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition

from barnabas.pipelines.transactional_producer import ANSWER_SECONDS_MAX, OFFSETS_SECONDS, OffsetsLost, open_producer, send_offsets

# A worker has a few partitions at a time; the least recently used client is closed.
KEPT_MAX = 32
ABORT_SECONDS_MAX = 10.0

_Key = tuple[str, str]  # bootstrap, and transactional id or group
_producers: OrderedDict[_Key, Any] = OrderedDict()
_consumers: OrderedDict[_Key, Any] = OrderedDict()


def group_consumer(config: Mapping[str, Any], group: str) -> Any:
    """It never subscribes: librdkafka fetches a group's offsets through it, and needs one to commit
    offsets in a transaction."""
    key = config["bootstrap.servers"], group
    found = _consumers.pop(key, None) or Consumer({**config, "group.id": group, "enable.auto.commit": False})
    _consumers[key] = found
    if len(_consumers) > KEPT_MAX:
        _consumers.popitem(last=False)[1].close()
    return found


def committed(consumer: Any, partition: TopicPartition) -> int | None:
    (found,) = consumer.committed([partition], timeout=ANSWER_SECONDS_MAX)
    if found.error is not None:
        raise KafkaException(found.error)
    return found.offset if found.offset >= 0 else None


def open_transaction(config: Mapping[str, Any], transactional_id: str, consumer: Any, partition: TopicPartition) -> tuple[Any, int]:
    """A producer in a transaction that is not fenced, and the offset that the consumer's group had
    committed when it began.

    That offset is read after the producer was initialised, which ends the transactions of its
    predecessors. It is added to the transaction unchanged, because a fenced producer fails at that
    call."""
    kept = _producers.pop((config["bootstrap.servers"], transactional_id), None)
    seconds = OFFSETS_SECONDS
    while True:
        producer = kept or open_producer({**config, "transactional.id": transactional_id}, known_topic=partition.topic)
        try:
            offset = committed(consumer, partition) or 0
            producer.begin_transaction()
            same = TopicPartition(partition.topic, partition.partition, offset)
            send_offsets(producer, [same], consumer.consumer_group_metadata(), seconds)
        except KafkaException as failed:
            lost = isinstance(failed, OffsetsLost)
            if kept is None and not (lost and seconds < ANSWER_SECONDS_MAX):
                raise
            kept = None
            seconds *= 2 if lost else 1
        else:
            return producer, offset


def keep(config: Mapping[str, Any], transactional_id: str, producer: Any) -> None:
    """Only after a transaction that was committed."""
    _producers[config["bootstrap.servers"], transactional_id] = producer
    if len(_producers) > KEPT_MAX:
        # Its transaction was committed, so this does not wait for the broker.
        _producers.popitem(last=False)[1].close()


def abandon(producer: Any) -> None:
    """Spares readers the wait for the transaction's timeout or for the next producer of its id."""
    with suppress(KafkaException):
        producer.abort_transaction(ABORT_SECONDS_MAX)
