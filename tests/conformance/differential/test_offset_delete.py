"""OffsetDelete, for groups without members."""

from __future__ import annotations

from tests.conformance.differential.offset_requests import (
    committed,
    deleted,
    fetched,
)
from tests.conformance.differential.pair import Pair


def test_offset_delete_removes_the_named_partitions(pair: Pair, read: str) -> None:
    pair.same(committed("gone", (read, 0, 1), (read, 1, 2)), [9])
    pair.same(deleted("gone", (read, 1), (read, 7), ("missing", 0)))
    pair.same(fetched("gone", None), [9])
    pair.same(deleted("gone", (read, 1), (read, 0)))
    pair.same(fetched("gone", [(read, [0, 1])]), [9])
    pair.same(deleted("gone"))
    pair.same(deleted("not there", ("missing", 0)))
