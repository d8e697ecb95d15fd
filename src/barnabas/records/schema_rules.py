"""A topic's rules for the schemas of its records: which part is checked, how far, and under which
subject the schema must be registered.

Here are only the values, computed once when the settings of the topic change; the checks are in
:mod:`barnabas.schema_validation`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

from barnabas.config.schema_validation import level_of, strategy_of
from barnabas.model.dataclass import dataclass


class Level(Enum):
    ID = "id"
    """The record carries the id of a schema that is registered under the expected subject."""
    PAYLOAD = "payload"
    """And its bytes decode by that schema."""


class SubjectStrategy(Enum):
    """How the subject of a schema is named; Confluent's classes have these names."""

    TOPIC = "TopicNameStrategy"
    RECORD = "RecordNameStrategy"
    TOPIC_RECORD = "TopicRecordNameStrategy"


@dataclass(frozen=True, slots=True)
class PartRules:
    level: Level
    strategy: SubjectStrategy = SubjectStrategy.TOPIC


@dataclass(frozen=True, slots=True)
class SchemaRules:
    """At least one of the parts has rules."""

    key: PartRules | None = None
    value: PartRules | None = None

    @property
    def decodes(self) -> bool:
        """Whether a check needs more than the ids."""
        return any(part is not None and part.level is Level.PAYLOAD for part in (self.key, self.value))


def schema_rules(values: Mapping[str, Any]) -> SchemaRules | None:
    """``values`` are the effective settings of one topic. None for a topic without validation."""
    rules = SchemaRules(_part(values, "key"), _part(values, "value"))
    return None if rules.key is None and rules.value is None else rules


def _part(values: Mapping[str, Any], part: str) -> PartRules | None:
    level = level_of(values, part)
    return None if level == "none" else PartRules(Level(level), SubjectStrategy(strategy_of(values, part)))
