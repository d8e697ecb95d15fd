"""The metrics of a node in the protobuf format of OpenTelemetry (OTLP). Pure.

Names, labels and units are those of the page that Prometheus scrapes, so dashboards and alerts
work with either. Counters are cumulative sums from the start of the node on.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from barnabas.telemetry.metrics import LATENCY_BUCKETS_US, Kind, LatencyHistogram, Metric, Metrics, Reading

_CUMULATIVE: Final = 2
_VARINT, _EIGHT_BYTES, _BYTES = 0, 1, 2
_MICROSECONDS: Final = 1_000_000
_BOUNDS: Final = struct.pack(f"<{len(LATENCY_BUCKETS_US)}d", *(each / _MICROSECONDS for each in LATENCY_BUCKETS_US))


def otlp_metrics(metrics: Metrics, resource: Mapping[str, str], *, version: str, started_ns: int, now_ns: int) -> bytes:
    """A message MetricsData with one resource, which ``resource`` describes. Times are nanoseconds
    since 1970."""
    times = _fixed(2, started_ns) + _fixed(3, now_ns)
    scope = _text(1, "barnabas") + _text(2, version)
    found = b"".join(_bytes(2, each) for each in _metrics(metrics, times))
    described = _bytes(1, b"".join(_bytes(1, _attribute(*each)) for each in resource.items()))
    return _bytes(1, described + _bytes(2, _bytes(1, scope) + found))


def _metrics(metrics: Metrics, times: bytes) -> Iterator[bytes]:
    for metric, readings in metrics.values():
        points = b"".join(_bytes(1, _number_point(metric, each, times)) for each in readings)
        if metric.kind is Kind.COUNTER:
            yield _described(metric) + _bytes(7, points + _flag(2, _CUMULATIVE) + _flag(3, 1))
        else:
            yield _described(metric) + _bytes(5, points)
    for metric, series in metrics.histograms():
        points = b"".join(_bytes(1, _histogram_point(metric, labels, each, times)) for labels, each in series.items())
        yield _described(metric) + _bytes(9, points + _flag(2, _CUMULATIVE))


def _described(metric: Metric) -> bytes:
    return _text(1, metric.name) + _text(2, metric.doc) + _text(3, metric.unit)


def _number_point(metric: Metric, reading: Reading, times: bytes) -> bytes:
    labels, value = reading
    return times + _double(4, value) + _attributes(7, metric.labels, labels)


def _histogram_point(metric: Metric, labels: Iterable[str], values: LatencyHistogram, times: bytes) -> bytes:
    counts = list(values.counts)
    return (
        times
        + _fixed(4, sum(counts))
        + _double(5, values.sum_us / _MICROSECONDS)
        + _bytes(6, struct.pack(f"<{len(counts)}Q", *counts))
        + _bytes(7, _BOUNDS)
        + _attributes(9, metric.labels, labels)
    )


def _attributes(number: int, names: Iterable[str], values: Iterable[str]) -> bytes:
    return b"".join(_bytes(number, _attribute(*each)) for each in zip(names, values, strict=True))


def _attribute(name: str, value: str) -> bytes:
    return _text(1, name) + _bytes(2, _text(1, value))


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode("utf-8", "replace"))


def _bytes(number: int, content: bytes) -> bytes:
    return bytes((number << 3 | _BYTES,)) + _varint(len(content)) + content


def _flag(number: int, value: int) -> bytes:
    return bytes((number << 3 | _VARINT,)) + _varint(value)


def _fixed(number: int, value: int) -> bytes:
    return bytes((number << 3 | _EIGHT_BYTES,)) + struct.pack("<Q", value)


def _double(number: int, value: float) -> bytes:
    return bytes((number << 3 | _EIGHT_BYTES,)) + struct.pack("<d", value)


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
