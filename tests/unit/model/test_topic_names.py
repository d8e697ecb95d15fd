"""Legal topic names. Topics become directories, so these rules also keep clients out of other
directories.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import given, strategies as st

from barnabas.model.topic_names import TOPIC_NAME_CHARACTERS_MAX, collision_key, why_illegal
from tests.unit.records.made import repeatable


@pytest.mark.parametrize(
    "name", ["a", "A", "0", "_", "-", "a.b", "...", ".a", "a-0", "__consumer_offsets", "x" * TOPIC_NAME_CHARACTERS_MAX]
)
def test_a_legal_name_is_accepted(name: str) -> None:
    assert why_illegal(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        (".", "not a topic name"),
        ("..", "not a topic name"),
        ("x" * (TOPIC_NAME_CHARACTERS_MAX + 1), "has 250"),
        ("a/b", "characters"),
        ("../x", "characters"),
        ("a b", "characters"),
        ("a\x00", "characters"),
        ("a\n", "characters"),
        ("\N{LATIN SMALL LETTER E WITH ACUTE}", "characters"),
        ("\N{ARABIC-INDIC DIGIT THREE}", "characters"),
    ],
)
def test_an_illegal_name_is_refused(name: str, reason: str) -> None:
    refusal = why_illegal(name)
    assert refusal is not None
    assert reason in refusal


@repeatable
@given(st.text())
def test_a_legal_name_is_a_direct_child_of_its_directory(name: str) -> None:
    if why_illegal(name) is None:
        path = os.path.normpath(os.path.join("/data", f"{name}-0"))
        assert os.path.dirname(path) == "/data"
        assert os.path.basename(path) == f"{name}-0"


def test_names_that_metrics_cannot_distinguish_share_a_collision_key() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c")
    assert collision_key("a.b") != collision_key("a-b")
