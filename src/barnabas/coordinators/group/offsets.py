"""The offsets of the groups of one shard: plain and transactional commits, fetches, deletions and
expiry.

Operations only decide; :class:`~barnabas.coordinators.group.offset_table.OffsetTable` has the
decisions once they are written and replayed. An error code as the answer stands for the whole
request.

Not here: the existence and the ids of topics (the API handlers look them up and pass names and
ids), and permission to commit (see :mod:`~barnabas.coordinators.group.commit_permission`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from barnabas.coordinators.group.commit_permission import commit_error, transactional_commit_error
from barnabas.coordinators.group.committed_offset import NO_EXPIRY, CommittedOffset, commit_record, tombstone
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.offset_expiry import is_expired, portion
from barnabas.coordinators.group.offset_table import OffsetTable
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome, ProducerIdentity
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, TopicPartition, Uuid
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from barnabas.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

_NO_RETENTION_TIME = -1
# The largest timestamp of a record; clients may ask for a longer retention.
_TIMESTAMP_MS_MAX = 2**63 - 1
# Protocols whose members name their topics to the coordinator.
_PROTOCOL_TYPES_WITH_TOPICS = frozenset({"consumer", "streams"})

# Between two portions the loop is free for clients; it is also the retry interval if the log
# refuses a portion.
_NEXT_PORTION_MS = 100

_NOTHING_COMMITTED = CommittedOffset(-1, -1, "", -1, NO_EXPIRY, ZERO_UUID, -1)


class Offsets:
    def __init__(self, shard: GroupShard, simple_group: Callable[[str], object]) -> None:
        """``simple_group`` creates a group with offsets and no members, for a first commit."""
        self._shard = shard
        self._simple_group = simple_group
        self._table = OffsetTable(self._ensure_group)

    def replay(self, record: CoordinatorRecord, transaction: ProducerIdentity | None) -> None:
        self._table.replay(record, transaction)

    def replay_end(self, transaction: ProducerIdentity, *, committed: bool) -> None:
        self._table.replay_end(transaction, committed=committed)

    def committed(self) -> Iterator[tuple[str, Mapping[TopicPartition, CommittedOffset]]]:
        """The groups with committed offsets, and these offsets."""
        return self._table.by_group()

    def _ensure_group(self, group_id: str) -> None:
        if group_id not in self._shard.groups:
            self._simple_group(group_id)

    # -- commits -----------------------------------------------------------------------------------

    def commit(self, request: OffsetCommitRequest, version: int, now_ms: int) -> Outcome[OffsetCommitResponse | ErrorCode]:
        """The topics have names in every version, and exist."""
        refused = self.commit_error(request, version, now_ms)
        if refused:
            return Outcome(refused)
        retention_ms = request.retention_time_ms
        expire_timestamp_ms = NO_EXPIRY if retention_ms == _NO_RETENTION_TIME else min(now_ms + retention_ms, _TIMESTAMP_MS_MAX)
        records = []
        topics = []
        for topic in request.topics:
            partitions = []
            for asked in topic.partitions:
                error = self.metadata_error(asked.committed_metadata)
                partitions.append(OffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=error))
                if not error:
                    records.append(
                        commit_record(
                            request.group_id,
                            TopicPartition(topic.name, asked.partition_index),
                            offset=asked.committed_offset,
                            leader_epoch=asked.committed_leader_epoch,
                            metadata=asked.committed_metadata,
                            now_ms=now_ms,
                            expire_timestamp_ms=expire_timestamp_ms,
                            topic_id=topic.topic_id,
                        )
                    )
            topics.append(OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions))
        return Outcome(OffsetCommitResponse(topics=topics), records)

    def commit_in_transaction(self, request: TxnOffsetCommitRequest, now_ms: int) -> Outcome[TxnOffsetCommitResponse | ErrorCode]:
        """This does not extend a session, because the producer commits, not the member."""
        group = self._shard.groups.get(request.group_id)
        refused = transactional_commit_error(group, request, self._shard.image().topics.by_name)
        if refused:
            return Outcome(refused)
        records = []
        topics = []
        for topic in request.topics:
            partitions = []
            for asked in topic.partitions:
                error = self.metadata_error(asked.committed_metadata)
                partitions.append(TxnOffsetCommitResponsePartition(partition_index=asked.partition_index, error_code=error))
                if not error:
                    records.append(
                        commit_record(
                            request.group_id,
                            TopicPartition(topic.name, asked.partition_index),
                            offset=asked.committed_offset,
                            leader_epoch=asked.committed_leader_epoch,
                            metadata=asked.committed_metadata,
                            now_ms=now_ms,
                        )
                    )
            topics.append(TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions))
        return Outcome(
            TxnOffsetCommitResponse(throttle_time_ms=0, topics=topics),
            records,
            transaction=ProducerIdentity(request.producer_id, request.producer_epoch),
        )

    def commit_error(self, request: OffsetCommitRequest, version: int, now_ms: int) -> ErrorCode:
        """The error of a commit; if there is none, the member's session is extended."""
        group = self._shard.groups.get(request.group_id)
        refused = commit_error(group, request, version)
        if not refused and group is not None:
            group.committed(request.member_id, now_ms)
        return refused

    def metadata_error(self, metadata: str | None) -> ErrorCode:
        """The setting is called bytes, but Kafka counts UTF-16 units, as Java's strings do."""
        if metadata is None or len(metadata) <= self._shard.settings.offset_metadata_bytes_max // 2:
            return ErrorCode.NONE
        units = len(metadata.encode("utf-16-le", "surrogatepass")) // 2
        return ErrorCode.OFFSET_METADATA_TOO_LARGE if units > self._shard.settings.offset_metadata_bytes_max else ErrorCode.NONE

    # -- reads -------------------------------------------------------------------------------------

    def fetch(self, request: OffsetFetchRequestGroup, *, require_stable: bool) -> Outcome[OffsetFetchResponseGroup | ErrorCode]:
        """The topics have names in every version; None means all topics with offsets. A partition
        without a commit gets -1, also in a group that does not exist, since consumers fetch before
        they join.
        """
        group = self._shard.groups.get(request.group_id)
        refused = group.check_fetch(member_id=request.member_id, epoch=request.member_epoch) if group is not None else ErrorCode.NONE
        if refused and refused is not ErrorCode.GROUP_ID_NOT_FOUND:
            return Outcome(refused)
        offsets = self._table.of(request.group_id) if group is not None and not refused else {}
        asked = _all_topics(offsets) if request.topics is None else request.topics
        return Outcome(
            OffsetFetchResponseGroup(
                group_id=request.group_id,
                topics=[
                    OffsetFetchResponseTopics(
                        name=topic.name,
                        topic_id=topic.topic_id,
                        partitions=[
                            self._answer(request.group_id, offsets, TopicPartition(topic.name, index), topic.topic_id, require_stable)
                            for index in topic.partition_indexes
                        ],
                    )
                    for topic in asked
                ],
            )
        )

    def _answer(
        self,
        group_id: str,
        offsets: Mapping[TopicPartition, CommittedOffset],
        partition: TopicPartition,
        topic_id: Uuid,
        require_stable: bool,
    ) -> OffsetFetchResponsePartitions:
        error = ErrorCode.NONE
        committed = offsets.get(partition, _NOTHING_COMMITTED)
        if require_stable and self._table.is_pending(group_id, partition):
            error = ErrorCode.UNSTABLE_OFFSET_COMMIT
            committed = _NOTHING_COMMITTED
        elif ZERO_UUID not in (committed.topic_id, topic_id) and committed.topic_id != topic_id:
            # The topic was deleted and created again under its name, so the offset belongs to
            # another log.
            committed = _NOTHING_COMMITTED
        return OffsetFetchResponsePartitions(
            partition_index=partition.partition,
            committed_offset=committed.offset,
            committed_leader_epoch=committed.leader_epoch,
            metadata=committed.metadata,
            error_code=error,
        )

    # -- deletions ---------------------------------------------------------------------------------

    def delete(self, request: OffsetDeleteRequest) -> Outcome[OffsetDeleteResponse | ErrorCode]:
        group = self._shard.groups.get(request.group_id)
        refused = _deletion_error(group)
        if refused:
            return Outcome(refused)
        assert group is not None
        records: list[CoordinatorRecord] = []
        topics = []
        for topic in request.topics:
            subscribed = group.subscribed_to(topic.name)
            if not subscribed:
                records += self._tombstones_in(request.group_id, topic)
            error = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC if subscribed else ErrorCode.NONE
            partitions = [
                OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=error) for each in topic.partitions
            ]
            topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
        return Outcome(OffsetDeleteResponse(error_code=ErrorCode.NONE, throttle_time_ms=0, topics=topics), records)

    def _tombstones_in(self, group_id: str, topic: OffsetDeleteRequestTopic) -> list[CoordinatorRecord]:
        offsets = self._table.of(group_id)
        named = dict.fromkeys(TopicPartition(topic.name, each.partition_index) for each in topic.partitions)
        return [tombstone(group_id, each) for each in named if each in offsets or self._table.is_pending(group_id, each)]

    def tombstones_of(self, group_id: str) -> list[CoordinatorRecord]:
        """The tombstones of all the group's offsets, including pending ones."""
        return [tombstone(group_id, partition) for partition in self._table.partitions_of(group_id)]

    def forget_topic(self, topic: str, topic_id: Uuid, now_ms: int) -> Outcome[None]:
        """Delete the offsets of a deleted topic, but not those of a newer topic with the same
        name.
        """
        records, more = portion(self._deletions_in(topic, topic_id))
        if more:
            self._shard.timers.set(
                ("offsets", "forget topic", topic_id),
                now_ms + _NEXT_PORTION_MS,
                lambda then_ms: self.forget_topic(topic, topic_id, then_ms),
            )
        return Outcome(None, records)

    def _deletions_in(self, topic: str, topic_id: Uuid) -> Iterator[Sequence[CoordinatorRecord]]:
        for group_id, partition, committed in self._table.in_topic(topic):
            if committed is None or committed.topic_id in (ZERO_UUID, topic_id):
                yield [tombstone(group_id, partition)]

    # -- expiry ------------------------------------------------------------------------------------

    def loaded(self, now_ms: int) -> None:
        self._sweep_at(now_ms + self._shard.settings.offsets_retention_check_ms)

    def _sweep_at(self, deadline_ms: int) -> None:
        self._shard.timers.set(("offsets", "expiry"), deadline_ms, self.sweep)

    def sweep(self, now_ms: int) -> Outcome[None]:
        """Delete expired offsets, and groups that have neither offsets nor members."""
        records, more = portion(self._expired(now_ms))
        self._sweep_at(now_ms + (_NEXT_PORTION_MS if more else self._shard.settings.offsets_retention_check_ms))
        return Outcome(None, records)

    def _expired(self, now_ms: int) -> Iterator[Sequence[CoordinatorRecord]]:
        retention_ms = self._shard.settings.offsets_retention_ms
        for group_id, group in self._shard.groups.items():
            if group.kind is GroupKind.SHARE:
                continue  # Its offsets are in the share coordinator, and do not expire.
            offsets = self._table.of(group_id)
            left = len(offsets)
            for partition, committed in offsets.items():
                if not self._table.is_pending(group_id, partition) and is_expired(
                    group, partition.topic, committed, now_ms=now_ms, retention_ms=retention_ms
                ):
                    left -= 1
                    yield [tombstone(group_id, partition)]
            if left == 0 and not self._table.pending_of(group_id) and not group.check_delete():
                yield group.tombstones()


def _all_topics(offsets: Iterable[TopicPartition]) -> list[OffsetFetchRequestTopics]:
    by_topic: dict[str, list[int]] = {}
    for partition in offsets:
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    return [OffsetFetchRequestTopics(name=topic, partition_indexes=indexes) for topic, indexes in by_topic.items()]


def _deletion_error(group: Group | None) -> ErrorCode:
    if group is None or group.kind is GroupKind.SHARE:
        return ErrorCode.GROUP_ID_NOT_FOUND
    refused = group.check_delete()
    if refused is ErrorCode.NON_EMPTY_GROUP and group.protocol_type in _PROTOCOL_TYPES_WITH_TOPICS:
        # The topics of its members are known, and checked one by one; those of other protocols are
        # not.
        return ErrorCode.NONE
    return refused
