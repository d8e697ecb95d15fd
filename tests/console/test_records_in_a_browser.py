"""Records as a person reads, finds, sends and exports them, in a real browser."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, Page, expect

from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, shifted
from tests.console.console_thread import ConsoleClient, ConsoleThread
from tests.console.large_topics import fill
from tests.waiting import until

_BEGIN_MS = 1_700_000_000_000


@pytest.fixture
def producer(broker: EmbeddedBroker) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2_random"})


def _records(topic: str) -> str:
    return f"/clusters/local/topics/{topic}/records"


def _rows_have(page: Page, values: list[str]) -> None:
    expect(page.locator("#records td[data-label='Value'] pre")).to_have_text(values)


def test_a_person_reads_from_the_oldest_from_an_offset_and_from_a_time_with_the_slider(
    browser: Browser, console: ConsoleThread, producer: Producer, topic: str
) -> None:
    for number in range(10):
        producer.produce(topic, f"value-{number}", partition=1, timestamp=_BEGIN_MS + number * 1_000)
    producer.flush()
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(_records(topic))
        _rows_have(page, [f"value-{number}" for number in range(9, -1, -1)])
        assert shifted(page) <= SHIFT_MAX
        show = page.get_by_role("button", name="Show", exact=True)
        page.get_by_label("Begin").select_option("Oldest")
        page.get_by_label("Records", exact=True).fill("4")
        show.click()
        _rows_have(page, ["value-0", "value-1", "value-2", "value-3"])
        page.get_by_role("link", name="Continue").click()
        _rows_have(page, ["value-4", "value-5", "value-6", "value-7"])
        page.get_by_label("Begin").select_option("From an offset")
        page.get_by_label("Offset", exact=True).fill("7")
        page.get_by_label("Partitions", exact=True).fill("1")
        show.click()
        _rows_have(page, ["value-7", "value-8", "value-9"])
        page.get_by_label("Begin").select_option("From a time")
        slider = page.get_by_label("Time between the first and the last record")
        time_field = page.get_by_label("Time (UTC)")
        slider.press("Home")
        expect(time_field).to_have_value("2023-11-14T22:13:20.000Z")
        slider.press("End")
        expect(time_field).to_have_value("2023-11-14T22:13:29.000Z")
        box = slider.bounding_box()
        assert box is not None
        slider.click(position={"x": box["width"] * 0.8, "y": box["height"] / 2})
        chosen = time_field.input_value()
        assert "2023-11-14T22:13:25" < chosen < "2023-11-14T22:13:29"
        show.click()
        chosen_ms = datetime.fromisoformat(chosen).timestamp() * 1000
        _rows_have(page, [f"value-{number}" for number in range(10) if _BEGIN_MS + number * 1_000 >= chosen_ms])
        # The slider stays at the time of the page.
        expect(slider).to_have_value(str(int(chosen_ms)))
        screenshot(page, "records-from-a-time")


def test_a_person_finds_the_records_of_a_key_in_its_partition(
    browser: Browser, console: ConsoleThread, client: ConsoleClient, producer: Producer, topic: str
) -> None:
    for number in range(60):
        producer.produce(topic, str(number), f"key-{number % 20}")
    producer.flush()
    partition = client.get(_records(topic), begin="oldest", key="key-7")["records"][0]["partition"]
    in_partition = client.get(f"/clusters/local/topics/{topic}")["partitions"][partition]["records_max"]
    with opened_page(browser, console.url) as page:
        page.goto(_records(topic))
        page.get_by_label("Key", exact=True).first.fill("key-7")
        page.get_by_role("button", name="Show", exact=True).click()
        _rows_have(page, ["7", "27", "47"])
        expect(page.locator("#records td[data-label='Key']")).to_have_text(["key-7"] * 3)
        expect(page.locator("#records td[data-label='Partition']")).to_have_text([str(partition)] * 3)
        # Records of other partitions are not read.
        expect(page.locator("#summary")).to_have_text(f"3 matches, {in_partition} records read.")
        screenshot(page, "records-of-a-key")


def test_a_record_has_an_address_that_shows_headers_tombstones_and_neighbours(
    browser: Browser, console: ConsoleThread, producer: Producer, topic: str
) -> None:
    producer.produce(topic, '{"amount": 5}', "k", 2, headers=[("type", b"order"), ("none", None)])
    producer.produce(topic, None, "k", 2)
    producer.flush()
    with opened_page(browser, console.url) as page:
        observe_shifts(page)
        page.goto(_records(topic))
        expect(page.locator("#records tr").first).to_contain_text("tombstone")
        expect(page.locator("#records tr").last).to_contain_text("2 headers")
        page.goto(f"{_records(topic)}/2/0")
        expect(page.get_by_role("heading", name=f"{topic}/2/0")).to_be_visible()
        expect(page.get_by_role("region", name="Key")).to_have_text("k")
        expect(page.get_by_role("region", name="Value")).to_contain_text('"amount": 5')
        headers = page.get_by_role("row").filter(has=page.get_by_role("cell"))
        expect(headers).to_have_text(["typeorder", "nonenull"])
        assert shifted(page) <= SHIFT_MAX
        screenshot(page, "record-with-headers")
        page.get_by_role("link", name="Next").click()
        expect(page.get_by_role("heading", name=f"{topic}/2/1")).to_contain_text("tombstone")
        expect(page.get_by_role("region", name="Value")).to_have_text("null")
        assert page.url.endswith(f"{topic}/records/2/1")
        screenshot(page, "record-tombstone")
        page.get_by_role("link", name="Previous").click()
        expect(page.get_by_role("heading", name=f"{topic}/2/0")).to_be_visible()
        page.goto(f"{_records(topic)}/2/9")
        expect(page.get_by_role("main")).to_contain_text(f"There is no record {topic}/2/9")


def test_a_person_resends_a_record_and_sends_an_edited_one(
    browser: Browser, console: ConsoleThread, producer: Producer, topic: str
) -> None:
    producer.produce(topic, '{"amount": 5}', "k", 0, headers=[("type", b"order")])
    producer.flush()
    with opened_page(browser, console.url) as page:
        page.goto(f"{_records(topic)}/0/0")
        page.locator("summary", has_text="Send unchanged").click()
        page.get_by_role("button", name="Send the same bytes and headers").click()
        expect(page.get_by_role("status")).to_contain_text(f"The record is {topic}/")
        expect(page.get_by_role("region", name="Value")).to_contain_text('"amount": 5')
        expect(page.get_by_role("cell")).to_have_text(["type", "order"])
        page.locator("summary", has_text="Edit and send again").click()
        value = page.get_by_role("textbox", name="Value", exact=True)
        expect(value).to_have_value('{\n  "amount": 5\n}')
        expect(page.get_by_label("Value is")).to_have_value("json")
        value.fill('{"amount": ')
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("value is no JSON")
        value.fill('{"amount": 6}')
        page.get_by_label("Headers, a line name=value each").fill("type=order\nedited=yes")
        page.get_by_label("Partition; by the key if empty").fill("2")
        screenshot(page, "record-edited")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.get_by_role("status")).to_contain_text(f"The record is {topic}/2/")
        expect(page.get_by_role("region", name="Value")).to_contain_text('"amount": 6')
        expect(page.get_by_role("cell")).to_have_text(["type", "order", "edited", "yes"])
        expect(page.get_by_role("region", name="Key")).to_have_text("k")


def test_a_person_sends_the_records_of_a_file(browser: Browser, console: ConsoleThread, topic: str) -> None:
    lines = ['{"key": "a", "value": {"n": 1}, "headers": {"h": "x"}, "partition": 0}', '{"key": "b", "value": null, "partition": 0}']
    with opened_page(browser, console.url) as page:
        page.goto(_records(topic))
        page.locator("summary", has_text="Records from a file").click()
        file = page.get_by_label("File", exact=True)
        file.set_input_files({"name": "wrong.jsonl", "mimeType": "application/x-ndjson", "buffer": f"{lines[0]}\nno JSON".encode()})
        page.get_by_role("button", name="Send all").click()
        expect(page.get_by_role("alert")).to_have_text("Line 2 is no JSON.")
        file.set_input_files({"name": "records.jsonl", "mimeType": "application/x-ndjson", "buffer": "\n".join(lines).encode()})
        page.get_by_role("button", name="Send all").click()
        expect(page.get_by_role("status").first).to_contain_text(f"2 records are in topic {topic}.")
        expect(page.locator("#records tr").last).to_contain_text('{"n": 1}')
        expect(page.locator("#records tr").last).to_contain_text("1 header")
        expect(page.locator("#records tr").first).to_contain_text("tombstone")
        screenshot(page, "records-sent-from-a-file")


def test_a_person_exports_the_matches_of_a_filter(
    browser: Browser, console: ConsoleThread, producer: Producer, topic: str, tmp_path: Path
) -> None:
    for number in range(30):
        producer.produce(topic, json.dumps({"n": number}), f"k{number}", number % 3, timestamp=_BEGIN_MS + number)
    producer.flush()

    def export(page: Page, name: str) -> Path:
        with page.expect_download() as started:
            page.get_by_role("link", name=name, exact=True).click()
        saved = tmp_path / started.value.suggested_filename
        started.value.save_as(saved)
        return saved

    with opened_page(browser, console.url) as page:
        page.goto(_records(topic))
        page.get_by_label("Filter", exact=True).fill(".n >= 27")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.locator("#summary")).to_have_text("3 matches, 30 records read.")
        page.locator("summary", has_text="Filters and exports").click()
        lines = export(page, "JSON lines")
        assert lines.name == f"{topic}.jsonl"
        read = [json.loads(line) for line in lines.read_text("utf-8").splitlines()]
        assert [(each["key"], each["value"]) for each in read] == [(f"k{number}", {"n": number}) for number in (27, 28, 29)]
        # The files have what the search shows, also after the page was loaded with another filter.
        page.get_by_label("Filter", exact=True).fill(".n < 2")
        page.get_by_role("button", name="Search all").click()
        expect(page.locator("#live-text")).to_contain_text("2 matches in 30 records. Done.")
        screenshot(page, "records-exported")
        table = export(page, "CSV")
        assert table.name == f"{topic}.csv"
        rows = list(csv.DictReader(table.read_text("utf-8").splitlines()))
        assert [(each["partition"], each["offset"], each["key"], each["value"]) for each in rows] == [
            ("0", "0", "k0", '{"n": 0}'),
            ("1", "0", "k1", '{"n": 1}'),
        ]


def test_a_person_stops_a_search(browser: Browser, console: ConsoleThread, broker: EmbeddedBroker, topic: str) -> None:
    # A search through a million records takes longer than a person needs to stop it.
    fill(broker.bootstrap, topic, 1_000_000)
    with opened_page(browser, console.url) as page:
        page.goto(_records(topic))
        page.get_by_label("Filter", exact=True).fill('value =~ "never"')
        page.get_by_role("button", name="Search all").click()
        expect(page.locator("#live-text")).to_contain_text("0 matches in")
        assert console.services.streams == 1
        page.get_by_role("button", name="Stop").click()
        expect(page.locator("#live-text")).to_contain_text("Stopped.")
        expect(page.locator("#live-text")).not_to_contain_text("Done.")
        until(lambda: console.services.streams == 0, "the console stops reading")
        screenshot(page, "search-stopped")
