"""Results of a performance run: throughput, and the distribution of latencies."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

PERCENTILES = (50.0, 95.0, 99.0, 99.9)
_MEGABYTE = 1_000_000


@dataclass(frozen=True, slots=True)
class Throughput:
    records: int
    size_bytes: int
    seconds: float

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds if self.seconds > 0 else 0.0

    @property
    def megabytes_per_second(self) -> float:
        return self.size_bytes / _MEGABYTE / self.seconds if self.seconds > 0 else 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "records": self.records,
            "bytes": self.size_bytes,
            "seconds": round(self.seconds, 3),
            "records_per_second": round(self.records_per_second, 1),
            "megabytes_per_second": round(self.megabytes_per_second, 3),
        }

    def __str__(self) -> str:
        return (
            f"{self.records:,} records, {self.size_bytes / _MEGABYTE:,.1f} MB in {self.seconds:.2f} s: "
            f"{self.records_per_second:,.0f} records/s, {self.megabytes_per_second:,.1f} MB/s"
        )


@dataclass(frozen=True, slots=True)
class Spread:
    """Latencies in milliseconds by percentile."""

    samples: int
    mean: float
    percentiles: dict[float, float]
    largest: float

    def as_json(self) -> dict[str, Any]:
        named = {f"p{percentile:g}": round(value, 3) for percentile, value in self.percentiles.items()}
        return {"samples": self.samples, "mean": round(self.mean, 3), **named, "max": round(self.largest, 3)}


def spread_of(latencies_ms: array[float]) -> Spread | None:
    """By nearest rank, so that every number shown was measured. None without samples."""
    if not latencies_ms:
        return None
    ranked = sorted(latencies_ms)
    count = len(ranked)
    percentiles = {each: ranked[min(count - 1, max(0, _rank(each, count) - 1))] for each in PERCENTILES}
    return Spread(count, sum(ranked) / count, percentiles, ranked[-1])


def _rank(percentile: float, count: int) -> int:
    # Compute in tenths of a percent, which all percentiles here are: in floats, 99.9 percent of
    # 1000 is a little more than 999.
    tenths = round(percentile * 10)
    return -(-tenths * count // 1000)
