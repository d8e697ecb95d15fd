"""Metrics of pipelines: what the page says after reports of Spark, and what the documentation says
about it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.pipelines import Pipeline
from barnabas.pipelines.running.metrics import CATALOGUE, ENDS_MAX, PipelineMetrics
from barnabas.pipelines.running.progress import progress_of

PAGE = Path(__file__).parents[4] / "docs" / "pipelines.md"
OUT = {"pipeline": "alerts", "query": "out"}


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def declared() -> Pipeline:
    pipeline = Pipeline("alerts").source("payments", topic="payments", schema="a INT", dead_letters={"topic": "bad"})
    return pipeline.sink("out", from_="payments", topic="alerts")


def report(batch: int = 0, *, end: int = 10, latest: int = 10, rows: int = 10, **more: Any) -> dict[str, Any]:
    return {
        "runId": "r",
        "batchId": batch,
        "timestamp": "2030-01-01T00:00:00.500Z",
        "numInputRows": rows,
        "inputRowsPerSecond": 100.0,
        "processedRowsPerSecond": 200.0,
        "durationMs": {"triggerExecution": 300, "addBatch": 250},
        "eventTime": {"watermark": "2029-12-31T23:59:50.000Z"},
        "stateOperators": [{"numRowsTotal": 5, "memoryUsedBytes": 2048}],
        "sources": [
            {
                "description": "KafkaV2[Subscribe[payments]]",
                "endOffset": {"payments": {"0": end}},
                "latestOffset": {"payments": {"0": latest}},
            }
        ],
        "sink": {"numOutputRows": rows // 2},
        **more,
    }


class Scraped:
    """The page as Prometheus' own parser reads it."""

    def __init__(self, metrics: PipelineMetrics) -> None:
        registry = CollectorRegistry(auto_describe=False)
        registry.register(metrics)
        self.text = generate_latest(registry).decode()
        self.families = {each.name: each for each in text_string_to_metric_families(self.text)}
        self._samples = [sample for family in self.families.values() for sample in family.samples]

    def __call__(self, name: str, **labels: str) -> float | None:
        found = [each.value for each in self._samples if each.name == f"barnabas_pipeline_{name}" and each.labels == labels]
        assert len(found) <= 1
        return found[0] if found else None


def test_reports_become_metrics_in_the_format_of_prometheus() -> None:
    metrics = PipelineMetrics([declared().declaration()], Clock())
    metrics.running(True)
    metrics(progress_of("alerts", "out", report(0)))
    metrics(progress_of("alerts", "out", report(1, rows=6)))
    page = Scraped(metrics)
    assert page("up", pipeline="alerts") == 1
    assert page("start_time_seconds", pipeline="alerts") == 1000
    assert page("restarts_total", pipeline="alerts") == 0
    assert page("input_records_total", **OUT) == 16
    assert page("output_records_total", **OUT) == 8
    assert page("input_records_per_second", **OUT) == 100
    assert page("processed_records_per_second", **OUT) == 200
    assert (page("batch_duration_seconds_count", **OUT), page("batch_duration_seconds_sum", **OUT)) == (2, 0.6)
    assert (page("batch_duration_seconds_bucket", **OUT, le="0.25"), page("batch_duration_seconds_bucket", **OUT, le="0.5")) == (0, 2)
    assert (page("state_rows", **OUT), page("state_bytes", **OUT)) == (5, 2048)
    assert page("watermark_timestamp_seconds", **OUT) == 1893455990
    assert page("last_progress_timestamp_seconds", **OUT) == 1893456000.5
    assert page("dead_letters_total", pipeline="alerts", source="payments") == 0, "an increase is seen from the first letter on"


def test_lag_is_counted_in_records_and_in_seconds_since_the_oldest_unread_one() -> None:
    clock = Clock()
    metrics = PipelineMetrics([declared().declaration()], clock)
    payments = {**OUT, "topic": "payments"}
    for now, end, latest in ((1000, 10, 10), (1010, 10, 20), (1020, 15, 30)):
        clock.now = now
        metrics(progress_of("alerts", "out", report(end=end, latest=latest)))
    clock.now = 1025
    assert Scraped(metrics)("lag_records", **payments, partition="0") == 15
    assert Scraped(metrics)("lag_seconds", **payments) == 15, "record 15 was first seen at 1010, and grows older without reports"
    metrics(progress_of("alerts", "out", report(end=20, latest=30)))
    assert Scraped(metrics)("lag_seconds", **payments) == 5, "record 20 was first seen at 1020"
    metrics(progress_of("alerts", "out", report(end=30, latest=30)))
    assert (Scraped(metrics)("lag_seconds", **payments), Scraped(metrics)("lag_records", **payments, partition="0")) == (0, 0)
    metrics(progress_of("alerts", "out", report(end=0, latest=3)))
    assert Scraped(metrics)("lag_records", **payments, partition="0") == 3, "the topic was created again"


def test_the_memory_for_lag_is_bounded() -> None:
    clock = Clock()
    metrics = PipelineMetrics([declared().declaration()], clock)
    for number in range(ENDS_MAX + 10):
        clock.now = 1000 + number
        metrics(progress_of("alerts", "out", report(end=0, latest=number + 1)))
    lag = Scraped(metrics)("lag_seconds", **OUT, topic="payments")
    assert lag == ENDS_MAX - 1, "the age of the oldest remembered end"


def test_waiting_queries_report_no_batches() -> None:
    metrics = PipelineMetrics([declared().declaration()], Clock())
    metrics(progress_of("alerts", "out", report(rows=0, durationMs={"latestOffset": 3, "triggerExecution": 3})))
    assert Scraped(metrics)("batch_duration_seconds_count", **OUT) == 0


def test_dead_letters_are_counted_by_source_and_other_pipelines_not_at_all() -> None:
    metrics = PipelineMetrics([declared().declaration()], Clock())
    metrics(progress_of("alerts", "payments.dead_letters", report(rows=8)))
    metrics(progress_of("other", "out", report()))
    metrics.restarted()
    page = Scraped(metrics)
    assert page("dead_letters_total", pipeline="alerts", source="payments") == 4
    assert page("restarts_total", pipeline="alerts") == 1
    assert page("up", pipeline="alerts") == 0
    assert "other" not in page.text


def test_the_documentation_has_the_metrics_of_the_catalogue() -> None:
    table = PAGE.read_text("utf-8").partition("\n## Metrics\n")[2].partition("\n## ")[0]
    rows = [re.fullmatch(r"\| `(barnabas_\w+)` \| (\w+) \| (.*?) \| (.*) \|", line) for line in table.splitlines()]
    shown = [(row[1], row[2], tuple(re.findall(r"`(\w+)`", row[3])), row[4]) for row in rows if row is not None]
    assert shown == [(metric.full_name, metric.kind, metric.labels, metric.meaning) for metric in CATALOGUE]
    examples = set(re.findall(r"barnabas_pipeline_\w+", table))
    assert examples == {metric.full_name for metric in CATALOGUE}, "examples use metrics that exist"


def test_names_follow_the_rules_of_prometheus() -> None:
    for metric in CATALOGUE:
        assert re.fullmatch(r"barnabas_pipeline_[a-z_]+", metric.full_name)
        assert metric.full_name.endswith("_total") == (metric.kind == "counter"), metric.name
