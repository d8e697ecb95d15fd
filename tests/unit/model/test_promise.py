"""Promises resolve once, and run their callbacks at once and in order."""

from __future__ import annotations

import pytest

from barnabas.model.promise import Promise, all_of


def test_earlier_callbacks_run_in_order_when_the_promise_resolves() -> None:
    promise: Promise[int] = Promise()
    values: list[tuple[str, int]] = []
    promise.then(lambda value: values.append(("first", value)))
    promise.then(lambda value: values.append(("second", value)))
    assert values == []
    promise.resolve(7)
    assert values == [("first", 7), ("second", 7)]


def test_a_callback_added_after_the_value_runs_at_once() -> None:
    values: list[str] = []
    promise = Promise.kept("there")
    promise.then(values.append)
    assert values == ["there"]
    assert promise.value == "there"


def test_a_promise_resolves_only_once() -> None:
    promise = Promise.kept(1)
    with pytest.raises(AssertionError, match="once"):
        promise.resolve(2)


def test_an_unresolved_promise_has_no_value() -> None:
    with pytest.raises(AssertionError, match="no value yet"):
        _ = Promise[int]().value


def test_a_promise_can_resolve_to_none() -> None:
    promise: Promise[int | None] = Promise()
    promise.resolve(None)
    assert promise.done
    assert promise.value is None


def test_a_mapped_promise_follows_a_resolved_and_an_unresolved_one() -> None:
    early = Promise.kept(2).map(lambda value: value + 1)
    later: Promise[int] = Promise()
    mapped = later.map(str).map(len)
    assert early.value == 3
    assert not mapped.done
    later.resolve(1234)
    assert mapped.value == 4


def test_a_callback_added_inside_a_callback_runs() -> None:
    """The callback runs while the promise resolves, and finds it done."""
    promise: Promise[int] = Promise()
    values: list[int] = []
    promise.then(lambda _: promise.then(values.append))
    promise.resolve(5)
    assert values == [5]


def test_abandoning_calls_stop_once_and_never_after_the_promise_resolved() -> None:
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


def test_all_of_resolves_with_the_values_in_the_order_of_the_promises() -> None:
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
