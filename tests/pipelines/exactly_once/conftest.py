"""Fixtures for tests that run pipelines as processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def jars(spark: SparkSession) -> list[str]:
    """The connector's jars, which this process has already: resolving packages again at every start
    would take most of the time."""
    needed = ("kafka", "commons-pool2", "scala-parallel-collections")
    return [jar for jar in spark.conf.get("spark.jars", "").split(",") if any(name in jar for name in needed)]  # type: ignore[union-attr]
