"""The metrics of running pipelines, for Prometheus.

:data:`CATALOGUE` declares each metric once, with its unit in its name; ``docs/pipelines.md`` has
the same table, and a test compares the two. :class:`PipelineMetrics` is an observer of progress and
prometheus-client's collector of the newest numbers.

Lag in seconds needs no request to a broker. Each report of Spark has the ends of the topics, so the
oldest unread record came between two reports, and its age is counted from the later one. A record
that was unread at the first report counts from that report.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.running.progress import Progress

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

    from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration

PREFIX = "barnabas_pipeline_"
_PIPELINE, _QUERY = ("pipeline",), ("pipeline", "query")
# From an idle batch to one that a person would look into.
BATCH_SECONDS_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
# Ends of a partition that are remembered: hours for a query that reports every ten seconds, minutes
# for one with many small batches. Beyond it the lag in seconds is that of the oldest one.
ENDS_MAX = 2000
_DEAD_LETTERS = ".dead_letters"


@dataclass(frozen=True, slots=True)
class Metric:
    name: str  # without the prefix
    kind: str  # counter, gauge or histogram
    labels: tuple[str, ...]
    meaning: str

    @property
    def full_name(self) -> str:
        """As Prometheus shows it; a histogram's series add ``_bucket``, ``_sum`` and ``_count``."""
        return PREFIX + self.name


CATALOGUE = (
    Metric("up", "gauge", _PIPELINE, "1 while the queries of the pipeline run; 0 before that and after a failure."),
    Metric("start_time_seconds", "gauge", _PIPELINE, "When the process started the pipeline, in seconds since 1970."),
    Metric("restarts_total", "counter", _PIPELINE, "Restarts of the queries in this process, with the accepted new columns of a source."),
    Metric("input_records_total", "counter", _QUERY, "Rows that the query has read."),
    Metric("output_records_total", "counter", _QUERY, "Rows that the query has written. Absent for sinks that do not count."),
    Metric("input_records_per_second", "gauge", _QUERY, "Rows that arrived per second before the last batch."),
    Metric("processed_records_per_second", "gauge", _QUERY, "Rows that the last batch processed per second."),
    Metric("batch_duration_seconds", "histogram", _QUERY, "How long batches took."),
    Metric("lag_records", "gauge", (*_QUERY, "topic", "partition"), "Records of the partition that the query has not read."),
    Metric("lag_seconds", "gauge", (*_QUERY, "topic"), "Age of the oldest record of the topic that the query has not read; 0 without any."),
    Metric(
        "dead_letters_total", "counter", ("pipeline", "source"), "Records that the source could not decode and sent to its dead letters."
    ),
    Metric("state_rows", "gauge", _QUERY, "Rows in the state of the query."),
    Metric("state_bytes", "gauge", _QUERY, "Memory for the state of the query."),
    Metric("watermark_timestamp_seconds", "gauge", _QUERY, "The watermark, in seconds since 1970. Absent without one."),
    Metric("last_progress_timestamp_seconds", "gauge", _QUERY, "When the last batch began, in seconds since 1970."),
)


@dataclass(slots=True)
class _PartitionEnds:
    """Ends of a partition and when they were first seen, both ascending."""

    ends: deque[int] = field(default_factory=lambda: deque(maxlen=ENDS_MAX))
    seen_at: deque[float] = field(default_factory=lambda: deque(maxlen=ENDS_MAX))
    reached: int = 0

    def note(self, reached: int, end: int, at: float) -> None:
        self.reached = reached
        if self.ends and end < self.ends[-1]:
            # The topic was deleted and created again.
            self.ends.clear()
            self.seen_at.clear()
        if not self.ends or end > self.ends[-1]:
            self.ends.append(end)
            self.seen_at.append(at)

    def lag(self) -> int:
        return max(0, self.ends[-1] - self.reached)

    def lag_seconds(self, now: float) -> float:
        first_unread = bisect_right(self.ends, self.reached)
        return 0.0 if first_unread == len(self.ends) else max(0.0, now - self.seen_at[first_unread])


@dataclass(slots=True)
class _Query:
    newest: Progress
    input_rows: int = 0
    output_rows: int | None = None
    batch_seconds: list[int] = field(default_factory=lambda: [0] * (len(BATCH_SECONDS_BOUNDS) + 1))
    batch_seconds_sum: float = 0.0
    partitions: dict[tuple[str, int], _PartitionEnds] = field(default_factory=dict)

    def note(self, progress: Progress, now: float) -> None:
        self.newest = progress
        self.input_rows += progress.input_rows
        if progress.output_rows is not None:
            self.output_rows = (self.output_rows or 0) + progress.output_rows
        if progress.executed:
            seconds = progress.batch_ms / 1000
            self.batch_seconds_sum += seconds
            self.batch_seconds[_bucket(seconds)] += 1
        for each in progress.positions:
            self.partitions.setdefault((each.topic, each.partition), _PartitionEnds()).note(each.reached, each.end, now)


class PipelineMetrics:
    """Called with progress by the thread that watches the queries, and collected by that of the
    HTTP server."""

    def __init__(self, pipelines: Sequence[PipelineDeclaration], clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._names = [each.name for each in pipelines]
        self._started = clock()
        self._up = False
        self._restarts = 0
        self._queries: dict[tuple[str, str], _Query] = {}
        # Zero before the first letter, so that an alert on the increase sees it.
        self._dead_letters = {
            (each.name, source.name): 0
            for each in pipelines
            for source in each.sources
            if source.decoding is not None and source.decoding.dead_letters is not None
        }

    def __call__(self, progress: Progress) -> None:
        if progress.pipeline not in self._names:
            return
        key = (progress.pipeline, progress.query)
        with self._lock:
            self._queries.setdefault(key, _Query(progress)).note(progress, self._clock())
            letters = (progress.pipeline, progress.query.removesuffix(_DEAD_LETTERS))
            if progress.query.endswith(_DEAD_LETTERS) and letters in self._dead_letters:
                self._dead_letters[letters] += progress.output_rows or 0

    def running(self, up: bool) -> None:
        with self._lock:
            self._up = up

    def restarted(self) -> None:
        with self._lock:
            self._restarts += 1

    def collect(self) -> Iterator[Family]:
        with self._lock:
            readings = self._readings()
        for metric in CATALOGUE:
            family = _family(metric)
            for labels, value in readings[metric.name]:
                if metric.kind == "histogram":
                    family.add_metric(labels, buckets=value[0], sum_value=value[1])
                else:
                    family.add_metric(labels, value)
            yield family

    def _readings(self) -> dict[str, list[tuple[list[str], Any]]]:
        now = self._clock()
        found: dict[str, list[tuple[list[str], Any]]] = {metric.name: [] for metric in CATALOGUE}

        def add(name: str, value: Any, *labels: str) -> None:
            found[name].append((list(labels), value))

        for name in self._names:
            add("up", 1 if self._up else 0, name)
            add("start_time_seconds", self._started, name)
            add("restarts_total", self._restarts, name)
        for (pipeline, source), count in self._dead_letters.items():
            add("dead_letters_total", count, pipeline, source)
        for key, query in self._queries.items():
            _read_query(query, key, now, add)
        return found


def _read_query(query: _Query, key: tuple[str, str], now: float, add: Callable[..., None]) -> None:
    newest = query.newest
    add("input_records_total", query.input_rows, *key)
    if query.output_rows is not None:
        add("output_records_total", query.output_rows, *key)
    add("input_records_per_second", newest.input_rows_per_second, *key)
    add("processed_records_per_second", newest.processed_rows_per_second, *key)
    add("batch_duration_seconds", (_buckets(query.batch_seconds), query.batch_seconds_sum), *key)
    by_topic: dict[str, float] = {}
    for (topic, partition), ends in query.partitions.items():
        add("lag_records", ends.lag(), *key, topic, str(partition))
        by_topic[topic] = max(by_topic.get(topic, 0.0), ends.lag_seconds(now))
    for topic, seconds in by_topic.items():
        add("lag_seconds", seconds, *key, topic)
    add("state_rows", newest.state_rows, *key)
    add("state_bytes", newest.state_bytes, *key)
    if newest.watermark is not None:
        add("watermark_timestamp_seconds", _epoch_seconds(newest.watermark), *key)
    add("last_progress_timestamp_seconds", _epoch_seconds(newest.at), *key)


def _family(metric: Metric) -> Any:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    kinds = {"counter": CounterMetricFamily, "gauge": GaugeMetricFamily, "histogram": HistogramMetricFamily}
    return kinds[metric.kind](metric.full_name, metric.meaning, labels=metric.labels)


def _bucket(seconds: float) -> int:
    return next((position for position, bound in enumerate(BATCH_SECONDS_BOUNDS) if seconds <= bound), len(BATCH_SECONDS_BOUNDS))


def _buckets(counts: Sequence[int]) -> list[tuple[str, int]]:
    total, found = 0, []
    for bound, count in zip((*map(str, BATCH_SECONDS_BOUNDS), "+Inf"), counts, strict=True):
        total += count
        found.append((bound, total))
    return found


def _epoch_seconds(moment: str) -> float:
    parsed = datetime.fromisoformat(moment)
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()
