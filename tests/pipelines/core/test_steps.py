"""Steps over a stream: windows, joins, de-duplication, functions in Python, state per key."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.pipelines.core.running import run_file, write
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Ten minutes of rides; the last one, a day later, closes all windows before it.
RIDES = [
    {"id": 1, "zone": "north", "at": "2030-01-01T12:00:10Z"},
    {"id": 2, "zone": "north", "at": "2030-01-01T12:00:50Z"},
    {"id": 2, "zone": "north", "at": "2030-01-01T12:00:50Z"},
    {"id": 3, "zone": "south", "at": "2030-01-01T12:00:30Z"},
    {"id": 4, "zone": "north", "at": "2030-01-01T12:03:00Z"},
    {"id": 5, "zone": "north", "at": "2030-01-02T12:00:00Z"},
]
SOURCE = """
  rides:
    topic: ${RIDES}
    schema: id INT, zone STRING, at TIMESTAMP
    watermark: {column: at, delay: 10 seconds}
"""


def test_tumbling_sliding_and_session_windows_aggregate(spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path) -> None:
    rides, counts = topics.create("rides"), topics.create("counts")
    topics.send(rides, RIDES)
    file = write(
        tmp_path,
        f"""
name: windows
bootstrap: {topics.bootstrap}
sources: {SOURCE}
steps:
  - view: tumbling
    sql: SELECT 'tumbling' AS kind, window.start AS at, zone, count(*) AS rides FROM rides GROUP BY window(at, '1 minute'), zone
  - view: sliding
    sql: SELECT 'sliding' AS kind, window.start AS at, zone, count(*) AS rides FROM rides GROUP BY window(at, '2 minutes', '1 minute'), zone
  - view: sessions
    sql: >
      SELECT 'session' AS kind, session_window.start AS at, zone, count(*) AS rides FROM rides
      GROUP BY session_window(at, '1 minute'), zone
sinks:
  tumbling: {{from: tumbling, topic: {counts}, guarantee: at_least_once}}
  sliding: {{from: sliding, topic: {counts}, guarantee: at_least_once}}
  sessions: {{from: sessions, topic: {counts}, guarantee: at_least_once}}
""",
    )
    reports = run_file(file, spark, checkpoint, RIDES=rides)
    found = sorted((each["kind"], each["at"][11:16], each["zone"], each["rides"]) for each in topics.values(counts))
    assert found == sorted(
        [
            ("tumbling", "12:00", "north", 3),
            ("tumbling", "12:00", "south", 1),
            ("tumbling", "12:03", "north", 1),
            ("sliding", "11:59", "north", 3),
            ("sliding", "12:00", "north", 3),
            ("sliding", "11:59", "south", 1),
            ("sliding", "12:00", "south", 1),
            ("sliding", "12:02", "north", 1),
            ("sliding", "12:03", "north", 1),
            ("session", "12:00", "north", 3),
            ("session", "12:00", "south", 1),
            ("session", "12:03", "north", 1),
        ]
    )
    assert {each.query for each in reports} == {"tumbling", "sliding", "sessions"}
    assert max(each.state_rows for each in reports) > 0, "open windows are state, and it is reported"
    assert all(each.lag[rides] == 0 for each in reports if each.input_rows)


def test_streams_are_joined_and_duplicate_rows_are_dropped(spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path) -> None:
    rides, fares, out, unique = topics.create("rides"), topics.create("fares"), topics.create("out"), topics.create("unique")
    topics.send(rides, RIDES)
    topics.send(fares, [{"ride": 1, "fare": 7.5, "paid": "2030-01-01T12:01:00Z"}, {"ride": 9, "fare": 1.0, "paid": "2030-01-01T12:01:00Z"}])
    file = write(
        tmp_path,
        f"""
name: joined
bootstrap: {topics.bootstrap}
sources: {SOURCE}
  plain: {{topic: "${{RIDES}}", schema: "id INT, zone STRING"}}
  fares:
    topic: {fares}
    schema: ride INT, fare DOUBLE, paid TIMESTAMP
    watermark: {{column: paid, delay: 10 seconds}}
steps:
  - view: paid
    sql: >
      SELECT r.id, r.zone, f.fare FROM rides r JOIN fares f
      ON r.id = f.ride AND f.paid BETWEEN r.at AND r.at + INTERVAL 10 MINUTES
  - {{view: once, deduplicate: {{from: plain, keys: [id], within: 1 hour}}}}
sinks:
  out: {{from: paid, topic: {out}, guarantee: at_least_once}}
  once: {{from: once, topic: {unique}, value: id, format: text, guarantee: at_least_once}}
""",
    )
    run_file(file, spark, checkpoint, RIDES=rides)
    assert topics.values(out) == [{"id": 1, "zone": "north", "fare": 7.5}]
    assert Counter(each.value for each in topics.read(unique)) == Counter([b"1", b"2", b"3", b"4", b"5"])


MODULE = '''
from collections.abc import Iterator

import pandas as pd
from pyspark.sql import DataFrame, functions as F
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle


def loud(rides: DataFrame, mark: str) -> DataFrame:
    shout = F.udf(lambda text: shouted(text) + mark)
    return rides.select("id", shout("zone").alias("zone"))


def shouted(text: str) -> str:
    return text.upper()


class Running(StatefulProcessor):
    """How many rides a zone had so far."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._seen = handle.getValueState("seen", "rides INT")

    def handleInputRows(self, key, rows: Iterator[pd.DataFrame], timers) -> Iterator[pd.DataFrame]:
        seen = self._seen.get()[0] if self._seen.exists() else 0
        seen += sum(len(each) for each in rows)
        self._seen.update((seen,))
        yield pd.DataFrame({"zone": [key[0]], "rides": [seen]})

    def close(self) -> None:
        pass
'''


def test_python_functions_and_state_work_in_steps(spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path) -> None:
    rides, out = topics.create("rides"), topics.create("out")
    topics.send(rides, RIDES[:4])
    write(tmp_path, MODULE, "rides_of_the_test.py")
    file = write(
        tmp_path,
        f"""
name: in_python
bootstrap: {topics.bootstrap}
sources:
  rides: {{topic: {rides}, schema: "id INT, zone STRING"}}
steps:
  - {{view: loud, python: "rides_of_the_test:loud", inputs: [rides], arguments: {{mark: "!"}}}}
  - view: counted
    state: {{from: loud, keys: [zone], function: "rides_of_the_test:Running", schema: "zone STRING, rides INT", mode: update}}
sinks:
  out: {{from: counted, topic: {out}, mode: update, guarantee: at_least_once}}
""",
    )
    run_file(file, spark, checkpoint)
    topics.send(rides, RIDES[4:5])
    run_file(file, spark, checkpoint)
    newest: dict[str, Any] = {each["zone"]: each["rides"] for each in topics.values(out)}
    assert newest == {"NORTH!": 4, "SOUTH!": 1}, "the second run found the state of the first"
