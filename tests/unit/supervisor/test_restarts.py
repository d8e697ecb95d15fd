from __future__ import annotations

from barnabas.supervisor.restarts import BACKOFF_MS_MAX, BACKOFF_MS_MIN, STABLE_MS, backoff_ms, crashes_in_a_row


def test_the_pause_doubles_up_to_its_limit() -> None:
    pauses = [backoff_ms(crashes) for crashes in range(1, 12)]
    assert pauses[:4] == [BACKOFF_MS_MIN, 2 * BACKOFF_MS_MIN, 4 * BACKOFF_MS_MIN, 8 * BACKOFF_MS_MIN]
    assert pauses[-1] == backoff_ms(1_000_000) == BACKOFF_MS_MAX


def test_a_process_that_served_long_begins_to_count_again() -> None:
    assert crashes_in_a_row(7, STABLE_MS) == 1
    assert crashes_in_a_row(7, STABLE_MS - 1) == 8
    assert crashes_in_a_row(7, None) == 8
