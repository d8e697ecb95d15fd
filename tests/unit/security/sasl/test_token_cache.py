from __future__ import annotations

from barnabas.security.sasl.token_cache import OwnToken, TokenCache, TokenUnavailable


def cache() -> TokenCache:
    return TokenCache(part_used=0.8, backoff_ms=100, backoff_ms_max=1000)


TOKEN = OwnToken("secret", obtained_ms=0, expires_ms=10_000)


def test_a_token_is_used_for_a_part_of_its_life() -> None:
    made = cache()
    assert made.usable(0) is None
    made.succeeded(TOKEN)
    assert made.usable(7999) == TOKEN
    assert made.usable(8000) is None


def test_while_the_provider_is_down_the_old_token_is_used_until_it_ends() -> None:
    made = cache()
    made.succeeded(TOKEN)
    assert made.failed("down", 8000) == TOKEN
    assert made.usable(8050) == TOKEN
    assert made.usable(8100) is None
    assert made.failed("down", 9950) == TOKEN
    assert made.usable(10_000) == TokenUnavailable("down")


def test_without_a_token_logins_fail_until_the_backoff_is_over() -> None:
    made = cache()
    assert made.failed("down", 0) == TokenUnavailable("down")
    assert made.usable(99) == TokenUnavailable("down")
    assert made.usable(100) is None
    made.failed("down", 100)
    assert made.usable(299) == TokenUnavailable("down")


def test_a_token_does_not_show_itself() -> None:
    assert "secret" not in repr(TOKEN)
