"""Groups that move from one cluster to the other: they miss nothing, and read next to nothing
again.
"""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from barnabas.pipelines.mirror.checkpoint_record import GroupCheckpoint
from barnabas.pipelines.mirror.selection import Policy
from tests.pipelines.mirror.conftest import RunMirror
from tests.pipelines.topics import Topics
from tests.waiting import PATIENCE_SECONDS, until


def member(bootstrap: str, group: str, topic: str) -> Consumer:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([topic])
    return consumer


def consume(consumer: Consumer, count: int) -> list[bytes]:
    values: list[bytes] = []

    def are_read() -> bool:
        message: Any
        for message in consumer.consume(count - len(values), timeout=0.2):
            assert message.error() is None, message.error()
            values.append(message.value())
        return len(values) == count

    until(are_read, f"{count} records are read", seen=lambda: values)
    return values


def committed(bootstrap: str, group: str, topic: str, partitions: int = 1) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    found = consumer.committed([TopicPartition(topic, each) for each in range(partitions)], timeout=PATIENCE_SECONDS)
    consumer.close()
    return [each.offset for each in found]


def read_as_a_group(bootstrap: str, group: str, topic: str, count: int) -> list[bytes]:
    consumer = member(bootstrap, group, topic)
    values = consume(consumer, count)
    consumer.commit(asynchronous=False)
    consumer.close()
    return values


@pytest.mark.parametrize("policy", [Policy.RENAME, pytest.param(Policy.IDENTITY, marks=pytest.mark.soak)])
def test_a_group_continues_on_the_target(topics: Topics, there: Topics, run_mirror: RunMirror, policy: Policy) -> None:
    orders = topics.create("orders")
    over_there = orders if policy is Policy.IDENTITY else f"A.{orders}"
    group = f"billing.{orders}"
    topics.send(orders, [str(number).encode() for number in range(50)])
    run_mirror(policy=policy)
    topics.send(orders, [str(number).encode() for number in range(50, 100)])
    # A batch is a transaction, and the transaction's marker takes an offset: the two logs no longer
    # agree.
    assert read_as_a_group(topics.bootstrap, group, orders, 70) == [str(number).encode() for number in range(70)]
    reports = run_mirror(policy=policy, groups=[f"billing.{topics.name('.*')}"])
    assert reports[-1].lag == {orders: 0}
    assert committed(there.bootstrap, group, over_there) == [71]
    assert read_as_a_group(there.bootstrap, group, over_there, 30) == [str(number).encode() for number in range(70, 100)]

    # It read on there; its commits on the source must not move it back.
    run_mirror(policy=policy, groups=[".*"])
    assert committed(there.bootstrap, group, over_there) == [101]
    checkpoints = [each for each in there.read("A.checkpoints.internal") if each.key == GroupCheckpoint(group, over_there, 0, 70, 71).key]
    assert checkpoints[-1].value == GroupCheckpoint(group, over_there, 0, 70, 71).value


@pytest.mark.soak
def test_a_group_with_members_on_the_target_is_not_changed(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    orders = topics.create("orders")
    topics.send(orders, [str(number).encode() for number in range(10)])
    run_mirror()
    group = f"billing.{orders}"
    read_as_a_group(topics.bootstrap, group, orders, 8)
    alive = member(there.bootstrap, group, f"A.{orders}")
    consume(alive, 1)
    run_mirror(groups=[".*"])
    assert committed(there.bootstrap, group, f"A.{orders}") == [-1001]
    alive.close()
    run_mirror(groups=[".*"])
    assert committed(there.bootstrap, group, f"A.{orders}") == [8]


@pytest.mark.soak
def test_a_group_that_read_everything_is_at_the_end_of_the_target(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    orders = topics.create("orders")
    group = f"billing.{orders}"
    for start in (0, 10):
        topics.send(orders, [str(number).encode() for number in range(start, start + 10)])
        run_mirror(groups=[])
    read_as_a_group(topics.bootstrap, group, orders, 20)
    run_mirror(groups=[".*"])
    topics.send(orders, [b"new"])
    run_mirror(groups=[".*"])
    assert read_as_a_group(there.bootstrap, group, f"A.{orders}", 1) == [b"new"]


@pytest.mark.soak
def test_no_offset_is_translated_where_records_flow_both_ways(topics: Topics, there: Topics, run_mirror: RunMirror) -> None:
    orders = topics.create("orders")
    there.create("orders")
    there.send(orders, [b"theirs"])
    run_mirror(policy=Policy.IDENTITY, back=True)
    topics.send(orders, [b"ours"])
    run_mirror(policy=Policy.IDENTITY)
    group = f"billing.{orders}"
    read_as_a_group(topics.bootstrap, group, orders, 2)
    run_mirror(policy=Policy.IDENTITY, groups=[".*"])
    assert committed(there.bootstrap, group, orders) == [-1001]
