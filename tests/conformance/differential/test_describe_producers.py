"""DescribeProducers."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.transaction_requests import produce
from tests.conformance.differential.transactions import (
    NEW_PRODUCE,
    began,
)

pytestmark = pytest.mark.usefixtures("coordinators")


def test_describe_producers_judges_partitions_one_by_one(pair: Pair) -> None:
    topic = pair.create("tx-producers", 2)
    with Scene(pair) as scene:
        began(scene, "producers")
        scene.same(lambda the: produce("producers", the["p"], 0, topic), NEW_PRODUCE)
        wanted: list[Any] = [[(topic, [0, 1, 2, -1])], [("no-such-topic", [0])], [("a b", [0]), ("", [0])], [(topic, [])], []]
        for topics in wanted:
            asked = [TopicRequest(name=name, partition_indexes=partitions) for name, partitions in topics]
            scene.same(DescribeProducersRequest(topics=asked))
