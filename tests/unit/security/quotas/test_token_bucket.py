from __future__ import annotations

from barnabas.security.quotas.token_bucket import TokenBucket
from barnabas.security.quotas.windowed_rate import Windows


def test_a_new_bucket_holds_eleven_seconds_of_tokens() -> None:
    bucket = TokenBucket(Windows(), 10)
    assert bucket.tokens(1_000_000) == 110


def test_a_large_request_drives_it_below_zero_and_the_debt_is_paid_by_waiting() -> None:
    bucket, now = TokenBucket(Windows(), 10), 1_000_000
    bucket.take(160, now)
    assert bucket.tokens(now) == -50
    assert bucket.delay_ms(now) == 5000
    assert bucket.delay_ms(now + 5000) == 0


def test_tokens_never_exceed_the_burst() -> None:
    bucket, now = TokenBucket(Windows(), 10), 1_000_000
    bucket.take(-1000, now)
    assert bucket.tokens(now + 60_000) == 110
