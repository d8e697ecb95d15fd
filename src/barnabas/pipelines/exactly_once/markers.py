"""Markers: the batch that a writer completed last, as an offset that a group has committed.

The group is named after the pipeline and the id that Spark gave the query's checkpoint, so a new
checkpoint never uses the markers of an old one. The topic holds no records: Kafka requires that a
committed offset belongs to an existing topic, and that is its only purpose.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.transactional_producer import ANSWER_SECONDS_MAX, send_offsets

MARKER_TOPIC = "barnabas.pipelines.batches"
# Enough for most pipelines, so that the shared topic hardly ever changes. An empty partition costs
# next to nothing.
MARKER_PARTITIONS_MIN = 32
# A read waits for transactions that are being ended; the broker's timeout ends one that hangs.
_STABLE_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Marker:
    """``next_batch`` is the batch after the completed one, as an offset points to the next
    record."""

    next_batch: int
    fingerprint: str


def group_of(pipeline: str, query_id: str) -> str:
    return f"barnabas.pipelines.{pipeline}.{query_id}"


class Markers:
    """The markers of one group: reads them and adds them to transactions."""

    def __init__(self, client: Mapping[str, Any], group: str) -> None:
        self.group = group
        # A consumer that never subscribes: librdkafka fetches offsets through it, and needs one to
        # commit offsets in a transaction. read_committed makes the broker withhold an offset while
        # a transaction over it is undecided, in place of returning the old one.
        self._consumer = Consumer(
            {
                **client,
                "group.id": group,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "allow.auto.create.topics": False,
            }
        )

    def read(self, writer: int, *, seconds_max: float = ANSWER_SECONDS_MAX) -> Marker | None:
        deadline = time.monotonic() + seconds_max
        while True:
            try:
                (found,) = self._consumer.committed([TopicPartition(MARKER_TOPIC, writer)], max(0.1, deadline - time.monotonic()))
                error = found.error
            except KafkaException as failed:
                error = failed.args[0]
            if error is None:
                return None if found.offset == OFFSET_INVALID else Marker(found.offset, found.metadata or "")
            if not _passes(error) or time.monotonic() >= deadline:
                raise RunFailed(f"The marker of writer {writer} of group {self.group} cannot be read: {error.str()}.")
            time.sleep(_STABLE_POLL_SECONDS)

    def add_to_transaction(self, producer: Any, writer: int, marker: Marker, seconds_max: float = ANSWER_SECONDS_MAX) -> None:
        offset = TopicPartition(MARKER_TOPIC, writer, marker.next_batch, metadata=marker.fingerprint)
        send_offsets(producer, [offset], self._consumer.consumer_group_metadata(), seconds_max)

    def close(self) -> None:
        self._consumer.close()


def _passes(error: KafkaError) -> bool:
    return error.retriable() or error.code() in (
        KafkaError.UNSTABLE_OFFSET_COMMIT,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.NOT_COORDINATOR,
        KafkaError._WAIT_COORD,  # noqa: SLF001 - librdkafka's own codes are spelled so
        KafkaError._TRANSPORT,  # noqa: SLF001
    )


def ensure_marker_topic(client: Mapping[str, Any], writers: int) -> None:
    """Creates the topic if it is missing, and adds partitions if there are more writers."""
    with AdminClient(dict(client)) as admin:
        _ensure_partitions(admin, writers)


def _ensure_partitions(admin: AdminClient, writers: int) -> None:
    there = _partitions(admin)
    wanted = max(writers, MARKER_PARTITIONS_MIN)
    if there == 0:
        topic = NewTopic(MARKER_TOPIC, num_partitions=wanted, config={"cleanup.policy": "compact"})
        _answer(admin.create_topics([topic])[MARKER_TOPIC], harmless=KafkaError.TOPIC_ALREADY_EXISTS)
    elif there < writers:
        # Another pipeline may have added more at the same time; the check below sees that there are
        # enough.
        _answer(admin.create_partitions([NewPartitions(MARKER_TOPIC, writers)])[MARKER_TOPIC], harmless=KafkaError.INVALID_PARTITIONS)
    deadline = time.monotonic() + ANSWER_SECONDS_MAX
    while _partitions(admin) < writers:
        if time.monotonic() >= deadline:
            raise CannotRun(f"The topic {MARKER_TOPIC} did not get the {writers} partitions that the writers need.")
        time.sleep(_STABLE_POLL_SECONDS)


def _partitions(admin: AdminClient) -> int:
    try:
        topics = admin.list_topics(timeout=ANSWER_SECONDS_MAX).topics
    except KafkaException as failed:
        raise CannotRun(f"The cluster does not answer: {failed.args[0].str()}.") from failed
    return len(topics[MARKER_TOPIC].partitions) if MARKER_TOPIC in topics else 0


def _answer(answered: Any, *, harmless: int) -> None:
    try:
        answered.result(ANSWER_SECONDS_MAX)
    except KafkaException as failed:
        if failed.args[0].code() != harmless:
            raise CannotRun(
                f"The topic {MARKER_TOPIC}, which records the written batches, cannot be created: {failed.args[0].str()}."
            ) from failed
