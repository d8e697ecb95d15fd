"""Addresses and durations in settings."""

from __future__ import annotations

import pytest

from barnabas.config.addresses import host_and_port, voter
from barnabas.config.durations import duration_ms


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("localhost:9092", ("localhost", 9092)),
        ("[::1]:9092", ("::1", 9092)),
        (":9092", ("", 9092)),
        ("localhost", None),
        ("localhost:65536", None),
        ("local host:1", None),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, place: tuple[str, int] | None) -> None:
    assert host_and_port(text) == place


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("1@localhost:9093", (1, "localhost", 9093)),
        ("7@[::1]:9093", (7, "::1", 9093)),
        ("localhost:9093", None),
        ("x@localhost:9093", None),
        ("1@localhost", None),
    ],
)
def test_a_voter_is_an_id_and_an_address(text: str, parsed: tuple[int, str, int] | None) -> None:
    assert voter(text) == parsed


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("P1D", 86_400_000),
        ("PT1H30M", 5_400_000),
        ("PT1.5S", 1_500),
        ("PT-1.5S", -1_500),
        ("-PT1S", -1_000),
        ("P1DT-1H", 82_800_000),
        ("pt0s", 0),
        ("P", None),
        ("PT", None),
        ("P1DT", None),
        ("P1Y", None),
        ("1D", None),
    ],
)
def test_durations_are_read_as_java_reads_them(text: str, milliseconds: int | None) -> None:
    assert duration_ms(text) == milliseconds
