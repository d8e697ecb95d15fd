"""Names of subjects are those of Confluent's serializers."""

from __future__ import annotations

import pytest

from barnabas.pipelines.errors import CannotRun
from barnabas.pipelines.registered.subjects import subject_of


def test_the_strategy_names_the_subject() -> None:
    assert subject_of("payments", "topic", None) == "payments-value"
    assert subject_of("payments", "record", "bank.Payment") == "bank.Payment"
    assert subject_of("payments", "topic_record", "bank.Payment") == "payments-bank.Payment"


def test_a_schema_without_a_name_needs_a_subject() -> None:
    with pytest.raises(CannotRun, match="this schema has no name; give a 'subject'"):
        subject_of("payments", "record", None)
