"""DescribeLogDirs."""

from __future__ import annotations

from barnabas.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from tests.conformance.differential.log_requests import BATCHES
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.produced import produce


def log_dirs(*topics: tuple[str, list[int]]) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=name, partitions=partitions) for name, partitions in topics])


def test_describe_log_dirs_names_directories_and_their_replicas(pair: Pair) -> None:
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
