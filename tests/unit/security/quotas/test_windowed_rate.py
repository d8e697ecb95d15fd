"""The numbers of Kafka's own quota tests, and the shape of its windows."""

from __future__ import annotations

from barnabas.security.quotas.windowed_rate import WindowedRate, Windows, delay_ms


def test_a_spike_after_ten_even_seconds_waits_2100_ms() -> None:
    rate, now = WindowedRate(Windows()), 0
    for _ in range(10):
        rate.record(400, now)
        assert delay_ms(rate, 500, now) == 0
        now += 1000
    now += 500
    rate.record(2300, now)
    # (400 * 10 + 2300) bytes in 10.5 seconds are 600 a second.
    assert rate.per_second(now) == 600
    assert delay_ms(rate, 500, now) == 2100


def test_a_young_rate_counts_ten_windows_so_waiting_does_not_lower_it_yet() -> None:
    rate = WindowedRate(Windows())
    rate.record(6000, 0)
    assert delay_ms(rate, 500, 0) == delay_ms(rate, 500, 2000) == 2000


def test_an_idle_client_may_send_ten_seconds_at_once() -> None:
    rate = WindowedRate(Windows())
    rate.record(5000, 0)
    assert delay_ms(rate, 500, 0) == 0
    rate.record(1, 0)
    assert delay_ms(rate, 500, 0) > 0


def test_an_old_sample_is_forgotten_eleven_windows_after_its_last_event() -> None:
    rate = WindowedRate(Windows())
    rate.record(900, 0)
    rate.record(100, 900)
    assert rate.per_second(900 + 10_999) > 0
    assert rate.per_second(900 + 11_000) == 0


def test_a_value_can_be_taken_back() -> None:
    rate = WindowedRate(Windows())
    rate.record(6000, 0)
    rate.record(-6000, 0)
    assert delay_ms(rate, 500, 0) == 0
