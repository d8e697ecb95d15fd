"""A group of the consumer protocol (KIP-848): its state, as replayed from the log.

Three epochs follow each other. The *group epoch* rises when a member joins, leaves or changes its
subscription, or when topics change. The *target epoch* is the group epoch for which the target
assignment was computed. A *member epoch* is the target epoch to which the member has been
reconciled.

    Empty        no members
    Assigning    group epoch > target epoch
    Reconciling  a member is not at the target epoch, or waits for partitions
    Stable       every member owns its target
    Dead         deleted; never visible from outside

Nothing here decides: records of the log call the methods that change it.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import replace

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer import records
from barnabas.coordinators.group.consumer.interests import Interests, topics_of
from barnabas.coordinators.group.consumer.member import ConsumerMember, Ownership, Subscription
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.metadata.topics import TopicsImage
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid

PROTOCOL_TYPE = "consumer"
_TIME_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class ResolvedPattern:
    topics: frozenset[str]
    version: int = 0  # The metadata offset at which it was resolved.
    timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class MetadataSeen:
    """The topics that the group was last compared with, and the resulting group epoch. If that is
    not the group's epoch, the result was lost.
    """

    topics: TopicsImage
    matched: tuple[int, int] | None
    """The versions of the topics' names and of the rules with which patterns were matched."""
    epoch: int


class ConsumerGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = 0
        self.metadata_hash = 0
        self.target_epoch = 0
        self.target_timestamp_ms = 0
        self.members: dict[str, ConsumerMember] = {}
        self.interests = Interests()  # Of the members.
        self.targets: dict[str, frozenset[IdPartition]] = {}
        self.patterns: dict[str, ResolvedPattern] = {}
        self.instances: dict[str, str] = {}  # Instance id to member id.
        self.owners: dict[IdPartition, str] = {}  # Assigned, or not yet revoked.
        self.legacy_metadata = False  # A record of type 4 is in the log, and has no use.
        self.metadata_seen: MetadataSeen | None = None

    # -- the Group protocol ------------------------------------------------------------------------

    @property
    def kind(self) -> GroupKind:
        return GroupKind.CONSUMER

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        reconciled = all(member.ownership.reconciled_to(self.target_epoch) for member in self.members.values())
        return "Stable" if reconciled else "Reconciling"

    @property
    def empty_since_ms(self) -> int | None:
        """The log does not contain the time. Offsets of such groups age from their commit on."""
        return None if self.members else _TIME_UNKNOWN

    def subscribed_to(self, topic: str) -> bool:
        return topic in self.interests.topics(self.patterns)

    def check_commit(self, *, member_id: str, instance_id: str | None, epoch: int, transactional: bool) -> ErrorCode:
        """Commits of an earlier epoch are stale here; :meth:`check_partition_commit` accepts them
        for some partitions.
        """
        if epoch < 0 and not self.members:
            return ErrorCode.NONE
        if transactional and epoch == -1 and not member_id and instance_id is None:
            return ErrorCode.NONE
        return self._check_epoch(member_id, epoch)

    def check_partition_commit(self, *, member_id: str, epoch: int, topic_id: Uuid, partition: int) -> ErrorCode:
        """KIP-1251: a member that has not learned its new epoch yet may commit partitions that it
        owned in the old epoch and still owns.
        """
        code = self._check_epoch(member_id, epoch)
        member = self.members.get(member_id)
        if code is ErrorCode.NONE or member is None or epoch > member.epoch:
            return code
        slot = (topic_id, partition)
        since = member.ownership.assigned.get(slot, member.ownership.revoking.get(slot))
        return code if since is None or epoch < since else ErrorCode.NONE

    def check_fetch(self, *, member_id: str | None, epoch: int) -> ErrorCode:
        if member_id is None and epoch < 0:
            return ErrorCode.NONE
        return self._check_epoch(member_id or "", epoch)

    def _check_epoch(self, member_id: str, epoch: int) -> ErrorCode:
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if member.epoch == epoch:
            return ErrorCode.NONE
        return ErrorCode.STALE_MEMBER_EPOCH if member.classic is None else ErrorCode.ILLEGAL_GENERATION

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group_at_all(self.group_id, self.members, self.patterns, legacy_metadata=self.legacy_metadata)

    def committed(self, member_id: str, now_ms: int) -> None:
        """Does nothing: members of this protocol send heartbeats independently of commits."""

    # -- queries -----------------------------------------------------------------------------------

    def topics_of(self, subscription: Subscription) -> AbstractSet[str]:
        return topics_of(subscription, self.patterns)

    def free_for(self, member_id: str, slot: IdPartition) -> bool:
        return self.owners.get(slot, member_id) == member_id

    # -- replay ------------------------------------------------------------------------------------

    def take_subscription(self, member_id: str, subscription: Subscription) -> None:
        known = self.members.get(member_id) or ConsumerMember(member_id)
        self._forget_instance(known)
        self._put(replace(known, subscription=subscription))
        if subscription.instance_id is not None:
            self.instances[subscription.instance_id] = member_id

    def take_ownership(self, member_id: str, ownership: Ownership) -> None:
        known = self.members.get(member_id) or ConsumerMember(member_id)
        self._release(known)
        self._put(replace(known, ownership=ownership))
        for slot in (*ownership.assigned, *ownership.revoking):
            self.owners[slot] = member_id

    def forget_ownership(self, member_id: str) -> None:
        known = self.members.get(member_id)
        if known is not None:
            self._release(known)
            self._put(replace(known, ownership=Ownership()))

    def forget_member(self, member_id: str) -> None:
        known = self.members.pop(member_id, None)
        if known is not None:
            self.interests.change(known, None)
            self._release(known)
            self._forget_instance(known)

    def _put(self, member: ConsumerMember) -> None:
        self.interests.change(self.members.get(member.member_id), member)
        self.members[member.member_id] = member

    def _release(self, member: ConsumerMember) -> None:
        for slot in (*member.ownership.assigned, *member.ownership.revoking):
            if self.owners.get(slot) == member.member_id:
                del self.owners[slot]

    def _forget_instance(self, member: ConsumerMember) -> None:
        if member.instance_id is not None and self.instances.get(member.instance_id) == member.member_id:
            del self.instances[member.instance_id]
