"""Share partitions of one broker on a simulated disk, loop and clock, with a persister in
memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from barnabas.config.parse import parse_broker_config
from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.metadata.configs import ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.replication.partition import ACKS_ALL, Partition
from barnabas.sharing.core.sessions import SessionKey, SharedPartition, ShareSession
from barnabas.sharing.core.settings import ShareGroupSettings
from barnabas.sharing.dead_letters.dead_letter_writer import DeadLetterWriter
from barnabas.sharing.dead_letters.destination import DeadLetterTopics
from barnabas.sharing.local_share_partition import SharingPorts
from barnabas.sharing.local_share_partitions import LocalSharePartitions
from barnabas.sharing.share_fetch import FetchedShare, FetchLimits, ShareFetch
from barnabas.storage.regions import FileRegion
from barnabas.telemetry.logs import EventLog
from barnabas.wire.metadata_records import ConfigRecord, MetadataRecord, PartitionRecord, TopicRecord
from tests.unit.metadata.made import after
from tests.unit.replication.made import NOW_MS, TOPIC_ID, World
from tests.unit.sharing.memory_persister import MemoryPersister
from tests.unit.simulated import LoopClock

GROUP = "group"
LETTERS_ID = Uuid(b"d" * 16)


class Connected:
    """A connection of a member, as far as sessions look at it."""

    def __init__(self) -> None:
        self._calls: list[Callable[[], object]] = []

    def if_lost(self, callback: Callable[[], object]) -> None:
        self._calls.append(callback)

    def lose(self) -> None:
        for call in self._calls:
            call()


class Metadata:
    """The image and the settings of a broker that may create topics for dead letters."""

    def __init__(self) -> None:
        self.records: list[MetadataRecord] = []
        self.submitted: list[Any] = []
        self.broker = {"node.id": "1", "process.roles": "broker", "controller.quorum.voters": "2@host:1", "controller.listener.names": "C"}

    @property
    def image(self) -> MetadataImage:
        return after(self.records)

    @property
    def effective(self) -> EffectiveConfigs:
        return EffectiveConfigs(parse_broker_config(self.broker), self.image.configs, 1)

    def submit(self, request: Any) -> Promise[Any]:
        self.submitted.append(request)
        return Promise()

    def create(self, topic: str, *, allows: bool = True) -> None:
        partition = PartitionRecord(
            partition_id=0, topic_id=LETTERS_ID, replicas=[1], isr=[1], removing_replicas=[], adding_replicas=[], leader=1, leader_epoch=0
        )
        self.records += [TopicRecord(name=topic, topic_id=LETTERS_ID), partition]
        if allows:
            name = "errors.deadletterqueue.group.enable"
            self.records.append(ConfigRecord(resource_type=ResourceType.TOPIC, resource_name=topic, name=name, value="true"))


class SharedWorld:
    def __init__(self, settings: ShareGroupSettings | None = None, *, sessions_max: int = 10) -> None:
        """Made inside of a running loop."""
        self.disk = World()
        self.persister = MemoryPersister()
        self.clock = LoopClock()
        self.metadata = Metadata()
        topics = DeadLetterTopics(cast(Any, self.metadata), cast(Any, self.metadata))
        writer = DeadLetterWriter(topics, self.disk.replicas, cast(Any, None), self.clock, EventLog("ERROR"))
        ports = SharingPorts(self.persister, writer, self.disk.replicas, None, self.clock, asyncio.get_running_loop(), EventLog("ERROR"))
        self.shares = LocalSharePartitions(ports, cast(Any, None), sessions_max=sessions_max)
        self.settings = settings or ShareGroupSettings(auto_offset_reset="earliest")
        self.shares.settings_of = lambda group_id: self.settings  # type: ignore[method-assign]

    def partition(self, index: int = 0, *, records: Sequence[int] = ()) -> Partition:
        """A partition with batches of these numbers of records."""
        made = self.disk.partition(index=index)
        for count in records:
            self.produce(made, count)
        return made

    @staticmethod
    def produce(partition: Partition, count: int) -> None:
        batch = build_batch([Record(offset, NOW_MS, None, b"value") for offset in range(count)])
        partition.append(memoryview(batch), ACKS_ALL, NOW_MS)

    def session(self, member: str, *partitions: int, connection: Connected | None = None) -> ShareSession:
        named = [SharedPartition(TOPIC_ID, index) for index in partitions or (0,)]
        session = self.shares.open_session(SessionKey(GROUP, member), named, cast(Any, connection or Connected()))
        assert isinstance(session, ShareSession)
        return session

    def fetch(
        self,
        member: str = "a",
        *partitions: int,
        records: int = 500,
        wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = 1 << 20,
        mode: int = 0,
    ) -> Promise[list[FetchedShare]]:
        targets = [self.shares.target(GROUP, SharedPartition(TOPIC_ID, index)) for index in partitions or (0,)]
        limits = FetchLimits(min_bytes, max_bytes, records, wait_ms, 500, mode, 500)
        self.last_fetch = ShareFetch(member, targets, limits, self.shares.ports)
        fetched = self.last_fetch.start()
        return fetched if isinstance(fetched, Promise) else Promise.kept(fetched)

    def key(self, index: int = 0) -> SharePartitionKey:
        return SharePartitionKey(GROUP, TOPIC_ID, index)


def offsets(fetched: Promise[list[FetchedShare]]) -> list[list[tuple[int, int, int]]]:
    """What each partition delivers."""
    return [[(each.first, each.last, each.delivery_count) for each in one.acquired] for one in fetched.value]


def size_bytes(share: FetchedShare) -> int:
    records = share.records
    return len(records.read()) if isinstance(records, FileRegion) else len(records or b"")
