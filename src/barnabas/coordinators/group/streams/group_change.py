"""The next state of a streams group, and the records that lead to it.

An operation changes this object and never the group: reads see the changes so far, and the group
follows when the records are replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from barnabas.coordinators.group.streams import records
from barnabas.coordinators.group.streams.member import MemberMetadata, Ownership, StreamsMember
from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.coordinators.group.streams.tasks import Tasks
from barnabas.coordinators.group.streams.topology import Topology
from barnabas.coordinators.record import CoordinatorRecord


class GroupChange:
    def __init__(self, group: StreamsGroup, before: list[CoordinatorRecord] | None = None) -> None:
        """``before`` deletes the previous group of the same id."""
        self.group = group
        self.records: list[CoordinatorRecord] = before or []
        self.epoch = group.epoch
        self.target_epoch = group.target_epoch
        self.topology = group.topology
        self.assignment_configs: Mapping[str, str] = group.assignment_configs
        # The members that this change adds or alters; None stands for a member that it removes.
        self._altered: dict[str, StreamsMember | None] = {}
        self._members: dict[str, StreamsMember] | None = None
        self._targets: dict[str, Tasks] | None = None

    @property
    def group_id(self) -> str:
        return self.group.group_id

    @property
    def members(self) -> Mapping[str, StreamsMember]:
        """All members. :meth:`member` is cheaper for one: in a large group most heartbeats need
        only their own.
        """
        if not self._altered:
            return self.group.members
        if self._members is None:
            self._members = dict(self.group.members)
            for member_id, member in self._altered.items():
                if member is not None:
                    self._members[member_id] = member
                else:
                    self._members.pop(member_id, None)
        return self._members

    def member(self, member_id: str) -> StreamsMember | None:
        return self._altered[member_id] if member_id in self._altered else self.group.members.get(member_id)

    @property
    def targets(self) -> Mapping[str, Tasks]:
        return self.group.targets if self._targets is None else self._targets

    # -- changes -----------------------------------------------------------------------------------

    def _put_member(self, member_id: str, member: StreamsMember | None) -> None:
        """None removes the member."""
        self._altered[member_id] = member
        self._members = None

    def enrol(self, member_id: str, metadata: MemberMetadata) -> bool:
        """True if the member is new or has changed."""
        known = self.member(member_id)
        if known is not None and (known.metadata is metadata or known.metadata == metadata):
            return False
        member = replace(known or StreamsMember(member_id), metadata=metadata)
        self._put_member(member_id, member)
        self.records.append(records.metadata(self.group_id, member))
        return True

    def own(self, member_id: str, ownership: Ownership) -> StreamsMember:
        known = self.member(member_id)
        assert known is not None, "only a member has tasks"
        if known.ownership is ownership or known.ownership == ownership:
            return known
        member = replace(known, ownership=ownership)
        self._put_member(member_id, member)
        self.records.append(records.ownership(self.group_id, member))
        return member

    def remove(self, member_id: str) -> None:
        """The group epoch rises, so that the tasks of the member get a new target."""
        self._put_member(member_id, None)
        self._targets = {each: tasks for each, tasks in self.targets.items() if each != member_id}
        self.records += records.no_member(self.group_id, member_id)
        group = self.group
        self.bump(group.metadata_hash, group.validated_topology_epoch, group.assignment_configs)

    def store(self, topology: Topology) -> None:
        self.topology = topology
        self.records.append(records.topology(self.group_id, topology))

    def bump(self, metadata_hash: int, validated_topology_epoch: int, assignment_configs: Mapping[str, str]) -> None:
        self.epoch += 1
        self.assignment_configs = assignment_configs
        self.records.append(
            records.group_epoch(
                self.group_id,
                self.epoch,
                metadata_hash=metadata_hash,
                validated_topology_epoch=validated_topology_epoch,
                assignment_configs=assignment_configs,
            )
        )

    def aim(self, changed: Mapping[str, Tasks], now_ms: int) -> None:
        """Set a new target for the group epoch; ``changed`` are its differences from the previous
        one, and only they are written.
        """
        self.records += [records.target(self.group_id, member_id, target) for member_id, target in changed.items()]
        self._targets = {**self.targets, **changed}
        self.target_epoch = self.epoch
        self.records.append(records.target_epoch(self.group_id, self.epoch, now_ms))
