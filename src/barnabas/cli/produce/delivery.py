"""From records to acknowledgements: librdkafka's producer and its delivery reports."""

from __future__ import annotations

import time
from enum import StrEnum

from confluent_kafka import KafkaError, KafkaException, Producer

from barnabas.cli.cluster.client import ANSWER_SECONDS_MAX, Cluster, Message, error_of, phrase
from barnabas.cli.errors import Refused
from barnabas.cli.produce.draft import Draft

# librdkafka's default of five minutes is for services; a user at a terminal has given up by then.
DELIVERY_SECONDS_MAX = 30.0
# A topic that was just created is not known to all brokers at once.
NEW_TOPIC_SECONDS_MAX = 3.0
_LOOK_AGAIN_SECONDS = 0.1


class Compression(StrEnum):
    NONE = "none"
    GZIP = "gzip"
    SNAPPY = "snappy"
    LZ4 = "lz4"
    ZSTD = "zstd"


class Acks(StrEnum):
    ALL = "all"
    LEADER = "1"
    NONE = "0"


class Deliveries:
    """The outcomes of records, counted by librdkafka's delivery reports."""

    def __init__(self) -> None:
        self.delivered = 0
        self.failed = 0
        self.error = ""  # of the first record that failed

    def report(self, error: KafkaError | None, _: Message) -> None:
        if error is None:
            self.delivered += 1
        else:
            self.fail(error)

    def fail(self, error: KafkaError) -> None:
        self.failed += 1
        self.error = self.error or phrase(error)


def check_topic(cluster: Cluster, producer: Producer, topic: str, partition: int | None = None) -> None:
    """Raises ``Refused`` when the topic does not exist and the cluster does not create topics
    automatically; librdkafka would wait for it much longer."""
    deadline = time.monotonic() + NEW_TOPIC_SECONDS_MAX
    while True:
        try:
            found = producer.list_topics(topic, timeout=ANSWER_SECONDS_MAX).topics[topic]
        except KafkaException as error:
            raise cluster.refusal(error, f"Cannot look up topic {topic}") from error
        if found.error is None or found.error.code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
            break
        if time.monotonic() > deadline:
            raise Refused(f"There is no topic {topic}.")
        time.sleep(_LOOK_AGAIN_SECONDS)
    if found.error is not None and not found.error.retriable() and found.error.code() != KafkaError.LEADER_NOT_AVAILABLE:
        raise Refused(f"Cannot use topic {topic}: {phrase(found.error)}.")
    if partition is not None and found.partitions and partition not in found.partitions:
        raise Refused(f"Topic {topic} has no partition {partition}; it has {len(found.partitions)}.")


def send(producer: Producer, topic: str, draft: Draft, deliveries: Deliveries) -> None:
    """Hand one record to librdkafka, waiting while its queue is full."""
    while True:
        try:
            producer.produce(
                topic,
                value=draft.value,
                key=draft.key,
                partition=draft.partition,
                headers=draft.headers,
                timestamp=draft.timestamp_ms,
                on_delivery=deliveries.report,
            )
        except BufferError:
            producer.poll(0.1)
        except KafkaException as error:
            deliveries.fail(error_of(error))
            return
        else:
            producer.poll(0)
            return


class Transaction:
    """All records in one transaction, for clients with a ``transactional.id``; nothing without."""

    def __init__(self, cluster: Cluster, producer: Producer) -> None:
        self.is_open = bool(cluster.properties.get("transactional.id"))
        self._cluster = cluster
        self._producer = producer

    def begin(self) -> None:
        if self.is_open:
            try:
                self._producer.init_transactions(ANSWER_SECONDS_MAX)
                self._producer.begin_transaction()
            except KafkaException as error:
                raise self._cluster.refusal(error, "Cannot begin a transaction") from error

    def end(self, *, commit: bool) -> None:
        if not self.is_open:
            return
        try:
            if commit:
                self._producer.commit_transaction(ANSWER_SECONDS_MAX)
            else:
                self._producer.abort_transaction(ANSWER_SECONDS_MAX)
        except KafkaException as error:
            raise self._cluster.refusal(error, f"Cannot {'commit' if commit else 'abort'} the transaction") from error
