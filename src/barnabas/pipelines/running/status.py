"""The progress of pipelines and whether they run: from their heartbeats, checkpoints, the progress
topic and the ends of the topics.

The heartbeat shows whether the process is alive (:mod:`heartbeat`). A checkpoint on this machine
has the last finished batch and the offsets it reached; the progress topic has its time and the
reason of a failure. A query without any of these never ran.

state       meaning
=========   ========================================================================================
never ran   no trace of it
starting    the process is alive, and some of its queries are not started
running     the process is alive, and its queries are started
ended       the process reported it: it was stopped, or had processed all data (``--available-now``)
failed      the process reported it, with the reason
died        the process is gone without a report: kill -9, out of memory, power loss. The time of
            its last heartbeat is known
unknown     it has run, but there is no heartbeat
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.display_text import to_the_second
from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka
from barnabas.pipelines.kept_text import local_path
from barnabas.pipelines.running.heartbeat import Heartbeat, is_there, liveness_of, newest_heartbeat
from barnabas.pipelines.running.preflight import ANSWER_SECONDS_MAX, uses_topics
from barnabas.pipelines.running.progress_topic import newest_reports

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

Offsets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class QueryStatus:
    pipeline: str
    query: str
    state: str
    batch: int | None
    at: str | None  # of the last report
    alive_at: str | None  # the time of the last heartbeat
    lag: int | None
    rows_per_second: float | None
    reason: str | None


def status_of(pipeline: PipelineDeclaration, checkpoint: str | None = None) -> list[QueryStatus]:
    """Raises ``CannotRun`` when the cluster does not answer."""
    reports = newest_reports(pipeline) if uses_topics(pipeline) else {}
    folder = f"{(checkpoint or pipeline.checkpoint).rstrip('/')}/{pipeline.name}"
    parts = [sink.name for sink in pipeline.sinks]
    parts += [f"{each.name}.dead_letters" for each in pipeline.sources if each.decoding is not None and each.decoding.dead_letters]
    beat = newest_heartbeat(pipeline, checkpoint, reports)
    return [_status(pipeline, part, f"{folder}/{part}", reports.get(f"{pipeline.name}.{part}"), beat) for part in parts]


def _status(pipeline: PipelineDeclaration, part: str, folder: str, report: Mapping[str, Any] | None, beat: Heartbeat | None) -> QueryStatus:
    here = local_path(folder)
    batch = None if here is None else last_batch(here)
    offsets = {} if here is None or batch is None else batch_offsets(here, batch)
    lag = _lag(pipeline, offsets) if offsets else None
    state, reason = state_of(beat, report, has_batch=batch is not None)
    rows_per_second = None
    if report is not None and report["event"] == "progress":
        if lag is None and report["lag"]:
            lag = sum(report["lag"].values())
        batch = report["batch"] if batch is None else batch
        rows_per_second = report["processed_rows_per_second"] if state == "running" else None
    at, alive_at = None if report is None else report["at"], None if beat is None else beat.at
    return QueryStatus(pipeline.name, part, state, batch, at, alive_at, lag, rows_per_second, reason)


def state_of(beat: Heartbeat | None, report: Mapping[str, Any] | None, *, has_batch: bool) -> tuple[str, str | None]:
    """The state, and the reason if it needs one."""
    life = None if beat is None else liveness_of(beat, datetime.now(UTC), is_there=is_there(beat.process))
    if beat is not None and life == "died":
        process = f"Process {beat.process.pid} on {beat.process.host}"
        return "died", f"{process} ended without a report; its last heartbeat was at {to_the_second(beat.at)}."
    if beat is not None and life is not None:
        return life, beat.reason
    if report is not None and report["event"] == "ended":
        return ("ended", None) if report["reason"] is None else ("failed", report["reason"])
    return "never ran" if report is None and not has_batch else "unknown", None


def last_batch(folder: str) -> int | None:
    """The number of the last finished batch."""
    try:
        return max((int(name) for name in os.listdir(os.path.join(folder, "commits")) if name.isdigit()), default=None)
    except FileNotFoundError:
        return None


def batch_offsets(folder: str, batch: int) -> dict[str, dict[str, int]]:
    """The end offsets of a batch, over all of its topics. The file is Spark's: a version, the
    settings of the batch, then a line for each source."""
    try:
        with open(os.path.join(folder, "offsets", str(batch)), encoding="utf-8") as file:
            lines = file.read().splitlines()[2:]
    except FileNotFoundError:
        return {}
    offsets: dict[str, dict[str, int]] = {}
    for line in lines:
        try:
            source = json.loads(line)
        except ValueError:
            continue
        if isinstance(source, dict) and all(isinstance(each, dict) for each in source.values()):
            offsets |= source
    return offsets


def _lag(pipeline: PipelineDeclaration, offsets: Offsets) -> int | None:
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    consumer = Consumer({**for_librdkafka(pipeline.bootstrap, pipeline.kafka), "group.id": "barnabas.pipelines.status"})
    try:
        behind = 0
        for topic, partitions in offsets.items():
            for partition, reached in partitions.items():
                _, end = consumer.get_watermark_offsets(TopicPartition(topic, int(partition)), timeout=ANSWER_SECONDS_MAX)
                behind += max(0, end - reached)
        return behind
    except KafkaException as error:
        raise CannotRun(f"The ends of the topics of {pipeline.name!r} cannot be found: {error.args[0].str()}.") from error
    finally:
        consumer.close()
