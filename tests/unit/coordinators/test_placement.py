"""Ids find their partition as Java clients and brokers compute it."""

from __future__ import annotations

import pytest

from barnabas.coordinators.placement import java_hash, partition_for


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        # The results of Java's String.hashCode.
        ("", 0),
        ("a", 97),
        ("group", 98629247),
        ("my-consumer-group", 1513705513),
        ("polygenelubricants", -(2**31)),
        ("offsets-0", -1960664093),
        ("\N{SNOWMAN}\N{GRINNING FACE}", 11_124_390),
    ],
)
def test_the_hash_is_javas(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


def test_the_smallest_int_has_a_partition_too() -> None:
    assert partition_for("polygenelubricants", 50) == 0


def test_an_id_with_a_negative_hash_lies_where_kafka_puts_it() -> None:
    assert partition_for("offsets-0", 50) == 43
