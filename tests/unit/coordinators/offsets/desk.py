"""Offsets behind the real runtime and a log in memory: commits are encoded, and reads after a
restart are decoded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, TypeVar

from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.offsets import Offsets
from barnabas.coordinators.group.record_types import GROUP_RECORD_TYPES
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord, decode_record
from barnabas.coordinators.runtime import CoordinatorRuntime
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.model.promise import Promise
from barnabas.records.batch_header import assign_offset, read_header
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.record import open_batch
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics, OffsetFetchResponseGroup
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

SHARD, NOW_MS = 0, 1_700_000_000_000
TOPIC_ID = Uuid(b"topic id of t..!")
HOUR_MS = 3_600_000

R = TypeVar("R")


@dataclass
class Crew:
    """A group with the properties that a test sets."""

    group_id: str
    kind: GroupKind = GroupKind.CLASSIC
    protocol_type: str = ""
    state_name: str = "Empty"
    empty_since_ms: int | None = -1
    topics: frozenset[str] = frozenset()
    on_commit: ErrorCode = ErrorCode.NONE
    on_fetch: ErrorCode = ErrorCode.NONE
    heartbeats: list[tuple[str, int]] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)

    def subscribed_to(self, topic: str) -> bool:
        return topic in self.topics

    def check_commit(self, **who: Any) -> ErrorCode:
        self.asked.append(who)
        return self.on_commit

    def check_fetch(self, **who: Any) -> ErrorCode:
        self.asked.append(who)
        return self.on_fetch

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NONE if self.empty_since_ms is not None else ErrorCode.NON_EMPTY_GROUP

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GroupMetadataKey(group=self.group_id), None)]

    def committed(self, member_id: str, now_ms: int) -> None:
        self.heartbeats.append((member_id, now_ms))


class MemoryLog:
    def __init__(self) -> None:
        self.batches: list[bytearray] = []
        self.end_offset = 0
        self.refusal = ErrorCode.NONE

    def append(self, partition: int, batch: bytearray) -> int | ErrorCode:
        if self.refusal:
            return self.refusal
        assign_offset(batch, self.end_offset, 0)
        self.batches.append(batch)
        self.end_offset += read_header(batch).last_offset_delta + 1
        return self.end_offset

    def replicated(self, partition: int, end_offset: int) -> Promise[ErrorCode]:
        return Promise.kept(ErrorCode.NONE)

    def records(self) -> list[CoordinatorRecord]:
        decoded = [
            decode_record(GROUP_RECORD_TYPES, record.key, record.value)
            for batch in self.batches
            if not read_header(batch).control
            for record in open_batch(batch)
            if record.key is not None
        ]
        return [record for record in decoded if record is not None]


class Dice:
    def __init__(self) -> None:
        self._chance = Random(0)

    def bytes(self, size: int) -> bytes:
        return self._chance.randbytes(size)

    def below(self, bound: int) -> int:
        return self._chance.randrange(bound)


class Shard:
    """A machine of offsets, and of groups as far as offsets need them."""

    def __init__(self, settings: GroupSettings) -> None:
        self.shard = GroupShard(SHARD, settings, Dice(), MetadataImage, lambda _: {})
        self.timers = self.shard.timers
        self.offsets = Offsets(self.shard, lambda group_id: self.shard.groups.setdefault(group_id, Crew(group_id)))

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None, offset: int) -> None:
        if isinstance(record.key, GroupMetadataKey):
            self.shard.groups.pop(record.key.group, None)
        else:
            self.offsets.replay(record, transaction)

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        self.offsets.replay_end(transaction, committed=committed)

    def loaded(self, now_ms: int) -> None:
        self.offsets.loaded(now_ms)

    def unloaded(self) -> None:
        pass


class Desk:
    def __init__(self, settings: GroupSettings | None = None) -> None:
        self.settings = settings or GroupSettings()
        self.log = MemoryLog()
        self.now_ms = NOW_MS
        self.crews: dict[str, Crew] = {}
        self.restart()

    def restart(self) -> None:
        """Load the shard as another broker would. Groups that the test made survive."""
        self.machine = Shard(self.settings)
        self.runtime: CoordinatorRuntime[Shard] = CoordinatorRuntime(
            lambda _: self.machine, GROUP_RECORD_TYPES, self.log, on_effect=lambda *_: None, on_deadline=lambda _: None
        )
        self.machine.shard.groups.update(self.crews)
        self.runtime.begin_loading(SHARD, 0)
        for batch in self.log.batches:
            self.runtime.replay_batch(SHARD, 0, batch)
        self.runtime.finish_loading(SHARD, 0, self.log.end_offset, self.now_ms)

    def group(self, group_id: str = "g", **as_wanted: Any) -> Crew:
        crew = self.crews[group_id] = Crew(group_id, **as_wanted)
        self.machine.shard.groups[group_id] = crew
        return crew

    @property
    def groups(self) -> list[str]:
        return list(self.machine.shard.groups)

    def run(self, operation: Callable[[Shard], Outcome[R]]) -> R | ErrorCode:
        promise = self.runtime.run(SHARD, self.now_ms, operation)
        assert promise.done
        return promise.value

    def pass_time(self, milliseconds: int) -> None:
        """Timers run when they are due, one after another."""
        until_ms = self.now_ms + milliseconds
        while (deadline_ms := self.runtime.next_deadline_ms) is not None and deadline_ms <= until_ms:
            self.now_ms = deadline_ms
            self.runtime.tick(deadline_ms)
        self.now_ms = until_ms

    # -- what clients ask --------------------------------------------------------------------------

    def commit(
        self, *offsets: tuple[str, int, int] | tuple[str, int, int, str | None], group: str = "g", version: int = 9, **request: Any
    ) -> dict[tuple[str, int], int] | ErrorCode:
        """Commit ``(topic, partition, offset, metadata)``; return codes by partition, or one for
        all.
        """
        asked = OffsetCommitRequest(
            group_id=group,
            member_id=request.pop("member_id", ""),
            topics=[
                OffsetCommitRequestTopic(
                    name=topic,
                    topic_id=request.get("topic_id", TOPIC_ID),
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition,
                            committed_offset=offset,
                            committed_leader_epoch=2,
                            committed_metadata=metadata[0] if metadata else "",
                        )
                    ],
                )
                for topic, partition, offset, *metadata in offsets
            ],
            **{name: value for name, value in request.items() if name != "topic_id"},
        )
        answer = self.run(lambda machine: machine.offsets.commit(asked, version, self.now_ms))
        return codes(answer)

    def commit_in_transaction(
        self, *offsets: tuple[str, int, int], producer: int = 7, group: str = "g", metadata: str = "", **request: Any
    ) -> dict[tuple[str, int], int] | ErrorCode:
        asked = TxnOffsetCommitRequest(
            transactional_id="x",
            group_id=group,
            producer_id=producer,
            producer_epoch=0,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(partition_index=partition, committed_offset=offset, committed_metadata=metadata)
                    ],
                )
                for topic, partition, offset in offsets
            ],
            **request,
        )
        answer = self.run(lambda machine: machine.offsets.commit_in_transaction(asked, self.now_ms))
        return codes(answer)

    def end(self, producer: int = 7, *, committed: bool = True) -> None:
        """Write the marker with the next epoch, as since KIP-890."""
        kind = ControlType.COMMIT if committed else ControlType.ABORT
        marker = build_end_transaction(kind, coordinator_epoch=0, producer_id=producer, producer_epoch=1, timestamp=self.now_ms)
        end_offset = self.log.append(SHARD, marker)
        assert not isinstance(end_offset, ErrorCode)
        self.runtime.replay_end(SHARD, ProducerIdentity(producer, 1), end_offset, committed=committed)

    def fetch(
        self,
        topics: dict[str, list[int]] | None = None,
        *,
        group: str = "g",
        stable: bool = False,
        topic_id: Uuid = ZERO_UUID,
        **who: Any,
    ) -> dict[tuple[str, int], int] | ErrorCode:
        """Offsets by partition, or the error code of an unstable one; no topics means all
        topics.
        """
        answer = self.fetched(topics, group=group, stable=stable, topic_id=topic_id, **who)
        if isinstance(answer, ErrorCode):
            return answer
        return {
            (topic.name, each.partition_index): ErrorCode(each.error_code) if each.error_code else each.committed_offset
            for topic in answer.topics
            for each in topic.partitions
        }

    def fetched(
        self, topics: dict[str, list[int]] | None, *, group: str = "g", stable: bool = False, topic_id: Uuid = ZERO_UUID, **who: Any
    ) -> OffsetFetchResponseGroup | ErrorCode:
        named = None
        if topics is not None:
            named = [OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=each) for name, each in topics.items()]
        asked = OffsetFetchRequestGroup(group_id=group, topics=named, **who)
        return self.run(lambda machine: machine.offsets.fetch(asked, require_stable=stable))

    def delete(self, *partitions: tuple[str, int], group: str = "g") -> dict[tuple[str, int], int] | ErrorCode:
        asked = OffsetDeleteRequest(
            group_id=group,
            topics=[
                OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index)])
                for topic, index in partitions
            ],
        )
        answer = self.run(lambda machine: machine.offsets.delete(asked))
        if isinstance(answer, ErrorCode):
            return answer
        return {(topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions}

    def delete_group(self, group_id: str = "g") -> None:
        def operation(machine: Shard) -> Outcome[None]:
            return Outcome(None, [*machine.offsets.tombstones_of(group_id), *machine.shard.groups[group_id].tombstones()])

        self.run(operation)

    def delete_topic(self, topic: str, topic_id: Uuid = TOPIC_ID) -> None:
        self.run(lambda machine: machine.offsets.forget_topic(topic, topic_id, self.now_ms))


def codes(answer: OffsetCommitResponse | TxnOffsetCommitResponse | ErrorCode) -> dict[tuple[str, int], int] | ErrorCode:
    if isinstance(answer, ErrorCode):
        return answer
    return {(topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions}
