"""Requests with which brokers keep the state of share partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from barnabas.wire.messages import (
    delete_share_group_state as delete,
    initialize_share_group_state as initialize,
    read_share_group_state as read,
    read_share_group_state_summary as summary,
    write_share_group_state as write,
)
from tests.conformance.authorization.case import GROUP, OPEN, Case, Question
from tests.conformance.authorization.sides import Side

OTHER_WAYS = (("CLUSTER_ACTION cluster",), ("ALTER cluster", "READ group *", "READ topic *"))


def asked(request: Callable[..., Any], topic: Callable[..., Any], partition: Any) -> Question:
    """Of two partitions: one exists, and the other does not."""

    def ask(side: Side, version: int) -> Any:
        return request(group_id=GROUP, topics=[topic(topic_id=side.topic_id(OPEN), partitions=[partition(1), partition(7)])])

    return ask


def case(name: str, request: type[Any], topic: Callable[..., Any], partition: Any) -> Case:
    return Case(name, request, asked(request, topic, partition), (), OTHER_WAYS)


CASES = [
    case(
        "InitializeShareGroupState",
        initialize.InitializeShareGroupStateRequest,
        initialize.InitializeStateData,
        lambda index: initialize.PartitionData(partition=index, state_epoch=1, start_offset=3),
    ),
    case(
        "ReadShareGroupState",
        read.ReadShareGroupStateRequest,
        read.ReadStateData,
        lambda index: read.PartitionData(partition=index, leader_epoch=0),
    ),
    case(
        "WriteShareGroupState",
        write.WriteShareGroupStateRequest,
        write.WriteStateData,
        lambda index: write.PartitionData(partition=index, state_epoch=1, leader_epoch=0, start_offset=4, state_batches=[]),
    ),
    case(
        "ReadShareGroupStateSummary",
        summary.ReadShareGroupStateSummaryRequest,
        summary.ReadStateSummaryData,
        lambda index: summary.PartitionData(partition=index, leader_epoch=0),
    ),
    case(
        "DeleteShareGroupState",
        delete.DeleteShareGroupStateRequest,
        delete.DeleteStateData,
        lambda index: delete.PartitionData(partition=index),
    ),
]
