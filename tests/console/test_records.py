"""Records of a real broker, sent by librdkafka and shown by the console."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Generator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Producer

from barnabas.console.access import record_pages, record_reading
from barnabas.console.access.schema_decoding import SchemaDecoding
from barnabas.console.core.fetched_batches import Budget
from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of


@pytest.fixture
def producer(broker: EmbeddedBroker) -> Producer:
    return Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2_random"})


def _records(topic: str) -> str:
    return f"/clusters/local/topics/{topic}/records"


def _events(client: ConsoleClient, path: str, **query: Any) -> Generator[tuple[str, Any], None, None]:
    with client.http.stream("GET", f"/api{path}", params=query) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        name = ""
        for line in answer.iter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                yield name, json.loads(line[6:])


def test_the_newest_records_come_first_and_older_ones_on_the_next_page(client: ConsoleClient, producer: Producer, topic: str) -> None:
    for number in range(30):
        producer.produce(topic, str(number), partition=number % 3, timestamp=1_000_000 + number)
    producer.flush()
    first = client.get(_records(topic), size=7)
    assert [each["value"]["text"] for each in first["records"]] == [str(number) for number in range(29, 22, -1)]
    seen = [each["value"]["text"] for each in first["records"]]
    page = first
    while page["next_positions"]:
        page = client.get(_records(topic), size=7, positions=page["next_positions"])
        seen += [each["value"]["text"] for each in page["records"]]
    assert seen == [str(number) for number in range(29, -1, -1)]
    assert 'rel="next"' in client.page(_records(topic), size=7)


def test_the_oldest_records_come_in_the_order_of_time_and_continue(client: ConsoleClient, producer: Producer, topic: str) -> None:
    for number in range(30):
        producer.produce(topic, str(number), partition=number % 3, timestamp=1_000_000 + number)
    producer.flush()
    seen: list[str] = []
    page = client.get(_records(topic), begin="oldest", size=11)
    while True:
        seen += [each["value"]["text"] for each in page["records"]]
        if page["is_complete"]:
            break
        page = client.get(_records(topic), begin="oldest", size=11, positions=page["next_positions"])
    assert seen == [str(number) for number in range(30)]


def test_records_begin_at_an_offset_and_at_a_time(client: ConsoleClient, producer: Producer, topic: str) -> None:
    for number in range(10):
        producer.produce(topic, str(number), partition=1, timestamp=1_700_000_000_000 + number * 1_000)
    producer.flush()
    from_offset = client.get(_records(topic), begin="offset", offset=7, partitions="1")
    assert [each["offset"] for each in from_offset["records"]] == [7, 8, 9]
    from_time = client.get(_records(topic), begin="time", time="2023-11-14T22:13:28Z")
    assert [each["offset"] for each in from_time["records"]] == [8, 9]
    assert (from_time["span"]["first_ms"], from_time["span"]["last_ms"]) == (1_700_000_000_000, 1_700_000_009_000)
    assert client.http.get(f"/api{_records(topic)}", params={"begin": "time", "time": "yesterday"}).status_code == 400


def test_a_record_has_an_address_with_its_headers_and_batch(client: ConsoleClient, producer: Producer, topic: str) -> None:
    producer.produce(topic, json.dumps({"amount": 5}), "k", 2, headers=[("type", b"order"), ("none", None), ("type", b"again")])
    producer.flush()
    shown = client.get(f"{_records(topic)}/2/0")
    record = shown["record"]
    assert (record["key"]["text"], record["key"]["format"]) == ("k", "text")
    assert (json.loads(record["value"]["text"]), record["value"]["format"]) == ({"amount": 5}, "json")
    assert [(each["name"], each["value"]["text"]) for each in record["headers"]] == [("type", "order"), ("none", ""), ("type", "again")]
    assert (record["batch"]["records"], record["batch"]["compression"], record["transaction"]) == (1, "none", "none")
    page = client.page(f"{_records(topic)}/2/0")
    assert f"{topic}/2/0" in page
    assert "order" in page
    missing = client.http.get(f"/api{_records(topic)}/2/1")
    assert (missing.status_code, missing.json()["error"].startswith(f"There is no record {topic}/2/1")) == (404, True)
    assert client.http.get(f"{_records(topic)}/9/0").status_code == 404


def test_a_key_is_found_in_its_partition_only(client: ConsoleClient, producer: Producer, topic: str) -> None:
    for number in range(60):
        producer.produce(topic, str(number), f"key-{number % 20}")
    producer.flush()
    found = client.get(_records(topic), begin="oldest", key="key-7")
    assert sorted(int(each["value"]["text"]) for each in found["records"]) == [7, 27, 47]
    partition = found["records"][0]["partition"]
    in_partition = client.get(f"/clusters/local/topics/{topic}")["partitions"][partition]["records_max"]
    assert found["scanned"] == in_partition < 60


def test_a_filter_selects_by_fields_and_a_wrong_one_names_its_place(client: ConsoleClient, producer: Producer, topic: str) -> None:
    for number in range(50):
        producer.produce(
            topic, json.dumps({"n": number, "odd": bool(number % 2)}), partition=number % 3, headers=[("h", str(number).encode())]
        )
    producer.flush()
    found = client.get(_records(topic), begin="oldest", filter='.n >= 40 and .odd and not headers.h == "45"')
    assert sorted(json.loads(each["value"]["text"])["n"] for each in found["records"]) == [41, 43, 47, 49]
    assert (found["scanned"], found["is_complete"]) == (50, True)
    wrong = client.http.get(f"/api{_records(topic)}", params={"filter": ".n = 1"})
    assert (wrong.status_code, wrong.json()["parameter"]) == (400, "filter")
    assert "use == for equality" in wrong.json()["error"]


def test_a_search_reports_progress_and_every_match(client: ConsoleClient, producer: Producer, topic: str) -> None:
    for number in range(300):
        producer.produce(topic, json.dumps({"n": number}), partition=number % 3)
    producer.flush()
    events = list(_events(client, f"{_records(topic)}/search", begin="oldest", filter=".n < 5"))
    assert sorted(json.loads(data["record"]["value"]["text"])["n"] for name, data in events if name == "record") == [0, 1, 2, 3, 4]
    assert [data["share"] for name, data in events if name == "progress"][-1] == 1.0
    assert events[-1] == ("done", {"scanned": 300, "matches": 5, "is_limited": False})


def test_a_live_tail_shows_new_records_only(client: ConsoleClient, producer: Producer, topic: str) -> None:
    producer.produce(topic, "before", partition=0)
    producer.flush()
    for name, data in _events(client, f"{_records(topic)}/tail"):
        if name == "progress" and "positions" in data:
            producer.produce(topic, "after <b>", partition=2)
            producer.flush()
        if name == "record":
            assert data["record"]["value"]["text"] == "after <b>"
            assert "after &lt;b&gt;" in data["row"]
            break


def test_transactions_show_as_committed_aborted_and_undecided(client: ConsoleClient, broker: EmbeddedBroker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": f"tx-{topic}"})
    producer.init_transactions()
    for outcome in ("committed", "aborted", "committed", "undecided"):
        producer.begin_transaction()
        producer.produce(topic, outcome, partition=0)
        producer.flush()
        if outcome == "committed":
            producer.commit_transaction()
        elif outcome == "aborted":
            producer.abort_transaction()
    shown = client.get(_records(topic), begin="oldest", partitions="0")["records"]
    assert [(each["value"]["text"], each["transaction"]) for each in shown] == [
        ("committed", "committed"),
        ("aborted", "aborted"),
        ("committed", "committed"),
        ("undecided", "undecided"),
    ]
    with_markers = client.get(_records(topic), begin="oldest", partitions="0", control=True)["records"]
    assert [each["control"] for each in with_markers] == [None, "commit", None, "abort", None, "commit", None]
    producers = client.get(f"/clusters/local/topics/{topic}/users")["producers"]
    assert [each["open_since_offset"] for each in producers] == [6]
    assert "open since offset 6" in client.page(f"/clusters/local/topics/{topic}/users")
    producer.abort_transaction()


def test_records_are_sent_edited_and_sent_again(client: ConsoleClient, broker: EmbeddedBroker, topic: str) -> None:
    done = client.post(_records(topic), key="k", key_format="text", value='{"a": 1}', value_format="json", headers="h=x\nn", partition=1)
    assert done == {"done": f"The record is {topic}/1/0.", "location": f"/clusters/local/topics/{topic}/records/1/0"}
    record = client.get(f"{_records(topic)}/1/0")["record"]
    assert (record["value"]["size_bytes"], [each["name"] for each in record["headers"]]) == (7, ["h", "n"])
    client.post(f"{_records(topic)}/1/0/resend")
    sent = client.post(_records(topic), key="deadbeef", key_format="hex", value_format="null", partition=2)
    tombstone = client.get(sent["location"])["record"]
    assert (tombstone["is_tombstone"], tombstone["key"]["format"]) == (True, "number")
    refused = client.try_post(_records(topic), value="x", partition=9)
    assert (refused.status_code, refused.json()["parameter"]) == (400, "partition")
    assert client.try_post("/clusters/local/topics/no-such-topic/records", value="x").status_code == 404


def test_an_export_can_be_sent_again_from_a_file(client: ConsoleClient, producer: Producer, topic: str, new_name: str) -> None:
    values: list[bytes | None] = [b'{"a": [1, null]}', b'text, with "quotes"\nand lines', b"\x00\xff\x01", None, b"=1+1"]
    for number, value in enumerate(values):
        producer.produce(topic, value, f"k{number}", 0, timestamp=1_000 + number, headers=[("h", b"x")])
    producer.flush()
    lines = client.http.get(f"/api{_records(topic)}/export", params={"begin": "oldest"}).text
    assert [json.loads(line)["offset"] for line in lines.splitlines()] == [0, 1, 2, 3, 4]
    client.post("/clusters/local/topics", name=f"{new_name}-copy")
    client.post(f"{_records(f'{new_name}-copy')}/file", file=lines)
    copied = client.get(_records(f"{new_name}-copy"), begin="oldest")["records"]
    original = client.get(_records(topic), begin="oldest")["records"]
    assert [(each["key"], each["value"]["text"]) for each in copied] == [(each["key"], each["value"]["text"]) for each in original]
    table = client.http.get(f"/api{_records(topic)}/export", params={"begin": "oldest", "format": "csv"}).text
    assert table.splitlines()[0] == "partition,offset,timestamp,key,value,headers"
    assert "'=1+1" in table


def test_an_export_as_parquet_has_the_bytes(client: ConsoleClient, producer: Producer, topic: str) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    import io

    producer.produce(topic, b"\x00\xff", "k", 0, timestamp=5_000, headers=[("h", None)])
    producer.flush()
    content = client.http.get(f"/api{_records(topic)}/export", params={"begin": "oldest", "format": "parquet"}).content
    (row,) = pq.read_table(io.BytesIO(content)).to_pylist()
    assert (row["key"], row["value"], row["headers"]) == (b"k", b"\x00\xff", [{"name": "h", "value": None}])


HOSTILE = {
    "script": b'<script>alert(1)</script><img src=x onerror="alert(2)">',
    "quotes": b"\"'><svg/onload=alert(3)>{{ 7*7 }}{% raw %}",
    "broken": b"\xff\xfe<script>\xed\xa0\x80",
    "deep": b"[" * 50_000 + b"]" * 50_000,
    "deep-object": b'{"a":' * 500 + b"1" + b"}" * 500,
    "surrogate": b'{"a": "\\ud800 \\u202e"}',
    "direction": "\u202egnp.exe\u0000\u001b[31m".encode(),
    "number": b"1" * 10_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_record_is_shown_as_text(client: ConsoleClient, producer: Producer, topic: str, name: str) -> None:
    data = HOSTILE[name]
    producer.produce(topic, data, data, 0, headers=[("<script>h</script>", data)])
    producer.flush()
    for path in (_records(topic), f"{_records(topic)}/0/0"):
        page = client.page(path)
        lowered = page.lower()
        assert "<script>alert" not in lowered
        assert "<img src=x" not in lowered
        assert "<svg/onload" not in lowered
        assert "<script>h" not in lowered
        assert ">49<" not in page
        assert not set(page) & set("\u202e\u0000\u001b\ud800")
    for words in ("jsonl", "csv"):
        answer = client.http.get(f"/api{_records(topic)}/export", params={"begin": "oldest", "format": words})
        assert answer.status_code == 200
    found = client.get(_records(topic), filter='value =~ "script"', begin="oldest")
    assert len(found["records"]) == (b"script" in data)


RESPONSE_BYTES = 100_000
VALUE_BYTES = 40_000


def test_records_that_grow_when_they_are_opened_are_read_in_small_parts(
    client: ConsoleClient, broker: EmbeddedBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them fit into one response of the broker, and not into the memory that the console
    takes for a page."""
    monkeypatch.setattr(record_reading, "Budget", lambda: Budget(RESPONSE_BYTES))
    monkeypatch.setattr(record_pages, "KEPT_BYTES_MAX", RESPONSE_BYTES)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "compression.type": "zstd"})
    for number in range(12):
        producer.produce(topic, f"v{number:02}".encode().ljust(VALUE_BYTES), partition=number % 3, timestamp=1_000_000 + number)
        producer.flush()
    expected = [f"v{number:02}" for number in range(12)]
    for begin in ("newest", "oldest"):
        seen: list[str] = []
        page = client.get(_records(topic), begin=begin)
        while True:
            texts = [each["value"]["text"][:3] for each in page["records"]]
            assert 0 < len(texts) <= 4
            seen += texts
            if not page["next_positions"]:
                break
            page = client.get(_records(topic), begin=begin, positions=page["next_positions"])
        assert sorted(seen) == expected
        assert begin == "oldest" or seen == expected[::-1]
    events = list(_events(client, f"{_records(topic)}/search", begin="oldest"))
    assert sorted(data["record"]["value"]["text"][:3] for name, data in events if name == "record") == expected
    exported = client.http.get(f"/api{_records(topic)}/export", params={"begin": "oldest", "format": "jsonl"}).text
    assert sorted(json.loads(each)["value"][:3] for each in exported.splitlines()) == expected


def test_schemas_of_tails_and_exports_are_fetched_on_threads_that_no_other_page_waits_for(
    broker: EmbeddedBroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: set[str] = set()

    def decode(self: SchemaDecoding, data: bytes | None, header: bytes | None) -> tuple[None, None]:
        threads.add(threading.current_thread().name.partition("_")[0])
        return None, None

    monkeypatch.setattr(SchemaDecoding, "decode", decode)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    with console_of(ClusterSettings("local", broker.bootstrap, registry="http://127.0.0.1:1")) as console:
        client = console.client()
        with closing(_events(client, f"{_records(topic)}/tail", filter=".a == 1")) as events:
            assert next(events)[0] == "progress"
            producer.produce(topic, b'{"a": 1}', partition=0)
            producer.flush()
            assert any(name == "record" for name, _ in events)
        for words in ("jsonl", "csv"):
            exported = client.http.get(f"/api{_records(topic)}/export", params={"begin": "oldest", "format": words})
            assert exported.status_code == 200
    assert threads == {"console"}


def test_a_value_of_20_mb_is_cut_and_can_be_downloaded(client: ConsoleClient, broker: EmbeddedBroker, new_name: str) -> None:
    client.post("/clusters/local/topics", name=new_name, partitions=1, configs="max.message.bytes=40000000")
    large = Producer({"bootstrap.servers": broker.bootstrap, "message.max.bytes": 40_000_000})
    value = b'{"a": "' + b"x" * 20_000_000 + b'"}'
    large.produce(new_name, value)
    large.flush()
    begin = time.monotonic()
    record = client.get(f"{_records(new_name)}/0/0")["record"]
    assert (record["value"]["size_bytes"], record["value"]["is_cut"]) == (len(value), True)
    assert len(record["value"]["text"]) <= 200_000
    page = client.page(_records(new_name))
    assert len(page) < 100_000
    assert "Download the whole value" in client.page(f"{_records(new_name)}/0/0")
    downloaded = client.http.get(f"/api{_records(new_name)}/0/0/value")
    assert downloaded.content == value
    assert downloaded.headers["content-disposition"].startswith("attachment")
    assert time.monotonic() - begin < 30


def test_settings_show_their_source_and_can_be_set_and_unset(client: ConsoleClient, topic: str) -> None:
    path = f"/clusters/local/topics/{topic}/settings"

    def retention() -> dict[str, Any]:
        (found,) = [each for each in client.get(path, search="retention.ms")["settings"] if each["name"] == "retention.ms"]
        return dict(found)

    before = retention()
    assert before["source"] == "Kafka's default"
    assert before["documentation"]
    client.post(path, name="retention.ms", value="1234")
    assert (retention()["value"], retention()["source"]) == ("1234", "this topic")
    assert [each["name"] for each in client.get(path, changed_only=True)["settings"]] == ["retention.ms"]
    assert "1234" in client.page(path, changed_only=True)
    wrong = client.try_post(path, name="retention.ms", value="soon")
    assert wrong.status_code == 400
    client.post(path, name="retention.ms", unset=True)
    assert retention() == before


def test_groups_that_read_a_topic_are_its_users(client: ConsoleClient, broker: EmbeddedBroker, console: ConsoleThread, topic: str) -> None:
    from confluent_kafka import Consumer, TopicPartition

    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in range(30):
        producer.produce(topic, str(number), partition=number % 3)
    producer.flush()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": f"group of/{topic}", "auto.offset.reset": "earliest"})
    consumer.commit(offsets=[TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 10)], asynchronous=False)
    consumer.close()
    console.services.client(console.settings.clusters[0], None).forget()
    users = client.get(f"/clusters/local/topics/{topic}/users")
    assert [(each["group"], each["partitions"], each["lag"]) for each in users["groups"]["items"]] == [(f"group of/{topic}", 2, 6)]
    assert f"group of/{topic}" in client.page(f"/clusters/local/topics/{topic}/users")


def test_a_record_page_has_commands_that_read_the_same_record(
    client: ConsoleClient, broker: EmbeddedBroker, producer: Producer, topic: str
) -> None:
    import shlex

    from tests.cli.running import Cli

    for number in range(3):
        producer.produce(topic, f"value {number}", partition=1)
    producer.flush()
    shown = client.get(f"{_records(topic)}/1/1")["snippets"]
    command = {each["title"]: each["text"] for each in shown}["barnabas"]
    printed = Cli()(*shlex.split(command)[1:]).json_lines
    assert [(each["offset"], each["value"]) for each in printed] == [(1, "value 1")]
    assert "Copy as a command or a program" in client.page(f"{_records(topic)}/1/1")
