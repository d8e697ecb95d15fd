"""When a process that ended starts again: exponential backoff, with a bound.

A process that crashes once is back after a quarter of a second. One that crashes again and again
costs the machine at most one start in :data:`BACKOFF_MS_MAX`, and there is no last attempt: the
other processes serve meanwhile, and a full disk may be cleared at any time.
"""

from __future__ import annotations

from typing import Final

# A crash of a moment: the partitions of the process have no leader until it is back.
BACKOFF_MS_MIN: Final = 250
# A start costs a second of a core, so this is three percent of one.
BACKOFF_MS_MAX: Final = 30_000
# A process that served for this long has recovered from its earlier crashes.
STABLE_MS: Final = 60_000


def backoff_ms(crashes: int) -> int:
    """The pause after a number of crashes in a row, at least 1."""
    assert crashes >= 1
    doublings = min(crashes - 1, BACKOFF_MS_MAX.bit_length())
    return min(BACKOFF_MS_MAX, BACKOFF_MS_MIN << doublings)


def crashes_in_a_row(earlier: int, served_ms: int | None) -> int:
    """The number after one more crash. ``served_ms`` is how long the process had served; None if it
    never got ready."""
    return 1 if served_ms is not None and served_ms >= STABLE_MS else earlier + 1
