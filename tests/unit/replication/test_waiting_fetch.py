"""A waiting fetch is answered once: by enough bytes, by its timeout, or by an error."""

from __future__ import annotations

from barnabas.replication.waiting_fetch import WaitingFetch
from tests.unit.replication.made import World, led_by
from tests.unit.storage.logs import data

NOW_MS = 1_700_000_000_000


class Answers:
    """Counts answers, and stands for the timer."""

    def __init__(self) -> None:
        self.count = 0
        self.cancelled = 0

    def __call__(self) -> None:
        self.count += 1

    def cancel(self) -> None:
        self.cancelled += 1


def produce(world: World, index: int = 0) -> int:
    partition = world.replicas.get("t", index)
    assert partition is not None
    batch = data()
    partition.append(memoryview(batch), 1, NOW_MS)
    return len(batch)


def test_enough_bytes_in_any_of_its_partitions_answer_a_fetch() -> None:
    world = World()
    partitions = [world.partition(index=index) for index in range(2)]
    answers = Answers()
    WaitingFetch(partitions, missing_bytes=150, complete=answers)
    produce(world, 0)
    assert answers.count == 0
    produce(world, 1)
    assert answers.count == 1


def test_a_waiting_fetch_is_answered_once_and_its_timer_is_cancelled() -> None:
    world = World()
    answers = Answers()
    waiting = WaitingFetch([world.partition()], missing_bytes=1, complete=answers)
    waiting.timer = answers
    produce(world)
    produce(world)
    waiting.complete()
    waiting.arrived(1000)
    assert (answers.count, answers.cancelled) == (1, 1)


def test_a_timed_out_fetch_is_not_woken_again() -> None:
    world = World()
    partition = world.partition()
    answers = Answers()
    WaitingFetch([partition], missing_bytes=1, complete=answers).complete()
    produce(world)
    assert answers.count == 1
    assert not partition.progress.readers


def test_a_cancelled_fetch_answers_nothing_and_is_forgotten_everywhere() -> None:
    world = World()
    partitions = [world.partition(index=index) for index in range(3)]
    answers = Answers()
    waiting = WaitingFetch(partitions, missing_bytes=1, complete=answers)
    waiting.cancel()
    for index in range(3):
        produce(world, index)
    assert answers.count == 0
    assert not any(partition.progress.readers for partition in partitions)


def test_a_leader_that_resigns_answers_all_waiting_fetches() -> None:
    world = World()
    partition = world.partition()
    first, second = Answers(), Answers()
    for answers in (first, second):
        WaitingFetch([partition], missing_bytes=10**6, complete=answers)
    partition.follow_metadata(led_by(2, epoch=1, replicas=(1, 2)))
    assert (first.count, second.count) == (1, 1)


def test_a_fetch_that_waits_again_from_inside_its_answer_is_not_lost() -> None:
    """As a client does that fetches again at once."""
    world = World()
    partition = world.partition()
    answers = Answers()

    def again() -> None:
        answers()
        WaitingFetch([partition], missing_bytes=1, complete=answers)

    WaitingFetch([partition], missing_bytes=1, complete=again)
    produce(world)
    assert answers.count == 1
    produce(world)
    assert answers.count == 2
