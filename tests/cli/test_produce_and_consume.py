from __future__ import annotations

import base64
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli

ALL = ("--from-beginning", "--until-end")


@pytest.fixture
def topic(cli: Cli) -> str:
    cli("topics", "create", "orders", "--partitions", 1).worked()
    return "orders"


def test_lines_become_values_and_values_become_lines(cli: Cli, topic: str) -> None:
    assert cli("produce", topic, stdin="eins\nzwei\r\ndrei ü\n\nlast".encode()).text == "Produced 5 records to orders.\n"
    assert cli("consume", topic, *ALL).text == "eins\nzwei\ndrei ü\n\nlast\n"


def test_one_record_is_counted_as_one(cli: Cli, topic: str) -> None:
    assert cli("produce", topic, stdin=b"x\n").text == "Produced 1 record to orders.\n"


def test_a_file_is_produced_like_stdin(cli: Cli, topic: str, tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"".join(b"%d\n" % number for number in range(2500)))
    assert cli("produce", topic, "--file", lines, "--json").json == {"topic": topic, "delivered": 2500, "failed": 0}
    assert cli("consume", topic, *ALL).out == lines.read_bytes()


def test_keys_headers_nulls_and_codecs_arrive(cli: Cli, topic: str) -> None:
    words = ("--key-separator", "::", "--null-marker", "NUL", "--header", "a=1", "--header", "a=2", "--compression", "zstd", "--idempotent")
    cli("produce", topic, *words, stdin=b"k::v\nNUL::x=y::z\nk::NUL\n").worked()
    records = cli("consume", topic, *ALL, "--json").json_lines
    assert [(each["key"], each["value"]) for each in records] == [("k", "v"), (None, "x=y::z"), ("k", None)]
    assert all(each["headers"] == [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}] for each in records)
    assert [each["offset"] for each in records] == [0, 1, 2]
    assert all(each["timestamp_type"] == "CreateTime" and abs(each["timestamp"] / 1000 - time.time()) < 60 for each in records)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_is_read_back(cli: Cli, topic: str, codec: str) -> None:
    lines = b"the same line again and again\n" * 50
    cli("produce", topic, "--compression", codec, stdin=lines).worked()
    assert cli("consume", topic, *ALL).out == lines


def test_bytes_can_be_given_and_shown_as_hex_and_base64(cli: Cli, topic: str) -> None:
    raw = bytes(range(256))
    line = raw.hex().encode() + b" " + base64.b64encode(raw) + b"\n"
    cli("produce", topic, "--key-separator", " ", "--key-format", "hex", "--value-format", "base64", stdin=line).worked()
    assert cli("consume", topic, *ALL).out == raw + b"\n"
    shown = cli("consume", topic, *ALL, "--format", "%k %v", "--key-format", "hex", "--value-format", "base64")
    assert shown.out == line
    (record,) = cli("consume", topic, *ALL, "--json").json_lines
    assert base64.b64decode(record["value_base64"]) == raw
    assert "value" not in record


def test_a_template_decides_the_fields_of_a_line(cli: Cli, topic: str) -> None:
    cli("produce", topic, "--key-separator", "=", "--header", "h=1", "--header", "i=2", stdin=b"k=v\n").worked()
    line = cli("consume", topic, *ALL, "--format", "%p/%o %k\\t%v [%h] 100%% %t").text
    assert line.startswith("0/0 k\tv [h=1,i=2] 100% ")
    assert line.endswith("\n")
    assert line.count("\n") == 1
    assert cli("consume", topic, *ALL, "--format", "%v\\n").text == "v\n"


def test_records_go_to_the_partition_that_javas_producer_would_choose(cli: Cli) -> None:
    """murmur2 of "a" is in partition 2 of 8 and so on; librdkafka's default would choose other
    partitions."""
    cli("topics", "create", "wide", "--partitions", 8).worked()
    keys = [b"a", b"b", b"barnabas", b"42"]
    cli("produce", "wide", "--key-separator", ":", stdin=b"".join(key + b":\n" for key in keys)).worked()
    found = {each["key"].encode(): each["partition"] for each in cli("consume", "wide", *ALL, "--json").json_lines}
    assert found == {key: (murmur2(key) & 0x7FFFFFFF) % 8 for key in keys}


def murmur2(data: bytes) -> int:
    """As in Kafka's ``Utils.murmur2``, unsigned."""
    mask, magic = 0xFFFFFFFF, 0x5BD1E995
    hashed = (0x9747B28C ^ len(data)) & mask
    whole = len(data) // 4 * 4
    for at in range(0, whole, 4):
        part = int.from_bytes(data[at : at + 4], "little") * magic & mask
        part = (part ^ part >> 24) * magic & mask
        hashed = (hashed * magic & mask) ^ part
    if data[whole:]:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * magic & mask
    hashed = (hashed ^ hashed >> 13) * magic & mask
    return hashed ^ hashed >> 15


def test_a_partition_can_be_named_on_both_sides(cli: Cli) -> None:
    cli("topics", "create", "wide", "--partitions", 3).worked()
    for partition in range(3):
        cli("produce", "wide", "--partition", partition, stdin=b"in %d\n" % partition).worked()
    assert cli("consume", "wide", *ALL, "--partition", 1).text == "in 1\n"
    assert sorted(cli("consume", "wide", *ALL, "--partition", 0, "--partition", 2).text.split("\n")) == ["", "in 0", "in 2"]


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (("--offset", "earliest"), "01234"),
        (("--offset", "3"), "34"),
        (("--offset", "-2"), "34"),
        (("--offset", "-99"), "01234"),
        (("--offset", "latest"), ""),
        ((), ""),
        (("--offset", "0", "--max", "2"), "01"),
    ],
)
def test_reading_starts_at_the_given_offset(cli: Cli, topic: str, words: tuple[str, ...], seen: str) -> None:
    cli("produce", topic, stdin=b"0\n1\n2\n3\n4\n").worked()
    assert cli("consume", topic, "--until-end", *words).text.replace("\n", "") == seen


def test_reading_starts_at_the_given_time(cli: Cli, topic: str, kafka: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    noon = datetime(2026, 7, 1, 12, tzinfo=UTC)
    for hour in range(3):
        producer.produce(topic, f"{hour}", timestamp=int(noon.timestamp() * 1000) + hour * 3_600_000)
    producer.flush()
    assert cli("consume", topic, "--until-end", "--from-time", "2026-07-01T12:30:00Z").text == "1\n2\n"
    assert cli("consume", topic, "--until-end", "--from-time", "2026-07-01T14:00+02:00").text == "0\n1\n2\n"
    assert cli("consume", topic, "--until-end", "--from-time", "2026-08-01").text == ""


def test_a_timeout_ends_the_wait_for_more(cli: Cli, topic: str) -> None:
    cli("produce", topic, stdin=b"x\n").worked()
    began = time.monotonic()
    # Long enough for the first record to arrive on a busy machine.
    assert cli("consume", topic, "--from-beginning", "--timeout", 3).text == "x\n"
    assert time.monotonic() - began >= 3


def test_a_consumer_commits_nothing_and_joins_no_group(cli: Cli, topic: str) -> None:
    cli("produce", topic, stdin=b"x\n").worked()
    cli("consume", topic, *ALL).worked()
    assert cli("groups", "list", "--json").json == []
    assert [each["name"] for each in cli("topics", "list", "--json").json] == [topic]


def test_looking_up_a_topic_does_not_create_it(cli: Cli) -> None:
    assert cli("consume", "nope", *ALL).complaint == "There is no topic nope."
    assert cli("topics", "list").text == ""


def test_producing_creates_a_topic_only_if_the_cluster_allows_it() -> None:
    with EmbeddedBroker(config={"auto.create.topics.enable": "false"}) as broker:
        cli = Cli(broker.bootstrap)
        assert cli("produce", "nope", stdin=b"x\n").complaint == "There is no topic nope."
    with EmbeddedBroker() as broker:
        cli = Cli(broker.bootstrap)
        cli("produce", "fresh", stdin=b"x\n").worked()
        assert cli("consume", "fresh", *ALL).text == "x\n"


def test_lines_before_an_invalid_line_are_delivered(cli: Cli, topic: str) -> None:
    done = cli("produce", topic, "--key-separator", ":", stdin=b"a:1\nb:2\nbad\nc:3\n")
    assert done.out == b"Produced 2 records to orders.\n"
    assert done.complaint == "Line 3 has no key separator ':'; it and the lines after it were not sent."
    assert cli("consume", topic, *ALL).text == "1\n2\n"
    assert "Line 1 has a value that is not hex" in cli("produce", topic, "--value-format", "hex", stdin=b"xx\n").complaint
    assert "that is not base64" in cli("produce", topic, "--value-format", "base64", stdin=b"?\n").complaint


def test_undelivered_records_are_counted_and_explained(cli: Cli, topic: str, tmp_path: Path) -> None:
    cli("configs", "alter", "--topic", topic, "--set", "max.message.bytes=200").worked()
    done = cli("produce", topic, "--json", "--config-file", _unbatched(tmp_path), stdin=b"small\n" + b"x" * 1000 + b"\n")
    assert b'"delivered": 1' in done.out
    assert b'"failed": 1' in done.out
    assert "1 of 2 records were not delivered" in done.complaint


def _unbatched(directory: Path) -> Path:
    """One record a batch, so that the broker refuses the large one alone."""
    path = directory / "client.properties"
    path.write_text("batch.num.messages=1\n")
    return path


def test_a_record_that_librdkafka_itself_refuses_is_counted_too(cli: Cli, topic: str) -> None:
    assert "1 of 1 records were not delivered" in cli("produce", topic, stdin=b"x" * 1_100_000 + b"\n").complaint


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("consume", "orders", "--offset", "9", "--until-end"), "ffset"),
        (("consume", "orders", "--offset", "soon"), "--offset takes a number"),
        (("consume", "orders", "--from-time", "soon"), "--from-time takes a time"),
        (("consume", "orders", "--offset", "1", "--from-beginning"), "give one of them"),
        (("consume", "orders", "--json", "--format", "%v"), "give one of them"),
        (("consume", "orders", "--format", "%x"), "not %x"),
        (("consume", "orders", "--format", "50%"), "--format supports"),
        (("consume", "orders", "--partition", "7"), "Topic orders has no partition 7; it has 1."),
        (("consume", "orders", "--group", "g"), "is not supported yet"),
        (("consume", "orders", "--isolation", "none"), "--isolation"),
        (("produce", "orders", "--partition", "7"), "Topic orders has no partition 7; it has 1."),
        (("produce", "orders", "--file", "/nope"), "/nope: No such file or directory."),
        (("produce", "orders", "--header", "h"), "--header takes name=value"),
        (("produce", "orders", "--key-separator", ""), "cannot be empty"),
        (("produce", "orders", "--acks", "1", "--idempotent"), "`acks` must be set to `all`"),
        (("produce", "bad name"), "bad name"),
    ],
)
def test_impossible_requests_are_one_sentence(cli: Cli, topic: str, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in cli(*words, stdin=b"x\n").complaint
