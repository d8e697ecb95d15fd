"""A stage for each study, on the broker of all tests; its topics, which have the names in the
pipelines, are deleted afterwards.

Not a broker for each study: clients in Spark's workers stay open from batch to batch, and keep
looking for a broker that is gone. Those of a few studies kept half a core busy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient

from examples.stage import Stage
from tests.pipelines.conftest import Broker
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Topics of Kafka and of Barnabas: they outlive a study.
LASTING = ("__", "barnabas.")


@pytest.fixture
def stage(spark: SparkSession, broker: Broker, tmp_path: Path) -> Iterator[Stage]:
    with cleared_afterwards(broker.bootstrap):
        yield Stage(broker.bootstrap, tmp_path, spark)


@contextmanager
def cleared_afterwards(bootstrap: str) -> Iterator[None]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    before = set(admin.list_topics(timeout=PATIENCE_SECONDS).topics)
    yield
    made = [each for each in admin.list_topics(timeout=PATIENCE_SECONDS).topics if each not in before and not each.startswith(LASTING)]
    if made:
        for deleted in admin.delete_topics(made, request_timeout=PATIENCE_SECONDS).values():
            deleted.result(PATIENCE_SECONDS)
