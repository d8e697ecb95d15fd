"""Members of groups: librdkafka, kafka-python and aiokafka behind one interface, each polling in a
thread of its own.

A member owns exactly the partitions that its client's callbacks reported; so a claim about
assignments is a claim about the callbacks that an application gets. Tests wait for a state and
never for a time.
"""

from __future__ import annotations

import asyncio
import threading
import time
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, ClassVar, NamedTuple

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener as AioKafkaListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AioKafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AioKafkaRoundRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as AioKafkaSticky
from confluent_kafka import Consumer, ConsumerGroupState, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription  # type: ignore[attr-defined]
from kafka import ConsumerRebalanceListener as KafkaPythonListener, KafkaConsumer
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from kafka.errors import KafkaConnectionError

from tests.conformance.clients.three_clients import QUIET as SILENT
from tests.waiting import PATIENCE_SECONDS, until

# When all brokers are gone librdkafka starts over from its bootstrap servers, and may then wait for
# ever on the handle of a coordinator that it has given up. A restart of the only node is "all
# brokers gone".
QUIET: dict[str, Any] = {**SILENT, "metadata.recovery.strategy": "none"}

POLL_SECONDS = 0.05
# Longer than most rebalances: see KafkaPythonMember._find_lost_assignment.
KAFKA_PYTHON_POLL_SECONDS = 0.5
# Long enough that a busy machine does not lose members; tests about lost members ask for less.
SESSION_MS = 10_000
HEARTBEAT_MS = 200

FATAL = (KafkaError._FATAL, KafkaError.FENCED_INSTANCE_ID, KafkaError.UNRELEASED_INSTANCE_ID)

Partition = tuple[str, int]


class Event(NamedTuple):
    kind: str
    """assigned, revoked or lost."""
    partitions: frozenset[Partition]


class Received(NamedTuple):
    partition: Partition
    offset: int
    value: bytes


LEAVE_SECONDS_MAX = 5.0


class Member:
    """The member joins when it is created. ``topics`` is a list of names, or one pattern that
    begins with ``^``."""

    client: str

    def __init__(
        self,
        bootstrap: str,
        group: str,
        topics: Sequence[str] | str,
        *,
        strategy: str = "range",
        instance: str | None = None,
        session_ms: int = SESSION_MS,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """``strategy``: range, roundrobin, sticky or cooperative-sticky. ``settings`` have the
        client's own names."""
        self.bootstrap, self.group, self.topics = bootstrap, group, topics
        self.strategy, self.instance, self.session_ms = strategy, instance, session_ms
        self.settings = dict(settings or {})
        self.owned: frozenset[Partition] = frozenset()
        self.events: list[Event] = []
        self.received: list[Received] = []
        self.failure: BaseException | None = None
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"member of {group}", daemon=True)
        self._thread.start()

    def leave(self) -> None:
        """Closes the consumer as an application does. A second call does nothing."""
        self._leaving.set()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), "the member did not end"

    def begin_to_leave(self) -> None:
        self._leaving.set()

    @property
    def has_left(self) -> bool:
        return not self._thread.is_alive()

    def news(self, since: int = 0) -> list[Event]:
        """The callbacks that were not empty, from number ``since`` on."""
        return [event for event in self.events[since:] if event.partitions]

    @property
    def partitions(self) -> set[int]:
        """The partitions of all topics: most tests have one topic."""
        return {partition for _, partition in self.owned}

    @property
    def values(self) -> list[bytes]:
        return [each.value for each in self.received]

    @abstractmethod
    def _live(self) -> None:
        """Creates a consumer, polls it until it is time to leave, and closes it."""

    def _run(self) -> None:
        try:
            self._live()
        except BaseException as failure:  # noqa: BLE001 - looked at by the test
            self.failure = failure

    def _assigned(self, partitions: Iterable[Partition]) -> None:
        came = frozenset(partitions)
        self.events.append(Event("assigned", came))
        self.owned |= came

    def _revoked(self, partitions: Iterable[Partition], kind: str = "revoked") -> None:
        went = frozenset(partitions)
        self.events.append(Event(kind, went))
        self.owned -= went


class LibrdkafkaMember(Member):
    client = "librdkafka"
    consumer: Consumer

    def _live(self) -> None:
        errors: list[KafkaError] = []
        self.consumer = Consumer(
            {
                **QUIET,
                "bootstrap.servers": self.bootstrap,
                "group.id": self.group,
                "auto.offset.reset": "earliest",
                "fetch.error.backoff.ms": 20,
                "error_cb": errors.append,
                **self._protocol(),
                **({} if self.instance is None else {"group.instance.id": self.instance}),
                **self.settings,
            }
        )
        try:
            self.consumer.subscribe(
                [self.topics] if isinstance(self.topics, str) else list(self.topics),
                on_assign=lambda _, partitions: self._assigned(map(_place, partitions)),
                on_revoke=lambda _, partitions: self._revoked(map(_place, partitions)),
                on_lost=lambda _, partitions: self._revoked(map(_place, partitions), "lost"),
            )
            while not self._leaving.is_set():
                message = self.consumer.poll(POLL_SECONDS)
                if message is None:
                    pass
                elif (error := message.error()) is None:
                    self.received.append(
                        Received((message.topic() or "", _number(message.partition())), _number(message.offset()), message.value() or b"")
                    )
                elif not error.retriable():
                    errors.append(error)
                if any(error.fatal() or error.code() in FATAL for error in errors):
                    raise KafkaException(errors[-1])
        finally:
            self.consumer.close()

    def _protocol(self) -> dict[str, Any]:
        return {
            "partition.assignment.strategy": self.strategy,
            "session.timeout.ms": self.session_ms,
            "heartbeat.interval.ms": HEARTBEAT_MS,
        }


class NewProtocolMember(LibrdkafkaMember):
    """KIP-848: the broker decides about sessions, heartbeats and assignments."""

    client = "librdkafka, group.protocol=consumer"

    def _protocol(self) -> dict[str, Any]:
        return {"group.protocol": "consumer"}


def _place(partition: TopicPartition) -> Partition:
    return partition.topic, partition.partition


def _number(number: int | None) -> int:
    assert number is not None
    return number


class KafkaPythonMember(Member, KafkaPythonListener):  # type: ignore[misc]
    client = "kafka-python"
    consumer: KafkaConsumer
    _strategies: ClassVar[dict[str, type]] = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
        "cooperative-sticky": CooperativeStickyAssignor,
    }

    def _live(self) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=self.group,
            group_instance_id=self.instance,
            partition_assignment_strategy=[self._strategies[self.strategy]],
            session_timeout_ms=self.session_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            auto_offset_reset="earliest",
            **self.settings,
        )
        try:
            if isinstance(self.topics, str):
                self.consumer.subscribe(pattern=self.topics, listener=self)
            else:
                self.consumer.subscribe(self.topics, listener=self)
            while not self._leaving.is_set():
                try:
                    polled = self.consumer.poll(timeout_ms=KAFKA_PYTHON_POLL_SECONDS * 1000)
                except KafkaConnectionError:
                    # No broker is there at the moment; other clients do not report that.
                    time.sleep(KAFKA_PYTHON_POLL_SECONDS)
                    continue
                for partition, messages in polled.items():
                    self.received += (Received(tuple(partition), each.offset, each.value) for each in messages)
                self._find_lost_assignment()
        finally:
            self.consumer.close()

    def _find_lost_assignment(self) -> None:
        """kafka-python 3.0 forgets an assignment that arrives between two polls: it acts as if it
        had joined, owns nothing and sends no heartbeats. So this method makes it join again."""
        coordinator = self.consumer._coordinator
        joining = coordinator._join_task is not None and not coordinator._join_task.is_done
        if coordinator.rejoining and not coordinator.rejoin_needed and not joining:
            coordinator.request_rejoin()

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._assigned(map(tuple, assigned))

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._revoked(map(tuple, revoked))

    def on_partitions_lost(self, lost: Any) -> None:
        self._revoked(map(tuple, lost), "lost")

    @property
    def generation(self) -> int:
        return int(self.consumer.group_metadata().generation_id)


class AioKafkaMember(Member, AioKafkaListener):  # type: ignore[misc]
    client = "aiokafka"
    consumer: AIOKafkaConsumer
    _strategies: ClassVar[dict[str, type]] = {"range": AioKafkaRange, "roundrobin": AioKafkaRoundRobin, "sticky": AioKafkaSticky}

    def _live(self) -> None:
        asyncio.run(self._live_in_loop())

    async def _live_in_loop(self) -> None:
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=self.group,
            group_instance_id=self.instance,
            partition_assignment_strategy=(self._strategies[self.strategy],),
            session_timeout_ms=self.session_ms,
            heartbeat_interval_ms=HEARTBEAT_MS,
            auto_offset_reset="earliest",
            **self.settings,
        )
        if isinstance(self.topics, str):
            self.consumer.subscribe(pattern=self.topics, listener=self)
        else:
            self.consumer.subscribe(self.topics, listener=self)
        await self.consumer.start()
        try:
            while not self._leaving.is_set():
                for partition, messages in (await self.consumer.getmany(timeout_ms=int(POLL_SECONDS * 1000))).items():
                    self.received += (Received((partition.topic, partition.partition), each.offset, each.value) for each in messages)
        finally:
            await self.consumer.stop()

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._assigned(map(tuple, assigned))

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._revoked(map(tuple, revoked))


CLASSIC_MEMBERS: tuple[type[Member], ...] = (LibrdkafkaMember, KafkaPythonMember, AioKafkaMember)
ALL_MEMBERS: tuple[type[Member], ...] = (*CLASSIC_MEMBERS, NewProtocolMember)


@cache
def _admin(bootstrap: str) -> AdminClient:
    return AdminClient({**QUIET, "bootstrap.servers": bootstrap})


def describe(bootstrap: str, group: str) -> ConsumerGroupDescription:
    described: ConsumerGroupDescription = _admin(bootstrap).describe_consumer_groups([group])[group].result(PATIENCE_SECONDS)
    return described


def let_go(members: Sequence[Member]) -> list[bool]:
    """Makes all members leave at once, and does not wait for long; returns whether each has left.

    After a restart librdkafka sometimes waits for ever for the answer to its LeaveGroup, which it
    sent to the broker that is gone.
    """
    for member in members:
        member.begin_to_leave()
    with suppress(AssertionError):
        until(lambda: all(member.has_left for member in members), "the members leave", seconds_max=LEAVE_SECONDS_MAX)
    return [member.has_left for member in members]


def share_out(members: Sequence[Member], topic_partitions: int) -> None:
    """Waits until these members, which are all members of the group, hold every partition of their
    one topic: each once, as evenly as possible, and also in the view of the node. The members alone
    cannot know whether another member is still to join."""
    everything = list(range(topic_partitions))

    def shared() -> bool:
        failed = [member.failure for member in members if member.failure is not None]
        assert failed == [], failed
        held = sorted(partition for member in members for partition in member.partitions)
        counts = [len(member.owned) for member in members]
        if held != everything or max(counts) - min(counts) > 1:
            return False
        described = describe(members[0].bootstrap, members[0].group)
        shares = sorted(sorted(each.partition for each in member.assignment.topic_partitions) for member in described.members)
        return described.state is ConsumerGroupState.STABLE and shares == sorted(sorted(member.partitions) for member in members)

    until(shared, "the members share all partitions", seen=lambda: [(sorted(member.partitions), member.events) for member in members])
