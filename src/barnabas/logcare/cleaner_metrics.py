"""The counters and gauges of the log cleaner."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.model.dataclass import dataclass
from barnabas.storage.compaction.cleaning_job import CleaningStats
from barnabas.telemetry import catalogue
from barnabas.telemetry.metrics import Metrics, Reading


@dataclass(slots=True)
class LastLook:
    """The result of the last look at all logs."""

    at_ms: int = -1  # monotonic
    dirty_ratio_max: float = 0.0
    overdue_ms_max: int = 0


class CleanerMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.passes = metrics.counter(catalogue.CLEANER_PASSES)
        self._bytes_read = metrics.counter(catalogue.CLEANER_BYTES_READ)
        self._bytes_reclaimed = metrics.counter(catalogue.CLEANER_BYTES_RECLAIMED)
        self.deaths = metrics.counter(catalogue.CLEANER_WORKER_DEATHS)
        self.look = LastLook()

    def passed(self, stats: CleaningStats) -> None:
        self.passes.value += 1
        self._bytes_read.value += stats.bytes_read

    def reclaimed(self, size_bytes: int) -> None:
        self._bytes_reclaimed.value += size_bytes

    def register(
        self,
        *,
        now_ms: Callable[[], int],
        busy: Callable[[], int],
        uncleanable_partitions: Callable[[], Iterable[Reading]],
        uncleanable_bytes: Callable[[], Iterable[Reading]],
    ) -> None:
        look, reading = self.look, self._metrics.reading
        reading(catalogue.CLEANER_DIRTY_RATIO_MAX, lambda: [((), look.dirty_ratio_max)])
        reading(catalogue.CLEANER_DELAY_MAX, lambda: [((), look.overdue_ms_max / 1000)])
        reading(catalogue.CLEANER_LOOKED_AGO, lambda: [((), max(0, now_ms() - look.at_ms) / 1000 if look.at_ms >= 0 else 0.0)])
        reading(catalogue.CLEANER_BUSY, lambda: [((), busy())])
        reading(catalogue.CLEANER_UNCLEANABLE_PARTITIONS, uncleanable_partitions)
        reading(catalogue.CLEANER_UNCLEANABLE_BYTES, uncleanable_bytes)
