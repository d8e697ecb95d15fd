"""The checker of share groups finds every anomaly that it is made for."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from tests.cluster.share_checker import anomalies, unsettled
from tests.cluster.share_journal import Line, Where, parse

ONE = Where(0, 7)


def journal(text: str) -> list[Line]:
    """One event a line, each a nanosecond after the one before."""
    events = [line.split(maxsplit=2) for line in text.split("; ")]
    return list(
        parse("".join(f"{at} {member} {verb} 0 7 {detail[0] if detail else ''}\n" for at, (member, verb, *detail) in enumerate(events)))
    )


def found(text: str, *, moved: Collection[int] = ()) -> list[str]:
    return anomalies({ONE}, journal(text), limit=3, moved=moved)


@pytest.mark.parametrize(
    "text",
    [
        "a got 1; a try ACCEPT; a yes",
        "a got 1; a try REJECT; a yes",
        "a got 1; a try RELEASE; a yes; b got 2; b try ACCEPT; b yes",
        "a got 1; b got 2; b try ACCEPT; b yes; a try ACCEPT; a no INVALID_RECORD_STATE",
        "a got 2; a try ACCEPT; a yes; b got 1",  # b's client held the record for long
        "a got 1; a try RENEW; a yes; a got 1; a try ACCEPT; a yes",
        "a got 1; b got 2; c got 3; c try RELEASE; c yes",
        "a got 1; a try ACCEPT",  # killed
        # a's lock ended, and Kafka confirms what has no effect any more
        "a got 1; b got 2; b try ACCEPT; b yes; a try ACCEPT; a yes",
        "a got 1; b got 2; c got 3; c try RELEASE; c yes; a try ACCEPT; a yes",
        # a's lock ended, and a's client had the record again when its acknowledgement arrived
        "a got 1; a try ACCEPT; a yes; a got 2; a try ACCEPT; a no INVALID_RECORD_STATE",
    ],
)
def test_journals_that_keep_every_promise_have_no_anomaly(text: str) -> None:
    assert found(text) == []
    assert unsettled({ONE}, journal(text), limit=3) == []


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("a got 1; a try ACCEPT; a yes; b got 2", "was delivered again after a got ACCEPT of delivery 1 confirmed"),
        ("a got 1; a try REJECT; a yes; b got 2; b try ACCEPT; b yes", "was delivered again after a got REJECT"),
        ("a got 1; b got 2; a try ACCEPT; a yes; b try ACCEPT; b yes", "was delivered again after a got ACCEPT"),
        ("a got 1; b got 2; c got 3; d got 4", "was delivered 4 times, where the limit is 3"),
        ("a got 1; b got 1; b try ACCEPT; b yes", "has two deliveries of one count"),
        ("a got 1; a try RELEASE; a yes", "was not acknowledged and not delivered again"),
    ],
)
def test_a_broken_promise_is_an_anomaly(text: str, complaint: str) -> None:
    assert any(complaint in each for each in found(text))


def test_a_count_may_repeat_after_the_death_of_a_broker() -> None:
    assert found("a got 1; b got 1; b try ACCEPT; b yes", moved=[ONE.partition]) == []


def test_a_record_that_no_member_got_is_an_anomaly() -> None:
    assert anomalies({ONE}, [], limit=3, moved=()) == ["record 7 of partition 0 was never delivered"]
    assert unsettled({ONE}, [], limit=3) == [ONE]


def test_a_released_record_is_unsettled_until_it_is_delivered_again() -> None:
    assert unsettled({ONE}, journal("a got 1; a try RELEASE; a yes"), limit=3) == [ONE]


def test_a_line_without_its_end_is_dropped() -> None:
    assert list(parse("1 a got 0 7 1\n2 a try 0 7 ACC")) == [Line(1, "a", "got", ONE, "1")]
