"""DescribeCluster."""

from __future__ import annotations

from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from tests.conformance.differential.listeners import BOTH_LISTENERS
from tests.conformance.differential.pair import Pair


@BOTH_LISTENERS
def test_describe_cluster_answers_at_both_listeners(pair: Pair, to_controller: bool) -> None:
    for kind in (1, 2, 0, 3, -1):
        for fenced in (False, True):
            for operations in (False, True):
                pair.same(
                    DescribeClusterRequest(
                        include_cluster_authorized_operations=operations, endpoint_type=kind, include_fenced_brokers=fenced
                    ),
                    to_controller=to_controller,
                )
