"""Counters and histograms that are cheap enough for every request: plain integers, added to without
a lock.

The loop's thread writes; the thread that answers Prometheus only reads, and a value that is one
request old does no harm. A metric is declared once, in :mod:`barnabas.telemetry.catalogue`; this
module keeps its series, one for each set of labels.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum

from barnabas.model.dataclass import dataclass

# Half a millisecond to half a minute, roughly doubling: requests are either fast, parked, or in
# trouble.
LATENCY_BUCKETS_US = (
    50,
    100,
    250,
    500,
    1_000,
    2_500,
    5_000,
    10_000,
    25_000,
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    5_000_000,
    30_000_000,
)


class Kind(Enum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """``name`` is exactly the name that Prometheus sees; no suffix is added for the unit."""

    name: str
    kind: Kind
    unit: str
    doc: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Family:
    """Samples whose names and labels are not known before: those that clients push. The name of a
    counter has no ``_total``."""

    name: str
    kind: Kind
    doc: str
    samples: Sequence[tuple[Mapping[str, str], float]]


class Counter:
    """Count with ``counter.value += n``: a method call would cost more than the addition."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


class LatencyHistogram:
    __slots__ = ("counts", "sum_us")

    def __init__(self) -> None:
        self.counts = [0] * (len(LATENCY_BUCKETS_US) + 1)
        self.sum_us = 0

    def observe(self, elapsed_us: int, times: int = 1) -> None:
        self.counts[bisect_left(LATENCY_BUCKETS_US, elapsed_us)] += times
        self.sum_us += elapsed_us * times


Labels = tuple[str, ...]
Reading = tuple[Labels, float]


class Metrics:
    """All series of one node."""

    def __init__(self) -> None:
        self._counters: dict[Metric, dict[Labels, Counter]] = {}
        self._histograms: dict[Metric, dict[Labels, LatencyHistogram]] = {}
        self._readings: dict[Metric, list[Callable[[], Iterable[Reading]]]] = {}
        # Families besides those of the catalogue, made on a scrape by the thread of the page.
        self.families: list[Callable[[], Iterable[Family]]] = []

    def counter(self, metric: Metric, *labels: str) -> Counter:
        assert metric.kind is Kind.COUNTER
        assert len(labels) == len(metric.labels)
        series = self._counters.setdefault(metric, {})
        if labels not in series:
            series[labels] = Counter()
        return series[labels]

    def histogram(self, metric: Metric, *labels: str) -> LatencyHistogram:
        assert metric.kind is Kind.HISTOGRAM
        assert len(labels) == len(metric.labels)
        series = self._histograms.setdefault(metric, {})
        if labels not in series:
            series[labels] = LatencyHistogram()
        return series[labels]

    def reading(self, metric: Metric, read: Callable[[], Iterable[Reading]]) -> None:
        """A value that exists anyway and is only read on a scrape."""
        assert metric.kind is not Kind.HISTOGRAM
        self._readings.setdefault(metric, []).append(read)

    def forget(self, metric: Metric, *labels: str) -> None:
        """Removes a series whose subject is gone, such as a deleted topic's."""
        self._counters.get(metric, {}).pop(labels, None)

    def values(self) -> Iterator[tuple[Metric, list[Reading]]]:
        for metric, counters in list(self._counters.items()):
            yield metric, [(labels, counter.value) for labels, counter in list(counters.items())]
        for metric, reads in list(self._readings.items()):
            yield metric, [reading for read in reads for reading in read()]

    def histograms(self) -> Iterator[tuple[Metric, dict[Labels, LatencyHistogram]]]:
        for metric, series in list(self._histograms.items()):
            yield metric, dict(series)
