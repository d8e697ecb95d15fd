"""Pipelines as their reports in the progress topic tell. Pure.

``barnabas.pipelines.progress`` is compacted and has one partition:

=========================  =======================================================================
key                        value
=========================  =======================================================================
``PIPELINE.QUERY``         ``progress`` of a batch: rows, rates, lag, times, state; or ``ended``
``PIPELINE.-flow``         its sources, steps and sinks, written at each start
``PIPELINE.-heartbeat``    of runs whose checkpoint is not on a local disk
=========================  =======================================================================

A query that waits for rows reports every ten seconds or so, and one with an interval once in it.
One that did not report for :data:`SILENT_SECONDS_MAX` longer than that, and did not end, is silent:
its process may be gone, or a batch takes long.
"""

from __future__ import annotations

import json
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any, Final

from barnabas.console.core.decoding.safe_text import safe

TOPIC: Final = "barnabas.pipelines.progress"
SILENT_SECONDS_MAX: Final = 60.0
# Pipelines that are remembered; the one whose report is oldest goes first.
PIPELINES_MAX: Final = 2_000
QUERIES_MAX: Final = 200
# Batches of a query that its charts show.
HISTORY_MAX: Final = 300
_FLOW: Final = "-flow"


@dataclass(frozen=True, slots=True)
class Batch:
    """One report of a query."""

    at_ms: int
    """When the broker or the producer stamped it."""
    number: int
    input_rows: int
    output_rows: int | None
    input_rows_per_second: float
    processed_rows_per_second: float
    batch_ms: int
    lag: dict[str, int]
    state_rows: int
    state_bytes: int
    watermark: str | None

    @property
    def lag_total(self) -> int | None:
        return sum(self.lag.values()) if self.lag else None


@dataclass(frozen=True, slots=True)
class QueryState:
    name: str
    state: str
    """running, silent, ended or failed"""
    at_ms: int
    reason: str | None
    """Of a failure."""
    last: Batch | None


@dataclass(frozen=True, slots=True)
class FlowNode:
    name: str
    kind: str
    """topic, table, sql, join, ..."""
    role: str
    """source, step or sink"""
    inputs: list[str]
    places: list[str]
    """Topics, a table of a database, or a folder."""
    dead_letters: str | None = None
    """The topic for records of a source that cannot be decoded."""

    @property
    def topics(self) -> list[str]:
        is_topic = self.kind in ("topic", "topics") or (self.kind == "table" and self.role == "source")
        return self.places if is_topic else []


@dataclass(frozen=True, slots=True)
class Flow:
    nodes: list[FlowNode]
    interval_ms: int = 0
    """At most one batch begins in this time."""


@dataclass(frozen=True, slots=True)
class PipelineUse:
    """A pipeline that reads a topic, or writes to it."""

    pipeline: str
    use: str
    """reads, writes or writes dead letters"""
    node: str
    """The name of the source or sink."""
    state: str


@dataclass(slots=True)
class _Query:
    at_ms: int = 0
    ended: str | None = None
    reason: str | None = None
    history: deque[Batch] = field(default_factory=lambda: deque(maxlen=HISTORY_MAX))


@dataclass(slots=True)
class _Pipeline:
    queries: OrderedDict[str, _Query] = field(default_factory=OrderedDict)
    flow: Flow | None = None


class PipelineReports:
    """What the records that were read so far tell."""

    def __init__(self) -> None:
        self._pipelines: OrderedDict[str, _Pipeline] = OrderedDict()

    def add(self, key: bytes | None, value: bytes | None, timestamp_ms: int) -> None:
        """Anything may be in a topic: a record that is no report is left out."""
        if key is None or value is None:
            return
        try:
            read = json.loads(value)
            if isinstance(read, dict):
                self._add(key.decode("utf-8"), read, timestamp_ms)
        except (AttributeError, ValueError, TypeError, LookupError, RecursionError, OverflowError):
            return

    def _add(self, key: str, read: dict[str, Any], timestamp_ms: int) -> None:
        name = read.get("pipeline")
        if not isinstance(name, str) or not name:
            return
        match read.get("event"):
            case "flow" if key == f"{name}.{_FLOW}":
                self._pipeline(name).flow = flow_of(read)
            case "progress" if key == f"{name}.{read['query']}":
                batch = _batch(read, timestamp_ms)
                query = self._query(name, str(read["query"]))
                query.at_ms, query.ended, query.reason = timestamp_ms, None, None
                query.history.append(batch)
            case "ended" if key == f"{name}.{read['query']}":
                reason = read.get("reason")
                query = self._query(name, str(read["query"]))
                query.at_ms, query.ended = timestamp_ms, "ended" if reason is None else "failed"
                query.reason = None if reason is None else _text(reason)

    def _pipeline(self, name: str) -> _Pipeline:
        found = self._pipelines.pop(name, None) or _Pipeline()
        self._pipelines[name] = found
        if len(self._pipelines) > PIPELINES_MAX:
            self._pipelines.popitem(last=False)
        return found

    def _query(self, pipeline: str, name: str) -> _Query:
        queries = self._pipeline(pipeline).queries
        found = queries.pop(name, None) or _Query()
        queries[name] = found
        if len(queries) > QUERIES_MAX:
            queries.popitem(last=False)
        return found

    # -- answers -----------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return sorted(self._pipelines)

    def flow(self, pipeline: str) -> Flow | None:
        found = self._pipelines.get(pipeline)
        return found.flow if found is not None else None

    def uses(self, topic: str, now_ms: int) -> list[PipelineUse]:
        found = []
        for name in self.names():
            state = state_of_all(self.queries(name, now_ms))
            for node in flow.nodes if (flow := self.flow(name)) is not None else ():
                if topic in node.topics:
                    found.append(PipelineUse(name, "writes" if node.role == "sink" else "reads", node.name, state))
                if topic == node.dead_letters:
                    found.append(PipelineUse(name, "writes dead letters", node.name, state))
        return found

    def queries(self, pipeline: str, now_ms: int) -> list[QueryState]:
        found = self._pipelines.get(pipeline)
        if found is None:
            return []
        interval_ms = found.flow.interval_ms if found.flow is not None else 0
        return [
            QueryState(name, _state(each, now_ms - interval_ms), each.at_ms, each.reason, each.history[-1] if each.history else None)
            for name, each in sorted(found.queries.items())
        ]

    def history(self, pipeline: str, query: str) -> list[Batch]:
        found = self._pipelines.get(pipeline)
        return list(found.queries[query].history) if found is not None and query in found.queries else []


def _state(query: _Query, now_ms: int) -> str:
    if query.ended is not None:
        return query.ended
    return "running" if now_ms - query.at_ms <= SILENT_SECONDS_MAX * 1000 else "silent"


def state_of_all(queries: list[QueryState]) -> str:
    """The state of a pipeline is the worst of its queries."""
    states = {each.state for each in queries}
    return next((each for each in ("failed", "silent", "running", "ended") if each in states), "unknown")


def flow_of(read: dict[str, Any]) -> Flow:
    nodes = [
        FlowNode(
            _text(each["name"]),
            _text(each["kind"]),
            role,
            _texts(each.get("inputs")),
            _texts(each.get("places")),
            None if (dead_letters := each.get("dead_letters")) is None else _text(dead_letters),
        )
        for role, part in (("source", "sources"), ("step", "steps"), ("sink", "sinks"))
        for each in read.get(part) or ()
    ]
    return Flow(nodes, int(read.get("interval_ms") or 0))


def _batch(read: dict[str, Any], timestamp_ms: int) -> Batch:
    output, watermark = read.get("output_rows"), read.get("watermark")
    return Batch(
        timestamp_ms,
        int(read["batch"]),
        int(read.get("input_rows") or 0),
        None if output is None else int(output),
        float(read.get("input_rows_per_second") or 0.0),
        float(read.get("processed_rows_per_second") or 0.0),
        int(read.get("batch_ms") or 0),
        {_text(source): int(behind) for source, behind in (read.get("lag") or {}).items()},
        int(read.get("state_rows") or 0),
        int(read.get("state_bytes") or 0),
        None if watermark is None else _text(watermark),
    )


def _texts(found: Any) -> list[str]:
    return [_text(each) for each in found] if isinstance(found, list) else []


def _text(found: Any) -> str:
    """Every program that may write to the topic can be its author."""
    return safe(str(found))
