"""Conversion of a classic group with members to a consumer group and back (KIP-848's online
migration).

Upgrade: when the first member of the consumer protocol joins. The classic members stay, own the
partitions that their leader last assigned, and their heartbeats ask them to rejoin. Downgrade: when
the last member of the consumer protocol is gone. The remaining members rejoin a classic group that
begins with their targets.
"""

from __future__ import annotations

from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.classic_member import ClassicMember
from barnabas.coordinators.group.classic.group_records import group_record
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.group.consumer import records
from barnabas.coordinators.group.consumer.consumer_group import PROTOCOL_TYPE, ConsumerGroup
from barnabas.coordinators.group.consumer.embedded_protocol import read_assignment, read_subscription, write_assignment
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.coordinators.group.consumer.member import ClassicProtocol, ClassicSide, ConsumerMember, MemberState, Ownership, Subscription
from barnabas.coordinators.group.metadata_hash import metadata_hash
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.settings import GroupSettings
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.metadata.topics import TopicsImage
from barnabas.model.errors import ErrorCode

_UP, _DOWN, _BOTH = "upgrade", "downgrade", "bidirectional"


def upgrade(group: ClassicGroup, topics: TopicsImage, settings: GroupSettings) -> GroupChange | Refusal:
    if settings.consumer_migration_policy not in (_UP, _BOTH):
        return _not_upgraded(group, "the online upgrade is disabled")
    if group.protocol_type != PROTOCOL_TYPE:
        return _not_upgraded(group, "the group does not use the consumer embedded protocol")
    if len(group.members) > settings.consumer_size_max:
        return Refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, f"Cannot upgrade classic group {group.group_id}: it has too many members.")
    upgraded = ConsumerGroup(group.group_id)
    upgraded.epoch = upgraded.target_epoch = group.generation
    for classic in group.members.values():
        member = _upgraded_member(group, classic, topics)
        if member is None:
            return _not_upgraded(group, f"the subscription or assignment of member {classic.member_id} cannot be decoded")
        upgraded.take_subscription(member.member_id, member.subscription)
        upgraded.take_ownership(member.member_id, member.ownership)
        upgraded.targets[member.member_id] = frozenset(member.ownership.assigned)
    read = {name for member in upgraded.members.values() for name in member.subscription.topics}
    upgraded.metadata_hash = metadata_hash(read, topics)
    return GroupChange(upgraded, [*group.tombstones(), *_records_of(upgraded)])


def _upgraded_member(group: ClassicGroup, classic: ClassicMember, topics: TopicsImage) -> ConsumerMember | None:
    # Before the group agrees on a protocol, the metadata of any protocol will do: consumers send
    # the same topics under all of them.
    protocol = group.protocol if group.protocol is not None else classic.protocols[0][0]
    said = read_subscription(classic.subscription(protocol), topics)
    assigned = read_assignment(protocol, classic.assignment, topics)
    if said is None or assigned is None:
        return None
    side = ClassicSide(classic.session_timeout_ms, tuple(ClassicProtocol(name, metadata) for name, metadata in classic.protocols))
    subscription = Subscription(
        instance_id=classic.instance_id,
        rack_id=said.rack_id,
        client_id=classic.client_id,
        client_host=classic.client_host,
        topics=said.topics,
        rebalance_timeout_ms=classic.rebalance_timeout_ms,
        classic=side,
    )
    owned = dict.fromkeys(assigned, group.generation)
    return ConsumerMember(classic.member_id, subscription, Ownership(group.generation, group.generation, MemberState.STABLE, owned))


def _records_of(group: ConsumerGroup) -> list[CoordinatorRecord]:
    members = group.members.values()
    return [
        *(records.subscription(group.group_id, member) for member in members),
        records.group_epoch(group.group_id, group.epoch, group.metadata_hash),
        *(records.target(group.group_id, member_id, target) for member_id, target in group.targets.items()),
        records.target_epoch(group.group_id, group.target_epoch, 0),
        *(records.ownership(group.group_id, member) for member in members),
    ]


def _not_upgraded(group: ClassicGroup, why: str) -> Refusal:
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Cannot upgrade classic group {group.group_id} to consumer group because {why}.")


def may_downgrade(change: GroupChange, settings: GroupSettings) -> bool:
    """Only classic members are left, and before there was another one."""
    members = change.members.values()
    return (
        bool(members)
        and all(member.classic is not None for member in members)
        and any(member.classic is None for member in change.group.members.values())
        and settings.consumer_migration_policy in (_DOWN, _BOTH)
        and len(members) <= settings.size_max
    )


def downgrade(change: GroupChange, topics: TopicsImage, now_ms: int) -> None:
    """End the group as a consumer group, and begin it as a classic one."""
    group = ClassicGroup(change.group_id, extend_session=lambda *_: None)
    group.protocol_type = PROTOCOL_TYPE
    # Not the epoch that the last departure has just raised, because no member knows it. A member
    # that is refused for its generation loses partitions and commits; a member that is asked to
    # rebalance keeps both until it rejoins.
    group.generation = change.group.epoch
    group.state = ClassicState.STABLE
    group.state_since_ms = now_ms
    for member in change.members.values():
        assert member.classic is not None
        group.add(
            ClassicMember(
                member_id=member.member_id,
                instance_id=member.instance_id,
                client_id=member.subscription.client_id,
                client_host=member.subscription.client_host,
                rebalance_timeout_ms=member.subscription.rebalance_timeout_ms,
                session_timeout_ms=member.classic.session_timeout_ms,
                protocols=tuple((protocol.name, protocol.metadata) for protocol in member.classic.protocols),
            )
        )
    group.protocol = group.elected_protocol()
    assignments = {}
    for member_id, classic in group.members.items():
        said = read_subscription(classic.subscription(group.protocol), topics)
        version = said.version if said is not None else 0
        assignments[member_id] = write_assignment(change.targets.get(member_id, frozenset()), topics, version)
    change.dissolve()
    change.records.append(group_record(group, assignments))
