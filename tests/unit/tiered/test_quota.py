"""The quota: bytes a second to the remote store, or from it."""

from __future__ import annotations

from threading import Event

import pytest

from barnabas.tiered.quota import RemoteQuota, Stopped


class StandingClock:
    now_ms = 0

    def wall_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> int:
        return self.now_ms


def quota(clock: StandingClock, limit: int) -> RemoteQuota:
    return RemoteQuota(lambda: limit, clock, windows=11, window_seconds=1)


def test_the_quota_is_exceeded_by_the_rate_over_its_windows_and_recovers() -> None:
    clock = StandingClock()
    limited = quota(clock, 1000)
    assert not limited.exceeded()
    limited.record(5000)
    assert limited.exceeded()
    clock.now_ms = 4000
    assert limited.exceeded()
    clock.now_ms = 6000
    assert not limited.exceeded()


def test_taken_bytes_count_against_the_quota() -> None:
    clock = StandingClock()
    limited = quota(clock, 1000)
    limited.take(2000, Event())
    assert limited.exceeded()


def test_a_wait_for_the_quota_can_be_stopped() -> None:
    limited = quota(StandingClock(), 1000)
    limited.record(5000)
    stopped = Event()
    stopped.set()
    with pytest.raises(Stopped):
        limited.take(1, stopped)
