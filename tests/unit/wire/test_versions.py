"""Version ranges in Kafka's notation."""

from __future__ import annotations

import pytest

from barnabas.wire.versions import ALWAYS, NEVER, Versions, parse_versions


@pytest.mark.parametrize(
    ("text", "versions"),
    [("0+", ALWAYS), ("3+", Versions(3, 32767)), ("2-7", Versions(2, 7)), ("4", Versions(4, 4)), ("none", NEVER), (None, NEVER)],
)
def test_a_range_is_parsed_and_printed_in_kafkas_notation(text: str | None, versions: Versions) -> None:
    assert parse_versions(text) == versions
    assert str(versions) == (text or "none")


def test_a_range_contains_its_ends_and_nothing_outside() -> None:
    versions = Versions(2, 4)
    assert [version for version in range(-1, 7) if version in versions] == [2, 3, 4]
    assert list(versions.all()) == [2, 3, 4]
    assert list(NEVER.all()) == []
    assert 0 not in NEVER
