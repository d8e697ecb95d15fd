"""Transactions: how they begin, and what other APIs show of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.transaction_requests import add, end, init, read

# From 12 on a produced record brings its partition into the transaction.
OLD_PRODUCE, NEW_PRODUCE = 11, 12
OLD_END, NEW_END = 4, 5
OLD_ADD, NEW_ADD = 3, 5
RECORDS = {"responses[].partitions[].records": "producer ids and the times of markers"}


def began(scene: Scene, transactional_id: str, name: str = "p", **options: Any) -> None:
    scene.same(init(transactional_id, **options), learns={name: "producer_id"}, expect=ErrorCode.NONE)


def is_in(*states: str) -> Callable[[Any], bool]:
    return lambda answer: answer.transaction_states[0].transaction_state in states


def at_rest(scene: Scene, transactional_id: str) -> None:
    """Waits for the markers of an end, which are written after its answer."""
    scene.until(DescribeTransactionsRequest(transactional_ids=[transactional_id]), is_in("Empty", "CompleteCommit", "CompleteAbort"))


def shown(scene: Scene, transactional_id: str, topic: str | None = None) -> None:
    scene.same(DescribeTransactionsRequest(transactional_ids=[transactional_id]))
    if topic is not None:
        scene.same(DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0])]))
        for version in (4, 11, 12):
            scene.same(read(topic), version, differ=RECORDS)
            scene.same(read(topic, committed=False), version, differ=RECORDS)
        for isolation in (0, 1):
            asked = [ListOffsetsPartition(partition_index=0, timestamp=-1)]
            topics = [ListOffsetsTopic(name=topic, partitions=asked)]
            scene.same(ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics), 8)


def states(scene: Scene, name: str, topic: str) -> Any:
    """The transactional id in one state after the other; yields the epoch of its producer in
    each."""
    began(scene, name)
    began(scene, name)
    yield "Empty", 1
    scene.same(lambda the: add(OLD_ADD, name, the["p"], 1, [(topic, [0])]), OLD_ADD)
    yield "Ongoing", 1
    scene.same(lambda the: end(name, the["p"], 1, commit=True), OLD_END, expect=ErrorCode.NONE)
    at_rest(scene, name)
    yield "CompleteCommit", 1
    scene.same(lambda the: add(OLD_ADD, name, the["p"], 1, [(topic, [0])]), OLD_ADD)
    scene.same(lambda the: end(name, the["p"], 1, commit=False), OLD_END, expect=ErrorCode.NONE)
    at_rest(scene, name)
    yield "CompleteAbort", 1
