"""The next state of a consumer group, and the records that lead to it.

An operation changes this object and never the group: reads see the changes so far, and the group
follows when the records are replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Set as AbstractSet
from dataclasses import replace

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer import records
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup, ResolvedPattern
from barnabas.coordinators.group.consumer.interests import Interests, topics_of, topics_read
from barnabas.coordinators.group.consumer.member import ConsumerMember, Ownership, Subscription
from barnabas.coordinators.record import CoordinatorRecord


class GroupChange:
    def __init__(self, group: ConsumerGroup, before: list[CoordinatorRecord] | None = None) -> None:
        """``before`` deletes the previous group of the same id."""
        self.group = group
        self.records: list[CoordinatorRecord] = before or []
        self.epoch = group.epoch
        self.metadata_hash = group.metadata_hash
        self.target_epoch = group.target_epoch
        # The members that this change adds or alters; None stands for a member that it removes.
        self._altered: dict[str, ConsumerMember | None] = {}
        self._members: dict[str, ConsumerMember] | None = None
        self._interests: Interests | None = None
        self._patterns: dict[str, ResolvedPattern] | None = None
        self._targets: dict[str, frozenset[IdPartition]] | None = None

    @property
    def group_id(self) -> str:
        return self.group.group_id

    @property
    def members(self) -> Mapping[str, ConsumerMember]:
        """All members. :meth:`member` is cheaper for one: in a large group most heartbeats need
        only their own.
        """
        if not self._altered:
            return self.group.members
        if self._members is None:
            self._members = dict(self.group.members)
            for member_id, member in self._altered.items():
                # Last, as in the group when the records are replayed.
                if member is not None:
                    self._members[member_id] = member
                else:
                    self._members.pop(member_id, None)
        return self._members

    def member(self, member_id: str) -> ConsumerMember | None:
        return self._altered[member_id] if member_id in self._altered else self.group.members.get(member_id)

    @property
    def patterns(self) -> Mapping[str, ResolvedPattern]:
        return self.group.patterns if self._patterns is None else self._patterns

    @property
    def targets(self) -> Mapping[str, frozenset[IdPartition]]:
        return self.group.targets if self._targets is None else self._targets

    @property
    def interests(self) -> Interests:
        return self.group.interests if self._interests is None else self._interests

    def topics_of(self, subscription: Subscription) -> AbstractSet[str]:
        return topics_of(subscription, self.patterns)

    def topics_read(self, names: tuple[str, ...], pattern: str) -> AbstractSet[str]:
        return topics_read(names, pattern, self.patterns)

    def subscribed_topics(self) -> set[str]:
        return self.interests.topics(self.patterns)

    def used_patterns(self) -> set[str]:
        return self.interests.patterns

    # -- changes -----------------------------------------------------------------------------------

    def _put_member(self, member_id: str, member: ConsumerMember | None) -> None:
        """None removes the member."""
        before = self.member(member_id)
        if before is None or member is None or before.subscription is not member.subscription:
            if self._interests is None:
                self._interests = self.group.interests.copy()
            self._interests.change(before, member)
        self._altered[member_id] = member
        self._members = None

    def _own_targets(self) -> dict[str, frozenset[IdPartition]]:
        if self._targets is None:
            self._targets = dict(self.group.targets)
        return self._targets

    def _own_patterns(self) -> dict[str, ResolvedPattern]:
        if self._patterns is None:
            self._patterns = dict(self.group.patterns)
        return self._patterns

    def subscribe(self, member_id: str, subscription: Subscription) -> ConsumerMember:
        known = self.member(member_id)
        if known is not None and (known.subscription is subscription or known.subscription == subscription):
            return known
        member = replace(known or ConsumerMember(member_id), subscription=subscription)
        self._put_member(member_id, member)
        self.records.append(records.subscription(self.group_id, member))
        return member

    def own(self, member_id: str, ownership: Ownership) -> ConsumerMember:
        known = self.member(member_id)
        assert known is not None, "only a member owns partitions"
        if known.ownership is ownership or known.ownership == ownership:
            return known
        member = replace(known, ownership=ownership)
        self._put_member(member_id, member)
        self.records.append(records.ownership(self.group_id, member))
        return member

    def remove(self, member_id: str) -> None:
        self._put_member(member_id, None)
        self._own_targets().pop(member_id, None)
        self.records += records.no_member(self.group_id, member_id)

    def rename(self, old: ConsumerMember, member_id: str) -> ConsumerMember:
        """A static member returns under another id, with its subscription, target and
        partitions.
        """
        ownership = replace(old.ownership, epoch=0, previous_epoch=0)
        if member_id == old.member_id:
            return self.own(member_id, ownership)
        target = self.targets.get(old.member_id, frozenset())
        new = replace(old, member_id=member_id, ownership=ownership)
        self.remove(old.member_id)
        self._put_member(member_id, new)
        self._own_targets()[member_id] = target
        self.records += [
            records.subscription(self.group_id, new),
            records.target(self.group_id, member_id, target),
            records.ownership(self.group_id, new),
        ]
        return new

    def resolve(self, text: str, topics: frozenset[str], version: int, now_ms: int) -> None:
        self._own_patterns()[text] = ResolvedPattern(topics, version, now_ms)
        self.records.append(records.pattern(self.group_id, text, topics, version, now_ms))

    def forget_pattern(self, text: str) -> None:
        if self._own_patterns().pop(text, None) is not None:
            self.records.append(records.no_pattern(self.group_id, text))

    def bump(self, metadata_hash: int) -> None:
        if self.group.legacy_metadata:
            self.records.append(records.no_legacy_metadata(self.group_id))
        self.epoch += 1
        self.metadata_hash = metadata_hash
        self.records.append(records.group_epoch(self.group_id, self.epoch, metadata_hash))

    def dissolve(self) -> None:
        """Delete the group with all its members."""
        self.records += records.no_group_at_all(self.group_id, self.members, self.patterns, legacy_metadata=self.group.legacy_metadata)

    def aim(self, changed: Mapping[str, frozenset[IdPartition]], now_ms: int) -> None:
        """Set a new target for the group epoch; ``changed`` are its differences from the previous
        one, and only they are written.
        """
        self.records += [records.target(self.group_id, member_id, target) for member_id, target in changed.items()]
        self._own_targets().update(changed)
        self.target_epoch = self.epoch
        self.records.append(records.target_epoch(self.group_id, self.epoch, now_ms))
