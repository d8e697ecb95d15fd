"""The driver of the controller answers heartbeats however busy the node is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, cast

from barnabas.controller.core.outcome import Outcome
from barnabas.controller.driver import RECORDS_PER_TURN, ControllerDriver
from barnabas.metadata.applier import MetadataApplier, MetadataBatch
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage, Provenance
from barnabas.model.promise import Promise
from barnabas.security.principal import Principal
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from barnabas.wire.metadata_records import MetadataRecord
from tests.unit import simulated
from tests.unit.controller.test_listening_clock import HandClock
from tests.unit.metadata.made import topic
from tests.unit.metadata.test_applier import World

SESSION_MS = 9_000
HEARTBEAT = BrokerHeartbeatRequest(
    broker_id=1, broker_epoch=0, current_metadata_offset=0, want_fence=False, want_shut_down=False, offline_log_dirs=[]
)


class Quorum:
    """Commits when the test says so."""

    def __init__(self) -> None:
        self.end_offset = self.high_watermark = 0
        self.leading = True
        self.appends_left = 1_000_000

    def append(self, records: Sequence[MetadataRecord]) -> int:
        """The last append is also a moment at which the leader finds that it must resign."""
        assert self.leading, "only a leader appends"
        self.end_offset += len(records)
        self.appends_left -= 1
        self.leading = self.appends_left > 0
        return self.end_offset


class Decides:
    """A controller that creates a topic for every CreateTopics, and fences at the deadline of a
    session that began at the last heartbeat."""

    session_timeout_ms = SESSION_MS

    def __init__(self) -> None:
        self.heard_ms = 0
        self.partitions = 1
        self.fenced_ms: list[int] = []

    def activate(self, image: MetadataImage, bootstrap: object, *, next_offset: int, now_ms: int) -> Sequence[MetadataRecord]:
        self.heard_ms = now_ms
        return ()

    def step(
        self, request: object, *, next_offset: int, now_ms: int, wall_ms: int, principal: Principal, mutations: object = None
    ) -> Outcome:
        if isinstance(request, BrokerHeartbeatRequest):
            self.heard_ms = now_ms
            return Outcome("alive")
        return Outcome("made", topic(next_offset + 1, f"t{next_offset}", *([[1]] * self.partitions)))

    @property
    def next_deadline_ms(self) -> int:
        return self.heard_ms + SESSION_MS + 1

    def tick(self, *, next_offset: int, now_ms: int, wall_ms: int) -> Sequence[MetadataRecord]:
        if now_ms >= self.next_deadline_ms:
            self.fenced_ms.append(now_ms)
            self.heard_ms = now_ms
        return ()


class Stuck:
    """A publisher that never finishes."""

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if delta.topics.image.by_id:
            await asyncio.Event().wait()


class Node:
    def __init__(self) -> None:
        self.clock, self.quorum, self.controller = HandClock(), Quorum(), Decides()
        self.applier: MetadataApplier = World().applier
        self.applier.publishers = [Stuck()]
        self.driver = ControllerDriver(cast(Any, self.controller), cast(Any, self.quorum), self.applier, self.clock, ())
        self.driver.elected(1, -1)

    def commit(self, records: Sequence[MetadataRecord]) -> None:
        end = self.quorum.high_watermark = self.quorum.end_offset
        self.applier.apply([MetadataBatch(records, Provenance(end - 1, 1, 0), 10)])
        self.driver.committed(end)


def run(scenario: Callable[[Node], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        node = Node()
        await scenario(node)
        node.driver.stop()
        node.applier.stop()

    simulated.run(main())


def answered(answer: Promise[Any]) -> bool:
    return answer.done


def refused(answer: Promise[Any]) -> bool:
    """The controller of these tests answers with a word; only the driver sends a message."""
    assert answer.done
    answers: list[Any] = []
    answer.then(answers.append)
    return isinstance(answers[0], CreateTopicsResponse)


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def test_a_heartbeat_is_answered_while_an_earlier_decision_is_still_being_published() -> None:
    async def scenario(node: Node) -> None:
        first = node.driver.submit(CreateTopicsRequest(topics=[]))
        node.commit(topic(1, "t0", [1]))
        await turns()
        assert answered(first), "the first image is published at once"
        made: Promise[Any] = node.driver.submit(CreateTopicsRequest(topics=[]))
        alive: Promise[Any] = node.driver.submit(HEARTBEAT)
        assert not answered(alive), "it rests on records that are not committed"
        node.commit(topic(3, "t2", [1]))
        await turns()
        assert answered(alive)
        assert not answered(made)

    run(scenario)


def test_a_broker_is_not_fenced_because_its_controller_was_busy_or_paused() -> None:
    async def scenario(node: Node) -> None:
        driver, clock = node.driver, node.clock
        driver.submit(HEARTBEAT)
        clock.ms += 10 * SESSION_MS
        driver._ring()
        assert node.controller.fenced_ms == []

    run(scenario)


def test_after_a_big_decision_the_loop_turns_and_heartbeats_pass_the_requests_that_wait() -> None:
    async def scenario(node: Node) -> None:
        node.controller.partitions = RECORDS_PER_TURN
        for _ in range(2):
            node.driver.submit(CreateTopicsRequest(topics=[]))
        decided = node.quorum.end_offset
        assert decided == 1 + RECORDS_PER_TURN, "one of the two is decided in this turn"
        node.clock.ms += 700
        node.driver.submit(HEARTBEAT)
        assert node.controller.heard_ms == node.clock.ms
        await turns()
        assert node.quorum.end_offset == 2 * decided

    run(scenario)


def test_requests_that_wait_for_the_loop_to_turn_are_answered_when_the_controller_resigns() -> None:
    async def scenario(node: Node) -> None:
        node.controller.partitions = RECORDS_PER_TURN
        answers = [node.driver.submit(CreateTopicsRequest(topics=[])) for _ in range(3)]
        node.driver.resigned()
        await turns()
        assert all(answer.done for answer in answers)
        assert node.quorum.end_offset == 1 + RECORDS_PER_TURN

    run(scenario)


def test_a_request_whose_append_ends_the_leadership_is_refused_and_never_confirmed() -> None:
    async def scenario(node: Node) -> None:
        node.quorum.appends_left = 1
        made, later = node.driver.submit(CreateTopicsRequest(topics=[])), node.driver.submit(CreateTopicsRequest(topics=[]))
        assert refused(made)
        assert refused(later)
        node.driver.resigned()
        # The log of the next leader reaches the same offset, with other records.
        node.driver.committed(node.quorum.end_offset)
        assert not node.driver._parked

    run(scenario)


def test_requests_that_waited_for_a_controller_are_refused_when_it_loses_the_quorum_with_its_first_records() -> None:
    async def scenario(node: Node) -> None:
        node.driver.resigned()
        node.driver._elected_epoch = 2
        waiting = [node.driver.submit(CreateTopicsRequest(topics=[])) for _ in range(3)]
        node.quorum.appends_left = 1
        node.driver._activate(2)
        assert all(map(refused, waiting))
        node.driver._ring()
        node.driver._write_no_op(0)

    run(scenario)
