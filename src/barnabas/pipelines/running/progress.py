"""The work of a query in one batch, as numbers. Spark's own report is a nested document; these are
the numbers that people watch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

# Spark's value for sinks that do not count, such as foreachBatch.
_UNCOUNTED = -1


class PartitionPosition(NamedTuple):
    topic: str
    partition: int
    reached: int  # the offset after the last record that was read
    end: int  # of the partition, when the batch began


@dataclass(frozen=True, slots=True)
class Progress:
    pipeline: str
    query: str  # the sink's name
    run: str  # changes with every start
    batch: int
    at: str  # when the batch began
    input_rows: int
    output_rows: int | None
    input_rows_per_second: float
    processed_rows_per_second: float
    batch_ms: int
    lag: Mapping[str, int]  # records not read yet, by source
    state_rows: int
    state_bytes: int
    watermark: str | None
    executed: bool = True  # False: the query waits for new rows, and only says that it is alive
    positions: tuple[PartitionPosition, ...] = ()

    def document(self) -> dict[str, Any]:
        """The numbers that are published. The positions of many partitions would fill the topic."""
        document = asdict(replace(self, positions=()))
        del document["positions"], document["executed"]
        return document

    def as_json(self) -> str:
        return json.dumps(self.document())


def progress_of(pipeline: str, query: str, report: Mapping[str, Any]) -> Progress:
    """``report`` is Spark's, parsed from its JSON."""
    states = report.get("stateOperators") or []
    written = (report.get("sink") or {}).get("numOutputRows", _UNCOUNTED)
    return Progress(
        pipeline=pipeline,
        query=query,
        run=str(report["runId"]),
        batch=int(report["batchId"]),
        at=str(report["timestamp"]),
        input_rows=int(report.get("numInputRows") or 0),
        output_rows=None if written is None or written == _UNCOUNTED else int(written),
        input_rows_per_second=_rate(report.get("inputRowsPerSecond")),
        processed_rows_per_second=_rate(report.get("processedRowsPerSecond")),
        batch_ms=int(report.get("batchDuration") or (report.get("durationMs") or {}).get("triggerExecution") or 0),
        lag=_lags(report.get("sources") or []),
        state_rows=sum(int(each.get("numRowsTotal") or 0) for each in states),
        state_bytes=sum(int(each.get("memoryUsedBytes") or 0) for each in states),
        watermark=(report.get("eventTime") or {}).get("watermark"),
        executed="durationMs" not in report or "addBatch" in report["durationMs"],
        positions=_positions(report.get("sources") or []),
    )


def _rate(value: Any) -> float:
    # The first batch has no predecessor to measure from: Spark reports NaN or infinity, which JSON
    # does not have.
    number = float(value or 0.0)
    return round(number, 1) if abs(number) != float("inf") and number == number else 0.0


def _lags(sources: list[Mapping[str, Any]]) -> dict[str, int]:
    lags: dict[str, int] = {}
    for source in sources:
        behind = _behind(source.get("endOffset"), source.get("latestOffset"))
        if behind is not None:
            lags[_name(str(source.get("description", "")))] = behind
    return lags


def _positions(sources: list[Mapping[str, Any]]) -> tuple[PartitionPosition, ...]:
    """A topic that several sources read counts once, where it is read least far."""
    found: dict[tuple[str, int], PartitionPosition] = {}
    for source in sources:
        end, latest = _parsed(source.get("endOffset")), _parsed(source.get("latestOffset"))
        if _behind(end, latest) is None:
            continue
        for topic, partitions in latest.items():
            for partition, offset in partitions.items():
                read = PartitionPosition(topic, int(partition), int(end.get(topic, {}).get(partition, 0)), int(offset))
                other = found.get((topic, read.partition), read)
                found[topic, read.partition] = min(read, other, key=lambda each: each.reached)
    return tuple(found.values())


def _behind(end: Any, latest: Any) -> int | None:
    """From offsets by topic and partition, as Kafka's connector reports them; other sources report
    other things, and have no lag."""
    end, latest = _parsed(end), _parsed(latest)
    if not (isinstance(end, dict) and isinstance(latest, dict)):
        return None
    try:
        return sum(
            max(0, int(offset) - int(end.get(topic, {}).get(partition, 0)))
            for topic, partitions in latest.items()
            for partition, offset in partitions.items()
        )
    except (AttributeError, TypeError, ValueError):
        return None


def _parsed(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _name(description: str) -> str:
    """``KafkaV2[Subscribe[payments]]`` is payments."""
    return description.rpartition("[")[2].rstrip("]") if "[" in description else description
