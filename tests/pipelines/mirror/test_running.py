"""A mirror that keeps running: new records of the source soon appear on the target."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]

from barnabas.pipelines.mirror.cluster import MirrorCluster
from barnabas.pipelines.mirror.mirror import Mirror, MirrorOptions
from barnabas.pipelines.mirror.report import MirrorReport
from barnabas.pipelines.mirror.selection import Policy, TopicSelection
from tests.pipelines.mirror.test_groups import committed, read_as_a_group
from tests.pipelines.mirror.test_mirror import names, settings
from tests.pipelines.topics import Topics
from tests.waiting import PATIENCE_SECONDS, until

# This takes minutes on a small machine, so it belongs to `make soak`.
pytestmark = pytest.mark.soak

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def running(mirror: Mirror, reports: list[MirrorReport]) -> Iterator[None]:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            mirror.run(reports.append)
        except BaseException as failure:  # noqa: BLE001 - handed to the test
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        mirror.stop_asked.set()
        thread.join(PATIENCE_SECONDS)
    assert not failures, failures
    assert not thread.is_alive()


def test_new_topics_settings_and_positions_follow(spark: SparkSession, topics: Topics, there: Topics, checkpoint: str) -> None:
    source, target = MirrorCluster("A", topics.bootstrap), MirrorCluster("B", there.bootstrap)
    selection = TopicSelection([topics.name(".*")], Policy.RENAME, "A", "B")
    reports: list[MirrorReport] = []
    with running(Mirror(spark, MirrorOptions(source, target, selection, checkpoint, sync_seconds=0.2)), reports):
        orders = topics.create("orders")
        topics.send(orders, [{"n": 1}, {"n": 2}])
        until(lambda: f"A.{orders}" in names(there) and there.values(f"A.{orders}") == [{"n": 1}, {"n": 2}], "both records are mirrored")

        resource = ConfigResource(ResourceType.TOPIC, orders)
        resource.add_incremental_config(ConfigEntry("retention.ms", "654321", incremental_operation=AlterConfigOpType.SET))
        admin = AdminClient({"bootstrap.servers": topics.bootstrap})
        (altered,) = admin.incremental_alter_configs([resource]).values()
        altered.result(PATIENCE_SECONDS)
        read_as_a_group(topics.bootstrap, f"group.{orders}", orders, 1)
        until(lambda: settings(there, f"A.{orders}") == {"retention.ms": "654321"}, "the setting is mirrored")
        until(lambda: committed(there.bootstrap, f"group.{orders}", f"A.{orders}") == [1], "the committed offset is mirrored")
    assert sum(each.records for each in reports) == 2
    assert reports[-1].lag == {orders: 0}
