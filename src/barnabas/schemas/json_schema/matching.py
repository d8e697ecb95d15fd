"""The largest set of pairs in which each side stands at most once (Kuhn's algorithm)."""

from __future__ import annotations

from collections.abc import Collection


def pairs_matched(pairs: Collection[tuple[int, int]], left_count: int) -> list[tuple[int, int]]:
    """``pairs`` are the (left, right) that fit each other; left runs from 0 to ``left_count``."""
    partners: dict[int, list[int]] = {}
    for left, right in sorted(pairs):
        partners.setdefault(left, []).append(right)
    taken: dict[int, int] = {}

    def place(left: int, tried: set[int]) -> bool:
        for right in partners.get(left, ()):
            if right in tried:
                continue
            tried.add(right)
            if right not in taken or place(taken[right], tried):
                taken[right] = left
                return True
        return False

    for left in range(left_count):
        place(left, set())
    return sorted((left, right) for right, left in taken.items())
