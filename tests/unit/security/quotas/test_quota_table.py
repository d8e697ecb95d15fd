"""Kafka's order of entities, one after another."""

from __future__ import annotations

import pytest

from barnabas.security.quotas.quota_table import Entity, Limit, QuotaTable

KEY = "producer_byte_rate"
# From the most special to the most general, with the clients that share the quota.
ORDER: list[tuple[Entity, str, str]] = [
    (frozenset({("user", "u"), ("client-id", "c")}), "u", "c"),
    (frozenset({("user", "u"), ("client-id", None)}), "u", "c"),
    (frozenset({("user", "u")}), "u", ""),
    (frozenset({("user", None), ("client-id", "c")}), "u", "c"),
    (frozenset({("user", None), ("client-id", None)}), "u", "c"),
    (frozenset({("user", None)}), "u", ""),
    (frozenset({("client-id", "c")}), "", "c"),
    (frozenset({("client-id", None)}), "", "c"),
]


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_the_most_special_entity_decides(first: int) -> None:
    table = QuotaTable({entity: {KEY: float(index)} for index, (entity, _, _) in enumerate(ORDER) if index >= first})
    _, user, client_id = ORDER[first]
    assert table.limit(KEY, "u", "c") == Limit(float(first), user, client_id)


def test_an_entity_without_a_value_for_the_key_is_passed_over() -> None:
    table = QuotaTable({ORDER[0][0]: {"consumer_byte_rate": 1.0}, ORDER[7][0]: {KEY: 2.0}})
    assert table.limit(KEY, "u", "c") == Limit(2.0, "", "c")


def test_a_client_that_nothing_names_has_no_limit() -> None:
    assert QuotaTable({ORDER[0][0]: {KEY: 1.0}}).limit(KEY, "u", "other") is None
    assert QuotaTable({}).limit(KEY, "u", "c") is None
