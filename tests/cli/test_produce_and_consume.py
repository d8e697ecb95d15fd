from __future__ import annotations

import base64
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from barnabas.cli.consume.assigned import FollowedPartitions
from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS

ALL = ("--from-beginning", "--until-end")
NOON = datetime(2026, 7, 1, 12, tzinfo=UTC)


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
    assert cli("produce", topic, "--file", lines, "--json-summary").json == {"topic": topic, "delivered": 2500, "failed": 0}
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
    shown = cli("consume", topic, *ALL, "--format", "%k %v\\n", "--key-format", "hex", "--value-format", "base64")
    assert shown.out == line
    (record,) = cli("consume", topic, *ALL, "--json").json_lines
    assert base64.b64decode(record["value_base64"]) == raw
    assert "value" not in record


def test_a_template_decides_the_fields_of_a_line(cli: Cli, topic: str) -> None:
    cli("produce", topic, "--key-separator", "=", "--header", "h=1", "--header", "i=2", stdin=b"k=v\n").worked()
    assert cli("consume", topic, *ALL, "--format", "%t %p/%o %k\\t%v [%h] 100%%").text == "orders 0/0 k\tv [h=1,i=2] 100%"
    assert cli("consume", topic, *ALL, "-K", "->", "-D", ";").text == "k->v;"


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
        ((), "01234"),
        (("--offset", "0", "--max", "2"), "01"),
    ],
)
def test_reading_starts_at_the_given_offset(cli: Cli, topic: str, words: tuple[str, ...], seen: str) -> None:
    cli("produce", topic, stdin=b"0\n1\n2\n3\n4\n").worked()
    assert cli("consume", topic, "--until-end", *words).text.replace("\n", "") == seen


def test_reading_starts_at_the_given_time(cli: Cli, topic: str, kafka: EmbeddedBroker) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for hour in range(3):
        producer.produce(topic, f"{hour}", timestamp=int(NOON.timestamp() * 1000) + hour * 3_600_000)
    producer.flush()
    assert cli("consume", topic, "--until-end", "--from-time", "2026-07-01T12:30:00Z").text == "1\n2\n"
    assert cli("consume", topic, "--until-end", "--from-time", "2026-07-01T14:00+02:00").text == "0\n1\n2\n"
    assert cli("consume", topic, "--until-end", "--from-time", "2026-08-01").text == ""


@pytest.fixture
def five_hours(topic: str, kafka: EmbeddedBroker) -> str:
    """Records 0 to 4, one an hour."""
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    for hour in range(5):
        producer.produce(topic, f"{hour}", timestamp=int(NOON.timestamp() * 1000) + hour * 3_600_000)
    producer.flush()
    return topic


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (("--offset", "1:3"), "12"),
        (("--offset", ":2"), "01"),
        (("--offset", "3:"), "34"),
        (("--offset", "-2:"), "34"),
        (("--offset", ":-2"), "012"),
        (("--offset", "1:+2"), "12"),
        (("--offset", "4:99"), "4"),
        (("--offset", "7:9"), None),
        (("--offset", "3:1"), ""),
        (("--from-time", str(int(NOON.timestamp() * 1000) + 1), "--until-end"), "1234"),
        (("--to-time", "2026-07-01T14:00Z"), "01"),
        (("--from-time", "2026-07-01T13:00Z", "--to-time", "2026-07-01T15:00Z"), "12"),
        (("--offset", "1", "--to-time", "2030-01-01"), "1234"),
        (("--from-time", "-1h", "--until-end"), ""),
    ],
)
def test_a_range_of_offsets_or_times_ends_by_itself(cli: Cli, five_hours: str, words: tuple[str, ...], seen: str | None) -> None:
    done = cli("consume", five_hours, *words)
    if seen is None:
        assert done.complaint == "Offset 7 is after the end of orders-0, which is 5."
    else:
        assert done.text.replace("\n", "") == seen


def test_a_range_ends_in_partitions_that_are_shorter_than_it(cli: Cli) -> None:
    cli("topics", "create", "wide", "--partitions", 3).worked()
    cli("produce", "wide", "--partition", 0, stdin=b"a0\na1\na2\n").worked()
    cli("produce", "wide", "--partition", 1, stdin=b"b0\n").worked()
    assert sorted(cli("consume", "wide", "--offset", "1:3").text.split()) == ["a1", "a2"]
    assert sorted(cli("consume", "wide", "--offset", "-1:").text.split()) == ["a2", "b0"]


def test_several_topics_and_patterns_are_read_together(cli: Cli) -> None:
    for name in ("orders-eu", "orders-us", "payments", "other"):
        cli("produce", name, "--value", name).worked()
    assert sorted(cli("consume", "^orders", "payments", *ALL).text.split()) == ["orders-eu", "orders-us", "payments"]
    assert sorted(cli("consume", "^.*", *ALL, "--format", "%t=%s ").text.split()) == [
        f"{name}={name}" for name in ("orders-eu", "orders-us", "other", "payments")
    ]


def test_a_filter_decides_which_records_are_printed_and_counted(cli: Cli, topic: str) -> None:
    cli("produce", topic, "-K", " ", stdin=b'a {"n": 1}\nb {"n": 2}\nc no json\na {"n": 3}\na {"n": 4}\n').worked()
    assert cli("consume", topic, *ALL, "--filter", '.n >= 2 and key == "a"', "--format", "%o ").text == "3 4 "
    assert cli("consume", topic, "--from-beginning", "--filter", ".n > 1", "--max", 2, "--format", "%o ").text == "1 3 "


def test_one_record_can_be_given_as_options(cli: Cli, topic: str) -> None:
    words = ("--key", "k", "--header", "h=1", "--timestamp", "2026-07-01T12:00Z", "--partition", 0)
    assert cli("produce", topic, "--value", "v", *words).text == "Produced 1 record to orders.\n"
    cli("produce", topic, "--tombstone", *words).worked()
    cli("produce", topic, "--value", "", "--key", "6b", "--key-format", "hex").worked()
    assert cli("consume", topic, *ALL, "-f", "%k %s %h %T\\n", "-Z", "--max", 2).text == (
        f"k v h=1 {int(NOON.timestamp() * 1000)}\nk NULL h=1 {int(NOON.timestamp() * 1000)}\n"
    )
    assert cli("consume", topic, "--offset", "2:", "-f", "%k %K %S").text == "k 1 0"


def test_lines_may_carry_headers_and_keys_of_their_own(cli: Cli, topic: str) -> None:
    cli("produce", topic, "--header-separator", "\\t", "-K", ":", "--key", "unused", "-H", "all=x", stdin=b"a=1,b=2\tk:v\n\tl:w\n").worked()
    assert cli("consume", topic, *ALL, "-f", "%h|%k|%s\\n").text == "all=x,a=1,b=2|k|v\nall=x|l|w\n"


def test_empty_values_are_null_with_z(cli: Cli, topic: str) -> None:
    cli("produce", topic, "-Z", "-K", ":", stdin=b":\nk:\n:v\n").worked()
    assert cli("consume", topic, *ALL, "-f", "%K %S,").text == "-1 -1,1 -1,-1 1,"


def test_several_files_and_whole_files_are_sent(cli: Cli, topic: str, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(b"a\nb\n")
    second.write_bytes(b"c;d")
    cli("produce", topic, "--file", first, "--file", "-", stdin=b"typed\n").worked()
    cli("produce", topic, "--file", first, "--file", second, "--whole-files").worked()
    cli("produce", topic, "--file", second, "--delimiter", ";", "--max", 1).worked()
    assert cli("consume", topic, *ALL, "-f", "%s|").text == "a|b|typed|a\nb\n|c;d|c|"
    second.write_bytes(b"x:1\nbad\n")
    assert cli("produce", topic, "--file", second, "-K", ":").complaint == (
        f"Line 2 of {second} has no key separator ':'; it and the lines after it were not sent."
    )


def test_copying_a_topic_is_one_pipe(cli: Cli, kafka: EmbeddedBroker) -> None:
    """Null, empty, text and other bytes; repeated headers, and headers without a value."""
    for name in ("source", "target"):
        cli("topics", "create", name, "--partitions", 3).worked()
    producer = Producer({"bootstrap.servers": kafka.bootstrap})
    data = [None, b"", b"text \xc3\xbc\n", bytes(range(256)), b"\x1b[2J", b'{"a": "\xe2\x80\xa8"}']
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("a", b"\xff"), ("b", None), ("a", b""), ("\u00fc ,=", b"x")]
    for index, each in enumerate(data):
        producer.produce("source", each, key=data[-index], headers=headers[:index], timestamp=1000 + index, partition=index % 3)
    producer.flush()
    lines = cli("consume", "source", *ALL, "--json").worked().out
    cli("produce", "target", "--json", "--keep-partition", stdin=lines).worked()
    copied = cli("consume", "target", *ALL, "--json").json_lines
    originals = [json.loads(line) for line in lines.splitlines()]
    assert _by_place(copied) == _by_place([{**each, "topic": "target"} for each in originals])
    # Without --keep-partition the hash of the key chooses, and all the rest is the same.
    cli("produce", "rehashed", "--json", stdin=lines).worked()
    rehashed = cli("consume", "rehashed", *ALL, "--json").json_lines
    assert sorted(each["timestamp"] for each in rehashed) == [1000 + index for index in range(len(data))]


def _by_place(records: list[dict[str, object]]) -> list[dict[str, object]]:
    return sorted(records, key=lambda each: (each["partition"], each["offset"]))


def test_a_transactional_id_sends_all_records_in_one_transaction(cli: Cli, topic: str, tmp_path: Path) -> None:
    settings = tmp_path / "client.properties"
    settings.write_text("transactional.id=copy\n")
    cli("produce", topic, "--config-file", settings, stdin=b"a\nb\n").worked()
    refused = cli("produce", topic, "--config-file", settings, "-K", ":", stdin=b"k:c\nbad\n")
    assert refused.out == b"Produced 0 records to orders.\n"
    assert "The transaction was aborted, so consumers see none of its records." in refused.complaint
    assert cli("consume", topic, *ALL).text == "a\nb\n"
    assert cli("consume", topic, *ALL, "--isolation", "read_uncommitted").text == "a\nb\nc\n"


def test_properties_of_the_user_count_where_no_option_is_given(cli: Cli, topic: str, tmp_path: Path) -> None:
    settings = tmp_path / "client.properties"
    settings.write_text("acks=1\n")
    words = ("produce", topic, "--config-file", settings, "--idempotent")
    assert "`acks` must be set to `all`" in cli(*words, stdin=b"x\n").complaint
    cli(*words, "--acks", "all", stdin=b"x\n").worked()


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
    done = cli("produce", topic, "--json-summary", "--config-file", _unbatched(tmp_path), stdin=b"small\n" + b"x" * 1000 + b"\n")
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
        (("consume", "orders", "--group", "g", "--partition", "0"), "--partition cannot choose them"),
        (("consume", "orders", "--group", "g", "--offset", "5"), "--offset takes only earliest or latest"),
        (("consume", "nope", "--group", "g"), "There is no topic nope."),
        (("consume", "orders", "--group", ""), "--group cannot be empty."),
        (("consume", ""), "The name of a topic cannot be empty."),
        (("consume", "orders", "--until-end", "--follow"), "--follow goes on after the end"),
        (("consume", "orders", "--filter", ".a ="), "use == for equality"),
        (("consume", "orders.*"), "a pattern begins with ^, as in '^orders.*'."),
        (("consume", "^nope", "^neither"), "No topic matches ^nope or ^neither."),
        (("consume", "orders", "-K", ":", "--json"), "--key-separator is for lines without --format and --json"),
        (("consume", "orders", "-Z", "--null-marker", "x"), "give one of them"),
        (("consume", "orders", "--isolation", "none"), "--isolation"),
        (("produce", "orders", "--partition", "7"), "Topic orders has no partition 7; it has 1."),
        (("produce", "orders", "--file", "/nope"), "/nope: No such file or directory."),
        (("produce", "orders", "--header", "h"), "--header takes name=value"),
        (("produce", "orders", "--key-separator", ""), "cannot be empty"),
        (("produce", "orders", "--acks", "1", "--idempotent"), "`acks` must be set to `all`"),
        (("produce", "bad name"), "bad name"),
        (("produce", "orders", "--value", "v", "--tombstone"), "give one of them"),
        (("produce", "orders", "--value", "v", "--file", "/dev/null"), "nothing to read"),
        (("produce", "orders", "--value", "v", "-K", ":"), "--key-separator is for records in lines"),
        (("produce", "orders", "--value", "xx", "--value-format", "hex"), "--value is not hex."),
        (("produce", "orders", "--json", "-Z"), "-Z is for records in lines"),
        (("produce", "orders", "--json"), "Line 1 is not JSON"),
        (("produce", "orders", "--keep-partition"), "needs --json"),
        (("produce", "orders", "--whole-files"), "needs --file"),
        (("produce", "orders", "--timestamp", "soon"), "--timestamp takes a time"),
    ],
)
def test_impossible_requests_are_one_sentence(cli: Cli, topic: str, words: tuple[str, ...], sentence: str) -> None:
    assert sentence in cli(*words, stdin=b"x\n").complaint


def test_a_pipe_between_two_processes_copies_a_topic(cli: Cli) -> None:
    cli("produce", "source", "-K", ":", "-H", "h=1", stdin=b"a:1\nb:2\n").worked()
    reading = cli.process("consume", "source", "--json", "--until-end")
    writing = cli.process("produce", "target", "--json", stdin=reading.stdout)
    out, err = writing.communicate(timeout=PATIENCE_SECONDS)
    assert (writing.returncode, out, err) == (0, b"Produced 2 records to target.\n", b"")
    assert reading.wait(PATIENCE_SECONDS) == 0
    for stream in (reading.stdout, reading.stderr):
        assert stream is not None
        stream.close()
    template = ("-e", "-f", "%k=%s %h %T\\n")
    assert cli("consume", "target", *template).text == cli("consume", "source", *template).text


def test_new_partitions_and_new_topics_of_a_pattern_are_found_while_following(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """They appear between the first and the second record of the command."""
    monkeypatch.setattr("barnabas.cli.consume.assigned.LOOK_AGAIN_SECONDS", 0.1)
    cli("produce", "orders-eu", "--value", "old").worked()
    bootstrap = cli.environment["BARNABAS_BOOTSTRAP"]

    class AddsPartitions(FollowedPartitions):
        def idle(self) -> None:
            if not self.added:
                type(self).added = True
                admin = AdminClient({"bootstrap.servers": bootstrap})
                admin.create_partitions([NewPartitions("orders-eu", 2)])["orders-eu"].result()
                producer = Producer({"bootstrap.servers": bootstrap})
                producer.produce("orders-eu", "new partition", partition=1)
                producer.produce("orders-us", "new topic")
                producer.flush()
            super().idle()

        added = False

    monkeypatch.setattr("barnabas.cli.consume.command.FollowedPartitions", AddsPartitions)
    seen = cli("consume", "^orders", "--from-beginning", "--max", 3, "--format", "%t %p %s\\n").text
    assert sorted(seen.splitlines()) == ["orders-eu 0 old", "orders-eu 1 new partition", "orders-us 0 new topic"]
