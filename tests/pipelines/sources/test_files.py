"""Files dropped into a folder, and files that are written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.errors import CannotRun, RunFailed
from tests.pipelines.topics import Topics

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def copied(spark: SparkSession, checkpoint: str, source: dict[str, Any], target: Path, **sink: Any) -> list[tuple[Any, ...]]:
    """The rows of the target's files after all files of the folder were processed."""
    files = {"path": str(target), "format": "json", **sink}
    Pipeline("copy").source("drops", **source).sink("out", from_="drops", files=files).run(
        session=spark, checkpoint=checkpoint, available_now=True
    )
    return sorted(tuple(row) for row in spark.read.format(files["format"]).option("header", "true").load(str(target)).collect())


def test_each_csv_file_is_read_once(spark: SparkSession, checkpoint: str, tmp_path: Path) -> None:
    folder, target = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    (folder / "1.csv").write_text('account,amount\na,1.5\n"b, c",2\n')
    source = {"files": {"path": str(folder), "format": "csv"}, "schema": "account STRING, amount DOUBLE"}
    assert copied(spark, checkpoint, source, target) == [("a", 1.5), ("b, c", 2.0)]
    (folder / "2.csv").write_text("account,amount\nd,3\n")
    assert copied(spark, checkpoint, source, target) == [("a", 1.5), ("b, c", 2.0), ("d", 3.0)]


def test_the_first_files_decide_the_columns_of_later_ones(spark: SparkSession, checkpoint: str, tmp_path: Path) -> None:
    folder, target = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    source = {"files": {"path": str(folder), "format": "json"}}
    with pytest.raises(CannotRun, match="declare its 'schema'"):
        copied(spark, checkpoint, source, target)
    (folder / "1.json").write_text('{"a": 1, "b": "x"}\n{"a": 2}\n')
    copied(spark, checkpoint, source, target)
    (folder / "2.json").write_text('{"a": 3, "c": true}\n')
    copied(spark, checkpoint, source, target)
    lines = [json.loads(line) for file in target.glob("*.json") for line in file.read_text().splitlines()]
    assert sorted(lines, key=lambda each: int(each["a"])) == [{"a": 1, "b": "x"}, {"a": 2}, {"a": 3}]


def test_parquet_is_read_and_written_in_partitions(spark: SparkSession, checkpoint: str, tmp_path: Path) -> None:
    folder, target = tmp_path / "in", tmp_path / "out"
    spark.createDataFrame([("a", 1), ("b", 2)], "zone STRING, n INT").coalesce(1).write.parquet(str(folder))
    rows = copied(spark, checkpoint, {"files": {"path": str(folder), "format": "parquet"}}, target, format="parquet", partition_by=["zone"])
    assert rows == [(1, "a"), (2, "b")]
    assert {each.name for each in target.iterdir() if each.is_dir()} == {"_spark_metadata", "zone=a", "zone=b"}


def test_undecodable_lines_become_dead_letters_with_their_file(
    spark: SparkSession, topics: Topics, checkpoint: str, tmp_path: Path
) -> None:
    folder, good, bad = tmp_path / "in", topics.create("good"), topics.name("bad")
    folder.mkdir()
    (folder / "1.csv").write_text("account,amount\na,much\nb,2\nc\n")
    (
        Pipeline("drops", bootstrap=topics.bootstrap)
        .source("drops", files={"path": str(folder), "format": "csv"}, schema="account STRING, amount INT", dead_letters={"topic": bad})
        .sink("out", from_="drops", topic=good, guarantee="at_least_once")
        .run(session=spark, checkpoint=checkpoint, available_now=True)
    )
    assert topics.values(good) == [{"account": "b", "amount": 2}]
    # Lines of files are spread over writers by their value, so their order is not kept.
    letters = sorted(topics.read(bad), key=lambda each: each.value or b"")
    assert [each.value for each in letters] == [b"a,much", b"c"]
    assert letters[0].headers["barnabas.dead_letter.file"].endswith(b"/in/1.csv")
    assert b'decoded: {"account":"a"}' in letters[0].headers["barnabas.dead_letter.reason"]


def test_without_tolerance_an_undecodable_line_stops_the_pipeline(spark: SparkSession, checkpoint: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.json").write_text('{"a": 1}\n{"a": ')
    with pytest.raises(RunFailed, match=r"source 'drops' read a record it cannot decode \(file:.*1.json\): this line does not"):
        copied(spark, checkpoint, {"files": {"path": str(folder), "format": "json"}, "schema": "a INT"}, tmp_path / "out")


def test_a_header_with_other_names_is_an_error(spark: SparkSession, checkpoint: str, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.csv").write_text("a,1.5\nb,2\n")
    source = {"files": {"path": str(folder), "format": "csv"}, "schema": "account STRING, amount DOUBLE"}
    with pytest.raises(RunFailed, match="header"):
        copied(spark, checkpoint, source, tmp_path / "out")
