"""The next state of a share group, and the records that lead to it.

An operation changes this object and never the group: reads see the changes so far, and the group
follows when the records are replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.share import records
from barnabas.coordinators.group.share.member import ShareAssignment, ShareMember, ShareSubscription
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.share.topic_states import TopicStates
from barnabas.coordinators.record import CoordinatorRecord


class ShareChange:
    def __init__(self, group: ShareGroup) -> None:
        self.group = group
        self.records: list[CoordinatorRecord] = []
        self.epoch = group.epoch
        self.metadata_hash = group.metadata_hash
        self.target_epoch = group.target_epoch
        self.members: dict[str, ShareMember] = dict(group.members)
        self.targets: Mapping[str, frozenset[IdPartition]] = group.targets
        self.states = group.states

    @property
    def group_id(self) -> str:
        return self.group.group_id

    def subscribed_topics(self) -> set[str]:
        return set().union(*(member.subscription.topics for member in self.members.values()))

    def subscribe(self, member_id: str, subscription: ShareSubscription) -> ShareMember:
        known = self.members.get(member_id)
        if known is not None and known.subscription == subscription:
            return known
        member = self.members[member_id] = replace(known or ShareMember(member_id), subscription=subscription)
        self.records.append(records.subscription(self.group_id, member))
        return member

    def assign(self, member_id: str, assignment: ShareAssignment) -> ShareMember:
        known = self.members[member_id]
        if known.assignment == assignment:
            return known
        member = self.members[member_id] = replace(known, assignment=assignment)
        self.records.append(records.assignment(self.group_id, member))
        return member

    def remove(self, member_id: str) -> None:
        del self.members[member_id]
        self.targets = {each: target for each, target in self.targets.items() if each != member_id}
        self.records += records.no_member(self.group_id, member_id)

    def bump(self, metadata_hash: int) -> None:
        self.epoch += 1
        self.metadata_hash = metadata_hash
        self.records.append(records.group_epoch(self.group_id, self.epoch, metadata_hash))

    def aim(self, targets: Mapping[str, frozenset[IdPartition]], now_ms: int) -> None:
        """Set a new target for the group epoch; only differences from the previous target are
        written.
        """
        for member_id, target in targets.items():
            if self.targets.get(member_id) != target:
                self.records.append(records.target(self.group_id, member_id, target))
        self.targets = targets
        self.target_epoch = self.epoch
        self.records.append(records.target_epoch(self.group_id, self.epoch, now_ms))

    def take_states(self, states: TopicStates) -> None:
        if states != self.states:
            self.states = states
            self.records.append(records.topic_states(self.group_id, states))
