"""A share group: its state, as replayed from the log.

    Empty    no members
    Stable   members, whatever their epochs: a member that is behind disturbs no other member
    Dead     deleted; never visible from outside

Nothing here decides: records of the log call the methods that change it.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.share import records
from barnabas.coordinators.group.share.member import ShareAssignment, ShareMember, ShareSubscription
from barnabas.coordinators.group.share.topic_states import TopicStates
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.metadata.topics import TopicsImage
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode

PROTOCOL_TYPE = "share"
_TIME_UNKNOWN = -1
_FIRST_EPOCH = 1  # As in Kafka, so that a new group has the same epochs in both.


@dataclass(frozen=True, slots=True)
class TopicsSeen:
    """The topics that the group was last compared with, and the resulting group epoch. If that is
    not the group's epoch, the result was lost.
    """

    topics: TopicsImage
    epoch: int


class ShareGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp_ms = 0
        self.members: dict[str, ShareMember] = {}
        self.targets: dict[str, frozenset[IdPartition]] = {}
        self.states = TopicStates()
        self.topics_seen: TopicsSeen | None = None

    # -- the Group protocol ------------------------------------------------------------------------

    @property
    def kind(self) -> GroupKind:
        return GroupKind.SHARE

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def state_name(self) -> str:
        return "Stable" if self.members else "Empty"

    @property
    def empty_since_ms(self) -> int | None:
        """The log does not contain the time."""
        return None if self.members else _TIME_UNKNOWN

    def subscribed_to(self, topic: str) -> bool:
        return any(topic in member.subscription.topics for member in self.members.values())

    def check_commit(self, *, member_id: str, instance_id: str | None, epoch: int, transactional: bool) -> ErrorCode:
        """The positions of a share group are in the share coordinator."""
        return ErrorCode.GROUP_ID_NOT_FOUND

    def check_fetch(self, *, member_id: str | None, epoch: int) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group_at_all(self.group_id, self.members)

    def committed(self, member_id: str, now_ms: int) -> None:
        """Never called, since no commit is valid."""

    # -- queries -----------------------------------------------------------------------------------

    def subscribed_topics(self) -> set[str]:
        return set().union(*(member.subscription.topics for member in self.members.values()))

    # -- replay ------------------------------------------------------------------------------------

    def take_subscription(self, member_id: str, subscription: ShareSubscription) -> None:
        known = self.members.get(member_id) or ShareMember(member_id)
        self.members[member_id] = replace(known, subscription=subscription)

    def take_assignment(self, member_id: str, assignment: ShareAssignment) -> None:
        known = self.members.get(member_id) or ShareMember(member_id)
        self.members[member_id] = replace(known, assignment=assignment)

    def forget_assignment(self, member_id: str) -> None:
        known = self.members.get(member_id)
        if known is not None:
            self.members[member_id] = replace(known, assignment=ShareAssignment())
