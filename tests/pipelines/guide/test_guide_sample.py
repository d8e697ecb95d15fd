"""A few rows of the guide, one of each kind: a short version of the soak test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipelines.conftest import Broker
from tests.pipelines.guide.test_guide import VALUES, check_values, guide_on

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = (
    "`filter`",
    "`groupByKey().count()`",
    "`windowedBy(SessionWindows)`",
    "`leftJoin` with a stream",
    "`windowedBy(TimeWindows)`",
    "`Flatten`",
)


@pytest.mark.timeout(900)
def test_sampled_rows_work_as_the_guide_describes(spark: SparkSession, broker: Broker, checkpoint: str) -> None:
    assert set(SAMPLE) <= VALUES.keys()
    with guide_on(broker.bootstrap, spark, checkpoint, only=SAMPLE) as guide:
        for operation in SAMPLE:
            check_values(guide, operation)
