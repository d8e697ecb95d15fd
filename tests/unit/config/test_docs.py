"""The documentation page matches the tables."""

from __future__ import annotations

from pathlib import Path

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.docs import page
from barnabas.config.topic_keys import TOPIC_KEYS

PAGE = Path(__file__).parents[3] / "docs" / "configuration.md"


def test_the_page_is_what_the_tables_print() -> None:
    assert PAGE.read_text() == page(), "run: python -m barnabas.config.docs > docs/configuration.md"


def test_the_page_has_an_entry_for_every_setting() -> None:
    text = page()
    for name in (*BROKER_KEYS, *TOPIC_KEYS):
        assert f"- `{name}`: " in text


def test_large_numbers_are_explained() -> None:
    assert "`604800000` (7 days)" in page()
    assert "`1073741824` (1 GiB)" in page()
    assert "`9223372036854775807` (no limit)" in page()
