"""Sources whose columns change while a pipeline runs: it stops, announces, or accepts the change,
and no value silently becomes null.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.errors import CannotRun, DeclarationError, SchemaChanged
from barnabas.pipelines.running.runner import Run, context_of, start
from barnabas.pipelines.schema_changes.acceptance import accept
from barnabas.pipelines.schema_changes.columns import Added, Loosened, Removed, Retyped, SchemaChange
from tests.pipelines.databases import Database, database
from tests.pipelines.topics import Topics
from tests.waiting import LONG_PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What INTEGER is to Spark: SQLite's has 64 bits.
NUMBER = {"sqlite": "bigint", "postgresql": "int"}


@pytest.fixture(scope="module", params=("sqlite", "postgresql"))
def db(request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with database(request.param, spark, tmp_path_factory.mktemp("db")) as made:
        yield made


def polled(db: Database, target: Path, **source: Any) -> Pipeline:
    jdbc = {**db.fields, "table": "orders", "mode": "incrementing", "incrementing": "id", "poll": "200 ms"}
    out = {"path": str(target), "format": "json", "options": {"ignoreNullFields": "false"}}
    return Pipeline("polled").source("orders", jdbc=jdbc, **source).sink("out", from_="orders", files=out)


def run(pipeline: Pipeline, spark: SparkSession, checkpoint: str) -> None:
    pipeline.run(session=spark, checkpoint=checkpoint, available_now=True)


def accepted(pipeline: Pipeline, spark: SparkSession, checkpoint: str) -> list[SchemaChange]:
    context = context_of(pipeline.declaration(), spark, checkpoint=checkpoint)
    return [change for _, _, changes in accept([context]) for change in changes]


def lines(target: Path) -> list[str]:
    return sorted(line for file in target.glob("*.json") for line in file.read_text().splitlines())


def announced(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition("; ")[0].partition(": ")[2] for record in caplog.records]


def orders(db: Database) -> None:
    db.execute("DROP TABLE IF EXISTS orders", "CREATE TABLE orders (id BIGINT PRIMARY KEY, qty INTEGER)")
    db.execute("INSERT INTO orders VALUES (1, 5)")


def test_a_renamed_column_of_a_table_stops_the_pipeline_until_it_is_accepted(
    spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path
) -> None:
    orders(db)
    number = NUMBER[db.kind]
    pipeline = polled(db, tmp_path / "out")
    run(pipeline, spark, checkpoint)
    db.execute("ALTER TABLE orders RENAME COLUMN qty TO quantity", "INSERT INTO orders VALUES (2, 7)")
    for _ in range(2):
        with pytest.raises(SchemaChanged) as stopped:
            run(pipeline, spark, checkpoint)
        place = pipeline.declaration().sources[0].place
        assert str(stopped.value).startswith(
            f"{place.path}:{place.line}: source 'orders': table orders changed: 'qty' ({number}) is missing, 'quantity' ({number}) is new; "
        )
    assert lines(tmp_path / "out") == ['{"id":1,"qty":5}']
    assert accepted(pipeline, spark, checkpoint) == [Removed("qty", number), Added("quantity", number)]
    assert accepted(pipeline, spark, checkpoint) == []
    run(pipeline, spark, checkpoint)
    assert lines(tmp_path / "out") == ['{"id":1,"qty":5}', '{"id":2,"quantity":7}']


@pytest.mark.parametrize("db", ["sqlite"], indirect=True)
def test_a_new_column_of_a_table_is_announced_and_arrives_after_its_acceptance(
    spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    orders(db)
    pipeline = polled(db, tmp_path / "out")
    run(pipeline, spark, checkpoint)
    db.execute("ALTER TABLE orders ADD COLUMN note VARCHAR(9)", "INSERT INTO orders VALUES (2, 6, 'early')")
    with caplog.at_level(logging.WARNING, "barnabas.pipelines"):
        run(pipeline, spark, checkpoint)
    assert announced(caplog) == ["source 'orders' has a new column 'note'"]
    assert accepted(pipeline, spark, checkpoint) == [Added("note", "string")]
    db.execute("INSERT INTO orders VALUES (3, 7, 'late')")
    run(pipeline, spark, checkpoint)
    assert lines(tmp_path / "out") == ['{"id":1,"qty":5}', '{"id":2,"qty":6}', '{"id":3,"qty":7,"note":"late"}']


@pytest.mark.parametrize("db", ["sqlite"], indirect=True)
def test_a_declared_column_that_the_table_lacks_is_refused(spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path) -> None:
    orders(db)
    with pytest.raises(DeclarationError, match="source 'orders' declares the column 'amount', which its table does not have"):
        run(polled(db, tmp_path / "out", schema="amount INT"), spark, checkpoint)


@pytest.mark.parametrize(("db", "answer"), [("sqlite", "stop"), ("postgresql", "accept")], indirect=["db"])
def test_a_change_of_the_table_is_found_while_the_pipeline_runs(
    answer: str, spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path
) -> None:
    orders(db)
    pipeline = polled(db, tmp_path / "out", schema_changes=answer)
    running = start([pipeline.declaration()], spark, checkpoint=checkpoint)
    try:
        _until(lambda: lines(tmp_path / "out") == ['{"id":1,"qty":5}'], running)
        db.execute("ALTER TABLE orders RENAME COLUMN qty TO quantity", "INSERT INTO orders VALUES (2, 7)")
        if answer == "stop":
            with pytest.raises(SchemaChanged, match=r"table orders changed: 'qty' \(.*\) is missing"):
                _until(lambda: len(lines(tmp_path / "out")) > 1, running)
            assert len(lines(tmp_path / "out")) == 1
        else:
            _until(lambda: lines(tmp_path / "out") == ['{"id":1,"qty":5}', '{"id":2,"quantity":7}'], running)
    finally:
        running.stop()


@pytest.mark.parametrize("db", ["postgresql"], indirect=True)
def test_rows_that_landed_before_a_change_are_written_in_their_own_shape(
    spark: SparkSession, db: Database, checkpoint: str, tmp_path: Path
) -> None:
    """The previous run was killed between its poll and its sink, and the table changed since: the
    sink goes first."""
    orders(db)
    pipeline = polled(db, tmp_path / "out", schema_changes="accept")
    run(pipeline, spark, checkpoint)
    db.execute("INSERT INTO orders VALUES (2, 6)")
    _poll_alone(pipeline, spark, checkpoint)
    db.execute("ALTER TABLE orders ALTER COLUMN qty TYPE TEXT", "INSERT INTO orders VALUES (3, 'many')")
    stopping = polled(db, tmp_path / "out")
    with pytest.raises(CannotRun, match="were polled with the old columns and are not written yet"):
        accepted(stopping, spark, checkpoint)
    with pytest.raises(SchemaChanged, match="'qty' is string and was int"):
        run(stopping, spark, checkpoint)
    assert lines(tmp_path / "out") == ['{"id":1,"qty":5}', '{"id":2,"qty":6}']
    assert accepted(stopping, spark, checkpoint) == [Retyped("qty", "int", "string")]
    run(stopping, spark, checkpoint)
    assert lines(tmp_path / "out")[-1] == '{"id":3,"qty":"many"}'


def _poll_alone(pipeline: Pipeline, spark: SparkSession, checkpoint: str) -> None:
    from barnabas.pipelines.sources import SOURCES

    context = context_of(pipeline.declaration(), spark, checkpoint=checkpoint, available_now=True)
    SOURCES.of("jdbc").read(context.session, pipeline.declaration().sources[0], context)


def _until(condition: Callable[[], bool], running: Run) -> None:
    def holds() -> bool:
        running.wait(seconds_max=0.1)
        return condition()

    until(holds, "the pipeline has written its rows", seconds_max=LONG_PATIENCE_SECONDS)


# -- records ---------------------------------------------------------------------------------


def copied(topics: Topics, topic: str, target: Path, **source: Any) -> Pipeline:
    out = {"path": str(target), "format": "json", "options": {"ignoreNullFields": "false"}}
    return Pipeline("copied", bootstrap=topics.bootstrap).source("orders", topic=topic, **source).sink("out", from_="orders", files=out)


def test_records_without_a_required_field_stop_the_pipeline_until_it_is_accepted(
    spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    topic, target = topics.create("orders"), tmp_path / "out"
    topics.send(topic, [{"id": 1, "qty": 5, "to": {"city": "a", "zip": 1}, "note": "x"}, {"id": 2, "qty": None, "to": {"city": "b"}}])
    pipeline = copied(topics, topic, target)
    run(pipeline, spark, checkpoint)
    topics.send(topic, [{"id": 3, "qty": 6, "to": None, "colour": "red", "size": 1}])
    with caplog.at_level(logging.WARNING, "barnabas.pipelines"):
        run(pipeline, spark, checkpoint)
    assert announced(caplog) == ["source 'orders' has a new column 'colour'", "source 'orders' has a new column 'size'"]
    topics.send(topic, [{"id": 4, "quantity": 7, "to": {"city": "d"}}])
    before = lines(target)
    with pytest.raises(SchemaChanged, match=r"py:\d+: source 'orders': a record \(topic .*, offset 3\): .* lacks the field 'qty'"):
        run(pipeline, spark, checkpoint)
    assert lines(target) == before
    assert accepted(pipeline, spark, checkpoint) == [
        Removed("qty", "bigint"),
        Added("quantity", "bigint"),
        Added("colour", "string"),
        Added("size", "bigint"),
    ]
    run(pipeline, spark, checkpoint)
    assert lines(target) == [*before, '{"id":4,"note":null,"to":{"city":"d","zip":null},"quantity":7,"colour":null,"size":null}']
    topics.send(topic, [{"id": 5, "quantity": "many", "to": {}}, {"id": 6, "quantity": 8, "to": {"city": "f"}}])
    with pytest.raises(SchemaChanged, match=r"partition 0, offset 4\): it does not fit the remembered columns \(`id` bigint"):
        run(pipeline, spark, checkpoint)
    assert accepted(pipeline, spark, checkpoint) == [Retyped("quantity", "bigint", "string"), Loosened("to.city")]
    run(pipeline, spark, checkpoint)
    assert lines(target)[-2:] == [
        '{"id":5,"note":null,"to":{"city":null,"zip":null},"quantity":"many","colour":null,"size":null}',
        '{"id":6,"note":null,"to":{"city":"f","zip":null},"quantity":"8","colour":null,"size":null}',
    ]


def test_a_source_that_accepts_changes_continues_with_new_fields_while_it_runs(
    spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path
) -> None:
    topic, target = topics.create("orders"), tmp_path / "out"
    topics.send(topic, [{"id": 1, "qty": 5}])
    running = start([copied(topics, topic, target, schema_changes="accept").declaration()], spark, checkpoint=checkpoint)
    try:
        _until(lambda: lines(target) == ['{"id":1,"qty":5}'], running)
        topics.send(topic, [{"id": 2, "quantity": 7}, {"id": 3, "qty": 1.5}])
        expected = ['{"id":2,"qty":null,"quantity":7}', '{"id":3,"qty":1.5,"quantity":null}']
        _until(lambda: lines(target)[1:] == expected, running)
    finally:
        running.stop()


def test_records_that_do_not_fit_declared_columns_become_dead_letters(
    spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path
) -> None:
    topic, letters, target = topics.create("orders"), topics.create("letters"), tmp_path / "out"
    topics.send(topic, [{"id": 1, "qty": 5}, {"id": 2, "qty": "many"}, {"id": 3, "quantity": 7}])
    run(copied(topics, topic, target, schema="id INT, qty INT", dead_letters={"topic": letters}), spark, checkpoint)
    assert lines(target) == ['{"id":1,"qty":5}', '{"id":3,"qty":null}']
    assert [each.json for each in topics.read(letters)] == [{"id": 2, "qty": "many"}]


# -- files -----------------------------------------------------------------------------------


def dropped(folder: Path, target: Path, kind: str, **source: Any) -> Pipeline:
    folder.mkdir(exist_ok=True)
    out = {"path": str(target), "format": "json", "options": {"ignoreNullFields": "false"}}
    files = {"path": str(folder), "format": kind}
    return Pipeline("dropped").source("drops", files=files, **source).sink("out", from_="drops", files=out)


def test_lines_of_json_files_are_checked_like_records(
    spark: SparkSession, checkpoint: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, target = tmp_path / "in", tmp_path / "out"
    pipeline = dropped(folder, target, "json")
    (folder / "1.json").write_text('{"id":1,"qty":5}\n\n')
    run(pipeline, spark, checkpoint)
    (folder / "2.json").write_text('{"id":2,"qty":6,"note":"x"}\n')
    with caplog.at_level(logging.WARNING, "barnabas.pipelines"):
        run(pipeline, spark, checkpoint)
    assert announced(caplog) == ["source 'drops' has a new column 'note'"]
    (folder / "3.json").write_text('{"id":3,"qty":7}\n{"id":4,"quantity":8}\n')
    with pytest.raises(SchemaChanged, match=r"py:\d+: source 'drops': a record \(file:.*3.json\): .* lacks the field 'qty'"):
        run(pipeline, spark, checkpoint)
    assert lines(target) == ['{"id":1,"qty":5}', '{"id":2,"qty":6}']
    assert accepted(pipeline, spark, checkpoint) == [Loosened("qty"), Added("quantity", "bigint"), Added("note", "string")]
    run(pipeline, spark, checkpoint)
    assert lines(target)[2:] == ['{"id":3,"qty":7,"quantity":null,"note":null}', '{"id":4,"qty":null,"quantity":8,"note":null}']


def test_parquet_files_with_other_columns_stop_the_pipeline_or_are_announced(
    spark: SparkSession, checkpoint: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder, target = tmp_path / "in", tmp_path / "out"
    pipeline = dropped(folder, target, "parquet")
    parquet(spark, folder, "id BIGINT, qty INT", (1, 5))
    run(pipeline, spark, checkpoint)
    parquet(spark, folder, "id BIGINT, qty INT, note STRING", (2, 6, "x"))
    with caplog.at_level(logging.WARNING, "barnabas.pipelines"):
        run(pipeline, spark, checkpoint)
    assert announced(caplog) == ["source 'drops' has a new column 'note'"]
    parquet(spark, folder, "id BIGINT, quantity INT", (3, 7))
    with pytest.raises(SchemaChanged, match=r"py:\d+: source 'drops': a record \(file:.*parquet\): .* lacks the column 'qty'"):
        run(pipeline, spark, checkpoint)
    assert accepted(pipeline, spark, checkpoint) == [Removed("qty", "int"), Added("quantity", "int"), Added("note", "string")]
    run(pipeline, spark, checkpoint)
    assert lines(target) == ['{"id":1,"qty":5}', '{"id":2,"qty":6}', '{"id":3,"quantity":7,"note":null}']
    parquet(spark, folder, "id BIGINT, quantity STRING", (4, "many"))
    with pytest.raises(SchemaChanged, match=r"source 'drops': file .* column 'quantity' is .* and not"):
        run(pipeline, spark, checkpoint)
    assert accepted(pipeline, spark, checkpoint) == [Retyped("quantity", "int", "string")]
    run(pipeline, spark, checkpoint)
    assert lines(target)[3:] == ['{"id":4,"quantity":"many","note":null}']


def parquet(spark: SparkSession, folder: Path, schema: str, *rows: tuple[Any, ...]) -> None:
    spark.createDataFrame(list(rows), schema).coalesce(1).write.mode("append").parquet(str(folder))


@pytest.mark.parametrize("answer", ["stop", "accept"])
def test_a_csv_file_with_another_header_stops_the_pipeline_or_is_accepted(
    answer: str, spark: SparkSession, checkpoint: str, tmp_path: Path
) -> None:
    folder, target = tmp_path / "in", tmp_path / "out"
    pipeline = dropped(folder, target, "csv", schema_changes=answer)
    (folder / "1.csv").write_text("id,qty\n1,5\n")
    run(pipeline, spark, checkpoint)
    for number, text in enumerate(("id,quantity\n2,6\n", "id,quantity,note\n3,7,x\n"), start=2):
        (folder / f"{number}.csv").write_text(text)
        if answer == "stop":
            with pytest.raises(SchemaChanged, match=rf"py:\d+: source 'drops': file .*{number}.csv does not have the remembered columns"):
                run(pipeline, spark, checkpoint)
            assert accepted(pipeline, spark, checkpoint)
        run(pipeline, spark, checkpoint)
        assert len(lines(target)) == number
    assert lines(target) == ['{"id":1,"qty":5}', '{"id":2,"quantity":6}', '{"id":3,"quantity":7,"note":"x"}']


def test_csv_files_with_different_headers_are_not_accepted_together(spark: SparkSession, checkpoint: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    pipeline = dropped(folder, tmp_path / "out", "csv")
    (folder / "1.csv").write_text("id,qty\n1,5\n")
    run(pipeline, spark, checkpoint)
    (folder / "2.csv").write_text("id,qty\n2,6\n")
    (folder / "3.csv").write_text("id,quantity\n3,7\n")
    with pytest.raises(CannotRun, match=r"2.csv has id, qty, .*3.csv has id, quantity; give them all the same header"):
        accepted(pipeline, spark, checkpoint)
