"""Assigns rows to writers: the same way whenever a batch runs, or rows would be missing or
duplicated.

By source partition, where the query processes records of a topic one by one (projections, filters,
Python functions over rows): Spark reads each partition of the topic with one task, and that task
writes as the writer of this partition. No rows move between tasks, and they keep the order of the
topic.

By hash, everywhere else (aggregations, joins, unions, other sources): rows with the same key go to
the same writer, rows without a key by their value. Spark does not keep the order of rows that it
moves, so each writer's rows are sorted by key and value. The number of writers is decided at the
first start and kept, because the assignment depends on it.

The choice between the two follows from the shape of the query alone, not from how Spark happens to
run it, and is kept too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.pipelines.errors import CannotRun, RunFailed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from barnabas.pipelines.kept_text import KeptText

# Operators after which a row is still in the task and in the order of its source record.
_ROW_BY_ROW = frozenset(
    {
        *("Project", "Filter", "SubqueryAlias", "View", "EventTimeWatermark", "Generate", "CollectMetrics", "ResolvedHint"),
        *("MapInPandas", "MapInArrow", "PythonMapInArrow"),
    }
)
_STREAMING_SOURCE = "StreamingRelationV2"
_OFFSET_RANGE = re.compile(r"KafkaOffsetRange\(([\w.-]+-\d+),(\d+),(\d+),")
# Each takes a partition and a transaction; more writers than the cluster has cores do not help.
WRITERS_MAX = 1000


@dataclass(frozen=True, slots=True)
class Assignment:
    """``writers[i]`` writes the rows of task ``i`` of the frame."""

    frame: DataFrame
    writers: Sequence[int]
    # For the fingerprint: the writer's part of the batch, as far as it is known in advance.
    details: Sequence[str]


class Spread(Protocol):
    @property
    def writers(self) -> int:
        """The number of writers so far."""

    def assign(self, batch: DataFrame) -> Assignment: ...


def spread_of(frame: DataFrame, kept: KeptText, writers: int) -> Spread:
    """``writers`` is the number of writers of a spread by hash, if this is the first start."""
    name = BySourcePartition.NAME if reads_row_by_row(frame) else ByHash.NAME
    text = kept.read()
    found = {"spread": name, "writers": writers if name == ByHash.NAME else []} if text is None else json.loads(text)
    if found["spread"] != name:
        raise CannotRun(
            f"Rows were assigned to writers by {found['spread']} so far, and after the change of this pipeline it would be by {name}: "
            "start with a new checkpoint."
        )
    if text is None:
        kept.write(json.dumps(found))
    if name == ByHash.NAME:
        return ByHash(found["writers"])
    return BySourcePartition(found["writers"], kept)


def reads_row_by_row(frame: DataFrame) -> bool:
    plan = _java(frame).analyzed()
    while plan.nodeName() in _ROW_BY_ROW:
        plan = plan.children().apply(0)
    return str(plan.nodeName()) == _STREAMING_SOURCE and str(plan.sourceName()) == "kafka"


def _java(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution()  # noqa: SLF001 - PySpark shows no plans but as text


class ByHash:
    NAME = "hash"
    WRITER = "_writer"

    def __init__(self, writers: int) -> None:
        if not 1 <= writers <= WRITERS_MAX:
            raise CannotRun(f"'writers' is a number from 1 to {WRITERS_MAX}, not {writers}.")
        self.writers = writers

    def assign(self, batch: DataFrame) -> Assignment:
        from pyspark.sql import functions as F

        key, value = F.col("key"), F.col("value")
        by = (key, F.when(key.isNull(), value))
        # The same expression that Spark partitions by: the task checks that it got its own rows.
        named = batch.withColumn(self.WRITER, F.pmod(F.hash(*by), F.lit(self.writers)))
        moved = named.repartition(self.writers, *by).sortWithinPartitions(key, value)
        return Assignment(moved, range(self.writers), [""] * self.writers)


class BySourcePartition:
    """Partitions of topics get numbers when they are first seen; the numbers are saved before they
    are used."""

    NAME = "source partition"

    def __init__(self, partitions: Sequence[str], kept: KeptText) -> None:
        self._numbers = {partition: number for number, partition in enumerate(partitions)}
        self._kept = kept

    @property
    def writers(self) -> int:
        return len(self._numbers)

    def assign(self, batch: DataFrame) -> Assignment:
        ranges = _source_ranges(batch)
        seen: Counter[str] = Counter()
        names = []
        for partition, _, _ in ranges:
            # With minPartitions or maxRecordsPerPartition several tasks share a partition: the
            # first, the second, ...
            names.append(f"{partition}/{seen[partition]}" if seen[partition] else partition)
            seen[partition] += 1
        if new := [name for name in names if name not in self._numbers]:
            self._numbers |= {name: len(self._numbers) + position for position, name in enumerate(new)}
            if len(self._numbers) > WRITERS_MAX:
                raise RunFailed(f"The source has {len(self._numbers)} partitions, and there are at most {WRITERS_MAX} writers.")
            self._kept.write(json.dumps({"spread": self.NAME, "writers": list(self._numbers)}))
        details = [f"{partition}@{first}-{end}" for partition, first, end in ranges]
        return Assignment(batch, [self._numbers[name] for name in names], details)


def _source_ranges(batch: DataFrame) -> list[tuple[str, int, int]]:
    """The range that each task of the batch reads, in the order of the tasks: partition, first
    offset, the offset after the last.

    Spark does not expose this to Python. The batch is an RDD whose ancestors, one to one, end in
    the read of the topic. Their order may differ when a batch runs again, so positions alone are
    not enough.
    """
    rdd = _java(batch).toRdd()
    while (dependencies := rdd.dependencies()).size() > 0:
        assert dependencies.size() == 1, "a query that reads row by row has one source"
        assert dependencies.apply(0).getClass().getSimpleName() == "OneToOneDependency", "its rows stay where they are"
        rdd = dependencies.apply(0).rdd()
    found = []
    for task in rdd.partitions():
        # As a text, because every call into the JVM costs as much as some hundred rows.
        ((partition, first, end),) = _OFFSET_RANGE.findall(task.inputPartitions().mkString())
        found.append((partition, int(first), int(end)))
    return found
