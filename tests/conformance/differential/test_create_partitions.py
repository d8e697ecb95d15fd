"""CreatePartitions."""

from __future__ import annotations

from barnabas.wire.messages.create_partitions import CreatePartitionsAssignment, CreatePartitionsRequest, CreatePartitionsTopic
from tests.conformance.differential.pair import Pair


def growing(name: str, count: int, assignments: list[list[int]] | None = None, *, validate_only: bool = False) -> CreatePartitionsRequest:
    placed = None if assignments is None else [CreatePartitionsAssignment(broker_ids=each) for each in assignments]
    return CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=placed)], timeout_ms=30_000, validate_only=validate_only
    )


GROWTH: list[tuple[str, int, list[list[int]] | None]] = [
    ("grown", 3, None),
    ("grown", 2, None),
    ("grown", 1, None),
    ("grown", 0, None),
    ("grown", -1, None),
    ("grown", 3, [[1]]),
    ("grown", 3, []),
    ("grown", 3, [[1], [1]]),
    ("grown", 4, [[1]]),
    ("grown", 3, [[]]),
    ("grown", 3, [[1, 1]]),
    ("grown", 3, [[1, 2]]),
    ("grown", 3, [[9]]),
    ("grown", 3, [[-1]]),
    ("grown", 2, [[1]]),
    ("never-was", 3, None),
    ("a b", 3, None),
    ("", 3, None),
]


def test_create_partitions_accepts_and_refuses_the_same_counts(pair: Pair) -> None:
    pair.create("grown", 2)
    for name, count, assignments in GROWTH:
        pair.same(growing(name, count, assignments, validate_only=True))
    # Kafka reaches an internal limit and answers UNKNOWN_SERVER_ERROR without a message; we name
    # the problem.
    differ = {"results[].error_code": "POLICY_VIOLATION, as for CreateTopics", "results[].error_message": "which limit it is"}
    pair.same(growing("grown", 20_000, validate_only=True), differ=differ)


def test_create_partitions_adds_the_same_partitions(pair: Pair) -> None:
    pair.create("growing")
    for version in range(4):
        pair.same(growing("growing", version + 2), [version])
        pair.same(growing("growing", version + 2), [version], to_controller=True)
    request = growing("growing", 9)
    pair.same(CreatePartitionsRequest(topics=request.topics * 2, timeout_ms=1000, validate_only=True))
    pair.same(CreatePartitionsRequest(topics=[], timeout_ms=1000, validate_only=False))
