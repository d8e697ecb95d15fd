"""The sink: a query whose batches are written by writers, each in its own transaction."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.exactly_once.markers import ensure_marker_topic, group_of
from barnabas.pipelines.exactly_once.spread import ByHash, Spread, spread_of
from barnabas.pipelines.kept_text import KeptText

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.sink_declarations import SinkDeclaration

_OUTCOME = "writer INT, rows BIGINT, was_there BOOLEAN"
_OWN_OPTIONS = frozenset({"writers"})


def start(frame: DataFrame, declaration: SinkDeclaration, context: RunContext) -> StreamingQuery:
    """``frame`` has the columns of :mod:`records`."""
    options: dict[str, str] = dict(getattr(declaration.settings, "options", {}))
    sink = ExactlyOnce(
        pipeline=context.name,
        client=context.client_config(),
        producer={name.removeprefix("kafka."): value for name, value in options.items() if name not in _OWN_OPTIONS},
        checkpoint=context.checkpoint_of(declaration.name),
        writers=_writers(options, context.session.sparkContext.defaultParallelism),
        rows_written=context.counts_rows(declaration.name),
    )
    return sink.start(frame, context.writer(frame, declaration.name, declaration.mode))


def _writers(options: dict[str, str], default: int) -> int:
    text = options.get("writers", str(default))
    if not text.isdecimal():
        raise CannotRun(f"'writers' is a number, not {text!r}.")
    return int(text)


@dataclass(slots=True)
class ExactlyOnce:
    """``client`` and ``producer`` are librdkafka's settings. They are sent to the executors, except
    the logger, which belongs to this process."""

    pipeline: str
    client: dict[str, Any] = field(repr=False)
    producer: dict[str, Any] = field(repr=False)
    checkpoint: str
    writers: int  # for a spread by hash at its first start
    # By batch; the runner empties it with the reports.
    rows_written: dict[int, int] = field(default_factory=dict)
    # Of the checkpoint; Spark makes it before the first batch.
    query_id: str = field(default="", init=False)
    # Partitions of the marker topic that are known to exist.
    ensured: int = field(default=0, init=False)

    def start(self, frame: DataFrame, writer: DataStreamWriter) -> StreamingQuery:
        """``writer`` has the checkpoint of this sink."""
        self._check_settings()
        spread = spread_of(frame, KeptText(frame.sparkSession, f"{self.checkpoint}/writers"), self.writers)
        self._ensure_markers(spread)

        def write_batch(batch: DataFrame, batch_id: int) -> None:
            self.write_batch(batch, batch_id, spread)

        return writer.foreachBatch(write_batch).start()

    def write_batch(self, batch: DataFrame, batch_id: int, spread: Spread) -> None:
        session = batch.sparkSession
        if not self.query_id:
            self.query_id = str(json.loads(self._recorded_by_spark(session, "metadata"))["id"])
        # Spark's plan of the batch, which it reads again when it runs the batch again.
        planned = self._recorded_by_spark(session, f"offsets/{batch_id}")
        fingerprint = f"{zlib.crc32(planned.encode()):08x}"
        assignment = spread.assign(batch)
        self._ensure_markers(spread)
        task = writing_task(
            group_of(self.pipeline, self.query_id),
            batch_id,
            assignment.writers,
            [f"{fingerprint} {detail}".rstrip() for detail in assignment.details],
            {name: value for name, value in self.client.items() if name != "logger"},
            self.producer,
        )
        outcomes = assignment.frame.mapInArrow(task, _OUTCOME).collect()
        self.rows_written[batch_id] = sum(outcome["rows"] for outcome in outcomes)
        assert len({outcome["writer"] for outcome in outcomes}) == len(outcomes), "no two tasks are one writer"

    def _recorded_by_spark(self, session: SparkSession, name: str) -> str:
        text = KeptText(session, f"{self.checkpoint}/{name}").read()
        assert text is not None, f"Spark has noted {name} before it runs a batch"
        return text

    def _ensure_markers(self, spread: Spread) -> None:
        needed = max(spread.writers, 1)
        if self.ensured < needed:
            ensure_marker_topic(self.client, needed)
            self.ensured = needed

    def _check_settings(self) -> None:
        """Checked here, where an error becomes a sentence, and not in a task, where it becomes a
        stack trace. Nothing connects yet."""
        from confluent_kafka import KafkaException, Producer

        from barnabas.pipelines.exactly_once.writing import PRODUCER_DEFAULTS

        try:
            Producer({**self.client, **PRODUCER_DEFAULTS, **self.producer, "transactional.id": "check"}).close()
        except KafkaException as failed:
            raise CannotRun(f"The options of the writers are wrong: {failed.args[0].str()}.") from failed


def writing_task(
    group: str, batch_id: int, writers: Any, fingerprints: list[str], client: dict[str, Any], producer: dict[str, Any]
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """The function that Spark runs on its executors, where Barnabas must be installed as well."""

    def write(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        from barnabas.pipelines.exactly_once.writing import Part, write_part
        from barnabas.pipelines.spark_archives import stop_rereading

        stop_rereading()
        context = TaskContext.get()
        assert context is not None, "this is a task"
        task = context.partitionId()
        writer = writers[task]
        written = write_part(Part(group, writer, batch_id, fingerprints[task]), _own_rows(chunks, writer), client=client, producer=producer)
        yield pa.RecordBatch.from_pydict(
            {"writer": pa.array([writer], pa.int32()), "rows": [written.rows], "was_there": [written.was_there]}
        )

    return write


def _own_rows(chunks: Iterable[pa.RecordBatch], writer: int) -> Iterator[pa.RecordBatch]:
    """Check that Spark gave this task the rows of this writer, however it runs the batch: exactly
    once depends on it."""
    import pyarrow.compute as pc

    for chunk in chunks:
        if ByHash.WRITER in chunk.schema.names and chunk.num_rows:
            least_and_most = pc.min_max(chunk.column(ByHash.WRITER)).as_py()
            assert least_and_most == {"min": writer, "max": writer}, f"rows of writers {least_and_most} came to writer {writer}"
        yield chunk
