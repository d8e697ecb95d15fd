"""Uuids as Kafka writes them: 22 characters of URL-safe base64."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.env.entropy import random_uuid
from barnabas.model.ids import METADATA_TOPIC_ID, ZERO_UUID, TopicPartition, Uuid, parse_uuid, uuid_text
from tests.unit.records.made import repeatable


def test_well_known_uuids_have_kafkas_text() -> None:
    assert uuid_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuid_text(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"


@repeatable
@given(st.binary(min_size=16, max_size=16))
def test_a_uuid_survives_its_text_form(value: bytes) -> None:
    text = uuid_text(Uuid(value))
    assert len(text) == 22
    assert parse_uuid(text) == value


@pytest.mark.parametrize(
    "text", ["", "AAAA", "A" * 21, "A" * 23, "A" * 44, "+" * 22, "/" * 22, "A" * 20 + "=A", " " * 22, "\N{SNOWMAN}" * 22]
)
def test_text_that_is_not_a_uuid_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a base64 uuid|a uuid has 16"):
        parse_uuid(text)


class Scripted:
    """Entropy that returns scripted values."""

    def __init__(self, *values: bytes) -> None:
        self._values = list(values)

    def bytes(self, size: int) -> bytes:
        return self._values.pop(0)

    def below(self, bound: int) -> int:
        raise AssertionError("no caller should ask")


def test_a_new_uuid_is_neither_reserved_nor_looks_like_an_option() -> None:
    good = b"\x01" * 16
    dash = bytes([0b11111000]) + bytes(15)
    assert uuid_text(Uuid(dash)).startswith("-")
    assert random_uuid(Scripted(bytes(16), bytes(15) + b"\x64", dash, good)) == good


def test_the_text_of_a_partition_is_its_directory_name() -> None:
    assert str(TopicPartition("a-b", 3)) == "a-b-3"
