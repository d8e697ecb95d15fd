"""The records that librdkafka writes to compacted topics, and the records that should be left of
them.

Every *stage* begins a new segment: its records are some minutes newer than those of the stage
before, and topics roll by that. The segment of the last stage is the active one, which compaction
leaves alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from tests.waiting import PATIENCE_SECONDS

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TRANSACTIONS = "transactions"
TOPICS = (*CODECS, TRANSACTIONS)
SEGMENT_MS = 60_000
STAGE_MS = 2 * SEGMENT_MS
RECORDS = 150
KEYS = 40
ROUNDS = 4
CONFIG = {"cleanup.policy": "compact", "segment.ms": str(SEGMENT_MS), "min.cleanable.dirty.ratio": "0.01", "delete.retention.ms": "100"}
QUIET = {"log_level": 0}


@dataclass
class Written:
    """The last committed value of every key, by topic; None where a tombstone came last."""

    last: dict[str, dict[bytes | None, bytes | None]] = field(default_factory=dict)

    def put(self, topic: str, values: Mapping[bytes | None, bytes | None]) -> None:
        self.last.setdefault(topic, {}).update(values)


def make_topics(bootstrap: str, topics: Sequence[str] = TOPICS, **config: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
    settings = CONFIG | {name.replace("_", "."): value for name, value in config.items()}
    wanted = [NewTopic(topic, 1, 1, config=settings) for topic in topics]
    for future in admin.create_topics(wanted).values():
        future.result(PATIENCE_SECONDS)


def write_stage(bootstrap: str, stage: int, written: Written, started_ms: int, topics: Sequence[str] = TOPICS) -> None:
    now_ms = started_ms + stage * STAGE_MS
    for topic in topics:
        write = _write_transactions if topic == TRANSACTIONS else _write_plain
        write(bootstrap, topic, stage, written, now_ms)


def _values(stage: int, number: int) -> tuple[bytes, bytes | None]:
    """Some keys are written once and never again, the others in every other stage at least; every
    seventh record is a tombstone."""
    key = b"key-%d" % (number * 7 % (KEYS if stage % 2 else KEYS // 2))
    if number % 11 == 0 and number < RECORDS - 20:
        key = b"once-%d-%d" % (stage, number)
    return key, None if number % 7 == 3 else b"stage %d number %d " % (stage, number) + b"x" * (number % 50)


def live(last: Mapping[bytes | None, bytes | None]) -> dict[bytes | None, bytes]:
    """The live entries of a table of the topic."""
    return {key: value for key, value in last.items() if value is not None}


def _write_plain(bootstrap: str, topic: str, stage: int, written: Written, now_ms: int) -> None:
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "compression.type": topic,
            "enable.idempotence": True,
            "linger.ms": 5,
            "batch.num.messages": 20,
            **QUIET,
        }
    )
    for number in range(RECORDS):
        key, value = _values(stage, number)
        producer.produce(topic, key=key, value=value, headers={"stage": b"%d" % stage}, timestamp=now_ms + number)
        written.put(topic, {key: value})
    assert producer.flush(PATIENCE_SECONDS) == 0


def _write_transactions(bootstrap: str, topic: str, stage: int, written: Written, now_ms: int) -> None:
    """Two producers with interleaved transactions; every third transaction is aborted."""
    producers = [
        Producer({"bootstrap.servers": bootstrap, "transactional.id": f"writer-{each}", "linger.ms": 0, "batch.num.messages": 5, **QUIET})
        for each in range(2)
    ]
    for producer in producers:
        producer.init_transactions(PATIENCE_SECONDS)
    for round_ in range(ROUNDS):
        values: list[dict[bytes | None, bytes | None]] = [{}, {}]
        for producer in producers:
            producer.begin_transaction()
        for number in range(20):
            which = number % 2
            key, value = _values(stage, 20 * round_ + number)
            key = b"%d-" % which + key
            producers[which].produce(topic, key=key, value=value, timestamp=now_ms + number)
            if number % 3 == 0:
                producers[which].flush(PATIENCE_SECONDS)
            values[which][key] = value
        for which, producer in enumerate(producers):
            if (round_ + which) % 3:
                producer.commit_transaction(PATIENCE_SECONDS)
                written.put(topic, values[which])
            else:
                producer.abort_transaction(PATIENCE_SECONDS)


def read_back(bootstrap: str, topic: str) -> list[tuple[int, bytes | None, bytes | None]]:
    """Offset, key and value of every record that a read-committed consumer sees."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            **QUIET,
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    found: list[tuple[int, bytes | None, bytes | None]] = []
    try:
        while True:
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None, f"{topic} was not read to its end"
            if message.error() is not None:
                return found
            offset = message.offset()
            assert offset is not None
            found.append((offset, message.key(), message.value()))
    finally:
        consumer.close()
