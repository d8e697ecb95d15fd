"""The series that the console keeps of a cluster, and how readings become them. Pure.

Nodes of Barnabas show metrics; for other clusters the console reads offsets and sizes of logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.console.core.prometheus_text import Reading

# Metrics that are read: the name of the page's line, the labels it must have, and our name for the
# sum.
_READ: Final[tuple[tuple[str, Mapping[str, str], str], ...]] = (
    ("barnabas_topic_records_in_total", {}, "records_in"),
    ("barnabas_topic_bytes_in_total", {}, "bytes_in"),
    ("barnabas_topic_bytes_out_total", {}, "bytes_out"),
    ("barnabas_requests_total", {}, "requests"),
    ("barnabas_request_seconds_sum", {"api": "Produce"}, "produce_seconds"),
    ("barnabas_request_seconds_count", {"api": "Produce"}, "produce_count"),
    ("barnabas_request_seconds_sum", {"api": "Fetch"}, "fetch_seconds"),
    ("barnabas_request_seconds_count", {"api": "Fetch"}, "fetch_count"),
)
NAMES: Final = frozenset(each[0] for each in _READ)


@dataclass(frozen=True, slots=True)
class Chart:
    """Series that are drawn together, because they have one unit."""

    name: str
    title: str
    unit: str
    series: tuple[tuple[str, str], ...]
    """Names and labels."""


CHARTS: Final = (
    Chart("records", "Records", "records a second", (("records_in", "produced"),)),
    Chart("bytes", "Throughput", "bytes a second", (("bytes_in", "in"), ("bytes_out", "out"))),
    Chart("log_bytes", "Growth of logs", "bytes a second", (("log_bytes", "all replicas"),)),
    Chart("requests", "Requests", "requests a second", (("requests", "all APIs"),)),
    Chart("latency", "Mean time of a request", "milliseconds", (("produce_ms", "Produce"), ("fetch_ms", "Fetch, waiting included"))),
)


def counters_of(readings: Iterable[Reading]) -> dict[str, float]:
    found: dict[str, float] = {}
    for each in readings:
        for name, labels, ours in _READ:
            if each.name == name and all(each.labels.get(key) == value for key, value in labels.items()):
                found[ours] = found.get(ours, 0.0) + each.value
    return found


def shown_rates(rates: Mapping[str, float]) -> dict[str, float]:
    """Rates, with times and counts of requests as the mean time of one."""
    shown = {name: value for name, value in rates.items() if not name.endswith(("_seconds", "_count"))}
    for api in ("produce", "fetch"):
        count, seconds = rates.get(f"{api}_count", 0.0), rates.get(f"{api}_seconds")
        if seconds is not None and count > 0:
            shown[f"{api}_ms"] = seconds / count * 1000
    return shown
