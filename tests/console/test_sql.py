"""SQL in the console, with the real program and a real broker."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, expect

from barnabas.console.settings import ClusterSettings, LoginMode
from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, serious_problems, shifted, wider_than_the_screen
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.waiting import until

pytest.importorskip("duckdb", reason="pip install 'barnabas[sql]'")

SQL = "/clusters/local/sql"
PHONE_PIXELS = 360


def _send(broker: EmbeddedBroker, topic: str, *values: Any) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, json.dumps(value).encode(), partition=0)
    producer.flush()


@pytest.fixture(scope="module")
def orders(broker: EmbeddedBroker, console: ConsoleThread) -> str:
    console.client().post("/clusters/local/topics", name="sql-orders", partitions=1)
    rows = [{"id": number, "status": "paid" if number % 3 else "open", "note": "<script>alert(1)</script>"} for number in range(9)]
    _send(broker, "sql-orders", *rows)
    return "`sql-orders`"


def _events(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in lines:
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def _children() -> list[int]:
    """Programs of SQL that this process has started and that still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                stat = (folder / "stat").read_text().rpartition(")")[2].split()
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if int(stat[1]) == os.getpid() and stat[0] != "Z" and b"sql" in words and b"--json-rows" in words:
                found.append(int(folder.name))
    return found


def test_an_answer_is_json_and_a_page_with_a_table_and_a_chart(client: ConsoleClient, orders: str) -> None:
    query = f"SELECT status, count(*) AS n FROM {orders} GROUP BY status ORDER BY status"
    answer = client.get(SQL, query=query, run=True)
    assert answer["columns"] == [{"name": "status", "type": "string"}, {"name": "n", "type": "bigint"}]
    assert answer["rows"] == [["open", 3], ["paid", 6]]
    assert answer["sentence"].startswith("2 rows, by the embedded engine from 9 records.")
    page = client.page(SQL, query=f"SELECT id, note FROM {orders} LIMIT 2", run=True)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)" not in page
    unanswered = client.get(SQL, query=query)
    assert (unanswered["rows"], unanswered["query"]) == ([], query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT getenv('PATH')",
        "COPY (SELECT 1) TO '/tmp/sql-of-the-console'",
        "ATTACH '/tmp/sql-of-the-console.db' AS other",
        "INSTALL httpfs",
        "DROP TABLE orders",
        "--config-file=/etc/passwd",
    ],
)
def test_hostile_sql_is_refused_with_a_sentence(client: ConsoleClient, query: str) -> None:
    answer = client.http.get(f"/api{SQL}", params={"query": query, "run": "true"})
    assert answer.status_code == 400
    assert answer.json()["error"]
    assert "root:" not in answer.text
    assert not list(Path("/tmp").glob("sql-of-the-console*"))


def test_a_stream_answers_as_records_arrive_and_ends_with_its_connection(
    client: ConsoleClient, console: ConsoleThread, broker: EmbeddedBroker, topic: str
) -> None:
    _send(broker, topic, {"status": "paid"})
    parameters = {"query": f"SELECT status, count(*) AS n FROM `{topic}` GROUP BY status", "follow": "true", "from_beginning": "true"}
    with client.http.stream("GET", f"/api{SQL}/stream", params=parameters) as stream:
        events = _events(stream.iter_lines())
        assert next(each for each in events if each[0] == "row")[1]["row"] == ["paid", 1]
        _send(broker, topic, {"status": "paid"})
        assert next(each for each in events if each[0] == "row")[1]["row"] == ["paid", 2]
        assert console.services.queries == 1
        assert len(_children()) == 1
    until(lambda: console.services.queries == 0 and not _children(), "the query is stopped")


def test_a_stream_of_rows_begins_with_new_records(client: ConsoleClient, broker: EmbeddedBroker, topic: str) -> None:
    _send(broker, topic, {"id": 1}, {"id": 2})
    parameters = {"query": f"SELECT id * 10 AS tens FROM `{topic}` WHERE id > 2", "follow": "true"}
    with client.http.stream("GET", f"/api{SQL}/stream", params=parameters) as stream:
        events = _events(stream.iter_lines())
        assert next(events)[0] == "columns"
        _send(broker, topic, {"id": 2}, {"id": 3})
        assert next(each for each in events if each[0] == "row")[1]["row"] == [30]
    refused = client.http.get(f"/api{SQL}/stream", params={"query": f"SELECT * FROM `{topic}` ORDER BY id", "follow": "true"})
    assert "has no end to order" in refused.text


def test_a_program_that_is_killed_is_a_sentence(client: ConsoleClient, orders: str) -> None:
    parameters = {"query": f"SELECT id FROM {orders}", "follow": "true"}
    with client.http.stream("GET", f"/api{SQL}/stream", params=parameters) as stream:
        events = _events(stream.iter_lines())
        assert next(events)[0] == "columns"
        for each in _children():
            os.kill(each, signal.SIGKILL)
        name, data = next(events)
        assert (name, "SIGKILL" in data["sentence"]) == ("failed", True)


def test_queries_at_once_are_bounded_and_other_sites_start_none(client: ConsoleClient, console: ConsoleThread, orders: str) -> None:
    console.services.queries += 4
    try:
        busy = client.http.get(f"/api{SQL}", params={"query": f"SELECT 1 FROM {orders}", "run": "true"})
        assert busy.status_code == 429
    finally:
        console.services.queries -= 4
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert client.http.get(f"/api{SQL}/stream", params={"query": "SELECT 1"}, headers=foreign).status_code == 403
    assert client.http.get(f"/api{SQL}", params={"query": "SELECT 1", "run": "true"}, headers=foreign).status_code == 403
    page = client.http.get(SQL, params={"query": "SELECT 1 AS unanswered", "run": "true"}, headers=foreign)
    assert (page.status_code, "page of another site" in page.text, "SELECT 1 AS unanswered" in page.text) == (200, True, True)
    assert "<td" not in page.text, "the query has no answer"


def test_a_query_with_a_nul_is_a_sentence(client: ConsoleClient) -> None:
    answer = client.http.get(f"/api{SQL}", params={"query": "SELECT 1\0", "run": "true"})
    assert (answer.status_code, answer.json()["parameter"]) == (400, "query")


def test_sql_can_be_switched_off(broker: EmbeddedBroker) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap), sql=False) as console:
        client = console.client()
        assert "switched off" in client.page(SQL)
        assert client.http.get(f"/api{SQL}/stream", params={"query": "SELECT 1"}).status_code == 403


def test_words_are_completed_with_topics_and_fields_of_sampled_records(client: ConsoleClient, orders: str) -> None:
    topics = client.get(f"{SQL}/complete", query="SELECT * FROM sql-o")
    assert (topics["typed"], topics["words"]) == ("sql-o", [{"text": orders, "kind": "topic"}])
    fields = client.get(f"{SQL}/complete", query=f"SELECT  FROM {orders}", position=7)
    assert [each["text"] for each in fields["words"]][:3] == ["id", "status", "note"]


def test_a_person_queries_with_the_own_login(secure_broker: EmbeddedBroker) -> None:
    settings = {name: str(value) for name, value in secure_broker.client_settings.items() if name != "bootstrap.servers"}
    without = {name: value for name, value in settings.items() if name not in ("sasl.username", "sasl.password")}
    with console_of(ClusterSettings("local", secure_broker.bootstrap, without), login=LoginMode.USERS) as console:
        client = console.client()
        assert client.http.get(f"/api{SQL}", params={"query": "SELECT 1", "run": "true"}).status_code == 401
        assert client.log_in("local", settings["sasl.username"], settings["sasl.password"]).status_code == 200
        client.post("/clusters/local/topics", name="secured", partitions=1)
        client.post("/clusters/local/topics/secured/records", value='{"n": 42}', value_format="json", partition=0)
        assert client.get(SQL, query="SELECT n FROM secured", run=True)["rows"] == [[42]]


def test_a_person_completes_runs_follows_and_stops_a_query(
    browser: Browser, console: ConsoleThread, broker: EmbeddedBroker, orders: str
) -> None:
    with opened_page(browser, console.url) as page:
        page.goto(SQL)
        query = page.get_by_label("Query")
        query.click()
        page.keyboard.type("SELECT status, count(*) AS n FROM sql-o")
        expect(page.locator("#sql-words")).to_contain_text("sql-orders")
        page.keyboard.press("Tab")
        page.keyboard.type(" GROUP BY status ORDER BY status")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#sql-rows tr")).to_have_count(2)
        expect(page.locator("#sql-status")).to_contain_text("by the embedded engine")
        expect(page.locator("#sql-chart rect").first).to_be_visible()
        assert "query=SELECT" in page.url
        screenshot(page, "sql")
        for each in ("light", "dark"):
            page.emulate_media(color_scheme=each)
            assert serious_problems(page) == []
        page.set_viewport_size({"width": PHONE_PIXELS, "height": 740})
        assert wider_than_the_screen(page) <= 0
        query.fill(f"SELECT id, note FROM {orders}")
        page.get_by_role("button", name="Follow", exact=True).click()
        expect(page.locator("#sql-status")).to_contain_text("Waiting for records.")
        _send(broker, "sql-orders", {"id": 99, "note": "<img src=x onerror=alert(1)>"})
        expect(page.locator("#sql-rows")).to_contain_text("<img src=x onerror=alert(1)>")
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#sql-status")).to_contain_text("Stopped.")
        until(lambda: console.services.queries == 0, "the query is stopped")
        query.fill("SELECT nothing FROM nowhere")
        page.get_by_role("button", name="Run").click()
        expect(page.get_by_role("alert")).to_contain_text("There is no topic 'nowhere'")


def test_a_person_takes_a_field_with_the_mouse_and_watches_a_chart_grow(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, broker: EmbeddedBroker, topic: str
) -> None:
    _send(broker, topic, {"status": "paid"}, {"status": "open"})
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(SQL)
        assert shifted(page) <= SHIFT_MAX
        query = page.get_by_label("Query")
        query.fill(f"SELECT , count(*) AS n FROM `{topic}` GROUP BY status")
        # The cursor stands where the field is missing.
        query.evaluate("(each) => each.setSelectionRange(7, 7)")
        page.keyboard.type("sta")
        page.locator("#sql-words").get_by_role("button", name="status", exact=True).click()
        expect(query).to_have_value(f"SELECT status, count(*) AS n FROM `{topic}` GROUP BY status")
        expect(query).to_be_focused()
        page.get_by_label("Follow from the beginning").check()
        page.get_by_role("button", name="Follow", exact=True).click()
        expect(page.locator("#sql-chart rect title", has_text="paid").first).to_have_text(re.compile("paid.*1"))
        _send(broker, topic, {"status": "paid"}, {"status": "paid"})
        expect(page.locator("#sql-chart rect title", has_text=re.compile("paid.*3")).first).to_be_attached()
        expect(page.locator("#sql-rows")).to_contain_text("3")
        screenshot(page, "sql-followed-chart")
        assert console.services.queries == 1
        # To leave the page stops the query too.
        page.goto("/clusters/local/topics")
        until(lambda: console.services.queries == 0 and not _children(), "the query is stopped")
