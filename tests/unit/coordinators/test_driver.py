"""Shards are loaded and unloaded with the leadership of their partitions: the log is kept,
uncommitted records are not trusted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.driver import CoordinatorDriver
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.transaction.decision import NEEDS_PRODUCER_ID
from barnabas.coordinators.transaction.machine import TransactionMachine
from barnabas.coordinators.transaction.record_types import TRANSACTION_RECORD_TYPES
from barnabas.coordinators.transaction.settings import TransactionSettings
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.model.topic_names import TRANSACTION_STATE
from barnabas.replication.partition import Partition
from barnabas.telemetry.logs import EventLog
from barnabas.wire.metadata_records import PartitionRecord, RemoveTopicRecord, TopicRecord
from tests.unit import simulated
from tests.unit.metadata.made import WHEN, after, delta_of
from tests.unit.replication.made import ME, NOW_MS, TOPIC_ID, World
from tests.waiting import until_async

OTHER = 2


class _Clock:
    def wall_ms(self) -> int:
        return NOW_MS

    def monotonic_ms(self) -> int:
        return NOW_MS


class Node:
    """One node with one partition of the transaction log; metadata is published to it as on a real
    node.
    """

    def __init__(self) -> None:
        self.world = World()
        self.replica: Partition | None = None
        self.image: MetadataImage = after([TopicRecord(name=TRANSACTION_STATE, topic_id=TOPIC_ID)])
        self.driver: CoordinatorDriver[TransactionMachine] = CoordinatorDriver(
            TRANSACTION_STATE,
            lambda partition: TransactionMachine(partition, TransactionSettings(), lambda: self.driver.runtime.epoch_of(partition)),
            TRANSACTION_RECORD_TYPES,
            node_id=ME,
            replicas=self.world.replicas,
            clock=_Clock(),
            log=EventLog("FATAL"),
            on_effect=lambda shard, effect: None,
            partition_count=lambda: 1,
            commit_ms_max=60_000,
        )

    @property
    def coordinator(self) -> Coordinator[TransactionMachine]:
        return self.driver.coordinator

    async def led_by(self, leader: int, *, epoch: int, isr: tuple[int, ...] = (ME, OTHER)) -> None:
        record = PartitionRecord(
            partition_id=0,
            topic_id=TOPIC_ID,
            replicas=[ME, OTHER],
            isr=list(isr),
            removing_replicas=[],
            adding_replicas=[],
            leader=leader,
            leader_epoch=epoch,
            partition_epoch=epoch,
        )
        delta = delta_of([record], self.image)
        self.image = delta.finish(WHEN)
        partition = self.image.topics.by_id[TOPIC_ID].partitions[0]
        if self.replica is None:
            self.replica = self.world.partition(TRANSACTION_STATE, image=partition)
        else:
            self.replica.follow_metadata(partition)
        await self.driver.publish(delta, self.image, cast(EffectiveConfigs, None))

    async def deleted(self) -> None:
        delta = delta_of([RemoveTopicRecord(topic_id=TOPIC_ID)], self.image)
        self.image = delta.finish(WHEN)
        await self.driver.publish(delta, self.image, cast(EffectiveConfigs, None))

    async def loaded(self) -> None:
        await until_async(lambda: not self.driver.runtime.loading, "the log of the shard is read", pause_seconds=0)

    def begin(self, identity: str, producer_id: int) -> Promise[Any]:
        def ask(machine: TransactionMachine, now_ms: int) -> Outcome[Any]:
            return machine.init_producer_id(identity, timeout_ms=60_000, given=None, offered=producer_id, now_ms=now_ms)

        return self.coordinator.run(identity, ask)

    def known(self, identity: str) -> Promise[Any]:
        return self.coordinator.run(identity, lambda machine, now_ms: machine.describe(identity))

    def follower_has_all(self) -> None:
        assert self.replica is not None
        end = self.replica.log.log_end_offset
        assert self.replica.follower_fetched(OTHER, offset=end, log_start_offset=0, replica_epoch=-1, now_ms=NOW_MS) == ErrorCode.NONE


def run(scenario: Callable[[Node], Awaitable[None]]) -> None:
    async def main() -> None:
        node = Node()
        try:
            await scenario(node)
        finally:
            node.driver.stop()

    simulated.run(main())


def test_an_answer_waits_for_the_replicas_and_a_read_for_the_changes_it_saw() -> None:
    async def scenario(node: Node) -> None:
        await node.led_by(ME, epoch=1)
        await node.loaded()
        begun, seen = node.begin("T", 1000), node.known("T")
        assert not begun.done
        assert not seen.done, "nobody is told of what a new leader might not have"
        node.follower_has_all()
        assert begun.value == ProducerIdentity(1000, 0)
        assert seen.value.producer_id == 1000

    run(scenario)


def test_waiting_answers_fail_and_uncommitted_changes_are_forgotten_when_the_leadership_moves() -> None:
    async def scenario(node: Node) -> None:
        await node.led_by(ME, epoch=1)
        await node.loaded()
        committed = node.begin("T", 1000)
        node.follower_has_all()
        assert committed.value == ProducerIdentity(1000, 0)
        kept_end = node.replica.log.log_end_offset  # type: ignore[union-attr]
        waiting = node.begin("U", 2000)
        await node.led_by(OTHER, epoch=2)
        assert waiting.value in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR)
        assert node.known("T").value is ErrorCode.NOT_COORDINATOR
        # The new leader never had the record: this replica truncates it, and when it leads again
        # the record does not exist.
        assert node.replica is not None
        node.replica.truncate_to(kept_end)
        await node.led_by(ME, epoch=3)
        assert node.known("T").value is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        await node.loaded()
        known, unknown = node.known("T"), node.known("U")
        node.follower_has_all()
        assert known.value.producer_id == 1000
        assert unknown.value is None

    run(scenario)


def test_the_same_leader_in_a_higher_epoch_reads_its_log_again() -> None:
    """The epoch fences the markers of the previous coordinator."""

    async def scenario(node: Node) -> None:
        await node.led_by(ME, epoch=1)
        await node.loaded()
        node.begin("T", 1000)
        node.follower_has_all()
        await node.led_by(ME, epoch=2)
        assert node.driver.runtime.epoch_of(0) == 2
        await node.loaded()
        known = node.known("T")
        node.follower_has_all()
        assert known.value.producer_id == 1000

    run(scenario)


def test_leadership_that_moves_on_while_the_log_is_read_leaves_nothing_behind() -> None:
    async def scenario(node: Node) -> None:
        await node.led_by(ME, epoch=1)
        await node.loaded()
        for number in range(50):
            node.begin(f"T{number}", number)
        node.follower_has_all()
        await node.led_by(ME, epoch=2)
        await node.led_by(OTHER, epoch=3)
        for _ in range(10):
            await asyncio.sleep(0)
        assert node.known("T1").value is ErrorCode.NOT_COORDINATOR
        assert not node.world.failures
        await node.led_by(ME, epoch=4)
        await node.loaded()
        known = node.known("T1")
        node.follower_has_all()
        assert known.value.producer_id == 1

    run(scenario)


def test_a_coordinator_with_too_few_replicas_refuses_writes() -> None:
    async def scenario(node: Node) -> None:
        await node.led_by(ME, epoch=1)
        assert node.replica is not None
        node.replica.log.settings = node.replica.log.settings.__class__(min_insync_replicas=2)
        await node.loaded()
        await node.led_by(ME, epoch=2, isr=(ME,))
        await node.loaded()
        assert node.begin("T", 1000).value is ErrorCode.NOT_ENOUGH_REPLICAS

    run(scenario)


def test_a_deleted_topic_unloads_its_shards() -> None:
    async def scenario(node: Node) -> None:
        await node.led_by(ME, epoch=1)
        await node.loaded()
        await node.deleted()
        assert node.driver.runtime.count_shards() == (0, 0)

    run(scenario)


def test_a_producer_id_is_asked_for_when_it_is_needed() -> None:
    async def scenario(node: Node) -> None:
        await node.led_by(ME, epoch=1, isr=(ME,))
        await node.loaded()
        answer = node.coordinator.run(
            "T", lambda machine, now_ms: machine.init_producer_id("T", timeout_ms=1000, given=None, offered=None, now_ms=now_ms)
        )
        assert answer.value is NEEDS_PRODUCER_ID

    run(scenario)
