"""A mirror from its start to its end: one streaming query on Spark, and beside it the
synchronisation of topics and groups.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from confluent_kafka import KafkaException

from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.mirror.checkpoint_record import checkpoints_topic
from barnabas.pipelines.mirror.cluster import MirrorCluster
from barnabas.pipelines.mirror.groups import MirroredGroups
from barnabas.pipelines.mirror.new_schema import is_of_new_schema
from barnabas.pipelines.mirror.offset_syncs import OffsetSyncs, syncs_topic
from barnabas.pipelines.mirror.partition_writer import WRITTEN_SCHEMA, WritePlan, write_partitions
from barnabas.pipelines.mirror.report import MirrorReport, lag_by_topic
from barnabas.pipelines.mirror.schemas import MirroredSchemas, SchemasMode
from barnabas.pipelines.mirror.selection import Policy, TopicSelection
from barnabas.pipelines.mirror.topics import MirroredTopics
from barnabas.pipelines.running.sentences import sentence_of, text_of
from barnabas.pipelines.running.spark_reports import new_reports
from barnabas.pipelines.session import jvm_gone, log_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from barnabas.registry_client import RegistrySettings

PACKAGES = ("org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0",)
# A batch is a transaction for each partition: this bounds the work that is repeated when one fails,
# and how long it stays open.
BATCH_RECORDS_MAX = 500_000
SYNC_SECONDS = 10.0
_WATCH_SECONDS = 0.2
# How often a batch is tried with a schema that its plan does not have.
NEW_SCHEMA_ATTEMPTS = 3
# How long Spark may take to record a written batch before it is stopped anyway.
_END_SECONDS_MAX = 10.0
_COLUMNS = ("topic", "partition", "offset", "key", "value", "unix_millis(timestamp) AS timestamp_ms", "headers")

Observer = Callable[[MirrorReport], None]


@dataclass(frozen=True, slots=True)
class MirrorOptions:
    source: MirrorCluster
    target: MirrorCluster
    selection: TopicSelection
    checkpoint: str  # the folder of all pipelines and mirrors
    groups: Sequence[str] = (".*",)
    once: bool = False  # copy the records available now, then end
    sync_seconds: float = SYNC_SECONDS
    batch_records_max: int = BATCH_RECORDS_MAX
    schemas: SchemasMode = SchemasMode.NONE
    # Needed unless the mode is none.
    from_registry: RegistrySettings | None = None
    to_registry: RegistrySettings | None = None

    @property
    def name(self) -> str:
        return f"mirror-{self.source.alias}-{self.target.alias}"


class Mirror:
    """Runs once. Its clients are open while it runs."""

    _topics: MirroredTopics
    _groups: MirroredGroups
    _schemas: MirroredSchemas | None = None

    def __init__(self, session: SparkSession, options: MirrorOptions, stop_asked: threading.Event | None = None) -> None:
        self._session = session
        self._options = options
        self._plan = _write_plan(options)
        self._written = self._left_out = self._moved_groups = 0
        self._reported = ""
        self._batch_lock = threading.Lock()
        self._last_batch = -1
        self._ending = False
        self.stop_asked = stop_asked or threading.Event()

    def run(self, observer: Observer = lambda _: None) -> None:
        """Until everything is copied (``once``) or ``stop_asked``. Raises ``RunFailed`` with a
        sentence when it ends before that."""
        try:
            self._run(observer)
        except KafkaException as error:
            raise RunFailed(f"The mirror failed: {error.args[0].str()}.") from error
        except jvm_gone() as gone:
            raise RunFailed(f"Spark's process ended; {log_name()} may have the reason.") from gone

    def _run(self, observer: Observer) -> None:
        options = self._options
        with ExitStack() as stack:
            self._topics = stack.enter_context(MirroredTopics(options.source, options.target, options.selection))
            self._groups = stack.enter_context(MirroredGroups(options.source, options.target, options.selection, options.groups))
            if options.schemas is not SchemasMode.NONE:
                self._schemas = stack.enter_context(_mirrored_schemas(options))
            self._copy_and_sync(observer)

    def _copy_and_sync(self, observer: Observer) -> None:
        options = self._options
        self._topics.create_internal([syncs_topic(options.source.alias), checkpoints_topic(options.source.alias)])
        self._topics.keep_in_step(settings=True)
        with ExitStack() as stack:
            syncs = OffsetSyncs(options.target, syncs_topic(options.source.alias))
            stack.callback(syncs.close)
            query = self._start()
            stack.callback(query.stop)
            next_sync = time.monotonic()
            while query.isActive and not self.stop_asked.is_set():
                if time.monotonic() >= next_sync:
                    self._sync(syncs)
                    next_sync = time.monotonic() + options.sync_seconds
                self._report(query, observer)
                self.stop_asked.wait(_WATCH_SECONDS)
            self._check(query)
            self._end(query)
            # Groups once more: the records just copied have offsets to translate to.
            self._sync(syncs)
            self._report(query, observer)

    def _start(self) -> StreamingQuery:
        options = self._options
        reader = self._session.readStream.format("kafka").options(
            **options.source.spark_options(),
            **{
                "subscribePattern": options.selection.pattern,
                "startingOffsets": "earliest",
                "includeHeaders": "true",
                "kafka.isolation.level": "read_committed",
                "maxOffsetsPerTrigger": str(options.batch_records_max),
                # Neither retention on the source nor the deletion of a topic may end the mirror.
                "failOnDataLoss": "false",
                "groupIdPrefix": f"barnabas.{options.name}",
            },
        )
        writer = reader.load().writeStream.queryName(options.name)
        writer = writer.option("checkpointLocation", f"{options.checkpoint.rstrip('/')}/{options.name}")
        if options.once:
            writer = writer.trigger(availableNow=True)
        return writer.foreachBatch(self._write_batch).start()

    def _write_batch(self, batch: DataFrame, batch_id: int) -> None:
        with self._batch_lock:
            if self._ending:
                raise InterruptedError("the mirror was stopped")
            self._copy(batch)
            self._last_batch = batch_id

    def _copy(self, batch: DataFrame) -> None:
        self._topics.keep_in_step(settings=False)
        for attempt in range(NEW_SCHEMA_ATTEMPTS):
            # Before the batch: its records carry no schema that is newer than this.
            if self._schemas is not None:
                self._plan = replace(self._plan, schema_ids=self._schemas.keep_in_step(self._topics.partitions))
            try:
                self._write(batch)
            except Exception as error:
                # A follower of the registry may lag behind the records. Written records stay: the
                # next attempt begins after them.
                if attempt + 1 == NEW_SCHEMA_ATTEMPTS or not is_of_new_schema(text_of(error)):
                    raise
            else:
                return

    def _write(self, batch: DataFrame) -> None:
        # No shuffle in between: a task has the records of one partition, in order, as the connector
        # read them.
        written = batch.selectExpr(*_COLUMNS).mapInArrow(partial(write_partitions, plan=self._plan), WRITTEN_SCHEMA).collect()
        self._written += sum(each.written for each in written)
        self._left_out += sum(each.left_out for each in written)

    def _end(self, query: StreamingQuery) -> None:
        """Ends after the batch that is being written, so that Spark records it as done; the next
        one is refused. Stopping a query in the middle would do no harm, but the next start would
        write the batch again."""
        if not query.isActive:
            return
        deadline = time.monotonic() + _END_SECONDS_MAX
        with self._batch_lock:
            self._ending = True
            while query.isActive and time.monotonic() < deadline and not self._is_noted(query, self._last_batch):
                time.sleep(_WATCH_SECONDS)
        query.stop()

    def _is_noted(self, query: StreamingQuery, batch: int) -> bool:
        return batch < 0 or any(each["batchId"] == batch and each["numInputRows"] for each in new_reports(query, after=""))

    def _sync(self, syncs: OffsetSyncs) -> None:
        self._topics.keep_in_step(settings=True)
        if self._schemas is not None:
            self._schemas.keep_in_step(self._topics.partitions)
        self._moved_groups = self._groups.keep_in_step(syncs, self._topics.partitions)

    def _report(self, query: StreamingQuery, observer: Observer) -> None:
        # Not by number: while it waits, Spark reports under the number of the next batch.
        for progress in new_reports(query, after=self._reported):
            self._reported = progress["timestamp"]
            observer(self._report_of(progress))

    def _report_of(self, progress: dict[str, Any]) -> MirrorReport:
        return MirrorReport(
            at=progress["timestamp"],
            batch=progress["batchId"],
            records=int(progress["numInputRows"]),
            total=self._written,
            left_out=self._left_out,
            records_per_second=round(float(progress.get("processedRowsPerSecond") or 0.0), 1),
            lag=lag_by_topic(progress),
            groups=self._moved_groups,
        )

    def _check(self, query: StreamingQuery) -> None:
        if not query.isActive and (wrong := query.exception()) is not None:
            raise RunFailed(f"The mirror failed: {sentence_of(wrong)}") from wrong


def _write_plan(options: MirrorOptions) -> WritePlan:
    source_id, target_id = options.source.cluster_id(), options.target.cluster_id()
    if source_id == target_id and options.selection.policy is Policy.IDENTITY:
        raise CannotRun("--from and --to are the same cluster, and a topic cannot be mirrored to itself: use --policy rename.")
    return WritePlan(
        target=options.target.task_config(),
        target_prefix=options.selection.target_name(""),
        syncs_topic=syncs_topic(options.source.alias),
        source_id=source_id,
        target_id=target_id,
        marks_provenance=options.selection.policy is Policy.IDENTITY,
        source_registry=options.from_registry,
    )


def _mirrored_schemas(options: MirrorOptions) -> MirroredSchemas:
    from barnabas.registry_client import RegistryClient

    assert options.from_registry is not None, "checked by the caller"
    assert options.to_registry is not None, "checked by the caller"
    return MirroredSchemas(RegistryClient(options.from_registry), RegistryClient(options.to_registry), options.selection, options.schemas)
