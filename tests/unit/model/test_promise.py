"""Promises: kept once, told at once, in order."""

from __future__ import annotations

import pytest

from barnabas.model.promise import Promise, all_of


def test_who_asked_before_hears_when_it_is_kept_and_in_the_order_of_asking() -> None:
    promise: Promise[int] = Promise()
    heard: list[tuple[str, int]] = []
    promise.then(lambda value: heard.append(("first", value)))
    promise.then(lambda value: heard.append(("second", value)))
    assert heard == []
    promise.resolve(7)
    assert heard == [("first", 7), ("second", 7)]


def test_who_asks_afterwards_hears_at_once() -> None:
    heard: list[str] = []
    promise = Promise.kept("there")
    promise.then(heard.append)
    assert heard == ["there"]
    assert promise.value == "there"


def test_a_promise_is_kept_once() -> None:
    promise = Promise.kept(1)
    with pytest.raises(AssertionError, match="once"):
        promise.resolve(2)


def test_a_value_that_has_not_come_cannot_be_had() -> None:
    with pytest.raises(AssertionError, match="not come yet"):
        _ = Promise[int]().value


def test_none_is_a_value_too() -> None:
    promise: Promise[int | None] = Promise()
    promise.resolve(None)
    assert promise.done
    assert promise.value is None


def test_a_mapped_promise_follows_the_first_whether_it_is_kept_already_or_not() -> None:
    early = Promise.kept(2).map(lambda value: value + 1)
    later: Promise[int] = Promise()
    mapped = later.map(str).map(len)
    assert early.value == 3
    assert not mapped.done
    later.resolve(1234)
    assert mapped.value == 4


def test_who_asks_from_inside_an_answer_is_heard() -> None:
    """The callback runs while the promise is being kept, and it is kept by then."""
    promise: Promise[int] = Promise()
    heard: list[int] = []
    promise.then(lambda _: promise.then(heard.append))
    promise.resolve(5)
    assert heard == [5]


def test_who_is_abandoned_hears_it_once_and_not_after_the_promise_was_kept() -> None:
    stopped: list[str] = []
    first: Promise[int] = Promise()
    first.if_abandoned(lambda: stopped.append("first"))
    mapped = first.map(str)
    mapped.abandon()
    mapped.abandon()
    assert stopped == ["first"]
    kept: Promise[int] = Promise()
    kept.if_abandoned(lambda: stopped.append("kept"))
    kept.resolve(1)
    kept.abandon()
    assert stopped == ["first"]


def test_all_of_them_come_together_in_their_own_order() -> None:
    first: Promise[int] = Promise()
    last: Promise[int] = Promise()
    together = all_of([first, Promise.kept(2), last])
    last.resolve(3)
    assert not together.done
    first.resolve(1)
    assert together.value == [1, 2, 3]
    assert all_of([Promise.kept(1)]).value == [1]
    nothing: list[Promise[int]] = []
    assert all_of(nothing).value == []
