"""The work of a query in one batch, as numbers. Spark's own report is a nested document; these are
the numbers that people watch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

# Spark's value for sinks that do not count, such as foreachBatch.
_UNCOUNTED = -1


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

    def as_json(self) -> str:
        return json.dumps(asdict(self))


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
