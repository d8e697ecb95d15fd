"""Dead letters, sorted by the reason of their failure, and chosen for a redrive. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from barnabas.administration.dead_letter import Origin, Position, headers_again, origin_of
from barnabas.console.core.record import ReadRecord, TransactionState
from barnabas.console.core.record_request import NewRecord

# Reasons contain values of the record; without numbers and quoted texts the same failure has one
# sentence.
_QUOTED: Final = re.compile(r"'[^']{0,200}'|\"[^\"]{0,200}\"|`[^`]{0,200}`")
_NUMBER: Final = re.compile(r"\d+")
REASON_CHARACTERS_MAX: Final = 300


class LetterState(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    """Its record was sent again, by this letter or by another one."""
    STUCK = "stuck"
    """It has no topic to return to, or no copy of its record."""


@dataclass(frozen=True, slots=True)
class Letter:
    record: ReadRecord
    origin: Origin

    @property
    def kind(self) -> str:
        return reason_kind(self.origin.reason)

    @property
    def can_return(self) -> bool:
        """A letter of a share group without a copy of its record has nothing to send."""
        empty = self.record.key is None and self.record.value is None
        return self.origin.position is not None and not (self.origin.is_of_share_group and empty)

    def again(self) -> NewRecord:
        headers = headers_again(self.record.headers, self.origin.attempts)
        return NewRecord(self.record.key, self.record.value, headers)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which letters are sent; an empty choice matches all."""

    kind: str = ""
    source: str = ""
    attempts_max: int | None = None
    places: frozenset[tuple[int, int]] = frozenset()
    """Partitions and offsets of letters."""

    def takes(self, letter: Letter) -> bool:
        return (
            (not self.kind or self.kind == letter.kind)
            and (not self.source or self.source == letter.origin.topic)
            and (self.attempts_max is None or letter.origin.attempts < self.attempts_max)
            and (not self.places or (letter.record.partition, letter.record.offset) in self.places)
        )


@dataclass(frozen=True, slots=True)
class ReasonCount:
    reason: str
    source: str | None
    writer: str
    letters: int
    waiting: int
    first_ms: int
    last_ms: int
    example: str
    """The sentence of the newest one."""


def reason_kind(reason: str) -> str:
    return _NUMBER.sub("#", _QUOTED.sub("…", reason))[:REASON_CHARACTERS_MAX] or "no reason given"


def letters_of(records: Iterable[ReadRecord]) -> list[Letter]:
    """Records of aborted transactions, and those without the headers of a letter, are none."""
    return [
        Letter(each, origin)
        for each in records
        if each.transaction in (TransactionState.NONE, TransactionState.COMMITTED) and (origin := origin_of(each.headers)) is not None
    ]


def state_of(letter: Letter, sent: Container[Position], redriven_to: Mapping[int, int]) -> LetterState:
    """``redriven_to`` has the offsets up to which a redrive of all letters came."""
    if letter.record.offset < redriven_to.get(letter.record.partition, 0) or letter.origin.position in sent:
        return LetterState.DONE
    return LetterState.WAITING if letter.can_return else LetterState.STUCK


def by_reason(letters: Iterable[tuple[Letter, LetterState]]) -> list[ReasonCount]:
    """The most frequent first."""
    groups: dict[tuple[str, str | None, str], list[tuple[Letter, LetterState]]] = {}
    for letter, state in letters:
        groups.setdefault((letter.kind, letter.origin.topic, letter.origin.writer), []).append((letter, state))
    counts = []
    for (kind, source, writer), those in groups.items():
        newest = max(those, key=lambda each: each[0].record.timestamp)[0]
        times = [each.record.timestamp for each, _ in those]
        waiting = sum(state is LetterState.WAITING for _, state in those)
        counts.append(
            ReasonCount(kind, source, writer, len(those), waiting, min(times), max(times), newest.origin.reason[:REASON_CHARACTERS_MAX])
        )
    return sorted(counts, key=lambda each: (-each.letters, each.reason))


@dataclass(slots=True)
class RedrivePlan:
    """What a redrive sends, counted while letters are read."""

    selection: Selection
    sent: set[Position]
    redriven_to: Mapping[int, int]
    to: dict[str, int]
    """Letters by the topic that they return to."""
    reasons: dict[str, int]
    repeats: int = 0
    stuck: int = 0
    left: int = 0
    """Letters that the selection does not take."""

    def take(self, letters: Iterable[Letter]) -> list[Letter]:
        """The letters to send. Each source record is taken once."""
        taken = []
        for letter in letters:
            state = state_of(letter, self.sent, self.redriven_to)
            if not self.selection.takes(letter):
                self.left += 1
            elif state is LetterState.DONE:
                self.repeats += 1
            elif state is LetterState.STUCK:
                self.stuck += 1
            else:
                position = letter.origin.position
                assert position is not None
                self.sent.add(position)
                self.to[position.topic] = self.to.get(position.topic, 0) + 1
                self.reasons[letter.kind] = self.reasons.get(letter.kind, 0) + 1
                taken.append(letter)
        return taken
