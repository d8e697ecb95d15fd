"""How far pipelines came, whether they run or not: from their checkpoints, the progress topic and the ends of the topics.

A checkpoint on this machine knows the last batch that was finished and the offsets it reached; the progress topic knows when that was and
whether the query ended. Each is enough; where neither knows anything the query never ran.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.kafka_settings import for_librdkafka
from barnabas.pipelines.kept_text import local_path
from barnabas.pipelines.running.preflight import ANSWER_SECONDS_MAX, uses_topics
from barnabas.pipelines.running.progress_topic import newest_reports

if TYPE_CHECKING:
    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

Offsets = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class QueryStatus:
    pipeline: str
    query: str
    state: str  # never ran, running, ended, failed, or unknown when only the checkpoint speaks
    batch: int | None
    at: str | None
    lag: int | None
    rows_per_second: float | None
    reason: str | None


def status_of(pipeline: PipelineDeclaration, checkpoint: str | None = None) -> list[QueryStatus]:
    """``CannotRun`` when the cluster does not answer."""
    reports = newest_reports(pipeline) if uses_topics(pipeline) else {}
    folder = f"{(checkpoint or pipeline.checkpoint).rstrip('/')}/{pipeline.name}"
    parts = [sink.name for sink in pipeline.sinks]
    parts += [f"{each.name}.dead_letters" for each in pipeline.sources if each.decoding is not None and each.decoding.dead_letters]
    return [_status(pipeline, part, f"{folder}/{part}", reports.get(f"{pipeline.name}.{part}")) for part in parts]


def _status(pipeline: PipelineDeclaration, part: str, folder: str, report: Mapping[str, Any] | None) -> QueryStatus:
    here = local_path(folder)
    batch = None if here is None else last_batch(here)
    offsets = {} if here is None or batch is None else batch_offsets(here, batch)
    lag = _lag(pipeline, offsets) if offsets else None
    if report is None:
        state = "never ran" if batch is None else "unknown"
        return QueryStatus(pipeline.name, part, state, batch, None, lag, None, None)
    if report["event"] == "ended":
        state = "ended" if report["reason"] is None else "failed"
        return QueryStatus(pipeline.name, part, state, batch, report["at"], lag, None, report["reason"])
    if lag is None and report["lag"]:
        lag = sum(report["lag"].values())
    batch = report["batch"] if batch is None else batch
    return QueryStatus(pipeline.name, part, "running", batch, report["at"], lag, report["processed_rows_per_second"], None)


def last_batch(folder: str) -> int | None:
    """The last one that was finished."""
    try:
        return max((int(name) for name in os.listdir(os.path.join(folder, "commits")) if name.isdigit()), default=None)
    except FileNotFoundError:
        return None


def batch_offsets(folder: str, batch: int) -> dict[str, dict[str, int]]:
    """Where a batch ended, over all of its topics. Spark's file: a version, what the batch was run with, then a line for each source."""
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
    except KafkaException as wrong:
        raise CannotRun(f"The ends of the topics of {pipeline.name!r} cannot be found: {wrong.args[0].str()}.") from wrong
    finally:
        consumer.close()
