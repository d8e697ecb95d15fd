"""A classic group in the log: one record with the whole group, in the version that Apache Kafka 4.3
writes.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.classic_member import ClassicMember
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata

# Version 4 exists and is not written, so that older Kafkas can read these records.
VALUE_VERSION = 3
_SAME_AS_SESSION = -1


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    """The record of the group with ``assignments`` by member id, which the members may not have
    yet.
    """
    members = []
    for member in group.members.values():
        assert group.protocol is not None, "a group is written only after it has agreed on a protocol"
        members.append(
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.subscription(group.protocol),
                assignment=assignments[member.member_id],
            )
        )
    value = GroupMetadataValue(
        protocol_type=group.protocol_type,
        generation=group.generation,
        protocol=group.protocol,
        leader=group.leader,
        current_state_timestamp=group.state_since_ms,
        members=members,
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, VALUE_VERSION)


def new_group_record(group: ClassicGroup) -> CoordinatorRecord:
    """The record of a new group. Its first members are written only when the group is stable."""
    value = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=group.state_since_ms, members=[]
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, VALUE_VERSION)


def restore(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """Restore an empty ``group`` from the log."""
    group.protocol_type = value.protocol_type
    group.generation = value.generation
    group.protocol = value.protocol
    group.state_since_ms = value.current_state_timestamp
    group.state = ClassicState.STABLE if value.members else ClassicState.EMPTY
    for member in value.members:
        group.add(
            ClassicMember(
                member_id=member.member_id,
                instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout_ms=member.session_timeout if member.rebalance_timeout == _SAME_AS_SESSION else member.rebalance_timeout,
                session_timeout_ms=member.session_timeout,
                # The log has only the agreed protocol; the member sends the others again when it
                # rejoins.
                protocols=((value.protocol or "", member.subscription),),
                assignment=member.assignment,
            )
        )
    if value.leader in group.members:
        group.leader = value.leader
    group.note_subscriptions()
