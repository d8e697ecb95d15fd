"""A share coordinator with one shard, its log in memory, and a clock that the test controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.record import CoordinatorRecord, decode_record
from barnabas.coordinators.runtime import CoordinatorRuntime
from barnabas.coordinators.share.effects import PruneLog
from barnabas.coordinators.share.machine import ShareMachine
from barnabas.coordinators.share.persister import NO_START_OFFSET, SharePartitionKey, ShareState, ShareSummary, StateBatch
from barnabas.coordinators.share.record_types import SHARE_RECORD_TYPES
from barnabas.coordinators.share.refusal import Refusal
from barnabas.coordinators.share.settings import ShareCoordinatorSettings
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.records.record import open_batch
from barnabas.wire.metadata_records import MetadataRecord, PartitionRecord, RemoveTopicRecord, TopicRecord
from tests.unit.coordinators.desk import NOW_MS, SHARD, MemoryLog
from tests.unit.metadata.made import after, uuid

TOPIC, OTHER_TOPIC, UNKNOWN_TOPIC = uuid(1), uuid(2), uuid(3)
KEY = SharePartitionKey("g", TOPIC, 0)
R = TypeVar("R")


def _partition(topic_id: Uuid, index: int) -> PartitionRecord:
    return PartitionRecord(
        partition_id=index, topic_id=topic_id, replicas=[1], isr=[1], removing_replicas=[], adding_replicas=[], leader=1, leader_epoch=0
    )


def two_topics() -> MetadataImage:
    records: list[MetadataRecord] = []
    for number, topic_id in enumerate((TOPIC, OTHER_TOPIC)):
        records.append(TopicRecord(name=f"topic-{number}", topic_id=topic_id))
        records.extend(_partition(topic_id, index) for index in range(2))
    return after(records)


class Desk:
    def __init__(self, settings: ShareCoordinatorSettings | None = None) -> None:
        self.now_ms = NOW_MS
        self.log = MemoryLog()
        self.image = two_topics()
        self.effects: list[PruneLog] = []
        self._settings = settings if settings is not None else ShareCoordinatorSettings()
        self._epoch = 0
        self.machine: ShareMachine
        self.runtime: CoordinatorRuntime[ShareMachine] = CoordinatorRuntime(
            self._make,
            SHARE_RECORD_TYPES,
            self.log,
            on_effect=lambda _, effect: self.effects.append(effect),
            on_deadline=lambda _: None,
        )
        self.reload()

    def _make(self, partition: int) -> ShareMachine:
        self.machine = ShareMachine(partition, self._settings, lambda: self.image)
        return self.machine

    def reload(self) -> None:
        """Another node, or the same one again, leads the shard and has only the log, from where it
        was pruned on.
        """
        self.runtime.unload(SHARD)
        self._epoch += 1
        assert self.runtime.begin_loading(SHARD, self._epoch)
        start = self.effects[-1].before_offset if self.effects else 0
        offset = 0
        for batch in self.log.batches:
            if offset >= start:
                assert self.runtime.replay_batch(SHARD, self._epoch, batch)
            offset += len(list(open_batch(batch)))
        self.runtime.finish_loading(SHARD, self._epoch, self.log.end_offset, self.now_ms)

    def delete_topic(self) -> None:
        self.image = after([RemoveTopicRecord(topic_id=TOPIC)], self.image)
        self.ask(lambda machine, now_ms: machine.forget_deleted_topics(now_ms))

    def run(self, operation: Callable[[ShareMachine, int], Outcome[R]]) -> Promise[R | ErrorCode]:
        return self.runtime.run(SHARD, self.now_ms, lambda machine: operation(machine, self.now_ms))

    def ask(self, operation: Callable[[ShareMachine, int], Outcome[R]]) -> R | ErrorCode:
        return self.run(operation).value

    def initialize(self, key: SharePartitionKey = KEY, *, state_epoch: int = 1, start_offset: int = 0) -> ErrorCode | Refusal:
        return self.ask(lambda machine, now_ms: machine.initialize(key, state_epoch=state_epoch, start_offset=start_offset, now_ms=now_ms))

    def write(
        self,
        *batches: tuple[int, int, int, int],
        key: SharePartitionKey = KEY,
        state_epoch: int = 1,
        leader_epoch: int = 0,
        start_offset: int = NO_START_OFFSET,
        delivery_complete_count: int = 0,
    ) -> ErrorCode | Refusal:
        given = [StateBatch(*batch) for batch in batches]
        return self.ask(
            lambda machine, now_ms: machine.write(
                key,
                state_epoch=state_epoch,
                leader_epoch=leader_epoch,
                start_offset=start_offset,
                delivery_complete_count=delivery_complete_count,
                batches=given,
                now_ms=now_ms,
            )
        )

    def read(self, key: SharePartitionKey = KEY, *, leader_epoch: int = 0) -> ShareState | Refusal | ErrorCode:
        return self.ask(lambda machine, now_ms: machine.read(key, leader_epoch=leader_epoch, now_ms=now_ms))

    def summary(self, key: SharePartitionKey = KEY) -> ShareSummary | Refusal | ErrorCode:
        return self.ask(lambda machine, _: machine.read_summary(key))

    def delete(self, key: SharePartitionKey = KEY) -> ErrorCode | Refusal:
        return self.ask(lambda machine, _: machine.delete(key))

    def wait(self, milliseconds: int) -> None:
        """Let time pass; every timer runs at its own time."""
        end_ms = self.now_ms + milliseconds
        while (deadline_ms := self.runtime.next_deadline_ms) is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self.runtime.tick(self.now_ms)
        self.now_ms = end_ms

    def records(self) -> list[CoordinatorRecord]:
        return list(self._records())

    def kinds(self) -> list[str]:
        """The kinds of the records in the log, one letter each."""
        return [_kind(each.key, each.value) for each in self._records()]

    def _records(self) -> Iterable[CoordinatorRecord]:
        for batch in self.log.batches:
            for record in open_batch(batch):
                assert record.key is not None
                decoded = decode_record(SHARE_RECORD_TYPES, record.key, record.value)
                assert decoded is not None
                yield decoded


def _kind(key: Any, value: Any) -> str:
    return "tombstone" if value is None else type(key).__name__.removeprefix("Share").removesuffix("Key").lower()
