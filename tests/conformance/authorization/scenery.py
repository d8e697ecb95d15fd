"""What exists before the first case: topics, groups and transactions, equal on both sides."""

from __future__ import annotations

from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import Operation, PatternType, Permission, ResourceType
from barnabas.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialUpsertion
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from barnabas.wire.messages.create_acls import CreateAclsRequest
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest
from barnabas.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.init_producer_id import InitProducerIdRequest
from barnabas.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from barnabas.wire.messages.read_share_group_state_summary import (
    PartitionData,
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryData,
)
from tests.conformance.authorization.case import GROUP, HIDDEN, HIDDEN_GROUP, HIDDEN_TXN, OPEN, OWNER, TXN
from tests.conformance.authorization.rules import Users
from tests.conformance.authorization.share_group_cases import prepare_share_groups
from tests.conformance.authorization.sides import Side
from tests.conformance.authorization.streams_cases import prepare_streams

ONGOING, CONSUMERS, SCRAM_USER = "ongoing", "consumers", "scram"


def prepare(side: Side, users: Users) -> None:
    create_rules(side, users)
    for topic in (OPEN, HIDDEN):
        side.create(topic, 2)
        side.topic_id(topic)  # so that answers can show its name
    for kind in (0, 1):
        asked = FindCoordinatorRequest(key_type=kind, coordinator_keys=["anybody"])
        side.until(asked, 6, lambda answer: answer.coordinators[0].error_code == ErrorCode.NONE)
    create_share_coordinator(side)
    prepare_share_groups(side)
    for group in (GROUP, HIDDEN_GROUP):
        commit(side, group)
    consume(side)
    prepare_streams(side)
    set_password(side)
    create_token(side)
    for transactional_id in (TXN, HIDDEN_TXN, ONGOING):
        starting = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=600_000)
        side.until(starting, 5, lambda answer: answer.error_code == ErrorCode.NONE)
    begin(side)


def create_rules(side: Side, users: Users) -> None:
    """Kafka's broker learns of a rule after the response that confirms it."""
    creations = users.creations()
    results = side.admin.ask(CreateAclsRequest(creations=creations), 3).results
    assert not any(each.error_code for each in results), results
    everything = DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )
    side.until(everything, 3, lambda answer: sum(len(each.acls) for each in answer.resources) == len(creations))


def create_share_coordinator(side: Side) -> None:
    """The shards are loaded a moment after the internal topic is created."""
    topic_id = side.topic_id(OPEN)
    asked = FindCoordinatorRequest(key_type=2, coordinator_keys=[SharePartitionKey(GROUP, topic_id, 0).coordinator_key])
    side.until(asked, 6, lambda answer: answer.coordinators[0].error_code == ErrorCode.NONE)
    partitions = [PartitionData(partition=index, leader_epoch=0) for index in (1, 7)]
    summary = ReadShareGroupStateSummaryRequest(group_id=GROUP, topics=[ReadStateSummaryData(topic_id=topic_id, partitions=partitions)])
    decided = {ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    side.until(summary, 1, lambda answer: {each.error_code for each in answer.results[0].partitions} == decided)


def commit(side: Side, group: str) -> None:
    topics = [
        OffsetCommitRequestTopic(
            name=name, partitions=[OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")]
        )
        for name in (OPEN, HIDDEN)
    ]
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    side.until(request, 9, lambda answer: not any(each.error_code for topic in answer.topics for each in topic.partitions))


def set_password(side: Side) -> None:
    credential = ScramCredentialUpsertion(name=SCRAM_USER, mechanism=1, iterations=4096, salt=b"salt", salted_password=bytes(32))
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[credential])
    assert not any(each.error_code for each in side.admin.ask(request, 0).results)
    described = DescribeUserScramCredentialsRequest(users=[UserName(name=SCRAM_USER)])
    side.until(described, 0, lambda answer: not any(each.error_code for each in answer.results))


def create_token(side: Side) -> None:
    request = CreateDelegationTokenRequest(owner_principal_type="User", owner_principal_name=OWNER, renewers=[], max_lifetime_ms=-1)
    side.until(request, 3, lambda answer: answer.error_code == ErrorCode.NONE)
    described = DescribeDelegationTokenRequest(owners=None)
    side.until(described, 3, lambda answer: len(answer.tokens) == 1)


def consume(side: Side) -> None:
    """A group with one member, which has partitions of both topics."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=CONSUMERS,
        member_id="member",
        member_epoch=0,
        rebalance_timeout_ms=10_000,
        subscribed_topic_names=[OPEN, HIDDEN],
        topic_partitions=[],
    )
    side.until(request, 1, lambda answer: answer.error_code == ErrorCode.NONE)


def begin(side: Side) -> None:
    """A transaction that has both topics and does not end."""
    asked = InitProducerIdRequest(transactional_id=ONGOING, transaction_timeout_ms=600_000)
    producer = side.admin.ask(asked, 5)
    topics = [AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in (OPEN, HIDDEN)]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=ONGOING,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=topics,
    )
    side.until(
        request,
        3,
        lambda answer: (
            not any(each.partition_error_code for topic in answer.results_by_topic_v3_and_below for each in topic.results_by_partition)
        ),
    )
