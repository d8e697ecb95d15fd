"""A classic group in the log: one record with the whole group in it, in the version Apache Kafka 4.3 writes."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.classic_member import ClassicMember
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey, GroupMetadataValue, MemberMetadata

# Version 4 exists and is not written, so that older Kafkas can read what is here.
VALUE_VERSION = 3
_SAME_AS_SESSION = -1


def group_record(group: ClassicGroup, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    """The group with ``assignments`` by member id, which need not be the members' own yet."""
    members = []
    for member in group.members.values():
        assert group.protocol is not None, "members who agreed on nothing are not written"
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
    """A group that exists from now on. Whoever joins it first is in the log only once it is stable."""
    value = GroupMetadataValue(
        protocol_type="", generation=0, protocol=None, leader=None, current_state_timestamp=group.state_since_ms, members=[]
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, VALUE_VERSION)


def restore(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """Make an empty ``group`` what the log says it is."""
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
                # What else it could do was not written; it says so again when it rejoins.
                protocols=((value.protocol or "", member.subscription),),
                assignment=member.assignment,
            )
        )
    if value.leader in group.members:
        group.leader = value.leader
    group.note_subscriptions()
