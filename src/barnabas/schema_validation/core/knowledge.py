"""The knowledge that a registry gives about a stamp, and how long this broker relies on it.

==================  ===============================================================================
registered, fits    used at once; after ``fresh_ms`` the registry is asked again in the background,
                    and the old knowledge is used until it answers: an outage of the registry does
                    not stop producers whose schemas this broker knows
registered, but     asked again when a topic meets it for the first time: the same schema gets the
under other names,  same id when it is registered under a second subject. Then refused for that
or unregistered     topic for ``missing_ms``; other topics are not concerned, so that a client which
                    sends ids before they exist disturbs only topics that it may write to
unreachable         not kept here: it says nothing about the stamp
==================  ===============================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from barnabas.model.dataclass import dataclass
from barnabas.records.schema_rules import Level, PartRules, SubjectStrategy
from barnabas.schema_validation.core.stamps import Stamp

# The reason why a payload does not decode, or None. The payload is all behind the stamp.
WhyUndecodable: TypeAlias = Callable[[bytes], str | None]


@dataclass(frozen=True, slots=True)
class SchemaFacts:
    """The facts that only the text of a schema has."""

    record_names: frozenset[str]
    why_undecodable: WhyUndecodable


@dataclass(frozen=True, slots=True)
class Registered:
    subjects: frozenset[str]
    facts: SchemaFacts | None = None
    """None if only the subjects were asked for."""

    def fits(self, expected: Expected) -> bool:
        """Whether the schema is registered under the subject that the topic expects."""
        strategy = expected.rules.strategy
        if strategy is SubjectStrategy.TOPIC:
            return expected.subject in self.subjects
        assert self.facts is not None, "record names are in the text"
        names = self.facts.record_names
        if strategy is SubjectStrategy.TOPIC_RECORD:
            return any(f"{expected.topic}-{name}" in self.subjects for name in names)
        return not names.isdisjoint(self.subjects)


class Unregistered(Enum):
    UNREGISTERED = "unregistered"


@dataclass(frozen=True, slots=True)
class Unreachable:
    """No registry could tell; the reason is a clause."""

    reason: str


Answer: TypeAlias = Registered | Unregistered | Unreachable


class Expected(NamedTuple):
    """The schemas that a topic expects in one part of its records."""

    topic: str
    part: str  # key or value
    rules: PartRules

    @property
    def subject(self) -> str:
        return f"{self.topic}-{self.part}"

    @property
    def needs_facts(self) -> bool:
        return self.rules.level is Level.PAYLOAD or self.rules.strategy is not SubjectStrategy.TOPIC

    @property
    def subject_words(self) -> str:
        strategy = self.rules.strategy
        return f"the subject {self.subject}" if strategy is SubjectStrategy.TOPIC else f"a subject of {strategy.value}"


def words_of(stamp: Stamp) -> str:
    """How a sentence names the schema of a stamp."""
    return f"schema id {int.from_bytes(stamp[1:], 'big', signed=True)}" if len(stamp) == 5 else f"schema GUID {UUID(bytes=stamp[1:])}"


class Use(Enum):
    """How a broker may use its knowledge of a stamp."""

    ASK = "ask"
    FITS = "fits"
    FITS_ASK_AGAIN = "fits; ask again in the background"
    DOES_NOT_FIT = "does not fit"


class _Entry(NamedTuple):
    answer: Registered | Unregistered
    at_ms: int


class KnownSchemas:
    """The answers of registries, at most ``size_max`` of them; the oldest one makes room."""

    def __init__(self, size_max: int) -> None:
        self._size_max = size_max
        self._entries: dict[Stamp, _Entry] = {}
        # The times of refusals, by stamp, topic and part.
        self._refused: dict[tuple[Stamp, str, str], int] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def learn(self, stamp: Stamp, answer: Answer, now_ms: int) -> None:
        if isinstance(answer, Unreachable):
            return
        self._entries.pop(stamp, None)
        self._make_room(self._entries)
        self._entries[stamp] = _Entry(answer, now_ms)

    def refused(self, stamp: Stamp, expected: Expected, now_ms: int) -> None:
        """A fresh answer about the stamp does not fit the topic."""
        key = (stamp, expected.topic, expected.part)
        self._refused.pop(key, None)
        self._make_room(self._refused)
        self._refused[key] = now_ms

    def _make_room(self, remembered: dict[Any, Any]) -> None:
        if len(remembered) >= self._size_max:
            del remembered[next(iter(remembered))]

    def answer(self, stamp: Stamp) -> Registered | Unregistered | None:
        entry = self._entries.get(stamp)
        return None if entry is None else entry.answer

    def use(self, stamp: Stamp, expected: Expected, now_ms: int, *, fresh_ms: int, missing_ms: int) -> Use:
        entry = self._entries.get(stamp)
        if entry is None:
            return Use.ASK
        answer, at_ms = entry
        if isinstance(answer, Registered):
            if answer.facts is None and expected.needs_facts:
                return Use.ASK
            if answer.fits(expected):
                return Use.FITS if now_ms - at_ms < fresh_ms else Use.FITS_ASK_AGAIN
        refused_ms = self._refused.get((stamp, expected.topic, expected.part))
        return Use.ASK if refused_ms is None or now_ms - refused_ms >= missing_ms else Use.DOES_NOT_FIT
