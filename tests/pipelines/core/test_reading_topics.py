"""Reading topics: where to start, how much at a time, which topics, and the columns beside a
record's value.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.pipelines import CannotRun, Pipeline
from tests.pipelines.core.running import run_file, write
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_topic_is_read_from_an_offset_or_time_at_a_rate(spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path) -> None:
    numbers, out = topics.create("numbers"), topics.create("out")
    for number in range(6):
        topics.send_record(numbers, None, str(number).encode(), timestamp=1_000_000 + number)
    file = write(
        tmp_path,
        f"""
name: starts
bootstrap: {topics.bootstrap}
sources:
  by_offset: {{topic: {numbers}, format: text, schema: n STRING, start: {{offsets: {{0: 4}}}}}}
  by_time: {{topic: {numbers}, format: text, schema: n STRING, start: {{timestamp: 1000005}}}}
  latest: {{topic: {numbers}, format: text, schema: n STRING, start: latest}}
  slowly: {{topic: {numbers}, format: text, schema: n STRING, rate: 2}}
sinks:
  by_offset: {{from: by_offset, topic: {out}, format: text, key: "'offset'", guarantee: at_least_once}}
  by_time: {{from: by_time, topic: {out}, format: text, key: "'time'", guarantee: at_least_once}}
  latest: {{from: latest, topic: {out}, format: text, key: "'latest'", guarantee: at_least_once}}
  slowly: {{from: slowly, topic: {out}, format: text, key: "'slowly'", guarantee: at_least_once}}
""",
    )
    reports = run_file(file, spark, checkpoint)
    found: dict[bytes | None, list[bytes | None]] = {}
    for each in topics.read(out):
        found.setdefault(each.key, []).append(each.value)
    assert found == {b"offset": [b"4", b"5"], b"time": [b"5"], b"slowly": [b"0", b"1", b"2", b"3", b"4", b"5"]}
    batches = [each.input_rows for each in reports if each.query == "slowly" and each.input_rows]
    assert batches == [2, 2, 2]


def test_a_pattern_reads_all_matching_topics_with_keys_and_headers(
    spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path
) -> None:
    north, south, out = topics.create("rides.north"), topics.create("rides.south"), topics.create("out", partitions=2)
    topics.send_record(north, b"7", b"\x00\xff", {"trace": b"t1"}, timestamp=5_000)
    topics.send_record(south, b"8", None, timestamp=6_000)
    file = write(
        tmp_path,
        f"""
name: patterns
bootstrap: {topics.bootstrap}
sources:
  rides:
    pattern: {topics.name("rides").replace(".", "[.]")}[.].*
    format: bytes
    schema: raw BINARY
    key: id INT
steps:
  - view: described
    sql: >
      SELECT id, raw, _topic, _partition, _offset, unix_millis(_timestamp) AS at,
      CAST(element_at(map_from_entries(_headers), 'trace') AS STRING) AS trace FROM rides
sinks:
  out:
    from: described
    topic: {out}
    key: id + 100
    value: raw
    format: bytes
    partition: id - 7
    headers: {{from: "concat_ws('/', _topic, _offset, at)", trace: trace}}
    guarantee: at_least_once
""",
    )
    run_file(file, spark, checkpoint)
    first, second = topics.read(out)
    assert (first.partition, first.key, first.value) == (0, b"107", b"\x00\xff")
    assert first.headers == {"from": f"{north}/0/5000".encode(), "trace": b"t1"}
    assert (second.partition, second.key, second.value) == (1, b"108", None)


def test_columns_are_inferred_once_and_kept(spark: SparkSession, topics: Topics, checkpoint: str) -> None:
    orders, out = topics.create("orders"), topics.create("out")
    pipeline = (
        Pipeline("inferred", bootstrap=topics.bootstrap)
        .source("orders", topic=orders)
        .step("big", sql="SELECT id, item.name AS name, price * 2 AS twice FROM orders")
        .sink("out", from_="big", topic=out, tombstone="twice IS NULL", key="id", guarantee="at_least_once")
    )
    with pytest.raises(CannotRun, match="The columns of source 'orders' cannot be inferred, because there is no record yet"):
        pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    topics.send(orders, [{"id": 1, "item": {"name": "pen"}, "price": 1.5}, {"id": 2}])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    topics.send(orders, [{"id": 3, "item": {"name": "cup"}, "price": 2, "new": "ignored"}])
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)
    found = [(each.key, each.json if each.value is not None else None) for each in topics.read(out)]
    assert found == [
        (b"1", {"id": 1, "name": "pen", "twice": 3.0}),
        (b"2", None),
        (b"3", {"id": 3, "name": "cup", "twice": 4.0}),
    ]
