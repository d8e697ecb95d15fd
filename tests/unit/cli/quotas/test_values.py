from __future__ import annotations

import pytest

from barnabas.cli.errors import Refused
from barnabas.cli.quotas.entities import DEFAULT, entity_of
from barnabas.cli.quotas.values import parse_value
from barnabas.security.quotas.entities import Part, entity_text
from barnabas.security.quotas.limits import value_text


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [("1024", 1024), ("1MB", 1_000_000), ("1 MB/s", 1_000_000), ("1.5kb", 1500), ("1MiB", 1_048_576), ("2k", 2048), ("0.5G", 2**29)],
)
def test_rates_of_bytes_take_units(text: str, bytes_per_second: float) -> None:
    assert parse_value("producer_byte_rate", text) == bytes_per_second


@pytest.mark.parametrize("text", ["", "-1", "1XB", "1%", "ten", "1e3", "0x10", "nan", "inf", "1MB/h"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(Refused, match=r"producer_byte_rate takes a number such as 1MB"):
        parse_value("producer_byte_rate", text)


def test_zero_is_refused_with_the_way_to_remove_a_limit() -> None:
    with pytest.raises(Refused, match="`barnabas quotas remove` removes a limit"):
        parse_value("consumer_byte_rate", "0")


@pytest.mark.parametrize("value", [1, 1000, 1024, 1_500_000, 1_048_576, 1536 * 1024, 1_234_567, 2.5, 10**13])
def test_a_rate_that_is_shown_can_be_typed_again(value: float) -> None:
    assert parse_value("producer_byte_rate", value_text("producer_byte_rate", value)) == value


def test_percentages_and_counts() -> None:
    assert parse_value("request_percentage", "12.5%") == parse_value("request_percentage", "12.5") == 12.5
    assert value_text("request_percentage", 150.0) == "150 %"
    assert value_text("controller_mutation_rate", 10.0) == "10/s"
    assert value_text("a_limit_of_a_later_kafka", 10.0) == "10"


def test_entities() -> None:
    none = {"user": None, "client_id": None, "ip": None}
    nothing = {"user_default": False, "client_default": False, "ip_default": False}
    made = entity_of(**{**none, "client_id": "app"}, **{**nothing, "user_default": True})  # type: ignore[arg-type]
    assert made == (Part("user", None), Part("client-id", "app"))
    assert entity_text(made) == "every user without a limit of its own with client id app"
    assert DEFAULT == "<default>"
