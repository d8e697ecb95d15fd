"""What is counted of tiered storage; each by topic."""

from __future__ import annotations

from barnabas.telemetry import catalogue
from barnabas.telemetry.metrics import Counter, Metric, Metrics


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
