"""Topics of one cluster on another: the same records, the same partitions and settings, kept in
step.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    ResourceType,
)

from barnabas.pipelines.mirror.selection import Policy
from tests.pipelines.mirror.conftest import RunMirror
from tests.pipelines.topics import Read, Topics
from tests.waiting import PATIENCE_SECONDS


def contents(records: list[Read]) -> list[tuple[Any, ...]]:
    """Without offsets, in the order of each partition."""
    return [(each.partition, each.key, each.value, each.timestamp_ms, each.headers) for each in records]


def names(there: Topics) -> set[str]:
    with AdminClient({"bootstrap.servers": there.bootstrap}) as admin:
        return set(admin.list_topics(timeout=PATIENCE_SECONDS).topics)


def settings(topics: Topics, name: str) -> dict[str, str]:
    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    with admin:
        (future,) = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name)]).values()
        entries: dict[str, Any] = future.result(PATIENCE_SECONDS)
    return {key: entry.value for key, entry in entries.items() if entry.source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value}


def test_copied_records_differ_only_in_their_offsets(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    orders = topics.create("orders", partitions=3)
    for number in range(300):
        topics.send(
            orders, [{"n": number}], partition=number % 3, timestamp=1_700_000_000_000 + number, headers={"n": str(number).encode()}
        )
    topics.send_record(orders, b"gone", None, {"empty": b""}, partition=1)
    topics.send_record(orders, None, b"\xff\x00", partition=2)

    reports = run_mirror()

    assert contents(there.read(f"A.{orders}")) == contents(topics.read(orders))
    assert sum(each.records for each in reports) == 302
    assert reports[-1].total == 302
    assert reports[-1].lag == {orders: 0}
    assert json.loads(reports[-1].as_json())["lag_total"] == 0


def test_a_mirror_continues_with_and_without_its_checkpoint(topics: Topics, there: Topics, run_mirror: RunMirror, checkpoint: str) -> None:
    orders = topics.create("orders", partitions=2)
    for start in (0, 100, 200):
        topics.send(orders, [{"n": number} for number in range(start, start + 100)], partition=start // 100 % 2)
        if start == 200:
            # The target has the positions too.
            shutil.rmtree(checkpoint)
        run_mirror()
        assert contents(there.read(f"A.{orders}")) == contents(topics.read(orders))


@pytest.mark.soak
def test_many_small_batches_keep_the_order(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    orders = topics.create("orders", partitions=2)
    topics.send(orders, [{"n": number} for number in range(500)], key="n")
    run_mirror(batch_records_max=100)
    assert contents(there.read(f"A.{orders}")) == contents(topics.read(orders))


def test_topics_come_with_their_partitions_and_settings_and_stay_in_step(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    profiles = topics.create("profiles", 2, cleanup_policy="compact", min_insync_replicas="1", segment_bytes="1048576")
    run_mirror()
    assert settings(there, f"A.{profiles}") == {"cleanup.policy": "compact", "segment.bytes": "1048576"}

    admin = AdminClient({"bootstrap.servers": topics.bootstrap})
    (grown,) = admin.create_partitions([NewPartitions(profiles, 4)]).values()
    grown.result(PATIENCE_SECONDS)
    resource = ConfigResource(ResourceType.TOPIC, profiles)
    resource.add_incremental_config(ConfigEntry("retention.ms", "123456", incremental_operation=AlterConfigOpType.SET))
    resource.add_incremental_config(ConfigEntry("segment.bytes", "", incremental_operation=AlterConfigOpType.DELETE))
    (altered,) = admin.incremental_alter_configs([resource]).values()
    altered.result(PATIENCE_SECONDS)
    later = topics.create("later", 1)
    topics.send(later, [{"n": 1}])
    topics.send(profiles, [{"n": 3}], key="n", partition=3)
    run_mirror()

    assert settings(there, f"A.{profiles}") == {"cleanup.policy": "compact", "retention.ms": "123456"}
    assert [each.partition for each in there.read(f"A.{profiles}")] == [3]
    assert there.values(f"A.{later}") == [{"n": 1}]


@pytest.mark.soak
def test_only_selected_topics_are_copied(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    for each in ("orders", "orders-test", "payments", "re-orders"):
        topics.send(topics.create(each), [{"n": 1}])
    run_mirror(f"{topics.name('orders.*')}", exclude=[".*-test"])
    mine = {name for name in names(there) if name.startswith(f"A.{topics.name('')}")}
    assert mine == {f"A.{topics.name('orders')}"}


@pytest.mark.soak
def test_a_source_without_topics_is_no_error(topics: Topics, run_mirror: RunMirror) -> None:
    assert all(each.records == 0 for each in run_mirror(topics.name("nothing.*")))


@pytest.mark.soak
def test_aborted_records_are_not_copied(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    from confluent_kafka import Producer

    orders = topics.create("orders")
    producer = Producer({"bootstrap.servers": topics.bootstrap, "transactional.id": orders})
    producer.init_transactions(PATIENCE_SECONDS)
    for value, commit in ((b"1", True), (b"2", False), (b"3", True)):
        producer.begin_transaction()
        producer.produce(orders, value)
        producer.flush(PATIENCE_SECONDS)
        if commit:
            producer.commit_transaction(PATIENCE_SECONDS)
        else:
            producer.abort_transaction(PATIENCE_SECONDS)
    run_mirror()
    assert [each.value for each in there.read(f"A.{orders}", isolation="read_uncommitted")] == [b"1", b"3"]


@pytest.mark.soak
def test_two_mirrors_with_renaming_do_not_loop(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    here, over_there = topics.create("orders"), there.create("orders")
    topics.send(here, [{"from": "A"}])
    there.send(over_there, [{"from": "B"}])
    for _ in range(2):
        run_mirror()
        run_mirror(back=True)
    assert topics.values(f"B.{over_there}") == [{"from": "B"}]
    assert there.values(f"A.{here}") == [{"from": "A"}]
    suffix = topics.name("orders")
    assert {name for name in names(topics) if name.endswith(suffix)} == {suffix, f"B.{suffix}"}
    assert {name for name in names(there) if name.endswith(suffix)} == {suffix, f"A.{suffix}"}


def test_two_mirrors_that_keep_names_do_not_loop(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    orders = topics.create("orders")
    there.create("orders")
    for number in range(3):
        topics.send(orders, [{"from": "A", "n": number}])
        there.send(orders, [{"from": "B", "n": number}])
        run_mirror(policy=Policy.IDENTITY)
        reports = run_mirror(policy=Policy.IDENTITY, back=True)
        assert reports[-1].left_out == 1
    wanted = sorted((side, number) for side in "AB" for number in range(3))
    for side in (topics, there):
        found = side.values(orders)
        assert sorted((each["from"], each["n"]) for each in found) == wanted
        for origin in "AB":
            assert [each["n"] for each in found if each["from"] == origin] == [0, 1, 2]
