"""The counters that the partitions of a topic share, looked up once so that counting needs no
lookup."""

from __future__ import annotations

from barnabas.telemetry.catalogue import TOPIC_BATCHES_REFUSED, TOPIC_BYTES_IN, TOPIC_BYTES_OUT, TOPIC_RECORDS_IN
from barnabas.telemetry.metrics import Metrics

_ALL = (TOPIC_BYTES_IN, TOPIC_BYTES_OUT, TOPIC_RECORDS_IN, TOPIC_BATCHES_REFUSED)


class TopicCounters:
    __slots__ = ("batches_refused", "bytes_in", "bytes_out", "records_in")

    def __init__(self, metrics: Metrics, topic: str) -> None:
        self.bytes_in = metrics.counter(TOPIC_BYTES_IN, topic)
        self.bytes_out = metrics.counter(TOPIC_BYTES_OUT, topic)
        self.records_in = metrics.counter(TOPIC_RECORDS_IN, topic)
        self.batches_refused = metrics.counter(TOPIC_BATCHES_REFUSED, topic)


def forget_topic(metrics: Metrics, topic: str) -> None:
    for metric in _ALL:
        metrics.forget(metric, topic)
