"""A few rows of the guide, of each kind one, for those who cannot wait for all of them."""

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
def test_these_rows_give_what_the_guide_says(spark: SparkSession, broker: Broker, checkpoint: str) -> None:
    assert set(SAMPLE) <= VALUES.keys()
    with guide_on(broker.bootstrap, spark, checkpoint, only=SAMPLE) as guide:
        for operation in SAMPLE:
            check_values(guide, operation)
