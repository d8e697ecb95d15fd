"""DescribeQuorum."""

from __future__ import annotations

from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from tests.conformance.differential.listeners import BOTH_LISTENERS
from tests.conformance.differential.pair import Pair


def quorum(*partitions: int, topic: str = "__cluster_metadata") -> DescribeQuorumRequest:
    return DescribeQuorumRequest(
        topics=[TopicData(topic_name=topic, partitions=[PartitionData(partition_index=index) for index in partitions])]
    )


@BOTH_LISTENERS
def test_describe_quorum_answers_at_both_listeners(pair: Pair, to_controller: bool) -> None:
    pair.same(quorum(0), to_controller=to_controller)
    pair.same(quorum(1), to_controller=to_controller)
    pair.same(quorum(0, topic="elsewhere"), to_controller=to_controller)
    pair.same(quorum(), to_controller=to_controller)
    pair.same(quorum(0, 1), to_controller=to_controller)
    pair.same(DescribeQuorumRequest(topics=[]), to_controller=to_controller)
