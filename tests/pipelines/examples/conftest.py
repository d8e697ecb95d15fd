"""A stage of its own for each study: a fresh broker, so that topics may be called what the pipelines call them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from barnabas.testing import EmbeddedBroker
from examples.stage import Stage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Iterator[Stage]:
    with EmbeddedBroker(process=True) as broker:
        yield Stage(broker.bootstrap, tmp_path, spark)
