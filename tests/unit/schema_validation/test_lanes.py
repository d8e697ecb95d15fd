"""The order in which waiting batches get their verdicts."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.validation import Refused
from barnabas.schema_validation.lanes import Lanes, Verdict

REFUSED = Refused(ErrorCode.INVALID_RECORD, "bad")


def _note(given: list[tuple[int, Verdict]], number: int, verdict: Verdict) -> None:
    given.append((number, verdict))


def test_verdicts_of_a_lane_come_in_the_order_of_arrival_whatever_the_order_of_decisions() -> None:
    for order in permutations(range(4)):
        lanes = Lanes()
        given: list[tuple[int, Verdict]] = []
        waiting = [lanes.enter(("p", 1), 10) for _ in range(4)]
        for number, each in enumerate(waiting):
            each.given.then(partial(_note, given, number))
        for number in order:
            lanes.decide(waiting[number], REFUSED if number == 2 else None)
        assert given == [(0, None), (1, None), (2, REFUSED), (3, None)]
        assert (lanes.batches, lanes.size_bytes, lanes.busy(("p", 1)), lanes.busy_partition("p")) == (0, 0, False, False)


def test_lanes_do_not_wait_for_each_other() -> None:
    lanes = Lanes()
    first, second = lanes.enter(("p", 1), 10), lanes.enter(("p", 2), 20)
    lanes.decide(second, None)
    assert (first.given.done, second.given.done) == (False, True)
    assert (lanes.busy(("p", 1)), lanes.busy(("p", 2)), lanes.busy_partition("p")) == (True, False, True)
    assert (lanes.batches, lanes.size_bytes) == (1, 10)


def test_a_batch_that_arrives_while_another_is_appended_stands_behind_it() -> None:
    lanes, order = Lanes(), []
    first, second = lanes.enter(("p", 1), 1), lanes.enter(("p", 1), 1)

    def arrive(_: object) -> None:
        order.append("first")
        assert lanes.busy(("p", 1))
        third = lanes.enter(("p", 1), 1)
        third.given.then(lambda _: order.append("third"))
        lanes.decide(third, None)

    first.given.then(arrive)
    second.given.then(lambda _: order.append("second"))
    lanes.decide(second, None)
    lanes.decide(first, None)
    assert order == ["first", "second", "third"]
    assert lanes.batches == 0


def test_only_the_first_verdict_counts() -> None:
    lanes = Lanes()
    waiting = lanes.enter(("p", 1), 1)
    lanes.decide(waiting, REFUSED)
    lanes.decide(waiting, None)
    assert waiting.given.value == REFUSED


def test_a_failing_append_leaves_no_lane_behind() -> None:
    lanes = Lanes()
    waiting = lanes.enter(("p", 1), 1)
    waiting.given.then(lambda _: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        lanes.decide(waiting, None)
    assert not lanes.busy(("p", 1))


def test_the_waiting_batches_of_a_partition_are_found() -> None:
    lanes = Lanes()
    partition, other = object(), object()
    waiting = [lanes.enter((partition, 1), 1), lanes.enter((partition, 1), 1), lanes.enter((other, 1), 1)]
    assert lanes.of_partition(partition) == waiting[:2]
    assert lanes.of_partition(object()) == []
    assert lanes.all() == waiting
