"""The state of a mirror after a batch: the copied records, and the lag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MirrorReport:
    at: str
    batch: int
    records: int  # read in this batch
    total: int  # written since the start
    left_out: int  # since the start: came from the target
    records_per_second: float
    lag: Mapping[str, int]  # by topic of the source: records not read yet
    groups: int  # whose positions are translated

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "lag_total": sum(self.lag.values())})


def lag_by_topic(progress: Mapping[str, Any]) -> dict[str, int]:
    """``progress`` is Spark's report of a batch. Fully read topics have lag 0."""
    lags: dict[str, int] = {}
    for source in progress.get("sources") or []:
        end, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
        for topic, partitions in latest.items():
            read = end.get(topic, {})
            lags[topic] = sum(max(0, offset - read.get(partition, 0)) for partition, offset in partitions.items())
    return lags


def _offsets(value: Any) -> dict[str, dict[str, int]]:
    parsed = json.loads(value) if isinstance(value, str) else value
    return parsed if isinstance(parsed, dict) else {}
