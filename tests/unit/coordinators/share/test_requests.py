from __future__ import annotations

from typing import Any

import pytest

from barnabas.coordinators.share.operations import Delete, Initialize, Operation, Read, ReadSummary, Write
from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.coordinators.share.requests import request_of, results_in
from barnabas.model.errors import ErrorCode
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from barnabas.wire.messages import read_share_group_state as read, read_share_group_state_summary as summary
from tests.unit.metadata.made import uuid

KEYS = [SharePartitionKey("g", uuid(1), 0), SharePartitionKey("g", uuid(2), 5), SharePartitionKey("g", uuid(1), 1)]
BATCHES = (StateBatch(0, 9, 2, 1), StateBatch(10, 10, 4, 5))


@pytest.mark.parametrize(
    "operations",
    [
        [Initialize(key, 3, 7) for key in KEYS],
        [Read(key, 4) for key in KEYS],
        [Write(key, 3, 4, 5, 6, BATCHES) for key in KEYS],
        [ReadSummary(key, 4) for key in KEYS],
        [Delete(key) for key in KEYS],
    ],
    ids=lambda operations: type(operations[0]).__name__,
)
def test_a_request_names_each_share_partition_under_its_topic(operations: list[Operation]) -> None:
    request: Any = request_of(operations)
    version = declaration_of(type(request)).versions.highest
    request, _ = decode(type(request), version, encode(request, version), 0)
    assert request.group_id == "g"
    assert [(topic.topic_id, [each.partition for each in topic.partitions]) for topic in request.topics] == [
        (uuid(1), [0, 1]),
        (uuid(2), [5]),
    ]


def test_a_write_carries_its_batches() -> None:
    request = request_of([Write(KEYS[0], 3, 4, 5, 6, BATCHES)])
    (partition,) = request.topics[0].partitions
    assert (partition.state_epoch, partition.leader_epoch, partition.start_offset, partition.delivery_complete_count) == (3, 4, 5, 6)
    found = [StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in partition.state_batches]
    assert tuple(found) == BATCHES


def test_results_are_states_summaries_or_codes() -> None:
    batch = read.StateBatch(first_offset=0, last_offset=9, delivery_state=2, delivery_count=1)
    found = read.PartitionResult(partition=0, error_code=0, state_epoch=3, start_offset=7, state_batches=[batch])
    fenced = read.PartitionResult(partition=1, error_code=74, state_epoch=0, start_offset=0, state_batches=[])
    response = read.ReadShareGroupStateResponse(results=[read.ReadStateResult(topic_id=uuid(1), partitions=[found, fenced])])
    assert results_in(response) == {
        (uuid(1), 0): ShareState(3, 7, (StateBatch(0, 9, 2, 1),)),
        (uuid(1), 1): ErrorCode.FENCED_LEADER_EPOCH,
    }
    short = summary.PartitionResult(partition=0, error_code=0, state_epoch=3, leader_epoch=4, start_offset=7, delivery_complete_count=2)
    result = summary.ReadStateSummaryResult(topic_id=uuid(1), partitions=[short])
    summaries = summary.ReadShareGroupStateSummaryResponse(results=[result])
    assert results_in(summaries) == {(uuid(1), 0): ShareSummary(3, 4, 7, 2)}


def test_writes_of_one_leader_become_one_write() -> None:
    first = Write(KEYS[0], 3, 4, 5, 6, BATCHES[:1])
    later = Write(KEYS[0], 3, 4, NO_START_OFFSET, 8, BATCHES[1:])
    assert first.followed_by(later) == Write(KEYS[0], 3, 4, 5, 8, BATCHES)
    assert first.followed_by(Write(KEYS[0], 3, 5, 9, 8, ())) is None
    assert first.followed_by(Write(KEYS[1], 3, 4, 9, 8, ())) is None
