"""The progress topic: all reports, for any watcher, and the source of ``status``.

``barnabas.pipelines.progress`` has one record per batch of each query, its key
``<pipeline>.<query>``, and one when a query ended; one with the flow of the pipeline at each start
(:mod:`flow_record`); for pipelines whose checkpoint is not on a local disk also their heartbeats
(:mod:`heartbeat`). It is compacted, so the newest record of each key
stays. Watching must never disturb a pipeline: when the topic cannot be written, one sentence goes
to stderr and the pipeline continues.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka
from barnabas.pipelines.running.flow_record import flow_key, flow_record
from barnabas.pipelines.running.preflight import ClusterTopics
from barnabas.pipelines.running.progress import Progress
from barnabas.pipelines.transactional_producer import closing_producer

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

TOPIC = "barnabas.pipelines.progress"
# A week of history; compaction keeps the newest record of each query anyway while it is written.
_CONFIG = {"cleanup.policy": "compact,delete", "retention.ms": str(7 * 24 * 3600 * 1000)}
# Reports wait here while the broker is down; when the queue is full, new ones are lost.
_QUEUED_REPORTS_MAX = 1000
_FLUSH_SECONDS_MAX = 5.0
READ_SECONDS_MAX = 10.0
_RECORDS_AT_ONCE = 1000


class _Reports:
    """A producer to the topic, which is created if need be. Without a producer, reports are
    dropped."""

    def __init__(self, pipeline: PipelineDeclaration) -> None:
        from confluent_kafka import Producer

        self._producer: Producer | None = None
        try:
            with ClusterTopics(pipeline) as cluster:
                cluster.create(TOPIC, partitions=1, config=_CONFIG)
        except CannotRun as error:
            sys.stderr.write(f"barnabas: progress of {pipeline.name!r} is not published: {error}\n")
            return
        config = for_librdkafka(pipeline.bootstrap, pipeline.kafka)
        self._producer = Producer({**config, "queue.buffering.max.messages": _QUEUED_REPORTS_MAX, "linger.ms": 50})

    def send(self, key: str, value: str) -> None:
        if self._producer is None:
            return
        # The queue is full: this report is lost, as the module docstring states.
        with suppress(BufferError):
            self._producer.produce(TOPIC, key=key, value=value)
        self._producer.poll(0)

    def close(self) -> None:
        if self._producer is not None:
            with closing_producer(self._producer) as producer:
                producer.flush(_FLUSH_SECONDS_MAX)
            self._producer = None


class ProgressTopic:
    """Writes to the cluster of one pipeline."""

    def __init__(self, pipeline: PipelineDeclaration) -> None:
        self.pipeline = pipeline.name
        self._reports = _Reports(pipeline)
        self._reports.send(flow_key(pipeline.name), json.dumps(flow_record(pipeline)))

    def __call__(self, progress: Progress) -> None:
        if progress.pipeline == self.pipeline:
            self._send(progress.query, {"event": "progress", **progress.document()})

    def ended(self, queries: Mapping[str, str], reason: str | None) -> None:
        """``queries``: their runs by name. ``reason``: why, unless it was a clean end."""
        for query, run in queries.items():
            at = datetime.now(UTC).isoformat()
            self._send(query, {"event": "ended", "pipeline": self.pipeline, "query": query, "run": run, "at": at, "reason": reason})

    def close(self) -> None:
        self._reports.close()

    def _send(self, query: str, report: Mapping[str, Any]) -> None:
        self._reports.send(f"{self.pipeline}.{query}", json.dumps(report))


class HeartbeatTopic:
    """Heartbeats of a pipeline whose checkpoint is not on a local disk, under a key that no query
    can have."""

    def __init__(self, pipeline: PipelineDeclaration) -> None:
        self._key = self.key_of(pipeline.name)
        self._reports = _Reports(pipeline)

    @staticmethod
    def key_of(pipeline: str) -> str:
        return f"{pipeline}.-heartbeat"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._reports.close()

    def send(self, heartbeat: str) -> None:
        self._reports.send(self._key, heartbeat)


def newest_reports(pipeline: PipelineDeclaration) -> dict[str, dict[str, Any]]:
    """The newest report of each query by ``<pipeline>.<query>``; empty if there are no reports."""
    from confluent_kafka import Consumer, TopicPartition

    with ClusterTopics(pipeline) as cluster:
        if TOPIC not in cluster.names():
            return {}
    config = for_librdkafka(pipeline.bootstrap, pipeline.kafka)
    consumer = Consumer({**config, "group.id": "barnabas.pipelines.status", "enable.auto.commit": False, "enable.partition.eof": True})
    newest: dict[str, dict[str, Any]] = {}
    try:
        first, end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=READ_SECONDS_MAX)
        consumer.assign([TopicPartition(TOPIC, 0, first)])
        deadline = time.monotonic() + READ_SECONDS_MAX
        reached = first
        while reached < end and time.monotonic() < deadline:
            message: Any
            for message in consumer.consume(_RECORDS_AT_ONCE, timeout=0.2):
                if message.error() is not None:
                    # Also for the end of the partition: its last offsets may be markers, or
                    # compacted away.
                    reached = end
                    break
                reached = message.offset() + 1
                if message.key() is not None and message.value() is not None:
                    newest[message.key().decode()] = json.loads(message.value())
    finally:
        consumer.close()
    return newest
