"""The page that Prometheus scrapes, over HTTP."""

from __future__ import annotations

import os
import sys
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.pipelines import CannotRun, Pipeline
from barnabas.pipelines.declaration.pipeline_declaration import MetricsAddress
from barnabas.pipelines.running.metrics_page import served_metrics
from barnabas.pipelines.running.runner import Run, start
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipelines.topics import Topics


def scraped(url: str) -> dict[tuple[str, ...], float]:
    """Values by name and labels, which Prometheus' client writes in the order of their names."""
    with urllib.request.urlopen(url, timeout=60) as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return {(each.name, *each.labels.values()): each.value for family in families for each in family.samples}


def pipeline(name: str = "p", **settings: object) -> Pipeline:
    return Pipeline(name, **settings).source("t", generator={}).sink("o", from_="t", console={})


def test_nothing_is_served_unless_a_port_is_named() -> None:
    with served_metrics([pipeline().declaration()]) as served:
        assert (served.urls, served.observers) == ([], [])


def test_a_file_or_the_command_names_the_port_and_loopback_is_the_default() -> None:
    declared = [pipeline("a", metrics={"port": 0}).declaration(), pipeline("b").declaration()]
    with served_metrics(declared) as served:
        (url,) = served.urls
        assert url.startswith("http://127.0.0.1:")
        assert scraped(url)["barnabas_pipeline_up", "a"] == 0, "not started"
        assert ("barnabas_pipeline_up", "b") not in scraped(url)
        run = Run()
        served.running(run)
        assert scraped(url)["barnabas_pipeline_up", "a"] == 1
        for told in run.on_restart:
            told()
        assert scraped(url)["barnabas_pipeline_restarts_total", "a"] == 1
    with pytest.raises(urllib.error.URLError):
        scraped(url)
    with served_metrics(declared, MetricsAddress(0)) as served:
        (url,) = served.urls
        assert {name for name, *labels in scraped(url) if labels == ["b"]} >= {"barnabas_pipeline_up"}


def test_a_taken_port_is_one_sentence() -> None:
    with served_metrics([pipeline().declaration()], MetricsAddress(0)) as served:
        port = int(served.urls[0].rpartition(":")[2].partition("/")[0])
        with (
            pytest.raises(CannotRun, match=rf"The metrics cannot be served at 127.0.0.1:{port}: Address already in use\."),
            served_metrics([pipeline().declaration()], MetricsAddress(port)),
        ):
            pass


@pytest.mark.skipif(sys.platform != "linux", reason="counts descriptors in /proc")
def test_a_page_leaves_no_descriptor_open() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with served_metrics([pipeline().declaration()], MetricsAddress(0)) as served:
        scraped(served.urls[0])
    until(lambda: len(os.listdir("/proc/self/fd")) <= before, "the page has closed its descriptors")


def test_a_run_counts_what_it_reads_and_writes(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    orders, out, bad = topics.create("orders"), topics.create("out"), topics.create("bad")
    topics.send(orders, [{"n": n} for n in range(10)])
    topics.send(orders, [b"no JSON", b"nor this"])
    declared = (
        Pipeline("counted", bootstrap=topics.bootstrap)
        .source("orders", topic=orders, schema="n INT", dead_letters={"topic": bad})
        .step("even", sql="SELECT n FROM orders WHERE n % 2 = 0")
        .sink("out", from_="even", topic=out)
        .declaration()
    )
    with served_metrics([declared], MetricsAddress(0)) as served:
        run = start([declared], spark, checkpoint=checkpoint, available_now=True)
        served.running(run)
        try:
            run.wait(served.observers)
        finally:
            run.stop()
        found = scraped(served.urls[0])
    assert found["barnabas_pipeline_input_records_total", "counted", "out"] == 12
    assert found["barnabas_pipeline_output_records_total", "counted", "out"] == 5, "the exactly-once sink counts its rows"
    assert found["barnabas_pipeline_dead_letters_total", "counted", "orders"] == 2
    assert found["barnabas_pipeline_lag_records", "0", "counted", "out", orders] == 0
    assert found["barnabas_pipeline_batch_duration_seconds_count", "counted", "out"] == 1
