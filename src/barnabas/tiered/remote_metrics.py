"""The metrics of tiered storage, each by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from barnabas.model.ids import Uuid
from barnabas.telemetry import catalogue
from barnabas.telemetry.metrics import Counter, Metric, Metrics, Reading
from barnabas.tiered.copy_plan import copy_lag
from barnabas.tiered.metadata.segment_state import SegmentState
from barnabas.tiered.reading.index_cache import RemoteIndexCache
from barnabas.tiered.tiered_partition import TieredPartition
from barnabas.tiered.workers import Workers


class RemoteMetrics:
    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics

    def copies(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_COPY_REQUESTS, topic)

    def copied_bytes(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_COPY_BYTES, topic)

    def copy_errors(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_COPY_ERRORS, topic)

    def reads(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_FETCH_REQUESTS, topic)

    def read_bytes(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_FETCH_BYTES, topic)

    def read_errors(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_FETCH_ERRORS, topic)

    def deletes(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_DELETE_REQUESTS, topic)

    def deleted_bytes(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_DELETE_BYTES, topic)

    def delete_errors(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_DELETE_ERRORS, topic)

    def aux_states(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_AUX_STATES, topic)

    def aux_state_errors(self, topic: str) -> Counter:
        return self.metrics.counter(catalogue.REMOTE_AUX_STATE_ERRORS, topic)

    def forget(self, topic: str) -> None:
        for metric in _BY_TOPIC:
            self.metrics.forget(metric, topic)


_BY_TOPIC: tuple[Metric, ...] = (
    catalogue.REMOTE_COPY_REQUESTS,
    catalogue.REMOTE_COPY_BYTES,
    catalogue.REMOTE_COPY_ERRORS,
    catalogue.REMOTE_FETCH_REQUESTS,
    catalogue.REMOTE_FETCH_BYTES,
    catalogue.REMOTE_FETCH_ERRORS,
    catalogue.REMOTE_DELETE_REQUESTS,
    catalogue.REMOTE_DELETE_BYTES,
    catalogue.REMOTE_DELETE_ERRORS,
    catalogue.REMOTE_AUX_STATES,
    catalogue.REMOTE_AUX_STATE_ERRORS,
)


def register_readings(
    metrics: Metrics, readers: Workers, indexes: RemoteIndexCache, tiered: Mapping[tuple[Uuid, int], TieredPartition]
) -> None:
    """Register gauges over existing state, for the partitions in ``tiered`` that this broker
    leads."""

    def by_topic(measure: Callable[[TieredPartition], int]) -> Callable[[], Iterable[Reading]]:
        def read() -> Iterable[Reading]:
            sums: dict[str, int] = {}
            for each in list(tiered.values()):
                if each.partition.leads:
                    sums[each.id.topic] = sums.get(each.id.topic, 0) + measure(each)
            return [((topic,), value) for topic, value in sums.items()]

        return read

    metrics.reading(catalogue.REMOTE_COPY_LAG_BYTES, by_topic(lambda each: copy_lag(each.uncopied_segments(), each.copied_offset)[0]))
    metrics.reading(catalogue.REMOTE_COPY_LAG_SEGMENTS, by_topic(lambda each: copy_lag(each.uncopied_segments(), each.copied_offset)[1]))
    metrics.reading(catalogue.REMOTE_LOG_BYTES, by_topic(_finished_bytes))
    metrics.reading(catalogue.REMOTE_SEGMENTS, by_topic(lambda each: len(each.catalogue)))
    metrics.reading(catalogue.REMOTE_READS_WAITING, lambda: [((), readers.waiting)])
    metrics.reading(catalogue.REMOTE_INDEX_CACHE_BYTES, lambda: [((), indexes.size_bytes)])


def _finished_bytes(tiered: TieredPartition) -> int:
    return sum(each.size_bytes for each in tiered.catalogue.segments() if each.state is SegmentState.COPY_SEGMENT_FINISHED)
