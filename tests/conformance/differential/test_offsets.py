"""ListOffsets, OffsetForLeaderEpoch, DeleteRecords and DescribeLogDirs."""

from __future__ import annotations

import pytest

from barnabas.records.compression import Codec
from barnabas.wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirsRequest, AlterReplicaLogDirTopic
from barnabas.wire.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from barnabas.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest, OffsetForLeaderPartition, OffsetForLeaderTopic
from tests.conformance.differential.pair import Pair, Peer, Question
from tests.conformance.differential.produced import batch_at, produce

LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
LONG_MAX = 2**63 - 1
BATCHES = [
    batch_at(1000, 1001, 1002),
    batch_at(5000),
    batch_at(2000, 3000),
    batch_at(6001, 6000, 6001, codec=Codec.GZIP),
    batch_at(5500, 5501, codec=Codec.ZSTD),
]


def at(
    timestamp: int, topic: str = "timed", partition: int = 0, *, epoch: int = -1, isolation: int = 0, replica: int = -1, times: int = 1
) -> ListOffsetsRequest:
    asked = ListOffsetsPartition(partition_index=partition, current_leader_epoch=epoch, timestamp=timestamp)
    return ListOffsetsRequest(
        replica_id=replica, isolation_level=isolation, topics=[ListOffsetsTopic(name=topic, partitions=[asked] * times)], timeout_ms=1000
    )


@pytest.fixture(scope="module")
def timed(pair: Pair) -> str:
    pair.create("timed", 2)
    produce(pair, "timed", BATCHES)
    return "timed"


TIMES = [*range(-8, 2), 999, 1000, 1001, 1002, 1003, 1999, 2000, 2001, 3000, 4999, 5000, 5001, 5500, 6000, 6001, 6002, LONG_MAX, -(2**63)]


@pytest.mark.parametrize("timestamp", TIMES)
def test_the_offset_at_a_time(pair: Pair, timed: str, timestamp: int) -> None:
    pair.same(at(timestamp))
    pair.same(at(timestamp, isolation=1))
    pair.same(at(timestamp, partition=1))


def test_who_asks_does_not_matter_but_what_he_believes_does(pair: Pair, timed: str) -> None:
    for replica in (-1, -2, -3):
        for timestamp in (LATEST, EARLIEST, MAX_TIMESTAMP, 2000):
            pair.same(at(timestamp, replica=replica))
    for epoch in (0, 1, 7, -1):
        pair.same(at(LATEST, epoch=epoch))
        pair.same(at(2000, epoch=epoch))


def test_partitions_that_are_not_there_or_there_twice(pair: Pair, timed: str) -> None:
    for topic, partition in (("timed", 2), ("timed", -1), ("never-was", 0), ("", 0), ("a b", 0)):
        pair.same(at(LATEST, topic, partition))
        pair.same(at(5, topic, partition))
    pair.same(at(LATEST, times=2))
    pair.same(ListOffsetsRequest(replica_id=-1, topics=[]))
    both = [ListOffsetsTopic(name="timed", partitions=[ListOffsetsPartition(partition_index=each, timestamp=-1)]) for each in (1, 0)]
    pair.same(ListOffsetsRequest(replica_id=-1, topics=both))


def test_where_an_epoch_ends(pair: Pair, timed: str) -> None:
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


def deleting(topic: str, *partitions: tuple[int, int]) -> DeleteRecordsRequest:
    asked = [DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in partitions]
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=asked)], timeout_ms=5000)


def test_records_deleted_from_the_front(pair: Pair) -> None:
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
def test_records_of_compacted_topics_are_not_deleted_by_offset(pair: Pair, policy: str) -> None:
    name = pair.create(f"policy-{len(policy)}", configs={"cleanup.policy": policy})
    produce(pair, name, BATCHES)
    for offset in (-1, 0, 3, 99):
        pair.same(deleting(name, (0, offset)))


def log_dirs(*topics: tuple[str, list[int]]) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=name, partitions=partitions) for name, partitions in topics])


def test_directories_and_what_lies_in_them(pair: Pair) -> None:
    name = pair.create("weighed", 3)
    produce(pair, name, BATCHES)
    produce(pair, name, BATCHES[:1], 2)
    pair.same(log_dirs((name, [0, 1, 2])))
    pair.same(log_dirs((name, [2])))
    pair.same(log_dirs((name, [7])))
    pair.same(log_dirs((name, [])))
    pair.same(log_dirs(("never-was", [0])))
    pair.same(log_dirs())
    sizes = {
        "results[].topics[].partitions[].partition_size": "some batches are taken by one side only, for reasons given where they are sent"
    }
    pair.same(DescribeLogDirsRequest(topics=None), differ=sizes)


def moving(directory: str, *topics: tuple[str, list[int]]) -> Question:
    """To ``directory``; the one that each of the two has where it is "own"."""

    def made(peer: Peer, version: int) -> AlterReplicaLogDirsRequest:
        moved = [AlterReplicaLogDirTopic(name=name, partitions=partitions) for name, partitions in topics]
        return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(peer.data) if directory == "own" else directory, topics=moved)])

    return made


def test_moves_between_directories(pair: Pair) -> None:
    """Both have one directory, so nothing goes anywhere; topics and partitions come back in no order that means something."""
    name = pair.create("settled", 2)
    for directory in ("own", "/nowhere", ""):
        for partition in (0, 1, 7, -1):
            pair.same(moving(directory, (name, [partition])))
        pair.same(moving(directory, ("never-was", [0])))
        pair.same(moving(directory, ("", [0])))
        pair.same(moving(directory, ("x" * 249, [0])))
        pair.same(moving(directory))
    pair.same(AlterReplicaLogDirsRequest(dirs=[]))
