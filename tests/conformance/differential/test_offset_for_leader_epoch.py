"""OffsetForLeaderEpoch."""

from __future__ import annotations

from barnabas.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic
from tests.conformance.differential.pair import Pair


def test_offset_for_leader_epoch_finds_the_end_of_an_epoch(pair: Pair, timed: str) -> None:
    for epoch in (-2, -1, 0, 1, 9):
        for current in (-1, 0, 1):
            for partition in (0, 1, 5):
                asked = OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
                pair.same(OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="timed", partitions=[asked])]))
    asked = OffsetForLeaderPartition(partition=0, leader_epoch=0)
    for name in ("never-was", "", "a b"):
        pair.same(OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=name, partitions=[asked])]))
    for replica in (-1, -2, 5):
        pair.same(OffsetForLeaderEpochRequest(replica_id=replica, topics=[OffsetForLeaderTopic(topic="timed", partitions=[asked, asked])]))
    pair.same(OffsetForLeaderEpochRequest(topics=[]))
