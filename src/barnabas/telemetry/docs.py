"""The page ``docs/metrics.md``, printed from the catalogue.

Regenerate it with ``python -m barnabas.telemetry.docs > docs/metrics.md``.

A test compares the page with the output of this module, so the page cannot go stale.
"""

from __future__ import annotations

from typing import Final

from barnabas.telemetry.catalogue import CATALOGUE
from barnabas.telemetry.metrics import LATENCY_BUCKETS_US, Metric

_INTRODUCTION: Final = """\
# Metrics

<!-- Printed by `python -m barnabas.telemetry.docs`; edit src/barnabas/telemetry/catalogue.py instead. -->

A node shows its metrics where `barnabas.prometheus.listener` says, for example `127.0.0.1:9404`; `barnabas up` has `--metrics-port`.
Prometheus scrapes `/metrics` there; [`/health` and `/ready`](operations.md#health-and-readiness) are on the same port.
Scrapers that ask for OpenMetrics get it, and scrapers that accept gzip get that.

**OpenTelemetry**: a node pushes the same metrics to a collector if `barnabas.otlp.endpoint` names one, as OTLP over HTTP in protobuf:

```properties
barnabas.otlp.endpoint=http://collector:4318/v1/metrics
barnabas.otlp.headers=authorization=Bearer abc
barnabas.otlp.interval.ms=15000
```

Names and labels are those below, with the attributes `service.name=barnabas` and `service.instance.id`, the id of the node.
Counters are cumulative, so a push that a collector misses loses nothing; the log says when pushes begin to fail.
Metrics of the process itself, such as its memory, are on the page only.
Metrics that clients push have [a setting of their own](client_metrics.md).

Counters begin at 0 when the node starts; take their `rate()`.
Gauges of a partition, a group or a directory are those of this node: sum or compare them over all nodes.

The labels: `api` and `error` have the names of Kafka's protocol, `listener` those of `listeners`, `directory` is a path of `log.dirs`, \
`protocol` is that of a group (`classic`, `consumer`, `share` or `streams`), and `state` is a state as Kafka's tools name it.
"""

_HISTOGRAM: Final = """\
`barnabas_request_seconds` is a histogram: `_bucket`, `_sum` and `_count`, with buckets up to {buckets} s.
The time of a fetch includes the wait for records, up to the consumer's `fetch.max.wait.ms`.
"""

_GROUPS: Final = """\
The coordinator of a group measures its lag every 15 s, for at most 10,000 partitions of groups; more of them are counted in \
`barnabas_group_lag_unknown_partitions`.
For partitions without an in-sync replica on its node it asks their leaders.
The series of a group move with its coordinator, so sum over all nodes: `sum by (group) (barnabas_group_lag_records)`.
The seconds are missing for a record that is in remote storage only.
"""

_QUOTAS: Final = """\
A series belongs to the clients that share a quota: an empty `user` or `client_id` stands for all of them.
Only clients with a quota are measured, and each metric shows the 1,000 entities that were used last.
Tokens are those of the active controller.
"""

_CLIENTS: Final = """\
Clients push metrics of their own here too: [client metrics](client_metrics.md).
Each has the labels `client_id` and `client_instance_id`; join `barnabas_client_info` for the others.
"""

_ERRORS: Final = """\
A response without an error adds nothing, and a response about many partitions may add several errors.
Some are part of normal life: `UNKNOWN_TOPIC_OR_PARTITION` while a topic is being created, `NOT_LEADER_OR_FOLLOWER` after an election, \
`REBALANCE_IN_PROGRESS` in every rebalance.
"""

# The beginnings of names, after ``barnabas_``, that belong to a section.
_SECTIONS: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("Requests", ("request", "response"), _ERRORS),
    ("Network and files", ("network", "connections", "expired_connections", "authentications", "descriptors", "files"), ""),
    ("Quotas", ("quota",), _QUOTAS),
    ("Topics", ("topic_",), ""),
    ("Schema validation", ("schema",), ""),
    ("Partitions and replication", ("partitions", "isr", "replica", "replication", "fetch_sessions", "producers"), ""),
    ("Log directories", ("log_", "stray", "retention"), ""),
    ("Compaction", ("cleaner",), ""),
    ("Remote storage", ("remote",), ""),
    ("Metadata and controller", ("metadata", "controller", "quorum"), ""),
    ("Groups and transactions", ("coordinator", "group", "transactional", "share"), _GROUPS),
    ("Clients' metrics", ("client_",), _CLIENTS),
    ("The process", ("build", "process"), ""),
)


def page() -> str:
    parts = [_INTRODUCTION]
    for title, beginnings, note in _SECTIONS:
        rows = [_row(metric) for metric in CATALOGUE if section_of(metric) == title]
        parts.append("\n".join([f"## {title}", "", *rows, ""]))
        if title == "Requests":
            parts.append(_HISTOGRAM.format(buckets=LATENCY_BUCKETS_US[-1] // 1_000_000))
        if note:
            parts.append(note)
        assert rows, f"no metric begins with {beginnings}"
    return "\n".join(parts)


def section_of(metric: Metric) -> str | None:
    name = metric.name.removeprefix("barnabas_")
    return next((title for title, beginnings, _ in _SECTIONS if name.startswith(beginnings)), None)


def _row(metric: Metric) -> str:
    labels = f"; by {', '.join(f'`{label}`' for label in metric.labels)}" if metric.labels else ""
    return f"- `{metric.name}`: {metric.kind.value}, {metric.unit}{labels}.\n  {metric.doc}"


if __name__ == "__main__":
    print(page(), end="")
