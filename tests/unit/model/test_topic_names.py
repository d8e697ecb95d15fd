"""Which names topics may have: they become directories, so this is also what keeps clients out of other directories."""

from __future__ import annotations

import os

import pytest
from hypothesis import given, strategies as st

from barnabas.model.topic_names import TOPIC_NAME_CHARACTERS_MAX, collision_key, why_illegal
from tests.unit.records.made import repeatable


@pytest.mark.parametrize(
    "name", ["a", "A", "0", "_", "-", "a.b", "...", ".a", "a-0", "__consumer_offsets", "x" * TOPIC_NAME_CHARACTERS_MAX]
)
def test_legal(name: str) -> None:
    assert why_illegal(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "empty"),
        (".", "no topic name"),
        ("..", "no topic name"),
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
def test_illegal(name: str, reason: str) -> None:
    told = why_illegal(name)
    assert told is not None
    assert reason in told


@repeatable
@given(st.text())
def test_a_legal_name_is_one_step_into_the_directory_it_is_made_in(name: str) -> None:
    if why_illegal(name) is None:
        path = os.path.normpath(os.path.join("/data", f"{name}-0"))
        assert os.path.dirname(path) == "/data"
        assert os.path.basename(path) == f"{name}-0"


def test_names_that_metrics_cannot_tell_apart() -> None:
    assert collision_key("a.b_c") == collision_key("a_b.c")
    assert collision_key("a.b") != collision_key("a-b")
