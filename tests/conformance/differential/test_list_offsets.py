"""ListOffsets."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.conformance.differential.log_requests import EARLIEST, LATEST, MAX_TIMESTAMP, at
from tests.conformance.differential.pair import Pair

LONG_MAX = 2**63 - 1
TIMES = [*range(-8, 2), 999, 1000, 1001, 1002, 1003, 1999, 2000, 2001, 3000, 4999, 5000, 5001, 5500, 6000, 6001, 6002, LONG_MAX, -(2**63)]


@pytest.mark.parametrize("timestamp", TIMES)
def test_list_offsets_finds_the_offset_of_a_timestamp(pair: Pair, timed: str, timestamp: int) -> None:
    pair.same(at(timestamp))
    pair.same(at(timestamp, isolation=1))
    pair.same(at(timestamp, partition=1))


def test_list_offsets_ignores_the_replica_id_and_checks_the_leader_epoch(pair: Pair, timed: str) -> None:
    for replica in (-1, -2, -3):
        for timestamp in (LATEST, EARLIEST, MAX_TIMESTAMP, 2000):
            pair.same(at(timestamp, replica=replica))
    for epoch in (0, 1, 7, -1):
        pair.same(at(LATEST, epoch=epoch))
        pair.same(at(2000, epoch=epoch))


def test_list_offsets_refuses_missing_and_repeated_partitions(pair: Pair, timed: str) -> None:
    for topic, partition in (("timed", 2), ("timed", -1), ("never-was", 0), ("", 0), ("a b", 0)):
        pair.same(at(LATEST, topic, partition))
        pair.same(at(5, topic, partition))
    pair.same(at(LATEST, times=2))
    pair.same(ListOffsetsRequest(replica_id=-1, topics=[]))
    both = [ListOffsetsTopic(name="timed", partitions=[ListOffsetsPartition(partition_index=each, timestamp=-1)]) for each in (1, 0)]
    pair.same(ListOffsetsRequest(replica_id=-1, topics=both))
