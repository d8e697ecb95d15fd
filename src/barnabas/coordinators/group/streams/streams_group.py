"""A streams group (KIP-1071): its state, as replayed from the log.

Three epochs follow each other. The *group epoch* rises when a member joins, leaves or changes its
metadata, and when the topology, its topics or the settings of the assignment change. The *target
epoch* is the group epoch for which the target assignment was computed. A *member epoch* is the
target epoch to which the member has been reconciled.

    Empty        no members
    NotReady     topics of the topology are missing, or do not fit together
    Assigning    group epoch > target epoch
    Reconciling  a member is not at the target epoch, or waits for tasks
    Stable       every member has its target
    Dead         deleted; never visible from outside

Nothing here decides: records of the log call the methods that change it. The fields under "not in
the log" are lost with the leader, and the next heartbeats restore them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.streams import records
from barnabas.coordinators.group.streams.configured_topology import ConfiguredTopology
from barnabas.coordinators.group.streams.member import MemberMetadata, Ownership, StreamsMember
from barnabas.coordinators.group.streams.tasks import TaskId, Tasks
from barnabas.coordinators.group.streams.topology import Topology
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.metadata.topics import TopicsImage
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode

PROTOCOL_TYPE = "streams"
_TIME_UNKNOWN = -1
# A new group has this epoch and a target of this epoch, as in Kafka: the first heartbeat raises the
# group epoch to 2, and the member waits for its target in epoch 1.
_FIRST_EPOCH = 1


@dataclass(frozen=True, slots=True)
class MetadataSeen:
    """The topics with which the topology was last configured, and the resulting group epoch. If
    that is not the group's epoch, the result was lost.
    """

    topics: TopicsImage
    epoch: int


class StreamsGroup:
    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = _FIRST_EPOCH
        self.metadata_hash = 0
        self.validated_topology_epoch = 0
        self.assignment_configs: dict[str, str] = {}
        self.topology: Topology | None = None
        self.target_epoch = _FIRST_EPOCH
        self.target_timestamp_ms = 0
        self.members: dict[str, StreamsMember] = {}
        self.targets: dict[str, Tasks] = {}
        # The process of each task's active copy, and the processes of its other copies. A task that
        # a member has not revoked yet counts.
        self.active_processes: dict[TaskId, str] = {}
        self._copies: Counter[tuple[TaskId, str]] = Counter()
        # -- not in the log --
        self.configured: ConfiguredTopology | None = None
        self.metadata_seen: MetadataSeen | None = None
        self.shutdown_member_id: str | None = None
        self.endpoint_epoch = 0

    # -- the Group protocol ------------------------------------------------------------------------

    @property
    def kind(self) -> GroupKind:
        return GroupKind.STREAMS

    @property
    def protocol_type(self) -> str:
        return PROTOCOL_TYPE

    @property
    def state_name(self) -> str:
        if not self.members:
            return "Empty"
        if self.topology is None or self.topology.epoch != self.validated_topology_epoch:
            return "NotReady"
        if self.epoch > self.target_epoch:
            return "Assigning"
        reconciled = all(member.ownership.reconciled_to(self.target_epoch) for member in self.members.values())
        return "Stable" if reconciled else "Reconciling"

    @property
    def empty_since_ms(self) -> int | None:
        """The log does not contain the time. Offsets of such groups age from their commit on."""
        return None if self.members else _TIME_UNKNOWN

    def subscribed_to(self, topic: str) -> bool:
        return bool(self.members) and self.topology is not None and topic in self.topology.readers

    def check_commit(self, *, member_id: str, instance_id: str | None, epoch: int, transactional: bool) -> ErrorCode:
        """Commits of an earlier epoch are stale here; :meth:`check_partition_commit` accepts them
        for some partitions.
        """
        if epoch < 0 and not self.members:
            return ErrorCode.NONE
        if transactional and epoch == -1 and not member_id and instance_id is None:
            return ErrorCode.NONE
        return self._check_epoch(member_id, epoch)

    def check_partition_commit(self, *, member_id: str, epoch: int, topic: str, partition: int) -> ErrorCode:
        """KIP-1251: a member that has not learned its new epoch yet may commit the partitions of
        tasks that it had in the old epoch and still has.
        """
        code = self._check_epoch(member_id, epoch)
        member = self.members.get(member_id)
        if code is ErrorCode.NONE or member is None or epoch > member.epoch:
            return code
        reader = self.topology.readers.get(topic) if self.topology is not None else None
        if reader is None:
            return code
        owned, task = member.ownership, (reader, partition)
        since = owned.assigned.active.get(task, owned.revoking.active.get(task))
        return code if since is None or epoch < since else ErrorCode.NONE

    def check_fetch(self, *, member_id: str | None, epoch: int) -> ErrorCode:
        if member_id is None and epoch < 0:
            return ErrorCode.NONE
        return self._check_epoch(member_id or "", epoch)

    def _check_epoch(self, member_id: str, epoch: int) -> ErrorCode:
        member = self.members.get(member_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member.epoch == epoch else ErrorCode.STALE_MEMBER_EPOCH

    def check_delete(self) -> ErrorCode:
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group_at_all(self.group_id, self.members)

    def committed(self, member_id: str, now_ms: int) -> None:
        """Does nothing: members of this protocol send heartbeats independently of commits."""

    # -- queries -----------------------------------------------------------------------------------

    def has_copy(self, task: TaskId, process_id: str) -> bool:
        """Whether the process has a standby or a warm-up copy of the task."""
        return self._copies.get((task, process_id), 0) > 0

    # -- replay ------------------------------------------------------------------------------------

    def take_metadata(self, member_id: str, metadata: MemberMetadata) -> None:
        known = self.members.get(member_id) or StreamsMember(member_id)
        self._put(known, replace(known, metadata=metadata))

    def take_ownership(self, member_id: str, ownership: Ownership) -> None:
        known = self.members.get(member_id) or StreamsMember(member_id)
        self._put(known, replace(known, ownership=ownership))

    def forget_ownership(self, member_id: str) -> None:
        known = self.members.get(member_id)
        if known is not None:
            self._put(known, replace(known, ownership=Ownership()))

    def forget_member(self, member_id: str) -> None:
        known = self.members.pop(member_id, None)
        if known is not None:
            self._release(known)
        if not self.members:
            self.shutdown_member_id = None

    def _put(self, before: StreamsMember, after: StreamsMember) -> None:
        self._release(before)
        self.members[after.member_id] = after
        for owned in (after.ownership.assigned, after.ownership.revoking):
            self.active_processes |= dict.fromkeys(owned.active, after.process_id)
            for task in (*owned.standby, *owned.warmup):
                self._copies[task, after.process_id] += 1

    def _release(self, member: StreamsMember) -> None:
        for owned in (member.ownership.assigned, member.ownership.revoking):
            for task in owned.active:
                if self.active_processes.get(task) == member.process_id:
                    del self.active_processes[task]
            for task in (*owned.standby, *owned.warmup):
                held = (task, member.process_id)
                self._copies[held] -= 1
                if self._copies[held] <= 0:
                    del self._copies[held]
