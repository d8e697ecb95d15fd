"""Everything that was written into a cluster so far, and a check that a broker shows all of it.

librdkafka writes and reads back the same world through the program that holds the directory at the
moment, so a journey of a directory between Apache Kafka and Barnabas is a row of ``write`` and
``verify``.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    NewPartitions,
    NewTopic,
)

from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import ConfigSource
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from tests.conformance.differential.raw_client import RawClient
from tests.waiting import PATIENCE_SECONDS, until

TOPIC, BROKER, GROUP, CLIENT_METRICS = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.GROUP, ResourceType.CLIENT_METRICS
SET, DELETE = 0, 1

QUIET = {"log_level": 0}
CODECS = ("gzip", "snappy", "lz4", "zstd")
DAY_MS = 86_400_000
# Timestamps start a day ago and rise in steps, so that they are neither refused nor deleted and can
# be searched for.
FIRST_MS = int(time.time() * 1000) - DAY_MS

Row = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]

TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    **{codec: {} for codec in CODECS},
    "rolled": {"segment.bytes": "1048576"},
    "compacted": {"cleanup.policy": "compact"},
    "recompressed": {"compression.type": "zstd"},
    "with.dots_and-dashes": {"retention.ms": "-1", "max.message.bytes": "2000000"},
    "trimmed": {},
    "grown": {},
}


class World:
    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], list[Row]] = {}
        self.starts: dict[tuple[str, int], int] = {}
        self.settings: dict[tuple[int, str], dict[str, str]] = {}
        self.killed = False
        self._clock = FIRST_MS
        self._round = 0

    # -- writing ------------------------------------------------------------------------------

    def found(self, bootstrap: str) -> None:
        """Creates the topics and settings."""
        admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
        self._done(admin.create_topics([NewTopic(name, 2 if name == "plain" else 1, 1, config=own) for name, own in TOPICS.items()]))
        self._done(admin.create_topics([NewTopic("doomed", 3, 1), NewTopic("again", 5, 1)]))
        self._send(bootstrap, "again", 0, "none", [(None, b"lost with its topic", (), self._now())], remember=False)
        self._done(admin.delete_topics(["doomed", "again"]))
        self._done(admin.create_topics([NewTopic("again", 1, 1)]))
        self._done(admin.create_partitions([NewPartitions("grown", 3)]))
        for name, own in TOPICS.items():
            self.settings[TOPIC, name] = dict(own)
        self.set(bootstrap, TOPIC, "plain", {"retention.ms": "999999999999", "segment.jitter.ms": "5"})
        self.set(bootstrap, TOPIC, "plain", {"segment.jitter.ms": None})
        self.set(bootstrap, BROKER, "", {"log.cleaner.threads": "2"})
        self.set(bootstrap, BROKER, "1", {"log.cleaner.io.buffer.size": "1000000"})
        self.set(bootstrap, GROUP, "travellers", {"consumer.session.timeout.ms": "50000"})
        self.set(bootstrap, CLIENT_METRICS, "some", {"interval.ms": "1000", "metrics": "org.apache.kafka."})

    def set(self, bootstrap: str, kind: int, name: str, values: dict[str, str | None]) -> None:
        changes = [
            AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value) for key, value in values.items()
        ]
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
        with RawClient(bootstrap) as client:

            def changed() -> bool:
                (answer,) = client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1).responses
                # A change waits until the disk has it, and a busy disk may need longer than the
                # 30 s of a request.
                assert answer.error_code in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT), answer
                return bool(answer.error_code == ErrorCode.NONE)

            until(changed, "the settings are changed")
        known = self.settings.setdefault((kind, name), {})
        for key, value in values.items():
            if value is None:
                known.pop(key, None)
            else:
                known[key] = value

    def write(self, bootstrap: str) -> None:
        """Writes one more round of records of every kind."""
        self._round += 1
        number = self._round
        for partition in (0, 1):
            self._send(bootstrap, "plain", partition, "none", self._some(20))
        for codec in CODECS:
            self._send(bootstrap, codec, 0, codec, self._some(50))
        self._send(bootstrap, "rolled", 0, "none", [(None, bytes([number]) * 100_000, (), self._now()) for _ in range(15)])
        keyed: list[Row] = [(f"key-{number}-{each}".encode(), b"v" if each % 2 else None, (), self._now()) for each in range(10)]
        self._send(bootstrap, "compacted", 0, "lz4", keyed)
        self._send(bootstrap, "recompressed", 0, "gzip", self._some(30))
        self._send(bootstrap, "with.dots_and-dashes", 0, "none", self._some(3))
        self._send(bootstrap, "again", 0, "none", self._some(2))
        for partition in range(3):
            self._send(bootstrap, "grown", partition, "snappy", self._some(4))
        self._send(bootstrap, "trimmed", 0, "none", self._some(10))
        admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
        start = 10 * number - 4
        self._done(admin.delete_records([TopicPartition("trimmed", 0, start)]))
        self.starts["trimmed", 0] = start
        self.set(bootstrap, TOPIC, "grown", {"segment.ms": str(100_000_000 + number)})

    def _now(self) -> int:
        self._clock += 10
        return self._clock

    def _some(self, count: int) -> list[Row]:
        rows: list[Row] = []
        for each in range(count):
            headers: tuple[tuple[str, bytes | None], ...] = (("round", str(self._round).encode()), ("null", None)) if each % 3 == 0 else ()
            key = None if each % 4 == 0 else f"key-{each}".encode()
            rows.append((key, f"value {self._round} {each} ".encode() * (each + 1), headers, self._now()))
        return rows

    def _send(self, bootstrap: str, topic: str, partition: int, codec: str, rows: Sequence[Row], *, remember: bool = True) -> None:
        producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 5, "acks": "all"})
        failures: list[object] = []
        for key, value, headers, timestamp in rows:
            producer.produce(
                topic,
                value,
                key,
                partition,
                headers=list(headers) or None,
                timestamp=timestamp,
                on_delivery=lambda error, _: failures.append(error) if error is not None else None,
            )
        assert producer.flush(PATIENCE_SECONDS) == 0
        assert failures == []
        if remember:
            self.rows.setdefault((topic, partition), []).extend(rows)

    @staticmethod
    def _done(futures: dict[Any, Any]) -> None:
        for future in futures.values():
            future.result(PATIENCE_SECONDS)

    # -- reading ------------------------------------------------------------------------------

    def verify(self, bootstrap: str) -> None:
        """Everything that was acknowledged is there, in its place, and nothing that was deleted."""
        admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
        listed = admin.list_topics(timeout=PATIENCE_SECONDS).topics
        partitions: dict[str, int] = {}
        for topic, partition in self.rows:
            partitions[topic] = max(partitions.get(topic, 0), partition + 1)
        assert {name: len(listed[name].partitions) for name in partitions} == partitions
        assert "doomed" not in listed
        self._verify_records(bootstrap)
        for (kind, name), wanted in self.settings.items():
            asked = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
            with RawClient(bootstrap) as client:
                (shown,) = client.ask(DescribeConfigsRequest(resources=[asked]), 4).results
            source = OWN_SOURCE[kind, bool(name)]
            own = {entry.name: entry.value for entry in shown.configs if entry.config_source == source}
            if (kind, name) == (BROKER, ""):
                # Kafka sets this one itself in clusters with eligible leader replicas (KIP-966).
                own.pop("min.insync.replicas", None)
            assert own == wanted, (kind, name)

    def _verify_records(self, bootstrap: str) -> None:
        consumer = reader(bootstrap)
        try:
            for (topic, partition), rows in self.rows.items():
                start = self.starts.get((topic, partition), 0)
                low, high = patiently(partial(consumer.get_watermark_offsets, TopicPartition(topic, partition), PATIENCE_SECONDS))
                if self.killed and low < start:
                    # Kafka and Barnabas write the log start offset once a minute, so deleted
                    # records come back after a kill.
                    self.starts[topic, partition] = start = low
                assert (low, high) == (start, len(rows)), topic
                for offset in {start, (start + high) // 2, high - 1}:
                    (found,) = consumer.offsets_for_times([TopicPartition(topic, partition, rows[offset][3])], PATIENCE_SECONDS)
                    assert found.offset == offset, f"{topic}: offset of time {rows[offset][3]}"
            consumer.assign([TopicPartition(topic, partition, self.starts.get((topic, partition), 0)) for topic, partition in self.rows])
            expected = {place: self.starts.get(place, 0) for place in self.rows}
            while any(offset < len(self.rows[place]) for place, offset in expected.items()):
                message = consumer.poll(PATIENCE_SECONDS)
                assert message is not None, f"nothing comes any more; next offsets are {expected}"
                assert message.error() is None, message.error()
                headers: Any = tuple(message.headers() or ())
                row: Any = (message.key(), message.value(), headers, message.timestamp()[1])
                place: Any = (message.topic(), message.partition())
                assert message.offset() == expected[place], place
                assert row == self.rows[place][expected[place]], place
                expected[place] += 1
        finally:
            consumer.close()


# The source that DescribeConfigs reports for a resource's own settings.
OWN_SOURCE: dict[tuple[int, bool], ConfigSource] = {
    (TOPIC, True): ConfigSource.TOPIC,
    (BROKER, True): ConfigSource.BROKER,
    (BROKER, False): ConfigSource.CLUSTER_DEFAULT,
    (GROUP, True): ConfigSource.GROUP,
    (CLIENT_METRICS, True): ConfigSource.CLIENT_METRICS,
}


def reader(bootstrap: str, **config: Any) -> Consumer:
    return Consumer(
        {**QUIET, "bootstrap.servers": bootstrap, "group.id": "nobody", "enable.auto.commit": False, "check.crcs": True, **config}
    )


def patiently(question: Any) -> Any:
    """Kafka opens its port before it leads its partitions and before its coordinators have read
    their logs."""
    return until(lambda: (question(),), "the broker answers", retry_on=KafkaException)[0]
