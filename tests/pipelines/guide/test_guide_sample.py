"""A few rows of the guide, for those who cannot wait for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pipelines.conftest import Broker
from tests.pipelines.guide.test_guide import check_values, guide_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = ("`filter`", "`groupByKey().count()`")


def test_these_rows_give_what_the_guide_says(spark: SparkSession, broker: Broker, checkpoint: str) -> None:
    with guide_on(broker.bootstrap, spark, checkpoint, group_size=1) as guide:
        for operation in SAMPLE:
            check_values(guide, operation)
