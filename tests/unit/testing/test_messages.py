"""Records as tests write them, and the settings of brokers."""

from __future__ import annotations

import pytest

from barnabas.testing.client.messages import Message, as_headers, as_messages
from barnabas.testing.properties import ConfigValue, config_text


def test_a_record_is_a_value_or_a_tuple_or_a_message() -> None:
    assert as_messages(b"v") == as_messages([b"v"]) == [Message(value=b"v")]
    assert as_messages(("k", "v")) == [Message(key="k", value="v")]
    assert as_messages([("k", None, {"h": "x"}, 2, 17)]) == [Message("k", None, {"h": "x"}, 2, 17)]
    assert as_messages([Message(value="v"), None]) == [Message(value="v"), Message()]


def test_anything_else_is_refused_with_a_sentence() -> None:
    with pytest.raises(TypeError, match="A record is a value, or a tuple of key, value, headers, partition, timestamp"):
        as_messages([7])  # type: ignore[list-item]


def test_headers_are_a_mapping_or_pairs() -> None:
    assert as_headers({"a": "x", "b": None}) == as_headers([("a", b"x"), ("b", None)]) == (("a", b"x"), ("b", None))


def test_settings_may_be_numbers_and_booleans() -> None:
    given: dict[str, ConfigValue] = {
        "num.partitions": 4,
        "auto.create.topics.enable": False,
        "log.cleaner.min.cleanable.ratio": 0.5,
        "compression.type": "lz4",
    }
    assert config_text(given) == {
        "num.partitions": "4",
        "auto.create.topics.enable": "false",
        "log.cleaner.min.cleanable.ratio": "0.5",
        "compression.type": "lz4",
    }
    with pytest.raises(TypeError, match=r"num\.partitions must be a string, a number, True or False, but is None"):
        config_text({"num.partitions": None})  # type: ignore[dict-item]
