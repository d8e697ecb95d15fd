"""``validate --deep``: the mistakes that only Spark finds, all of them, with no trace left."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.running.deep_check import DeepCheck, check_deeply
from tests.cli.running import Cli
from tests.pipelines.core.running import write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipelines.topics import Topics

barnabas = Cli()
# Port 9 answers nothing: sources with a schema need no broker.
BAD = """\
name: bad
bootstrap: 127.0.0.1:9
checkpoint: {folder}/checkpoints
sources:
  payments:
    topic: payments
    schema: account STRING, cents BIGINT, at TIMESTAMP
    watermark: {{column: account, delay: 1 minute}}
  limits: {{table: limits, key: account STRNG, schema: cents BIGINT}}
  orders: {{topic: orders, schema: id INT item STRING}}
  visits: {{topic: visits, schema: "page STRING, at TIMESTAMP"}}
steps:
  - view: after_broken
    sql: SELEC id FROM orders
  - view: misspelt
    sql: |
      SELECT pge
      FROM visits
  - {{view: typed, sql: SELECT CAST(page AS INT) + ARRAY(1) AS x FROM visits}}
  - {{view: counted, sql: "SELECT page, count(*) AS n FROM visits GROUP BY page"}}
  - {{view: gone, python: "no_such_module:f", inputs: [orders]}}
  - {{view: nameless, python: "functions:g", inputs: [visits]}}
  - {{view: raising, python: "functions:f", inputs: [visits]}}
sinks:
  a: {{from: visits, topic: a, key: pge, headers: {{h: at, i: att}}, route: "concat(", partition: ARRAY(1)}}
  b: {{from: counted, topic: b}}
  c: {{from: visits, lake: {{format: delta, path: "{folder}/lake", merge_on: [id], latest_by: seen, partition_by: [day]}}}}
  d: {{from: visits, files: {{path: "{folder}/out", partition_by: [day]}}}}
  e: {{from: misspelt, console: {{}}}}
  f: {{from: visits, topic: f, format: text}}
"""
EXPECTED = [
    (8, "sources.payments.watermark", "event time"),
    (9, "sources.limits.key", "STRNG"),
    (10, "sources.orders.schema", "Syntax error"),
    (14, "steps[0].sql", "Syntax error"),
    (16, "steps[1].sql", "`pge`"),
    (19, "steps[2].sql", "step 'typed'"),
    (21, "steps[4].python", "there is no module 'no_such_module'"),
    (22, "steps[5].python", "module 'functions' has no function 'g'"),
    (23, "steps[6].python", "ValueError: no"),
    (25, "sinks.a.key", "`pge`"),
    (25, "sinks.a.headers.i", "`att`"),
    (25, "sinks.a.route", "Syntax error"),
    (25, "sinks.a.partition", "sink 'a'"),
    (26, "sinks.b", "watermark"),
    (27, "sinks.c.lake.merge_on", "`id`"),
    (27, "sinks.c.lake.latest_by", "`seen`"),
    (27, "sinks.c.lake.partition_by", "`day`"),
    (28, "sinks.d.files.partition_by", "`day`"),
    (30, "sinks.f", "has one column, not 2"),
]


def checked(file: Path, spark: SparkSession) -> DeepCheck:
    (result,) = check_deeply([read_pipeline(str(file))], spark)
    return result


def bad_file(folder: Path) -> Path:
    (folder / "functions.py").write_text("def f(frame):\n    raise ValueError('no')\n")
    return write(folder, BAD.format(folder=folder), "bad.yaml")


def test_every_mistake_that_spark_finds_is_reported_with_its_field(tmp_path: Path, spark: SparkSession) -> None:
    result = checked(bad_file(tmp_path), spark)
    found = [(each.line, each.field) for each in result.mistakes]
    assert found == [(line, field) for line, field, _ in EXPECTED], "\n".join(each.located for each in result.mistakes)
    for mistake, (_, field, words) in zip(result.mistakes, EXPECTED, strict=True):
        assert words in mistake.sentence, (field, mistake.sentence)
    assert result.unchecked == ["step 'after_broken'", "step 'gone'", "sink 'e'"]
    left = {name for name in os.listdir(tmp_path) if name != "__pycache__"}
    assert left == {"bad.yaml", "functions.py"}, "the check writes nothing"


def test_all_files_are_checked_in_one_start_of_spark(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    starts: list[int] = []

    def opened(pipelines: list[Any]) -> SparkSession:
        starts.append(len(pipelines))
        return spark

    monkeypatch.setattr("barnabas.pipelines.session.open_session", opened)
    monkeypatch.setattr("barnabas.pipelines.session.close_session", lambda _: None)
    # The same view in both files: neither sees the other's.
    text = "name: p\nsources: {t: {generator: {}}}\nsteps: [{view: v, sql: SELECT value FROM t}]\nsinks: {o: {from: v, console: {}}}\n"
    write(tmp_path, text, "good.yaml")
    write(tmp_path, text.replace("value", "valu").replace("name: p", "name: q"), "misspelt.yaml")
    write(tmp_path, text.replace("from", "form"), "shallow.yaml")
    finished = barnabas("pipelines", "validate", "--deep", str(tmp_path))
    assert (finished.code, starts) == (1, [2])
    assert finished.out.decode() == f"{tmp_path}/good.yaml: pipeline 'p' is valid: 1 source, 1 step, 1 sink.\n"
    lines = finished.err.splitlines()
    assert lines[0].startswith(f"{tmp_path}/misspelt.yaml:3:19: steps[0].sql: step 'v': A column")
    assert lines[1] == f"{tmp_path}/misspelt.yaml: not checked, because of these mistakes: sink 'o'."
    assert lines[2].startswith(f"{tmp_path}/shallow.yaml:4:")
    assert lines[-1].startswith("barnabas: 2 of 3 files are invalid: ")


def test_columns_are_inferred_from_a_sample_and_not_remembered(tmp_path: Path, spark: SparkSession, topics: Topics) -> None:
    orders = topics.create("orders")
    topics.send(orders, [{"id": 1, "item": "hat"}])
    text = (
        f"name: p\nbootstrap: {topics.bootstrap}\ncheckpoint: {tmp_path}/checkpoints\n"
        f"sources:\n  orders: {{topic: {orders}}}\n  gone: {{topic: nowhere}}\n"
        "steps:\n  - {view: v, sql: SELECT itm FROM orders}\nsinks: {o: {from: v, topic: written}}\n"
    )
    result = checked(write(tmp_path, text), spark)
    assert [each.line for each in result.mistakes] == [6, 8]
    assert "there is no topic 'nowhere', so its columns cannot be inferred" in result.mistakes[0].sentence
    assert "`item`" in result.mistakes[1].sentence, "Spark suggests the column of the sample"
    assert not (tmp_path / "checkpoints").exists()


def test_columns_of_a_database_are_checked_without_polling_it(tmp_path: Path, spark: SparkSession) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, qty INTEGER)")
        database.execute("INSERT INTO orders VALUES (1, 2)")
        database.commit()
    url = f"jdbc:sqlite:{tmp_path}/shop.db"
    text = f"""\
        name: p
        checkpoint: {tmp_path}/checkpoints
        trigger: available_now
        sources:
          orders: {{jdbc: {{url: "{url}", table: orders, mode: incrementing, incrementing: id}}}}
          gone: {{jdbc: {{url: "{url}", table: gone}}}}
          typed: {{jdbc: {{url: "{url}", table: orders}}, schema: qtty INT}}
        steps:
          - {{view: v, sql: SELECT quantity FROM orders}}
        sinks:
          o: {{from: orders, jdbc: {{url: "{url}", table: copy, keys: [number], delete: qty}}}}
        """
    result = checked(write(tmp_path, text), spark)
    assert [(each.line, each.field) for each in result.mistakes] == [
        (6, "sources.gone"),
        (7, "sources.typed"),
        (9, "steps[0].sql"),
        (11, "sinks.o.jdbc.keys"),
    ], [each.located for each in result.mistakes]
    assert "no such table: gone" in result.mistakes[0].sentence
    assert "declares the column 'qtty', which its table does not have" in result.mistakes[1].sentence
    assert not (tmp_path / "checkpoints").exists()
