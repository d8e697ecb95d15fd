"""The shortest time between two target assignments of one group."""

from __future__ import annotations


def may_assign(last_ms: int, interval_ms: int, now_ms: int) -> bool:
    """Whether the group may get a new target. ``last_ms`` is the time of the previous one, 0 if
    there is none. A clock that was set back must not delay a group.
    """
    return last_ms == 0 or not last_ms <= now_ms < last_ms + interval_ms
