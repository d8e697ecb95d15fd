"""Which ids of records a translating mirror rewrites."""

from __future__ import annotations

import pytest

from barnabas.pipelines.mirror.schema_ids import PartIds, SchemaVersion, UnknownId, ids_of_topics, topic_of, translated

NUMBER = (5 << 24 | 7).to_bytes(8, "big")  # the bytes of a long number begin like the id 5


def version(subject: str, schema_id: int) -> SchemaVersion:
    return SchemaVersion(subject, 1, schema_id, {})


def test_the_id_is_rewritten_and_the_rest_stays() -> None:
    ids = PartIds({5: 70_000}, framed=True)
    assert translated(b"\0\0\0\0\5payload", ids) == b"\0\0\1\x11\x70payload"
    assert translated(b"\0\0\0\0\5", ids) == b"\0\0\1\x11\x70"


@pytest.mark.parametrize("data", [None, b"", b"\0\0\0", b"text", b"\1" + bytes(16) + b"payload"])
def test_bytes_without_an_id_stay(data: bytes | None) -> None:
    assert translated(data, PartIds({5: 9}, framed=True)) == data


def test_an_unknown_id_is_reported_only_where_all_records_are_framed() -> None:
    with pytest.raises(UnknownId) as unknown:
        translated(b"\0\0\0\0\6x", PartIds({5: 9}, framed=True))
    assert unknown.value.schema_id == 6
    assert translated(b"\0\0\0\0\6x", PartIds({5: 9})) == b"\0\0\0\0\6x"


def test_numbers_as_keys_are_not_taken_for_ids() -> None:
    found = ids_of_topics(["orders"], [version("orders-value", 5)], {5: 9})["orders"]
    assert NUMBER[:5] == b"\0\0\0\0\5"
    assert translated(NUMBER, found.keys) == NUMBER
    assert translated(NUMBER, found.values) != NUMBER


def test_subjects_decide_which_parts_of_which_topics_are_framed() -> None:
    versions = [
        version("orders-key", 1),
        version("orders-value", 2),
        version("orders-eu-value", 3),
        version("payments-bank.Payment", 4),
        version("bank.Account", 5),
        version("elsewhere-value", 6),
    ]
    targets = {each: each + 100 for each in range(1, 7)}
    found = ids_of_topics(["orders", "orders-eu", "payments", "plain"], versions, targets)
    assert found["orders"].keys == PartIds(targets, framed=True)
    assert found["orders"].values == PartIds(targets, framed=True), "a producer may name any subject"
    assert found["orders-eu"].keys == PartIds()
    assert found["orders-eu"].values.framed
    assert found["payments"].keys == PartIds({4: 104})
    assert found["payments"].values.framed
    assert found["plain"].values == PartIds({5: 105}), "named after a record, so any topic may use it"


def test_a_subject_belongs_to_the_longest_topic() -> None:
    assert topic_of("orders-eu-value", ["orders", "orders-eu"]) == "orders-eu"
    assert topic_of("orders-value", ["orders", "orders-eu"]) == "orders"
    assert topic_of("ordersvalue", ["orders"]) is None
