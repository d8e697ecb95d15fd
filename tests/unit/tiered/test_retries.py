"""How long a failed task waits before its retry."""

from __future__ import annotations

from barnabas.tiered.retries import RetryWaits


class Chance:
    """Jitter at one end of its range."""

    def __init__(self, side: int) -> None:
        self._side = side

    def bytes(self, size: int) -> bytes:
        return bytes(size)

    def below(self, bound: int) -> int:
        return (bound - 1) * self._side // 2


LEAST, EVEN, MOST = Chance(0), Chance(1), Chance(2)


def test_each_failure_in_a_row_doubles_the_wait_up_to_the_longest() -> None:
    waits = RetryWaits(first_ms=100, longest_ms=1000, jitter=0.2)
    assert [waits.wait_ms(failures, EVEN) for failures in (1, 2, 3, 4, 5, 100)] == [100, 200, 400, 800, 1000, 1000]


def test_jitter_changes_the_backoff_by_no_more_than_its_share() -> None:
    waits = RetryWaits(first_ms=100, longest_ms=1000, jitter=0.2)
    assert (waits.wait_ms(1, LEAST), waits.wait_ms(1, MOST)) == (80, 120)


def test_a_retry_is_never_immediate() -> None:
    assert RetryWaits(first_ms=1, longest_ms=1, jitter=0.5).wait_ms(1, LEAST) >= 1
