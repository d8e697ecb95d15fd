"""OffsetCommit, for groups without members."""

from __future__ import annotations

from tests.conformance.differential.offset_requests import (
    committed,
    fetched,
)
from tests.conformance.differential.pair import Pair


def test_offset_commit_is_read_back_in_every_version(pair: Pair, read: str) -> None:
    pair.same(committed("plain", (read, 0, 12, "m"), (read, 1, 2**62)))
    pair.same(fetched("plain", [(read, [0, 1])]))
    pair.same(fetched("plain", None), range(2, 11))


def test_offset_commit_refuses_missing_partitions_one_by_one(pair: Pair, read: str) -> None:
    pair.same(committed("some", (read, 0, 1), (read, 7, 1), ("missing", 0, 1), (read, 1, 1)))
    pair.same(committed("some", ("missing", 0, 1), ("missing", 1, 1), generation=4, member_id="m"))
    pair.same(committed("some"))
    pair.same(fetched("some", [(read, [0, 7, 1]), ("missing", [0, 2])]))
    pair.same(fetched("some", []))


def test_offset_commit_limits_the_metadata(pair: Pair, read: str) -> None:
    for metadata in (None, "", "x" * 4096, "x" * 4097, "\u00e9" * 4096, "\U0001f600" * 2048, "\U0001f600" * 2049):
        pair.same(committed("talks", (read, 0, 1, metadata), (read, 1, 2)))
        pair.same(fetched("talks", [(read, [0, 1])]))


def test_offset_commit_takes_any_offset(pair: Pair, read: str) -> None:
    for offset in (0, -1, -5, 2**63 - 1):
        pair.same(committed("odd", (read, 0, offset)))
        pair.same(fetched("odd", [(read, [0])]))


def test_offset_commit_of_old_versions_takes_a_retention_time(pair: Pair, read: str) -> None:
    pair.same(committed("keeps", (read, 0, 1), retention_time_ms=60_000), range(2, 5))
    pair.same(committed("keeps", (read, 1, 1), retention_time_ms=-7), range(2, 5))
    pair.same(fetched("keeps", None), range(2, 11))
