from __future__ import annotations

from barnabas.security.sasl.key_refresh import FETCH_INTERVAL_MS_MIN, ID_LENGTH_MAX, MISSING_ID_MS, MISSING_IDS_MAX, KeyRefresh
from barnabas.security.sasl.signing_keys import SigningKeys, parse_signing_keys
from tests.unit.security.sasl.tokens import key_set, rsa_key

HOUR_MS = 3_600_000


def keys() -> SigningKeys:
    return parse_signing_keys(key_set(rsa_key()))


def refresh() -> KeyRefresh:
    return KeyRefresh(refresh_ms=HOUR_MS, backoff_ms=100, backoff_ms_max=10_000, now_ms=0)


def test_keys_are_fetched_at_once_and_then_regularly() -> None:
    made = refresh()
    assert made.due_ms == 0
    made.succeeded(keys(), 50)
    assert made.due_ms == 50 + HOUR_MS


def test_a_failed_fetch_backs_off_and_keeps_the_keys() -> None:
    made = refresh()
    made.succeeded(keys(), 0)
    waits = []
    now_ms = HOUR_MS
    for _ in range(9):
        made.failed(now_ms)
        waits.append(made.due_ms - now_ms)
        now_ms = made.due_ms
    assert waits == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]
    assert made.keys is not None
    made.succeeded(keys(), now_ms)
    made.failed(now_ms)
    assert made.due_ms == now_ms + 100


def test_a_missing_key_id_causes_one_early_fetch_a_minute() -> None:
    made = refresh()
    made.succeeded(keys(), 0)
    assert made.missing("new", 5000)
    assert made.due_ms == 5000
    made.succeeded(keys(), 5100)
    assert not made.missing("new", 6200)
    assert not made.missing("new", 5000 + MISSING_ID_MS - 1)
    assert made.missing("new", 5000 + MISSING_ID_MS)


def test_many_invented_key_ids_cause_one_fetch_a_second() -> None:
    made = refresh()
    made.succeeded(keys(), 0)
    assert made.missing("id-0", 10)
    assert made.due_ms == FETCH_INTERVAL_MS_MIN
    for number in range(1, 1000):
        made.missing(f"id-{number}", 10)
    assert made.due_ms == FETCH_INTERVAL_MS_MIN


def test_only_a_few_missing_key_ids_are_remembered_and_long_ones_are_ignored() -> None:
    made = refresh()
    made.succeeded(keys(), 0)
    assert not made.missing("x" * (ID_LENGTH_MAX + 1), 5000)
    for number in range(100):
        made.missing(f"id-{number}", 5000)
    assert len(made._missing) == MISSING_IDS_MAX
