"""Calls for the state of share partitions reach its coordinator on any broker, in order, and all of
them resolve.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import pytest

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.share.machine import ShareMachine
from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.coordinators.share_persister import CALL_MS_MAX, CALLS_WAITING_MAX, CoordinatedPersister
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import declaration_of
from tests.unit import simulated
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.coordinators.share.desk import KEY, TOPIC, Desk

HERE, THERE = 1, 2
NEIGHBOUR = SharePartitionKey("g", TOPIC, 1)
T = TypeVar("T")


class Clock:
    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def wall_ms(self) -> int:
        return self._desk.now_ms

    monotonic_ms = wall_ms


class Brokers:
    """Two brokers with a share coordinator of one shard each; ``leader`` has the shard."""

    def __init__(self, leader: int = THERE) -> None:
        self.leader = leader
        self.shards = 1
        self.created: list[str] = []
        self.requests: list[Any] = []
        # The outcome of requests to the other broker, while it does not answer them itself.
        self.outage: ErrorCode | None = None
        self.mute = False
        self.silenced: list[Promise[Any]] = []
        self.desks = {HERE: Desk(), THERE: Desk()}
        self.coordinators = {number: self._coordinator(desk) for number, desk in self.desks.items()}
        self.persister = CoordinatedPersister(HERE, self.coordinators[HERE], cast(Any, self), cast(Any, self), asyncio.get_running_loop())

    def _coordinator(self, desk: Desk) -> Coordinator[ShareMachine]:
        return Coordinator("__share_group_state", desk.runtime, Clock(desk), lambda: self.shards)

    @property
    def leading(self) -> Desk:
        return self.desks[self.leader]

    # The ports of the persister.

    def leader_of(self, partition: TopicPartition) -> int:
        assert partition == TopicPartition("__share_group_state", 0)
        return self.leader

    def create(self, topic: str) -> Promise[ErrorCode]:
        self.created.append(topic)
        return Promise.kept(ErrorCode.NONE)

    def send(self, broker_id: int, request: Any, *, purpose: str) -> Promise[Any] | None:
        assert broker_id == THERE
        self.requests.append(request)
        if self.mute:
            self.silenced.append(Promise())
            return self.silenced[-1]
        if self.outage is not None:
            return Promise.kept(self.outage) if self.outage else None
        key = ApiKey(declaration_of(type(request)).key or 0)
        version = declaration_of(type(request)).versions.highest
        request_class, response_class = messages(key)
        broker = SimpleNamespace(share_states=self.coordinators[THERE], access=OPEN_ACCESS)
        received, _ = decode(request_class, version, encode(request, version), 0)
        answer = BROKER_HANDLERS[key](cast(Any, broker), cast(Caller, None), received)
        promise: Promise[Any] = answer if isinstance(answer, Promise) else Promise.kept(answer)
        answered: Promise[Any] = promise.map(lambda response: decode(response_class, version, encode(response, version), 0)[0])
        later: Promise[Any] = Promise()
        asyncio.get_running_loop().call_later(0.001, lambda: answered.then(later.resolve))
        return later

    # Calls.

    def initialize(self, key: SharePartitionKey = KEY) -> Promise[ErrorCode]:
        return self.persister.initialize(key, state_epoch=1, start_offset=0)

    def write(
        self, first: int, last: int, *, key: SharePartitionKey = KEY, start_offset: int = NO_START_OFFSET, leader_epoch: int = 0
    ) -> Promise[ErrorCode]:
        return self.persister.write(
            key,
            state_epoch=1,
            leader_epoch=leader_epoch,
            start_offset=start_offset,
            delivery_complete_count=0,
            batches=[StateBatch(first, last, 2, 1)],
        )

    async def state(self, key: SharePartitionKey = KEY) -> ShareState | ErrorCode:
        return await awaited(self.persister.read(key, leader_epoch=0))


def run(scenario: Callable[[Brokers], Awaitable[None]], *, leader: int = THERE) -> None:
    async def main() -> None:
        await scenario(Brokers(leader))

    simulated.run(main())


@pytest.mark.parametrize("leader", [HERE, THERE])
def test_all_operations_reach_the_leader_of_the_shard(leader: int) -> None:
    async def scenario(brokers: Brokers) -> None:
        persister = brokers.persister
        assert await awaited(brokers.initialize()) == ErrorCode.NONE
        assert await awaited(brokers.write(0, 9, start_offset=0)) == ErrorCode.NONE
        assert await awaited(persister.read(KEY, leader_epoch=3)) == ShareState(1, 0, (StateBatch(0, 9, 2, 1),))
        assert await awaited(persister.read_summary(KEY, leader_epoch=0)) == ShareSummary(1, 3, 0, 0)
        assert await awaited(brokers.write(10, 19, leader_epoch=2)) == ErrorCode.FENCED_LEADER_EPOCH
        assert await awaited(persister.delete(KEY)) == ErrorCode.NONE
        assert await brokers.state() == ErrorCode.INVALID_REQUEST
        assert bool(brokers.requests) is (leader == THERE)

    run(scenario, leader=leader)


def test_calls_of_one_turn_go_in_one_request() -> None:
    async def scenario(brokers: Brokers) -> None:
        done = [brokers.initialize(), brokers.initialize(NEIGHBOUR), brokers.initialize(SharePartitionKey("other", TOPIC, 0))]
        assert [await awaited(each) for each in done] == [ErrorCode.NONE] * 3
        assert sorted((request.group_id, len(request.topics[0].partitions)) for request in brokers.requests) == [("g", 2), ("other", 1)]

    run(scenario)


def test_writes_that_wait_for_the_first_become_one_write() -> None:
    async def scenario(brokers: Brokers) -> None:
        await awaited(brokers.initialize())
        written = [brokers.write(offset, offset, start_offset=offset) for offset in range(100)]
        assert {await awaited(each) for each in written} == {ErrorCode.NONE}
        assert len(brokers.requests) <= 3
        assert await brokers.state() == ShareState(1, 99, (StateBatch(99, 99, 2, 1),))

    run(scenario)


@pytest.mark.parametrize("code", [ErrorCode.NETWORK_EXCEPTION, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NONE])
def test_a_call_is_repeated_until_the_broker_answers(code: ErrorCode) -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.outage = code
        asyncio.get_running_loop().call_later(2, lambda: setattr(brokers, "outage", None))
        assert await awaited(brokers.initialize()) == ErrorCode.NONE
        assert len(brokers.requests) > 2

    run(scenario)


def test_a_call_follows_the_shard_to_another_broker() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.desks[THERE].runtime.unload(0)
        asyncio.get_running_loop().call_later(1, lambda: setattr(brokers, "leader", HERE))
        assert await awaited(brokers.initialize()) == ErrorCode.NONE
        assert KEY in brokers.desks[HERE].machine.states

    run(scenario)


def test_the_internal_topic_is_created_when_it_is_missing() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.shards = 0
        asyncio.get_running_loop().call_later(1, lambda: setattr(brokers, "shards", 1))
        assert await awaited(brokers.initialize()) == ErrorCode.NONE
        assert set(brokers.created) == {"__share_group_state"}

    run(scenario)


@pytest.mark.parametrize("leader", [NO_NODE, THERE])
def test_a_call_without_a_coordinator_resolves_within_the_bound(leader: int) -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.mute = True
        loop = asyncio.get_running_loop()
        started = loop.time()
        assert await awaited(brokers.initialize()) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert loop.time() - started == pytest.approx(CALL_MS_MAX / 1000, abs=0.1)

    run(scenario, leader=leader)


def test_a_call_on_a_broker_that_only_loads_the_shard_resolves_within_the_bound() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.leading.runtime.unload(0)
        assert brokers.leading.runtime.begin_loading(0, 99)
        assert await awaited(brokers.initialize()) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    run(scenario, leader=HERE)


def test_later_calls_do_not_overtake_one_that_is_repeated() -> None:
    async def scenario(brokers: Brokers) -> None:
        await awaited(brokers.initialize())
        brokers.outage = ErrorCode.NETWORK_EXCEPTION
        first = brokers.write(0, 9, start_offset=5)
        await asyncio.sleep(0.2)
        brokers.outage = None
        brokers.leader = HERE
        # The shard is here now; the first write waits for its next attempt.
        brokers.desks[HERE].initialize()
        second = brokers.write(10, 19, start_offset=12)
        assert not second.done
        assert await awaited(first) == ErrorCode.NONE
        assert await awaited(second) == ErrorCode.NONE
        assert await brokers.state() == ShareState(1, 12, (StateBatch(12, 19, 2, 1),))

    run(scenario)


def test_a_call_after_one_that_timed_out_is_tried_at_once() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.mute = True
        lost = brokers.initialize()
        await asyncio.sleep(CALL_MS_MAX / 1000 - 1)
        brokers.leader = HERE
        second = brokers.initialize()
        assert await awaited(lost) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await awaited(second) == ErrorCode.NONE

    run(scenario)


def test_a_call_that_timed_out_before_it_was_sent_is_not_sent_later() -> None:
    async def scenario(brokers: Brokers) -> None:
        await awaited(brokers.initialize())
        await awaited(brokers.initialize(NEIGHBOUR))
        brokers.mute = True
        unanswered = brokers.write(0, 9, key=NEIGHBOUR)
        await asyncio.sleep(0.1)
        # The request for the neighbour has no answer yet, so this one waits.
        waiting = brokers.write(0, 9, start_offset=5)
        assert await awaited(unanswered) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert await awaited(waiting) == ErrorCode.COORDINATOR_NOT_AVAILABLE
        brokers.mute = False
        sent = len(brokers.requests)
        for each in brokers.silenced:
            each.resolve(ErrorCode.REQUEST_TIMED_OUT)
        await asyncio.sleep(1)
        assert len(brokers.requests) == sent

    run(scenario)


def test_more_calls_than_the_limit_are_refused() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.mute = True
        waiting = [brokers.persister.read(KEY, leader_epoch=0) for _ in range(CALLS_WAITING_MAX)]
        assert not any(each.done for each in waiting)
        assert brokers.initialize().value == ErrorCode.COORDINATOR_NOT_AVAILABLE
        brokers.persister.stop()
        assert all(each.value == ErrorCode.COORDINATOR_NOT_AVAILABLE for each in waiting)

    run(scenario)


def test_a_stopped_persister_refuses_calls() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.persister.stop()
        assert brokers.initialize().value == ErrorCode.COORDINATOR_NOT_AVAILABLE

    run(scenario)


def test_a_commit_that_fails_here_is_repeated() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.leading.log.refusal = ErrorCode.NOT_ENOUGH_REPLICAS
        asyncio.get_running_loop().call_later(1, lambda: setattr(brokers.leading.log, "refusal", ErrorCode.NONE))
        assert await awaited(brokers.initialize()) == ErrorCode.NONE

    run(scenario, leader=HERE)


def test_a_long_lane_is_served_to_its_end() -> None:
    async def scenario(brokers: Brokers) -> None:
        brokers.leader = NO_NODE
        calls: list[Promise[Any]] = [brokers.initialize()]
        calls += [brokers.persister.read(KEY, leader_epoch=0) for _ in range(3000)]
        brokers.leader = HERE
        assert [await awaited(each) for each in calls[1:]] == [ShareState(1, 0, ())] * 3000

    run(scenario)
