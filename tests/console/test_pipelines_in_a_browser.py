"""Pipelines as a person works with them, in a real browser: reports, files, and a real process."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, Locator, Page, expect

from barnabas.console.settings import ClusterSettings
from barnabas.pipelines import Pipeline
from barnabas.pipelines.running.flow_record import flow_key, flow_record
from barnabas.pipelines.running.progress import Progress
from barnabas.pipelines.running.progress_topic import TOPIC
from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, shifted
from tests.console.console_thread import ConsoleThread, console_of
from tests.waiting import LONG_PATIENCE_SECONDS, until

PIPELINES = "/clusters/local/pipelines"
GOOD = """
name: clicked
bootstrap: ${BOOTSTRAP}
sources:
  numbers: {generator: {rows_per_second: 1}, columns: {n: "CAST(value AS STRING)"}}
steps:
  - view: even
    sql: SELECT n FROM numbers WHERE n % 2 = 0
sinks:
  clicked_out: {from: even, topic: clicked, value: n, format: text, guarantee: at_least_once}
"""
BROKEN = "name: torn\nsources: {a: {topic: a, formt: json}}\nsinks: {b: {from: c, topic: b}}\n"


@pytest.fixture(scope="module")
def started(broker: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleThread]:
    directory: Path = tmp_path_factory.mktemp("clicked-pipelines")
    (directory / "clicked.yaml").write_text(GOOD)
    (directory / "torn.yaml").write_text(BROKEN)
    with console_of(ClusterSettings("local", broker.bootstrap, pipelines=str(directory), pipelines_start=True)) as console:
        yield console


def _send(broker: EmbeddedBroker, key: str, *values: dict[str, Any]) -> None:
    """Records a tenth of a second apart. Their times are minutes ahead: a report that is a minute
    old is late, and a starved machine takes that long to show it."""
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    later_ms = int(time.time() * 1000) + 600_000
    for number, each in enumerate(values):
        producer.produce(TOPIC, json.dumps(each), key, partition=0, timestamp=later_ms + 100 * number)
    assert producer.flush(60) == 0


def _batch(pipeline: str, number: int) -> dict[str, Any]:
    rates = {"input_rows_per_second": 5.0, "processed_rows_per_second": 7.5 + number}
    rows = {"input_rows": 1000 + number, "output_rows": 5, "state_rows": 3, "state_bytes": 2048, "lag": {"payments": 40 + number}}
    made = Progress(pipeline=pipeline, query="alerts", run="r", batch=number, at="", batch_ms=100 + number, watermark=None, **rates, **rows)  # type: ignore[arg-type]
    return {"event": "progress", **made.document()}


@pytest.fixture
def reporting(broker: EmbeddedBroker) -> str:
    """A pipeline of two sources, a step and two sinks that has reported eight batches."""
    name = f"fraud-{uuid4().hex[:8]}"
    pipeline = Pipeline(name)
    pipeline.source("payments", topic="payments", schema="account STRING, cents BIGINT")
    pipeline.source("accounts", topic="accounts", schema="account STRING, owner STRING")
    pipeline.step("large", sql="SELECT p.* FROM payments p JOIN accounts a ON p.account = a.account WHERE cents > 100")
    pipeline.sink("alerts", from_="large", topic="alerts", key="account")
    pipeline.sink("archive", from_="large", topic="a-topic-with-a-name-that-is-rather-long", key="account")
    _send(broker, flow_key(name), flow_record(pipeline.declaration()))
    _send(broker, f"{name}.alerts", *(_batch(name, number) for number in range(1, 9)))
    return name


def _cell(page: Page, label: str) -> Locator:
    return page.locator(f"#queries td[data-label='{label}']")


def test_a_person_finds_a_pipeline_and_sees_its_flow_and_numbers(
    browser: Browser, broker: EmbeddedBroker, started: ConsoleThread, reporting: str
) -> None:
    with opened_page(browser, started.url) as page:
        observe_shifts(page)
        page.goto(PIPELINES)
        page.get_by_label("Search").fill(reporting)
        row = page.locator("#list tbody tr")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("running")
        screenshot(page, "pipelines-found")
        page.goto(f"{PIPELINES}/{reporting}")
        picture = page.get_by_role("img", name="Sources, steps and sinks")
        expect(picture.locator("rect")).to_have_count(5)
        expect(picture.locator("path")).to_have_count(4)
        for each in ("payments", "accounts", "large", "alerts", "archive"):
            expect(picture.locator("text", has_text=each).first).to_be_visible()
        expect(_cell(page, "Rows in a second")).to_have_text("15.5")
        expect(_cell(page, "Lag")).to_have_text("48")
        expect(_cell(page, "Batch time")).to_have_text("108 ms")
        expect(_cell(page, "Rows of state")).to_have_text("3")
        expect(_cell(page, "Size of state")).to_have_text("2.0 KiB")
        for each in ("rows in a second", "lag in records", "batch in ms"):
            expect(page.get_by_role("img", name=f"Chart: {each}").locator("polyline")).to_be_visible()
        # No text leaves its box.
        assert page.evaluate("[...document.querySelectorAll('.flow g')].every((each) => each.getBBox().width < 182)")
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "pipeline-flow")
        page.locator("summary", has_text="Sources, steps and sinks").click()
        expect(page.get_by_role("link", name="payments")).to_be_visible()
        # The page follows the reports, and keeps the table that is open.
        _send(broker, f"{reporting}.alerts", _batch(reporting, 9))
        expect(_cell(page, "Batch time")).to_have_text("109 ms")
        _send(
            broker,
            f"{reporting}.alerts",
            {"event": "ended", "pipeline": reporting, "query": "alerts", "run": "r", "at": "", "reason": "No <b>topic</b>."},
        )
        expect(page.locator("#queries .problem")).to_have_text("alerts: No <b>topic</b>.")
        expect(page.locator("#state")).to_have_text("failed")
        expect(page.get_by_role("link", name="payments")).to_be_visible()
        screenshot(page, "pipeline-failed")
        page.get_by_role("link", name="Pipelines").click()
        page.get_by_label("Search").fill(reporting)
        expect(page.locator("#list tbody tr").filter(has_text=reporting)).to_contain_text("No <b>topic</b>.")
    shown = started.client().get(f"{PIPELINES}/{reporting}")
    assert (shown["state"], shown["queries"][0]["last"]["batch_ms"]) == ("failed", 109)


def test_a_person_validates_a_good_and_a_broken_file(browser: Browser, started: ConsoleThread) -> None:
    with opened_page(browser, started.url) as page:
        page.goto(PIPELINES)
        page.get_by_role("link", name="clicked", exact=True).click()
        expect(page.get_by_role("img", name="Sources, steps and sinks").locator("rect")).to_have_count(3)
        page.get_by_role("button", name="Validate").click()
        expect(page.get_by_role("status").first).to_contain_text("is valid")
        screenshot(page, "pipeline-valid")
        page.goto(f"{PIPELINES}/torn")
        page.get_by_role("button", name="Validate").click()
        expect(page.get_by_role("alert")).to_contain_text("formt")
        screenshot(page, "pipeline-broken")
        expect(page.get_by_role("button", name="Validate")).to_be_enabled()
    assert started.client().try_post(f"{PIPELINES}/torn/validate").status_code == 400


@pytest.mark.timeout(900)
def test_a_person_starts_a_pipeline_watches_its_batches_and_stops_it(browser: Browser, started: ConsoleThread) -> None:
    pytest.importorskip("pyspark", reason="pip install 'barnabas[spark]'")
    client = started.client()
    client.post("/clusters/local/topics", name="clicked", partitions=1)
    with opened_page(browser, started.url) as page:
        page.goto(f"{PIPELINES}/clicked")
        expect(page.get_by_text("The pipeline has not reported a batch to this cluster.")).to_be_visible()
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("Pipeline clicked starts")
        expect(page.locator("#run")).to_contain_text("This console runs it as process")
        # The page shows the first batch without being loaded again.
        expect(_cell(page, "Batch time")).to_contain_text("ms", timeout=LONG_PATIENCE_SECONDS * 1000)
        expect(page.locator("#state")).to_have_text("running")
        screenshot(page, "pipeline-running")
        pid = client.get(f"{PIPELINES}/clicked")["run"]["pid"]
        page.get_by_role("button", name="Stop", exact=True).click()
        expect(page.get_by_role("status").first).to_contain_text("Pipeline clicked is stopped.")
        expect(page.locator("#run")).to_have_text("This console ran it; it ended with code 0.")
        expect(page.locator("#state")).to_have_text("ended")
        screenshot(page, "pipeline-stopped")
    assert not os.path.exists(f"/proc/{pid}")
    until(lambda: client.get(f"{PIPELINES}/clicked")["state"] == "ended", "the pipeline reports its end")
