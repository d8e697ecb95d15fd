"""Shards are loaded, run and unloaded, and answers leave only after their records are committed."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord, decode_record
from barnabas.coordinators.runtime import TIMERS_PER_TICK_MAX, CoordinatorRuntime
from barnabas.coordinators.timers import Timers
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.records.batch_header import assign_offset, read_header
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitKey, OffsetCommitValue

TYPES = {1: (OffsetCommitKey, OffsetCommitValue)}
SHARD, EPOCH, NOW_MS = 3, 7, 1_700_000_000_000
COMMIT_MS_MAX = 5_000
PRODUCER = ProducerIdentity(5, 0)


def committed(topic: str, offset: int) -> CoordinatorRecord:
    value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=0)
    return CoordinatorRecord(OffsetCommitKey(group="g", topic=topic, partition=0), value, 3)


class Counts:
    """A machine that keeps the last offset of every topic, and the pending offsets of
    transactions.
    """

    def __init__(self) -> None:
        self.timers = Timers()
        self.known: dict[str, int] = {}
        self.pending: dict[ProducerIdentity, dict[str, int]] = {}
        self.loaded_at: int | None = None
        self.was_unloaded = False

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None, offset: int) -> None:
        target = self.known if transaction is None else self.pending.setdefault(transaction, {})
        if record.value is None:
            target.pop(record.key.topic, None)
        else:
            target[record.key.topic] = record.value.offset

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        ended = self.pending.pop(transaction, {})
        if committed:
            self.known.update(ended)

    def loaded(self, now_ms: int) -> None:
        self.loaded_at = now_ms

    def unloaded(self) -> None:
        self.was_unloaded = True


class MemoryLog:
    """One partition, replicated when the test says so."""

    def __init__(self) -> None:
        self.batches: list[bytearray] = []
        self.end_offset = 0
        self.refusal = ErrorCode.NONE
        self.lagging = False
        self._waiting: list[Promise[ErrorCode]] = []

    def append(self, partition: int, batch: bytearray) -> int | ErrorCode:
        assert partition == SHARD
        if self.refusal:
            return self.refusal
        assign_offset(batch, self.end_offset, EPOCH)
        self.batches.append(batch)
        self.end_offset += read_header(batch).record_count
        return self.end_offset

    def replicated(self, partition: int, end_offset: int) -> Promise[ErrorCode]:
        promise: Promise[ErrorCode] = Promise()
        if self.lagging:
            self._waiting.append(promise)
        else:
            promise.resolve(ErrorCode.NONE)
        return promise

    def catch_up(self, code: ErrorCode = ErrorCode.NONE) -> None:
        waiting, self._waiting = self._waiting, []
        for promise in waiting:
            promise.resolve(code)


class World:
    def __init__(self) -> None:
        self.log = MemoryLog()
        self.effects: list[Any] = []
        self.deadlines: list[int] = []
        self.machines: list[Counts] = []
        self.runtime: CoordinatorRuntime[Counts] = CoordinatorRuntime(
            self._make,
            TYPES,
            self.log,
            on_effect=lambda partition, effect: self.effects.append((partition, effect)),
            on_deadline=self.deadlines.append,
            base_sequence=0,
            commit_ms_max=COMMIT_MS_MAX,
        )

    def _make(self, partition: int) -> Counts:
        self.machines.append(Counts())
        return self.machines[-1]

    @property
    def machine(self) -> Counts:
        return self.machines[-1]

    def lead(self, epoch: int = EPOCH) -> None:
        assert self.runtime.begin_loading(SHARD, epoch)
        for batch in self.log.batches:
            assert self.runtime.replay_batch(SHARD, epoch, batch)
        self.runtime.finish_loading(SHARD, epoch, self.log.end_offset, NOW_MS)

    def run(self, *records: CoordinatorRecord, answer: Any = "done", **more: Any) -> Promise[Any]:
        return self.runtime.run(SHARD, NOW_MS, lambda _: Outcome(answer, records, **more))


@pytest.fixture
def world() -> World:
    made = World()
    made.lead()
    return made


def test_a_missing_or_loading_shard_answers_with_its_error() -> None:
    world = World()
    assert world.run().value == ErrorCode.NOT_COORDINATOR
    world.runtime.begin_loading(SHARD, EPOCH)
    assert world.run().value == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.runtime.finish_loading(SHARD, EPOCH, 0, NOW_MS)
    assert world.run().value == "done"
    assert world.machine.loaded_at == NOW_MS


def test_records_are_state_when_the_answer_comes_and_after_a_restart(world: World) -> None:
    assert world.run(committed("a", 1), committed("b", 2)).value == "done"
    assert world.machine.known == {"a": 1, "b": 2}
    assert len(world.log.batches) == 1, "all or none: they are one batch"
    world.lead(EPOCH + 1)
    assert len(world.machines) == 2
    assert world.machines[0].was_unloaded
    assert world.machine.known == {"a": 1, "b": 2}


def test_an_answer_waits_for_the_commit_of_the_changes_it_saw(world: World) -> None:
    world.log.lagging = True
    write, read = world.run(committed("a", 1)), world.run()
    assert world.machine.known == {"a": 1}
    assert not write.done
    assert not read.done
    world.log.catch_up()
    assert (write.value, read.value) == ("done", "done")


def test_effects_are_done_when_their_reason_is_committed(world: World) -> None:
    world.log.lagging = True
    world.run(committed("a", 1), effects=["tell"])
    assert world.effects == []
    world.log.catch_up()
    assert world.effects == [(SHARD, "tell")]


def test_an_answer_times_out_and_its_commit_may_still_come(world: World) -> None:
    world.log.lagging = True
    answer = world.run(committed("a", 1), effects=["tell"])
    assert {world.deadlines[-1], world.runtime.next_deadline_ms} == {NOW_MS + COMMIT_MS_MAX}
    world.runtime.tick(NOW_MS + COMMIT_MS_MAX - 1)
    early = answer.done
    world.runtime.tick(NOW_MS + COMMIT_MS_MAX)
    assert (early, answer.value) == (False, ErrorCode.REQUEST_TIMED_OUT)
    assert world.runtime.next_deadline_ms is None
    world.log.catch_up()
    assert world.effects == [(SHARD, "tell")]


def test_an_answer_may_take_its_time_once_its_reason_is_committed(world: World) -> None:
    later: Promise[str] = Promise()
    world.log.lagging = True
    answer = world.run(committed("a", 1), answer=later)
    world.log.catch_up()
    world.runtime.tick(NOW_MS + COMMIT_MS_MAX)
    assert not answer.done
    later.resolve("at last")
    assert answer.value == "at last"


@pytest.mark.parametrize("when", ["refused at once", "lost on the way"])
def test_a_change_that_could_not_be_written_is_answered_with_an_error(world: World, when: str) -> None:
    taken_back: list[ErrorCode] = []
    if when == "refused at once":
        world.log.refusal = ErrorCode.NOT_COORDINATOR
        answer = world.run(committed("a", 1), effects=["tell"], if_refused=taken_back.append)
        assert world.machine.known == {}
    else:
        world.log.lagging = True
        answer = world.run(committed("a", 1), effects=["tell"], if_refused=taken_back.append)
        world.log.catch_up(ErrorCode.NOT_COORDINATOR)
    assert answer.value == ErrorCode.NOT_COORDINATOR
    assert taken_back == [ErrorCode.NOT_COORDINATOR]
    assert world.effects == []


def test_an_answer_that_needs_more_than_the_commit_waits_for_that_too(world: World) -> None:
    later: Promise[str] = Promise()
    answer = world.run(committed("a", 1), answer=later)
    assert not answer.done
    later.resolve("at last")
    assert answer.value == "at last"


def test_a_transaction_counts_when_its_end_is_replayed_now_and_after_a_restart(world: World) -> None:
    world.run(committed("a", 1), transaction=PRODUCER)
    world.run(committed("b", 1), transaction=ProducerIdentity(6, 0))
    assert world.machine.known == {}
    header = read_header(world.log.batches[0])
    assert (header.transactional, header.producer_id, header.base_sequence) == (True, 5, 0)
    for producer, kind in ((5, ControlType.COMMIT), (6, ControlType.ABORT)):
        marker = build_end_transaction(kind, coordinator_epoch=0, producer_id=producer, producer_epoch=0, timestamp=NOW_MS)
        end_offset = world.log.append(SHARD, marker)
        assert not isinstance(end_offset, ErrorCode)
        world.runtime.replay_end(SHARD, ProducerIdentity(producer, 0), end_offset, committed=kind is ControlType.COMMIT)
    assert (world.machine.known, world.machine.pending) == ({"a": 1}, {})
    world.lead(EPOCH + 1)
    assert (world.machine.known, world.machine.pending) == ({"a": 1}, {})


def test_timers_run_as_operations(world: World) -> None:
    world.machine.timers.set("t", NOW_MS + 10, lambda now_ms: Outcome(None, [committed("late", now_ms - NOW_MS)]))
    world.run()
    assert world.deadlines == [NOW_MS + 10]
    world.runtime.tick(NOW_MS + 9)
    assert world.machine.known == {}
    world.runtime.tick(NOW_MS + 12)
    assert world.machine.known == {"late": 12}
    assert world.runtime.next_deadline_ms is None


def test_a_timer_that_rearms_itself_at_once_does_not_keep_the_loop(world: World) -> None:
    runs = []

    def again(now_ms: int) -> Outcome[None]:
        runs.append(now_ms)
        world.machine.timers.set("t", now_ms, again)
        return Outcome(None)

    world.machine.timers.set("t", NOW_MS, again)
    world.runtime.tick(NOW_MS)
    assert len(runs) == TIMERS_PER_TICK_MAX
    assert world.runtime.next_deadline_ms == NOW_MS


def test_leadership_that_was_lost_and_won_again_while_loading_counts_once() -> None:
    world = World()
    assert world.runtime.begin_loading(SHARD, 1)
    assert not world.runtime.begin_loading(SHARD, 1), "told twice"
    world.runtime.unload(SHARD)
    assert not world.runtime.replay_batch(SHARD, 1, b""), "whoever still reads may stop"
    world.runtime.finish_loading(SHARD, 1, 0, NOW_MS)
    assert world.runtime.why_not(SHARD) == ErrorCode.NOT_COORDINATOR
    world.lead(2)
    assert world.runtime.epoch_of(SHARD) == 2
    assert world.runtime.active_partitions == [SHARD]


def test_records_of_a_kind_that_is_not_known_mean_nothing(world: World) -> None:
    key, value = committed("a", 1).encode()
    assert decode_record(TYPES, key, value) == committed("a", 1)
    assert decode_record(TYPES, key, None) == CoordinatorRecord(committed("a", 1).key, None)
    assert decode_record({}, key, value) is None
