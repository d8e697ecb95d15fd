"""The settings that Spark is started with."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from barnabas.pipelines import Pipeline
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
from barnabas.pipelines.declaration.read import read_pipeline
from barnabas.pipelines.packages import packages_of
from barnabas.pipelines.session import settings_for

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
DELTA = "io.delta:delta-spark_2.13:4.0.0"
FILE_SYSTEM = "org.apache.hadoop:hadoop-aws:3.4.1"


def pipeline(**spark: str) -> PipelineDeclaration:
    settings = {name.replace("_", "."): value for name, value in spark.items()}
    made = Pipeline("p", spark=settings).source("s", topic="t", format="text")
    return made.sink("o", from_="s", lake={"format": "delta", "path": "x"}).declaration()


def test_packages_of_a_file_are_added_to_the_required_ones() -> None:
    declared = pipeline(spark_jars_packages=f"{FILE_SYSTEM}, {DELTA}")
    assert packages_of([declared]) == [CONNECTOR, DELTA, FILE_SYSTEM]
    assert settings_for([declared], {})["spark.jars.packages"] == ",".join([CONNECTOR, DELTA, FILE_SYSTEM])


def test_extensions_of_a_file_are_added_to_the_required_ones() -> None:
    delta = "io.delta.sql.DeltaSparkSessionExtension"
    assert settings_for([pipeline(spark_sql_extensions="my.Extension")], {})["spark.sql.extensions"] == f"{delta},my.Extension"


def test_workers_import_from_the_working_directory_only_if_a_pipelines_python_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setting = "spark.executorEnv.PYTHONSAFEPATH"
    sql, python = "sql: SELECT 1 AS n FROM t", "python: module:function, inputs: [t]"
    files = {name: tmp_path / f"{name}.yaml" for name in ("sql", "python")}
    for name, step in (("sql", sql), ("python", python)):
        text = f"name: p\nsources: {{t: {{generator: {{}}}}}}\nsteps: [{{view: v, {step}}}]\nsinks: {{o: {{from: v, console: {{}}}}}}\n"
        files[name].write_text(text)
    declared = {name: read_pipeline(str(path)) for name, path in files.items()}
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.setattr("sys.path", [each for each in sys.path if each])
    assert settings_for([declared["python"]], {})[setting] == "1", "its file lies elsewhere"
    with monkeypatch.context() as like_python_m:
        like_python_m.setattr("sys.path", ["", *sys.path])
        assert setting not in settings_for([declared["python"]], {})
        assert settings_for([declared["sql"]], {})[setting] == "1"
    monkeypatch.chdir(tmp_path)
    assert settings_for([], {})[setting] == "1"
    assert settings_for([declared["sql"]], {})[setting] == "1"
    assert setting not in settings_for([declared["sql"], declared["python"]], {})
    monkeypatch.chdir(Path(__file__).parent)
    assert setting not in settings_for([pipeline()], {}), "declared by this very file"


def test_the_most_specific_value_of_a_setting_counts() -> None:
    declared = pipeline(spark_sql_session_timeZone="Europe/Paris")
    assert settings_for([declared], {})["spark.sql.session.timeZone"] == "Europe/Paris"
    assert settings_for([declared], {"spark.sql.session.timeZone": "UTC"})["spark.sql.session.timeZone"] == "UTC"
