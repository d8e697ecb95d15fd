"""Pipelines in the console: reports of the progress topic, and files that it validates, starts and
stops."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser

from barnabas.console.settings import ClusterSettings
from barnabas.pipelines import Pipeline
from barnabas.pipelines.running.flow_record import flow_key, flow_record
from barnabas.pipelines.running.progress import Progress
from barnabas.pipelines.running.progress_topic import TOPIC
from barnabas.testing import EmbeddedBroker
from tests.console.browser import opened_page, screenshot, serious_problems, wider_than_the_screen
from tests.console.console_thread import ConsoleThread, console_of
from tests.waiting import LONG_PATIENCE_SECONDS, until

PHONE_PIXELS = 360
PIPELINES = "/clusters/local/pipelines"
FILE = """
name: counted
bootstrap: ${BOOTSTRAP}
sources:
  numbers: {generator: {rows_per_second: 5}, columns: {n: "CAST(value AS STRING)"}}
steps:
  - view: even
    sql: SELECT n FROM numbers WHERE n % 2 = 0
sinks:
  counted_out: {from: even, topic: counted, value: n, format: text, guarantee: at_least_once}
"""


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pipelines")
    (made / "counted.yaml").write_text(FILE)
    (made / "broken.yaml").write_text("name: broken\nsources: {a: {topic: a, formt: json}}\nsinks: {b: {from: c, topic: b}}\n")
    (made / "notes.txt").write_text("no pipeline")
    (made / "steps.py").write_text("def cents(amount: float) -> int:\n    return round(amount * 100)\n")
    return made


@pytest.fixture(scope="module")
def started(broker: EmbeddedBroker, directory: Path) -> Iterator[ConsoleThread]:
    with console_of(ClusterSettings("local", broker.bootstrap, pipelines=str(directory), pipelines_start=True)) as console:
        yield console


def _progress(**fields: Any) -> dict[str, Any]:
    numbers = {"input_rows": 10, "output_rows": 5, "input_rows_per_second": 5.0, "processed_rows_per_second": 7.5, "batch_ms": 120}
    state = {"lag": {"payments": 42}, "state_rows": 3, "state_bytes": 2048, "watermark": None}
    made = {"pipeline": "fraud", "query": "alerts_out", "run": "r", "batch": 1, "at": "2026-01-01T00:00:00Z", **numbers, **state, **fields}
    return {"event": "progress", **Progress(**made).document()}


def _report(broker: EmbeddedBroker, **values: Any) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for key, value in values.items():
        producer.produce(TOPIC, json.dumps(value), key.replace("__", "."), partition=0)
    assert producer.flush(30) == 0


@pytest.fixture(scope="module")
def fraud(broker: EmbeddedBroker) -> str:
    pipeline = Pipeline("fraud")
    pipeline.source("payments", topic="payments", schema="account STRING, cents BIGINT")
    pipeline.step("large", sql="SELECT * FROM payments WHERE cents > 100")
    pipeline.sink("alerts_out", from_="large", topic="alerts", key="account")
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce(TOPIC, json.dumps(flow_record(pipeline.declaration())), flow_key("fraud"), partition=0)
    for batch in range(1, 6):
        producer.produce(TOPIC, json.dumps(_progress(batch=batch, batch_ms=100 + batch)), "fraud.alerts_out", partition=0)
    producer.produce(TOPIC, b"\xff<script>", "fraud.alerts_out", partition=0)
    assert producer.flush(30) == 0
    return "fraud"


def test_a_pipeline_that_reports_is_listed_and_shown(started: ConsoleThread, fraud: str) -> None:
    client = started.client()
    (row,) = client.get(PIPELINES, search=fraud)["page"]["items"]
    assert (row["state"], row["rows_per_second"], row["lag"], row["state_bytes"]) == ("running", 7.5, 42, 2048)
    shown = client.get(f"{PIPELINES}/{fraud}")
    assert [(each["name"], each["state"], each["last"]["number"]) for each in shown["queries"]] == [("alerts_out", "running", 5)]
    assert [each["batch_ms"] for each in shown["history"]["alerts_out"]] == [101, 102, 103, 104, 105]
    assert [(each["name"], each["role"]) for each in shown["flow"]["nodes"]] == [
        ("payments", "source"),
        ("large", "step"),
        ("alerts_out", "sink"),
    ]
    page = client.page(f"{PIPELINES}/{fraud}")
    assert page.count("<rect") >= 3
    assert "/clusters/local/topics/payments" in page


def test_a_topic_has_the_pipelines_that_use_it(started: ConsoleThread, fraud: str) -> None:
    client = started.client()
    client.post("/clusters/local/topics", name="payments", partitions=1)
    users = client.get("/clusters/local/topics/payments/users")["pipelines"]
    assert [(each["pipeline"], each["use"], each["node"]) for each in users] == [(fraud, "reads", "payments")]
    assert f"{PIPELINES}/{fraud}" in client.page("/clusters/local/topics/payments/users")


def test_a_failure_has_its_reason_and_new_reports_are_followed(started: ConsoleThread, broker: EmbeddedBroker) -> None:
    client = started.client()
    ended = {"event": "ended", "pipeline": "late", "query": "out", "run": "r", "at": "", "reason": "The topic <b>x</b> is gone."}
    _report(broker, late__out=ended)
    until(lambda: "late" in [each["name"] for each in client.get(PIPELINES)["page"]["items"]], "the report is read")
    assert client.get(f"{PIPELINES}/late")["queries"][0]["reason"] == "The topic <b>x</b> is gone."
    assert "The topic &lt;b&gt;x&lt;/b&gt; is gone." in client.page(f"{PIPELINES}/late")
    _report(broker, late__out=_progress(pipeline="late", query="out"))
    until(lambda: client.get(f"{PIPELINES}/late")["state"] == "running", "the next report is read")


def test_files_are_listed_drawn_and_validated(started: ConsoleThread) -> None:
    client = started.client()
    listed = {each["name"]: each for each in client.get(PIPELINES)["page"]["items"]}
    assert "steps" not in listed
    assert (listed["counted"]["file"], listed["broken"]["file"]) == ("counted.yaml", "broken.yaml")
    shown = client.get(f"{PIPELINES}/counted")
    assert [each["name"] for each in shown["flow"]["nodes"]] == ["numbers", "even", "counted_out"]
    assert "is valid" in client.post(f"{PIPELINES}/counted/validate")["done"]
    refused = client.try_post(f"{PIPELINES}/broken/validate")
    assert (refused.status_code, "formt" in refused.json()["error"]) == (400, True)
    assert client.try_post(f"{PIPELINES}/..%2Fbroken/validate").status_code == 404
    assert client.http.get(f"/api{PIPELINES}/nothing").status_code == 404


def test_pipelines_are_started_only_where_the_settings_allow_it(broker: EmbeddedBroker, directory: Path) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap, pipelines=str(directory))) as console:
        client = console.client()
        refused = client.try_post(f"{PIPELINES}/counted/start")
        assert (refused.status_code, "pipelines_start" in refused.json()["error"]) == (403, True)
        assert "Start the pipeline" not in client.page(f"{PIPELINES}/counted")


def test_a_console_without_a_directory_says_how_to_name_one(broker: EmbeddedBroker) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap)) as console:
        client = console.client()
        assert client.try_post(f"{PIPELINES}/counted/start").status_code == 404
        assert client.page(PIPELINES, search="no such pipeline")


@pytest.mark.timeout(900)
def test_a_pipeline_is_started_reports_and_is_stopped(started: ConsoleThread, broker: EmbeddedBroker) -> None:
    pytest.importorskip("pyspark", reason="pip install 'barnabas[spark]'")
    client = started.client()
    client.post("/clusters/local/topics", name="counted", partitions=1)
    client.post(f"{PIPELINES}/counted/start")
    assert client.try_post(f"{PIPELINES}/counted/start").status_code == 400

    def has_reported() -> bool:
        shown = client.get(f"{PIPELINES}/counted")
        assert shown["run"]["is_running"], shown["run"]
        return bool(shown["state"] == "running" and shown["queries"][0]["last"]["batch_ms"] > 0)

    until(has_reported, "the pipeline reports a batch", seconds_max=LONG_PATIENCE_SECONDS)
    client.post(f"{PIPELINES}/counted/stop")
    until(lambda: client.get(f"{PIPELINES}/counted")["state"] == "ended", "the pipeline reports its end")
    shown = client.get(f"{PIPELINES}/counted")
    assert (shown["run"]["is_running"], shown["run"]["exit_code"]) == (False, 0)
    assert client.try_post(f"{PIPELINES}/counted/stop").status_code == 404


def test_pages_of_pipelines_are_accessible(browser: Browser, started: ConsoleThread, fraud: str) -> None:
    with opened_page(browser, started.url) as page:
        for name, address in (("pipelines", PIPELINES), ("pipeline", f"{PIPELINES}/{fraud}"), ("pipeline-file", f"{PIPELINES}/counted")):
            page.set_viewport_size({"width": 1280, "height": 800})
            page.emulate_media(color_scheme="light")
            page.goto(address)
            assert serious_problems(page) == []
            screenshot(page, name)
            page.emulate_media(color_scheme="dark")
            assert serious_problems(page) == []
            page.set_viewport_size({"width": PHONE_PIXELS, "height": 740})
            assert wider_than_the_screen(page) <= 0
