from __future__ import annotations

import pytest

from barnabas.console.core.disk_moves import DiskMove, moves_under_way, plan_moves, read_replicas
from barnabas.console.core.topic import ReplicaSize
from barnabas.console.errors import BadValue

_REPLICAS = [
    ReplicaSize("orders", 0, 1, "/a", 100, 0, False),
    ReplicaSize("orders", 0, 1, "/b", 30, 7, True),
    ReplicaSize("orders", 1, 1, "/b", 50, 0, False),
]


def test_a_future_replica_and_the_one_that_it_replaces_are_a_move() -> None:
    (move,) = moves_under_way(_REPLICAS)
    assert move == DiskMove("orders", 0, "/a", "/b", 30, 100, 7)
    assert move.share == 0.3


@pytest.mark.parametrize(
    ("copied", "total", "behind", "share"), [(100, 100, 3, 0.99), (0, 0, 3, 0.0), (90, 100, 0, 1.0), (200, 100, 1, 0.99)]
)
def test_a_move_is_complete_only_when_no_record_is_missing(copied: int, total: int, behind: int, share: float) -> None:
    assert DiskMove("t", 0, "/a", "/b", copied, total, behind).share == share


def test_a_plan_has_the_moves_their_bytes_and_the_replicas_that_stay() -> None:
    plan = plan_moves(_REPLICAS, [("orders", 0), ("orders", 1), ("orders", 2)], "/b")
    assert [(each.topic, each.partition, each.source) for each in plan.moves] == [("orders", 0, "/a")]
    assert plan.bytes_to_copy == 100
    assert plan.unmoved == ["orders/1 is in /b already.", "The broker has no replica of orders/2."]


def test_replicas_are_written_with_a_slash() -> None:
    assert read_replicas(["orders/0", "orders/0", "a.b/12"]) == [("orders", 0), ("a.b", 12)]
    for wrong in ("orders", "/1", "orders/x", "orders/"):
        with pytest.raises(BadValue, match="TOPIC/PARTITION"):
            read_replicas([wrong])
