"""Requests about groups."""

from __future__ import annotations

from typing import Any

from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.heartbeat import HeartbeatRequest
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.wire.messages.list_groups import ListGroupsRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteRequestPartition, OffsetDeleteRequestTopic
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from barnabas.wire.messages.sync_group import SyncGroupRequest
from tests.conformance.authorization.case import ABSENT, GROUP, GROUPS, OPEN, TOPICS, TXNS, Case, Question, by_name_or_id
from tests.conformance.authorization.sides import Side

EPOCHS = "Kafka counts two changes at a first heartbeat"
COMMIT_IDS, FETCH_IDS, FETCH_GROUPS = 10, 10, 8


def find(kind: int, *keys: str) -> Question:
    def ask(side: Side, version: int) -> FindCoordinatorRequest:
        if version >= 4:
            return FindCoordinatorRequest(key_type=kind, coordinator_keys=list(keys))
        request = FindCoordinatorRequest(key=keys[0])
        if version:
            request.key_type = kind
        return request

    return ask


def join(side: Side, version: int) -> JoinGroupRequest:
    """The session timeout is refused, so that an allowed request leaves no member behind."""
    return JoinGroupRequest(
        group_id=GROUP,
        session_timeout_ms=1,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


def leave(side: Side, version: int) -> LeaveGroupRequest:
    if version < 3:
        return LeaveGroupRequest(group_id=GROUP, member_id="nobody")
    return LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="nobody")])


def commit(side: Side, version: int) -> OffsetCommitRequest:
    topics = [
        OffsetCommitRequestTopic(
            **by_name_or_id(side, version, COMMIT_IDS, each),
            partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata="")],
        )
        for each in TOPICS
    ]
    return OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=topics)


def fetch_offsets(*, everything: bool = False) -> Question:
    def ask(side: Side, version: int) -> OffsetFetchRequest:
        if version < FETCH_GROUPS:
            topics = [OffsetFetchRequestTopic(name=each, partition_indexes=[0]) for each in TOPICS]
            return OffsetFetchRequest(group_id=GROUP, topics=None if everything else topics)

        def named() -> list[OffsetFetchRequestTopics]:
            return [OffsetFetchRequestTopics(**by_name_or_id(side, version, FETCH_IDS, each), partition_indexes=[0]) for each in TOPICS]

        groups = [OffsetFetchRequestGroup(group_id=each, topics=None if everything else named()) for each in GROUPS]
        return OffsetFetchRequest(groups=groups)

    return ask


def delete_offsets(side: Side, version: int) -> OffsetDeleteRequest:
    partition = OffsetDeleteRequestPartition(partition_index=1)
    return OffsetDeleteRequest(group_id=GROUP, topics=[OffsetDeleteRequestTopic(name=each, partitions=[partition]) for each in TOPICS])


def describe(side: Side, version: int) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=list(GROUPS), **({"include_authorized_operations": True} if version >= 3 else {}))


def heartbeat_of_consumer(**fields: Any) -> Question:
    def ask(side: Side, version: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=side.fresh(), member_id="member", member_epoch=0, rebalance_timeout_ms=10_000, topic_partitions=[], **fields
        )

    return ask


CASES = [
    Case("FindCoordinator of groups", FindCoordinatorRequest, find(0, *GROUPS), ("DESCRIBE group",)),
    Case("FindCoordinator of transactions", FindCoordinatorRequest, find(1, *TXNS), ("DESCRIBE txn",), versions=(1, 6)),
    Case(
        "FindCoordinator of share state",
        FindCoordinatorRequest,
        find(2, "group:AAAAAAAAAAAAAAAAAAAAAQ:0"),
        (),
        (("DESCRIBE group *",),),
        versions=(6,),
    ),
    Case("JoinGroup", JoinGroupRequest, join, ("READ group",), (("DESCRIBE group group",),)),
    Case(
        "SyncGroup",
        SyncGroupRequest,
        lambda side, version: SyncGroupRequest(group_id=GROUP, generation_id=1, member_id="nobody", assignments=[]),
        ("READ group",),
    ),
    Case(
        "Heartbeat",
        HeartbeatRequest,
        lambda side, version: HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="nobody"),
        ("READ group",),
    ),
    Case("LeaveGroup", LeaveGroupRequest, leave, ("READ group",)),
    Case("OffsetCommit", OffsetCommitRequest, commit, ("READ group", "READ topic"), versions=(2, 9, 10)),
    Case("OffsetFetch", OffsetFetchRequest, fetch_offsets(), ("DESCRIBE group", "DESCRIBE topic"), versions=(1, 5, 7, 8, 9, 10)),
    Case(
        "OffsetFetch of all",
        OffsetFetchRequest,
        fetch_offsets(everything=True),
        ("DESCRIBE group", "DESCRIBE topic"),
        (("READ group group", "READ topic *"),),
        versions=(2, 7, 8, 9, 10),
    ),
    Case(
        "OffsetDelete",
        OffsetDeleteRequest,
        delete_offsets,
        ("DELETE group", "READ topic"),
        (("DELETE group group", "DESCRIBE topic open"), ("DELETE group group", "READ topic *")),
    ),
    Case(
        "DescribeGroups",
        DescribeGroupsRequest,
        describe,
        ("DESCRIBE group",),
        (("READ group group",), ("ALL group *", "DENY DELETE group *")),
        versions=(0, 5, 6),
    ),
    Case("ListGroups", ListGroupsRequest, lambda side, version: ListGroupsRequest(), ("DESCRIBE group",), (("DESCRIBE cluster",),)),
    Case(
        "DeleteGroups",
        DeleteGroupsRequest,
        lambda side, version: DeleteGroupsRequest(groups_names=list(GROUPS[1:])),
        ("DELETE group",),
        (("READ group *",),),
    ),
    Case(
        "ConsumerGroupHeartbeat",
        ConsumerGroupHeartbeatRequest,
        heartbeat_of_consumer(subscribed_topic_names=[OPEN, ABSENT]),
        ("READ group fresh*", "DESCRIBE topic"),
        (("READ group fresh*", "DESCRIBE topic open"), ("READ group fresh*", "READ topic *")),
        differ={"member_epoch": EPOCHS},
    ),
    Case(
        "ConsumerGroupHeartbeat with an expression",
        ConsumerGroupHeartbeatRequest,
        heartbeat_of_consumer(subscribed_topic_regex="(open|hidden|absent)"),
        ("READ group fresh*", "DESCRIBE topic"),
        versions=(1,),
        differ=dict.fromkeys(("member_epoch", "assignment.topic_partitions"), "Kafka looks for the topics in the background"),
    ),
    Case(
        "ConsumerGroupDescribe",
        ConsumerGroupDescribeRequest,
        lambda side, version: ConsumerGroupDescribeRequest(
            group_ids=["consumers", GROUP, "absent-group"], include_authorized_operations=True
        ),
        (),
        (
            ("DESCRIBE group *",),
            ("DESCRIBE group consumers", "DESCRIBE topic open"),
            ("READ group *", "READ topic open", "READ topic hidden"),
            ("DESCRIBE group *", "DESCRIBE topic *", "DENY DESCRIBE topic hidden"),
        ),
        differ={f"groups[].{each}": EPOCHS for each in ("group_epoch", "assignment_epoch", "members[].member_epoch")},
    ),
]
