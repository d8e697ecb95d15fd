"""Throughput and latency of a cluster over the last day."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Final

from barnabas.console.core.cluster_rates import CHARTS
from barnabas.console.core.rate_history import FINE_SECONDS
from barnabas.console.web.call import Call
from barnabas.console.web.operation import view
from barnabas.console.web.parameters import Parameter

HOURS_MAX: Final = 24


@dataclass(frozen=True, slots=True)
class RateSeries:
    name: str
    label: str
    times: list[int]
    """Seconds since the epoch."""
    values: list[float]


@dataclass(frozen=True, slots=True)
class RateChart:
    name: str
    title: str
    unit: str
    series: list[RateSeries]
    drawn: str = field(metadata={"page_only": True})
    """What the script of the page draws."""


@dataclass(frozen=True, slots=True)
class Rates:
    hours: int
    charts: list[RateChart]
    missing: list[str]


async def show_rates(call: Call) -> Rates:
    client, hours = call.cluster, call.number("hours")
    collection = call.services.rates_of(client.settings.name)
    if collection is None or not collection.is_possible:
        return Rates(hours, [], ["The console keeps no rates of this cluster: name the metrics pages of its nodes in its settings."])
    since = int(time.time()) - hours * 3600
    charts = []
    for chart in CHARTS:
        found = [(name, label, collection.series(name)) for name, label in chart.series]
        kept = [
            RateSeries(name, label, [each.time for each in points], [each.value for each in points])
            for name, label, series in found
            if series is not None and (points := series.points(since))
        ]
        if kept:
            charts.append(RateChart(chart.name, chart.title, chart.unit, kept, _drawn(kept)))
    missing = list(collection.problems.values())
    if not charts:
        missing.append(f"The first rates come {2 * FINE_SECONDS} seconds after the start of the console.")
    return Rates(hours, charts, missing)


def _drawn(series: list[RateSeries]) -> str:
    times = sorted({each for one in series for each in one.times})
    by_time = [dict(zip(one.times, one.values, strict=True)) for one in series]
    lines = [{"label": one.label, "values": [values.get(each) for each in times]} for one, values in zip(series, by_time, strict=True)]
    return json.dumps({"labels": times, "series": lines})


OPERATIONS: Final = (
    view(
        "show_rates",
        "/clusters/{cluster}/rates",
        show_rates,
        summary="Throughput and latency over the last hours: from metrics of the nodes, or from offsets and sizes of logs.",
        page="clusters/rates.html",
        parameters=(Parameter("hours", "How far back.", int, 1, minimum=1, maximum=HOURS_MAX),),
    ),
)
