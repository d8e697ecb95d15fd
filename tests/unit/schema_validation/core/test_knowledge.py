"""What a broker knows of a schema, and how long it relies on that."""

from __future__ import annotations

import pytest

from barnabas.records.schema_rules import Level, SubjectStrategy
from barnabas.schema_validation.core.knowledge import KnownSchemas, Registered, Unreachable, Unregistered, Use, words_of
from tests.unit.schema_validation.made import GUID, expected, registered, stamp

FRESH_MS, MISSING_MS = 1000, 10


def use(known: KnownSchemas, at_ms: int, **expecting: Level | SubjectStrategy) -> Use:
    return known.use(stamp(1), expected(**expecting), at_ms, fresh_ms=FRESH_MS, missing_ms=MISSING_MS)  # type: ignore[arg-type]


def knowing(answer: Registered | Unregistered | Unreachable) -> KnownSchemas:
    known = KnownSchemas(10)
    known.learn(stamp(1), answer, 0)
    return known


@pytest.mark.parametrize(
    ("strategy", "subject"),
    [
        (SubjectStrategy.TOPIC, "t-value"),
        (SubjectStrategy.RECORD, "com.shop.Order"),
        (SubjectStrategy.TOPIC_RECORD, "t-com.shop.Order"),
    ],
    ids=lambda each: str(each),
)
def test_a_schema_fits_under_the_subject_of_the_strategy_alone(strategy: SubjectStrategy, subject: str) -> None:
    names = ("com.shop.Order", "com.shop.Order.Line")
    assert registered("x", subject, names=names).fits(expected(strategy=strategy))
    others = {"t-value", "com.shop.Order", "t-com.shop.Order", "t-key", "value", ":.ctx:t-value", "T-value"} - {subject}
    assert not registered(*others, names=names).fits(expected(strategy=strategy))


def test_a_known_schema_is_used_and_asked_about_again_when_it_is_old() -> None:
    known = knowing(registered("t-value"))
    assert (use(known, 0), use(known, 999), use(known, 1000), use(known, 10**9)) == (
        Use.FITS,
        Use.FITS,
        Use.FITS_ASK_AGAIN,
        Use.FITS_ASK_AGAIN,
    )


@pytest.mark.parametrize("answer", [Unregistered.UNREGISTERED, registered("u-value")], ids=["unregistered", "under another subject"])
def test_a_schema_that_does_not_fit_is_asked_about_again_soon(answer: Registered | Unregistered) -> None:
    known = knowing(answer)
    assert use(known, 0) is Use.ASK, "the answer may be older than the subject"
    known.refused(stamp(1), expected(), 0)
    assert (use(known, 9), use(known, 10)) == (Use.DOES_NOT_FIT, Use.ASK)


def test_a_refusal_concerns_one_topic_and_one_part() -> None:
    known = knowing(Unregistered.UNREGISTERED)
    known.refused(stamp(1), expected(topic="u"), 0)
    known.refused(stamp(1), expected("key"), 0)
    assert use(known, 5) is Use.ASK


def test_an_unknown_stamp_must_be_asked_about() -> None:
    assert use(KnownSchemas(10), 0) is Use.ASK


def test_an_outage_is_no_knowledge_and_forgets_none() -> None:
    known = knowing(registered("t-value"))
    known.learn(stamp(1), Unreachable("gone"), 5)
    assert use(known, 5) is Use.FITS
    assert use(knowing(Unreachable("gone")), 0) is Use.ASK


@pytest.mark.parametrize("expecting", [{"level": Level.PAYLOAD}, {"strategy": SubjectStrategy.RECORD}], ids=str)
def test_subjects_alone_are_not_enough_where_the_text_is_needed(expecting: dict[str, Level | SubjectStrategy]) -> None:
    assert use(knowing(Registered(frozenset({"t-value"}))), 0, **expecting) is Use.ASK


def test_the_oldest_knowledge_makes_room() -> None:
    known = KnownSchemas(2)
    for schema_id in (1, 2, 1, 3):
        known.learn(stamp(schema_id), registered("t-value"), schema_id)
    assert [known.answer(stamp(schema_id)) is not None for schema_id in (1, 2, 3)] == [True, False, True]
    assert len(known) == 2


def test_words_name_the_id_or_the_guid() -> None:
    assert words_of(stamp(7)) == "schema id 7"
    assert words_of(b"\x01" + GUID) == "schema GUID 00010203-0405-0607-0809-0a0b0c0d0e0f"
