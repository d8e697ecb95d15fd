"""DeleteRecords."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic
from tests.conformance.differential.log_requests import BATCHES, EARLIEST, LATEST, MAX_TIMESTAMP, at
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.produced import produce


def deleting(topic: str, *partitions: tuple[int, int]) -> DeleteRecordsRequest:
    asked = [DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in partitions]
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=asked)], timeout_ms=5000)


def test_delete_records_moves_the_log_start_offset(pair: Pair) -> None:
    name = pair.create("trimmed", 2)
    produce(pair, name, BATCHES)
    for offset in (0, 1, 1, 0, 4, 12, -2, 2**40, -1, -1):
        pair.same(deleting(name, (0, offset)))
        for timestamp in (LATEST, EARLIEST, MAX_TIMESTAMP, -4, 0, 1000, 2500, 5500):
            pair.same(at(timestamp, name), [11])
        pair.same(at_epoch(name), [4])
    pair.same(deleting(name, (1, 0), (2, 0), (-1, 0)))
    pair.same(deleting("never-was", (0, 0)))
    pair.same(deleting("", (0, 0)))
    pair.same(DeleteRecordsRequest(topics=[], timeout_ms=1000))


def at_epoch(topic: str) -> OffsetForLeaderEpochRequest:
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    return OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=topic, partitions=[asked])])


@pytest.mark.parametrize("policy", ["compact", "delete", "compact,delete", ""])
def test_delete_records_of_a_compacted_topic_is_refused(pair: Pair, policy: str) -> None:
    name = pair.create(f"policy-{len(policy)}", configs={"cleanup.policy": policy})
    produce(pair, name, BATCHES)
    for offset in (-1, 0, 3, 99):
        pair.same(deleting(name, (0, offset)))
