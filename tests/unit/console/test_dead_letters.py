from __future__ import annotations

from barnabas.administration.dead_letter import Position
from barnabas.console.core.dead_letters import Letter, LetterState, RedrivePlan, Selection, by_reason, letters_of, reason_kind, state_of
from barnabas.console.core.record import BatchFacts, ReadRecord, TransactionState

BATCH = BatchFacts(0, 1, 1, "none", 0, False, None, None, None)


def record(offset: int, source_offset: int, reason: str, *, value: bytes | None = b"v", kind: str = "barnabas.dead_letter.") -> ReadRecord:
    names = ("reason", "topic", "partition", "offset") if kind.startswith("barnabas") else ("message", "topic", "partition", "offset")
    values = (reason, "orders", "0", str(source_offset))
    headers = tuple((kind + name, each.encode()) for name, each in zip(names, values, strict=True))
    return ReadRecord("letters", 0, offset, 1_000 + offset, None, value, headers, TransactionState.NONE, None, BATCH)


def letter(offset: int, source_offset: int, reason: str = "no JSON") -> Letter:
    return letters_of([record(offset, source_offset, reason)])[0]


def test_reasons_of_the_same_failure_are_one() -> None:
    assert reason_kind("line 3: 'abc' is no number 17") == reason_kind("line 12: 'x y' is no number 4") == "line #: … is no number #"
    assert reason_kind("") == "no reason given"


def test_letters_are_counted_by_reason_with_the_most_frequent_first() -> None:
    letters = [letter(0, 0, "at 1"), letter(1, 1, "other"), letter(2, 2, "at 2")]
    counted = by_reason([(letters[0], LetterState.DONE), (letters[1], LetterState.WAITING), (letters[2], LetterState.WAITING)])
    assert [(each.reason, each.letters, each.waiting) for each in counted] == [("at #", 2, 1), ("other", 1, 1)]
    assert [each.example for each in counted] == ["at 2", "other"]
    assert (counted[0].first_ms, counted[0].last_ms) == (1_000, 1_002)


def test_a_letter_is_done_when_its_record_was_sent_again() -> None:
    found = letter(5, 17)
    assert state_of(found, set(), {}) is LetterState.WAITING
    assert state_of(found, {Position("orders", 0, 17, None)}, {}) is LetterState.DONE
    assert state_of(found, set(), {0: 6}) is LetterState.DONE
    (empty,) = letters_of([record(0, 0, "r", value=None, kind="__dlq.errors.")])
    assert state_of(empty, set(), {}) is LetterState.STUCK


def test_a_plan_takes_each_source_record_once() -> None:
    plan = RedrivePlan(Selection(kind="at #"), {Position("orders", 0, 9, None)}, {}, {}, {})
    taken = plan.take([letter(0, 1, "at 1"), letter(1, 1, "at 1"), letter(2, 9, "at 5"), letter(3, 4, "other"), letter(4, 5, "at 6")])
    assert [each.record.offset for each in taken] == [0, 4]
    assert (plan.to, plan.reasons, plan.repeats, plan.left, plan.stuck) == ({"orders": 2}, {"at #": 2}, 2, 1, 0)


def test_a_selection_names_letters_sources_and_attempts() -> None:
    found = letter(3, 4)
    assert Selection(places=frozenset({(0, 3)})).takes(found)
    assert not Selection(places=frozenset({(0, 4)})).takes(found)
    assert not Selection(source="paid").takes(found)
    assert Selection(attempts_max=1).takes(found)
