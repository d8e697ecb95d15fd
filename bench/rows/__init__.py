"""Every row, in the order in which they are measured and shown."""

from __future__ import annotations

from bench.measurement import Row
from bench.rows import (
    big_batches,
    java_consume,
    java_produce,
    latency,
    librdkafka_consume,
    librdkafka_produce,
    resources,
    small_requests,
    start,
)

# Starting comes first: no server is alive yet that could disturb it.
ALL: tuple[Row, ...] = (
    *start.ROWS,
    *librdkafka_produce.ROWS,
    *librdkafka_consume.ROWS,
    *java_produce.ROWS,
    *java_consume.ROWS,
    *small_requests.ROWS,
    *big_batches.ROWS,
    *latency.ROWS,
    *resources.ROWS,
)
