"""One run of one pipeline: the settings that its sources, steps and sinks need, and the frames they
have made so far.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.kafka_settings import for_librdkafka, for_spark
from barnabas.pipelines.kept_text import KeptText, TrialText

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
    from barnabas.pipelines.formats.decoding import Undecodable


@dataclass(slots=True)
class RunContext:
    session: SparkSession
    pipeline: PipelineDeclaration
    checkpoint: str  # the folder of all pipelines; this one's is below it
    available_now: bool = False
    frames: dict[str, DataFrame] = field(default_factory=dict)
    # A query for each of these is started beside the sinks'.
    undecodable: list[Undecodable] = field(default_factory=list)
    # Queries that a source needs, by their part's name.
    beside: dict[str, Callable[[], StreamingQuery]] = field(default_factory=dict)
    # New columns (source and column) that were logged already.
    announced: set[tuple[str, str]] = field(default_factory=set)
    # By part and batch: rows that a sink has written, where Spark does not count them.
    rows_written: dict[str, dict[int, int]] = field(default_factory=dict)
    # In a check that must leave no trace: texts are read here, beside the checkpoint of real runs,
    # and those that a run would write stay in memory.
    trial_of: str | None = None
    trial_texts: dict[str, str] = field(default_factory=dict)
    # Called when all frames are built and no query has started.
    before_start: list[Callable[[], None]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.pipeline.name

    @property
    def bootstrap(self) -> str:
        return self.pipeline.bootstrap

    # -- frames -------------------------------------------------------------------------------

    def add(self, name: str, frame: DataFrame) -> None:
        """Registers a frame: later steps and sinks read it by this name."""
        assert name not in self.frames, name
        self.frames[name] = frame
        frame.createOrReplaceTempView(name)

    def frame(self, name: str) -> DataFrame:
        return self.frames[name]

    def counts_rows(self, part: str) -> dict[int, int]:
        """The rows that a sink writes, by batch. The runner takes them out with the report of the
        batch."""
        return self.rows_written.setdefault(part, {})

    # -- the cluster --------------------------------------------------------------------------

    def spark_kafka_options(self) -> dict[str, str]:
        """For ``format("kafka")``, to read and to write."""
        return for_spark(self.bootstrap, self.pipeline.kafka)

    def client_config(self) -> dict[str, Any]:
        """For a client of confluent-kafka in this process. All values are text except the logger:
        remove that before sending the settings to executors."""
        return for_librdkafka(self.bootstrap, self.pipeline.kafka)

    # -- the checkpoint -----------------------------------------------------------------------

    def query_name(self, part: str) -> str:
        return f"{self.name}.{part}"

    def checkpoint_of(self, part: str) -> str:
        return f"{self.checkpoint.rstrip('/')}/{self.name}/{part}"

    def kept(self, name: str) -> KeptText:
        """A text that is decided once and kept beside the queries' checkpoints, under a name that
        no sink can have."""
        if self.trial_of is not None:
            return TrialText(self.session, f"{self.trial_of.rstrip('/')}/{self.name}/-kept/{name}", self.trial_texts)
        return KeptText(self.session, self.checkpoint_of(f"-kept/{name}"))

    def writer(self, frame: DataFrame, part: str, mode: str = "append") -> DataStreamWriter:
        """A writer with the query's name, checkpoint, output mode and trigger; the caller adds the
        destination and ``start()``."""
        writer = frame.writeStream.queryName(self.query_name(part)).outputMode(mode).option("checkpointLocation", self.checkpoint_of(part))
        trigger = self.pipeline.trigger
        if self.available_now or trigger.available_now:
            return writer.trigger(availableNow=True)
        if trigger.interval_ms is not None:
            return writer.trigger(processingTime=f"{trigger.interval_ms} milliseconds")
        return writer
