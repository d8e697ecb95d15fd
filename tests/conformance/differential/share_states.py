"""Requests about the delivery state of share partitions, for scripts of both brokers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from barnabas.model.ids import Uuid
from barnabas.wire.messages import (
    delete_share_group_state as delete_state,
    initialize_share_group_state as initialize_state,
    read_share_group_state as read_state,
    read_share_group_state_summary as summary_state,
    write_share_group_state as write_state,
)
from tests.conformance.differential.scene import Known

TOPIC = "shared"
PARTITIONS = 3
ABSENT = Uuid(b"no such topic id")

Ask: TypeAlias = Callable[[Known], Any]


def _id(the: Known, topic: str | None) -> Uuid:
    return the.topic_id(topic) if topic is not None else ABSENT


def initialize(group: str, *partitions: int, topic: str | None = TOPIC, state_epoch: int = 1, start_offset: int = 0) -> Ask:
    def ask(the: Known) -> Any:
        epochs = {"state_epoch": state_epoch, "start_offset": start_offset}
        asked = [initialize_state.PartitionData(partition=each, **epochs) for each in partitions or (0,)]
        topics = [initialize_state.InitializeStateData(topic_id=_id(the, topic), partitions=asked)]
        return initialize_state.InitializeShareGroupStateRequest(group_id=group, topics=topics)

    return ask


def read(group: str, *partitions: int, topic: str | None = TOPIC, leader_epoch: int = 0) -> Ask:
    def ask(the: Known) -> Any:
        asked = [read_state.PartitionData(partition=each, leader_epoch=leader_epoch) for each in partitions or (0,)]
        topics = [read_state.ReadStateData(topic_id=_id(the, topic), partitions=asked)]
        return read_state.ReadShareGroupStateRequest(group_id=group, topics=topics)

    return ask


def summary(group: str, *partitions: int, topic: str | None = TOPIC, leader_epoch: int = 0) -> Ask:
    def ask(the: Known) -> Any:
        asked = [summary_state.PartitionData(partition=each, leader_epoch=leader_epoch) for each in partitions or (0,)]
        topics = [summary_state.ReadStateSummaryData(topic_id=_id(the, topic), partitions=asked)]
        return summary_state.ReadShareGroupStateSummaryRequest(group_id=group, topics=topics)

    return ask


def write(
    group: str,
    batches: Iterable[tuple[int, int, int, int]] = (),
    *partitions: int,
    topic: str | None = TOPIC,
    state_epoch: int = 1,
    leader_epoch: int = 0,
    start_offset: int = -1,
    count: int | None = None,
) -> Ask:
    """A batch is its first and last offset, delivery state and delivery count."""
    counted = {"delivery_complete_count": count} if count is not None else {}
    state_batches = [
        write_state.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=delivered)
        for first, last, state, delivered in batches
    ]

    def ask(the: Known) -> Any:
        asked = [
            write_state.PartitionData(
                partition=each,
                state_epoch=state_epoch,
                leader_epoch=leader_epoch,
                start_offset=start_offset,
                state_batches=state_batches,
                **counted,
            )
            for each in partitions or (0,)
        ]
        topics = [write_state.WriteStateData(topic_id=_id(the, topic), partitions=asked)]
        return write_state.WriteShareGroupStateRequest(group_id=group, topics=topics)

    return ask


def delete(group: str, *partitions: int, topic: str | None = TOPIC) -> Ask:
    def ask(the: Known) -> Any:
        asked = [delete_state.PartitionData(partition=each) for each in partitions or (0,)]
        topics = [delete_state.DeleteStateData(topic_id=_id(the, topic), partitions=asked)]
        return delete_state.DeleteShareGroupStateRequest(group_id=group, topics=topics)

    return ask
