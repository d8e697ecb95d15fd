from __future__ import annotations

from barnabas.registry.core.recently_used import RecentlyUsed


def test_the_value_that_was_used_least_recently_is_forgotten() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]


def test_a_value_that_is_put_again_replaces_the_one_before() -> None:
    kept: RecentlyUsed[str, int] = RecentlyUsed(2)
    kept.put("a", 1)
    kept.put("a", 2)
    assert kept.get("a") == 2
