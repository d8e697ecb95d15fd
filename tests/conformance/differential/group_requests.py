"""Requests about groups, short enough to be read as a script."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.conformance.differential.scene import Known

# A consumer's subscription, version 0, to one topic "t" without user data; and an assignment of
# nothing.
SUBSCRIPTION = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
PROTOCOLS = (("range", SUBSCRIPTION), ("roundrobin", SUBSCRIPTION))

GROUPS_VERSION_MIN = 8  # OffsetFetch asks for several groups since
TOPIC_IDS_VERSION_MIN = 10  # OffsetCommit and OffsetFetch name topics by their ids since
MEMBERS_VERSION_MIN = 3  # several members leave at once since


def join(
    group: str,
    member: str = "",
    *,
    instance: str | None = None,
    protocol_type: str = "consumer",
    protocols: Sequence[tuple[str, bytes]] = PROTOCOLS,
    session_ms: int = 30_000,
    rebalance_ms: int = 30_000,
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocols=[JoinGroupRequestProtocol(name=name, metadata=metadata) for name, metadata in protocols],
    )


def sync(
    group: str,
    generation: int,
    member: str,
    *assignments: tuple[str, bytes],
    instance: str | None = None,
    protocol_type: str | None = "consumer",
    protocol: str | None = "range",
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        protocol_type=protocol_type,
        protocol_name=protocol,
        assignments=[SyncGroupRequestAssignment(member_id=to, assignment=assignment) for to, assignment in assignments],
    )


def heartbeat(group: str, generation: int, member: str, *, instance: str | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group, generation_id=generation, member_id=member, group_instance_id=instance)


def leave(version: int, group: str, *members: tuple[str, str | None]) -> LeaveGroupRequest:
    """One member in old versions."""
    if version < MEMBERS_VERSION_MIN:
        ((member, _),) = members
        return LeaveGroupRequest(group_id=group, member_id=member)
    identities = [MemberIdentity(member_id=member, group_instance_id=instance) for member, instance in members]
    return LeaveGroupRequest(group_id=group, members=identities)


def commit(
    the: Known,
    version: int,
    group: str,
    topic: str,
    *offsets: tuple[int, int],
    member: str = "",
    epoch: int = -1,
    instance: str | None = None,
    metadata: str | None = "",
    leader_epoch: int = -1,
    retention_ms: int = -1,
) -> OffsetCommitRequest:
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=offset, committed_metadata=metadata, committed_leader_epoch=leader_epoch
        )
        for index, offset in offsets
    ]
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member,
        group_instance_id=instance,
        retention_time_ms=retention_ms,
        topics=[OffsetCommitRequestTopic(name=topic, topic_id=topic_id(the, version, topic), partitions=partitions)],
    )


def fetch(
    the: Known,
    version: int,
    group: str,
    topics: Sequence[tuple[str, Sequence[int]]] | None,
    *,
    member: str | None = None,
    epoch: int = -1,
    stable: bool = False,
) -> OffsetFetchRequest:
    """``topics`` None: all that have offsets."""
    if version < GROUPS_VERSION_MIN:
        asked = (
            None if topics is None else [OffsetFetchRequestTopic(name=name, partition_indexes=list(indexes)) for name, indexes in topics]
        )
        return OffsetFetchRequest(group_id=group, topics=asked, require_stable=stable)
    return OffsetFetchRequest(groups=[fetch_group(the, version, group, topics, member=member, epoch=epoch)], require_stable=stable)


def fetch_group(
    the: Known,
    version: int,
    group: str,
    topics: Sequence[tuple[str, Sequence[int]]] | None,
    *,
    member: str | None = None,
    epoch: int = -1,
) -> OffsetFetchRequestGroup:
    asked = None
    if topics is not None:
        asked = [
            OffsetFetchRequestTopics(name=name, topic_id=topic_id(the, version, name), partition_indexes=list(indexes))
            for name, indexes in topics
        ]
    return OffsetFetchRequestGroup(group_id=group, member_id=member, member_epoch=epoch, topics=asked)


def topic_id(the: Known, version: int, topic: str) -> Uuid:
    """Names that begin with ``no-`` belong to topics that do not exist."""
    if version < TOPIC_IDS_VERSION_MIN:
        return ZERO_UUID
    return Uuid(b"nobody knows it.") if topic.startswith("no-") else the.topic_id(topic)
