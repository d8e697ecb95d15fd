"""What Spark is started with."""

from __future__ import annotations

from barnabas.pipelines import Pipeline
from barnabas.pipelines.declaration.pipeline_declaration import PipelineDeclaration
from barnabas.pipelines.packages import packages_of
from barnabas.pipelines.session import settings_for

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0"
DELTA = "io.delta:delta-spark_2.13:4.0.0"
FILE_SYSTEM = "org.apache.hadoop:hadoop-aws:3.4.1"


def pipeline(**spark: str) -> PipelineDeclaration:
    settings = {name.replace("_", "."): value for name, value in spark.items()}
    made = Pipeline("p", spark=settings).source("s", topic="t", format="text")
    return made.sink("o", from_="s", lake={"format": "delta", "path": "x"}).declaration()


def test_packages_of_a_file_come_besides_those_that_are_needed() -> None:
    declared = pipeline(spark_jars_packages=f"{FILE_SYSTEM}, {DELTA}")
    assert packages_of([declared]) == [CONNECTOR, DELTA, FILE_SYSTEM]
    assert settings_for([declared], {})["spark.jars.packages"] == ",".join([CONNECTOR, DELTA, FILE_SYSTEM])


def test_extensions_of_a_file_come_besides_those_that_are_needed() -> None:
    delta = "io.delta.sql.DeltaSparkSessionExtension"
    assert settings_for([pipeline(spark_sql_extensions="my.Extension")], {})["spark.sql.extensions"] == f"{delta},my.Extension"


def test_of_other_settings_the_nearest_one_counts() -> None:
    declared = pipeline(spark_sql_session_timeZone="Europe/Paris")
    assert settings_for([declared], {})["spark.sql.session.timeZone"] == "Europe/Paris"
    assert settings_for([declared], {"spark.sql.session.timeZone": "UTC"})["spark.sql.session.timeZone"] == "UTC"
