"""The share groups of this node and the share coordinator: requests that both take part in.

The group coordinator decides which share partitions have state, and the share coordinator, perhaps
on another broker, keeps that state. Each method here runs an operation of the group coordinator,
then sends requests to the share coordinator, then runs a second operation with the result
(:mod:`barnabas.coordinators.group.share.share_offsets`). If this node fails in between, the first
operation is in the log: the next coordinator of the group, or the next request, repeats the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Set as AbstractSet
from typing import TYPE_CHECKING, TypeAlias

from barnabas.coordinators.coordinator import Coordinator
from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.share.effects import InitializeStates
from barnabas.coordinators.share.persister import SharePartitionKey, SharePersister, ShareSummary
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise, all_of

if TYPE_CHECKING:
    from barnabas.coordinators.group.machine import GroupMachine
    from barnabas.coordinators.group.share.share_offsets import Deletion
    from barnabas.wire.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest

Codes: TypeAlias = dict[IdPartition, ErrorCode]
# Summaries have no leader, so no epoch is too old to read them.
_ANY_LEADER_EPOCH = 0


@dataclass(frozen=True, slots=True)
class DeletedOffsets:
    """The result for each topic whose state was to be deleted, and the topics without state."""

    codes: dict[Uuid, ErrorCode]
    without_state: frozenset[Uuid]


class ShareGroupStates:
    def __init__(self, groups: Coordinator[GroupMachine], persister: SharePersister) -> None:
        self._groups = groups
        self._persister = persister

    # -- initialization ----------------------------------------------------------------------------

    def perform(self, shard: int, effect: InitializeStates) -> None:
        """Initialize state for a heartbeat. The heartbeat does not wait: a later one receives the
        partitions.
        """

        def report(codes: Codes) -> None:
            if self._groups.runtime.epoch_of(shard) == epoch:
                self._groups.run_at(shard, lambda machine, _: machine.share.initialized(effect, _refused(codes)))

        epoch = self._groups.runtime.epoch_of(shard)
        self._initialize(effect).then(report)

    def _initialize(self, effect: InitializeStates) -> Promise[Codes]:
        slots = list(effect.start_offsets)
        sent = [
            self._persister.initialize(
                SharePartitionKey(effect.group_id, *slot), state_epoch=effect.state_epoch, start_offset=effect.start_offsets[slot]
            )
            for slot in slots
        ]
        return all_of(sent).map(lambda codes: dict(zip(slots, codes, strict=True)))

    # -- offsets -----------------------------------------------------------------------------------

    def alter(self, request: AlterShareGroupOffsetsRequest) -> Promise[Codes | Refusal | ErrorCode]:
        """A code for each partition of the request. The topics and partitions exist."""

        def initialize(begun: InitializeStates | Refusal | ErrorCode) -> Promise[Codes | Refusal | ErrorCode]:
            if not isinstance(begun, InitializeStates):
                return Promise.kept(begun)
            epoch = self._epoch(request.group_id)
            return self._initialize(begun).followed_by(lambda codes: record(begun, codes, epoch))

        def record(begun: InitializeStates, codes: Codes, epoch: int) -> Promise[Codes | Refusal | ErrorCode]:
            if self._epoch(request.group_id) != epoch:
                # A coordinator that took over in between may have initialized the state for a new
                # member.
                return Promise.kept(ErrorCode.NOT_COORDINATOR)
            recorded = self._groups.run(request.group_id, lambda machine, _: machine.share.initialized(begun, _refused(codes)))
            return recorded.map(lambda outdated: outdated if isinstance(outdated, ErrorCode) else _with_outdated(codes, outdated))

        begun = self._groups.run(request.group_id, lambda machine, now_ms: machine.share.offsets.begin_altering(request, now_ms))
        return begun.followed_by(initialize)

    def _epoch(self, group_id: str) -> int:
        """The leader epoch of the group's shard on this node."""
        shard = self._groups.partition_of(group_id)
        return self._groups.runtime.epoch_of(shard) if shard is not None else -1

    def delete_offsets(self, group_id: str, topic_ids: AbstractSet[Uuid]) -> Promise[DeletedOffsets | Refusal | ErrorCode]:
        """The offsets of whole topics. The topics exist."""

        def delete(begun: Deletion | Refusal | ErrorCode) -> Promise[DeletedOffsets | Refusal | ErrorCode]:
            if isinstance(begun, (Refusal, ErrorCode)):
                return Promise.kept(begun)
            return self._delete(group_id, begun.partitions).followed_by(lambda codes: record(codes, begun))

        def record(codes: Codes, begun: Deletion) -> Promise[DeletedOffsets | Refusal | ErrorCode]:
            by_topic = _worst_by_topic(codes)
            gone = {topic_id for topic_id, code in by_topic.items() if code is ErrorCode.NONE}
            recorded = self._groups.run(group_id, lambda machine, _: machine.share.offsets.deleted(group_id, gone))
            return recorded.map(lambda code: code or DeletedOffsets(by_topic, begun.without_state))

        begun = self._groups.run(group_id, lambda machine, _: machine.share.offsets.begin_deleting(group_id, topic_ids))
        return begun.followed_by(delete)

    def delete_group(self, group_id: str) -> Promise[ErrorCode]:
        """Delete all state of a group that is about to be deleted. NONE also for groups of other
        kinds; the group itself stays.
        """

        def delete(begun: Deletion | ErrorCode) -> Promise[ErrorCode]:
            if isinstance(begun, ErrorCode):
                return Promise.kept(begun)
            deleted = self._delete(group_id, begun.partitions)
            return deleted.map(lambda codes: next((code for code in codes.values() if code), ErrorCode.NONE))

        begun = self._groups.run(group_id, lambda machine, _: machine.share.offsets.begin_deleting_group(group_id))
        return begun.followed_by(delete)

    def _delete(self, group_id: str, partitions: Collection[IdPartition]) -> Promise[Codes]:
        sent = [self._persister.delete(SharePartitionKey(group_id, *slot)) for slot in partitions]
        return all_of(sent).map(lambda codes: dict(zip(partitions, codes, strict=True)))

    def summaries(self, group_id: str, partitions: Collection[IdPartition]) -> Promise[dict[IdPartition, ShareSummary | ErrorCode]]:
        sent = [self._persister.read_summary(SharePartitionKey(group_id, *slot), leader_epoch=_ANY_LEADER_EPOCH) for slot in partitions]
        return all_of(sent).map(lambda summaries: dict(zip(partitions, summaries, strict=True)))


def _with_outdated(codes: Codes, outdated: Collection[IdPartition]) -> Codes:
    """A member has joined since, and its request for state came later."""
    return {slot: ErrorCode.FENCED_STATE_EPOCH if slot in outdated else code for slot, code in codes.items()}


def _refused(codes: Codes) -> frozenset[IdPartition]:
    return frozenset(slot for slot, code in codes.items() if code)


def _worst_by_topic(codes: Codes) -> dict[Uuid, ErrorCode]:
    by_topic: dict[Uuid, ErrorCode] = {}
    for (topic_id, _), code in codes.items():
        by_topic[topic_id] = by_topic.get(topic_id) or code
    return by_topic
