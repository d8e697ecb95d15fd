"""Every row, in the order in which they are measured and shown."""

from __future__ import annotations

from bench.measurement import Row
from bench.rows import (
    big_batches,
    cluster_produce,
    commands,
    compaction,
    failover,
    group_stability,
    java_consume,
    java_produce,
    java_transactions,
    latency,
    librdkafka_consume,
    librdkafka_produce,
    librdkafka_transactions,
    offset_commits,
    resources,
    secured,
    small_requests,
    spark,
    start,
    throttled_clients,
    tiered_consume,
)

# Starting comes first, because no other server runs yet that could disturb it. Spark comes last,
# because its JVM stays.
ALL: tuple[Row, ...] = (
    *start.ROWS,
    *commands.ROWS,
    *librdkafka_produce.ROWS,
    *librdkafka_consume.ROWS,
    *java_produce.ROWS,
    *java_consume.ROWS,
    *small_requests.ROWS,
    *big_batches.ROWS,
    *latency.ROWS,
    *secured.ROWS,
    *offset_commits.ROWS,
    *librdkafka_transactions.ROWS,
    *java_transactions.ROWS,
    *group_stability.ROWS,
    *throttled_clients.ROWS,
    *resources.ROWS,
    *compaction.ROWS,
    *tiered_consume.ROWS,
    *cluster_produce.ROWS,
    *failover.ROWS,
    *spark.ROWS,
)
