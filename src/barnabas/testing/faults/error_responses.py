"""The response that refuses a request with an error code, for every API that a broker serves.

Each API carries its error in its own place: JoinGroup at the top, Produce in every partition of the
request, FindCoordinator at the top before version 4 and in every key since. A client looks in that
place only, so the code must be there, and every topic, partition or group of the request must be
answered. :func:`error_response` builds such a response from the request, in the request's version.
The broker does not handle the request.

Metadata is the exception: a client cannot use a response without brokers, so the broker handles the
request and :func:`refuse_metadata` changes the topics of its response.

The APIs that nodes send to each other are absent: a fault is for clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from barnabas.controller.error_responses import error_response as controllers_error_response
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.messages import (
    add_partitions_to_txn,
    alter_configs,
    alter_partition_reassignments,
    alter_replica_log_dirs,
    alter_user_scram_credentials,
    consumer_group_describe,
    create_partitions,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_share_group_offsets,
    describe_topic_partitions,
    describe_transactions,
    elect_leaders,
    fetch,
    find_coordinator,
    incremental_alter_configs,
    leave_group,
    list_offsets,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    share_group_describe,
    streams_group_describe,
    txn_offset_commit,
)

Build = Callable[[Any, int, int], Any]
_NO_OFFSET = -1
# Errors of a fetch as a whole. All others belong to a partition.
_OF_A_FETCH_SESSION = frozenset(
    {ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR}
)


def error_response(key: ApiKey, version: int, request: Any, code: int) -> Any:
    """``version`` is that of the request."""
    return _BUILDERS[key](request, code, version)


def refusable_apis() -> list[ApiKey]:
    return sorted([*_BUILDERS, ApiKey.METADATA])


def has_place_for_error(key: ApiKey, request: Any) -> bool:
    """False for a Metadata request that only asks for the brokers: its response has no topic."""
    return key is not ApiKey.METADATA or request.topics is None or bool(request.topics)


def refuse_metadata(response: Any, code: int) -> Any:
    """Puts the error into every topic. Only REBOOTSTRAP_REQUIRED belongs to the whole response."""
    if code == ErrorCode.REBOOTSTRAP_REQUIRED:
        response.error_code = code
    for topic in response.topics:
        topic.error_code = code
        topic.partitions = []
    return response


def is_incremental_fetch(key: ApiKey, request: Any, code: int) -> bool:
    """Whether the partitions that ``code`` is for are known from earlier requests only.

    An incremental fetch names just the partitions that changed. Its client has to send all of them
    before each can be answered with an error.
    """
    return key is ApiKey.FETCH and request.session_epoch > 0 and code not in _OF_A_FETCH_SESSION


def forget_fetch_session() -> Any:
    """Makes a client send its partitions again, in a fetch that is not incremental."""
    return fetch.FetchResponse(throttle_time_ms=0, error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, responses=[])


# -- errors at the top of the response


def _at_the_top(key: ApiKey, **fields: Any) -> Build:
    """For responses with one error. The other fields have Kafka's defaults, or ``fields``."""

    def build(request: Any, code: int, version: int) -> Any:
        return messages(key)[1](error_code=code, **fields)

    return build


def _join_group(request: Any, code: int, version: int) -> Any:
    # A client that is asked to come back with a member id needs one to come back with.
    member_id = request.member_id or ("member-of-a-fault" if code == ErrorCode.MEMBER_ID_REQUIRED else "")
    return messages(ApiKey.JOIN_GROUP)[1](error_code=code, member_id=member_id)


def _describe_log_dirs(request: Any, code: int, version: int) -> Any:
    """Before version 3 only directories have errors, so one without a name carries it."""
    nameless = describe_log_dirs.DescribeLogDirsResult(error_code=code, log_dir="", topics=[])
    return describe_log_dirs.DescribeLogDirsResponse(throttle_time_ms=0, error_code=code, results=[nameless] if version < 3 else [])


def _leave_group(request: Any, code: int, version: int) -> Any:
    members = [
        leave_group.MemberResponse(member_id=each.member_id, group_instance_id=each.group_instance_id, error_code=code)
        for each in request.members
    ]
    return leave_group.LeaveGroupResponse(error_code=code, members=members)


# -- errors in every partition


def _produce(request: Any, code: int, version: int) -> Any:
    topics = [
        produce.TopicProduceResponse(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[
                produce.PartitionProduceResponse(index=each.index, error_code=code, base_offset=_NO_OFFSET) for each in topic.partition_data
            ],
        )
        for topic in request.topic_data
    ]
    return produce.ProduceResponse(responses=topics)


def _fetch(request: Any, code: int, version: int) -> Any:
    if code in _OF_A_FETCH_SESSION and version >= 7:
        return fetch.FetchResponse(throttle_time_ms=0, error_code=code, responses=[])
    topics = [
        fetch.FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[
                fetch.PartitionData(
                    partition_index=each.partition, error_code=code, high_watermark=_NO_OFFSET, aborted_transactions=None, records=b""
                )
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return fetch.FetchResponse(throttle_time_ms=0, responses=topics)


def _list_offsets(request: Any, code: int, version: int) -> Any:
    return list_offsets.ListOffsetsResponse(
        topics=[
            list_offsets.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    list_offsets.ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_for_leader_epoch(request: Any, code: int, version: int) -> Any:
    return offset_for_leader_epoch.OffsetForLeaderEpochResponse(
        throttle_time_ms=0,
        topics=[
            offset_for_leader_epoch.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[offset_for_leader_epoch.EpochEndOffset(error_code=code, partition=each.partition) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _offset_commit(request: Any, code: int, version: int) -> Any:
    return offset_commit.OffsetCommitResponse(
        topics=[
            offset_commit.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    offset_commit.OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _txn_offset_commit(request: Any, code: int, version: int) -> Any:
    return txn_offset_commit.TxnOffsetCommitResponse(
        throttle_time_ms=0,
        topics=[
            txn_offset_commit.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    txn_offset_commit.TxnOffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _offset_fetch(request: Any, code: int, version: int) -> Any:
    """One error for a group since version 8, one for the request from version 2; before that only
    partitions have one."""
    if version >= 8:
        return offset_fetch.OffsetFetchResponse(
            groups=[offset_fetch.OffsetFetchResponseGroup(group_id=each.group_id, error_code=code) for each in request.groups]
        )
    topics = [
        offset_fetch.OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                offset_fetch.OffsetFetchResponsePartition(
                    partition_index=each, committed_offset=_NO_OFFSET, error_code=code if version < 2 else ErrorCode.NONE
                )
                for each in topic.partition_indexes
            ],
        )
        for topic in request.topics or []
    ]
    return offset_fetch.OffsetFetchResponse(topics=topics, error_code=code)


def _offset_delete(request: Any, code: int, version: int) -> Any:
    return offset_delete.OffsetDeleteResponse(error_code=code, throttle_time_ms=0, topics=[])


def _delete_records(request: Any, code: int, version: int) -> Any:
    return delete_records.DeleteRecordsResponse(
        throttle_time_ms=0,
        topics=[
            delete_records.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    delete_records.DeleteRecordsPartitionResult(
                        partition_index=each.partition_index, low_watermark=_NO_OFFSET, error_code=code
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def _add_partitions_to_txn(request: Any, code: int, version: int) -> Any:
    def results(topics: Iterable[Any]) -> list[add_partitions_to_txn.AddPartitionsToTxnTopicResult]:
        return [
            add_partitions_to_txn.AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    add_partitions_to_txn.AddPartitionsToTxnPartitionResult(partition_index=each, partition_error_code=code)
                    for each in topic.partitions
                ],
            )
            for topic in topics
        ]

    if version < 4:
        return add_partitions_to_txn.AddPartitionsToTxnResponse(
            throttle_time_ms=0, results_by_topic_v3_and_below=results(request.v3_and_below_topics)
        )
    return add_partitions_to_txn.AddPartitionsToTxnResponse(
        throttle_time_ms=0,
        results_by_transaction=[
            add_partitions_to_txn.AddPartitionsToTxnResult(transactional_id=each.transactional_id, topic_results=results(each.topics))
            for each in request.transactions
        ],
    )


def _describe_producers(request: Any, code: int, version: int) -> Any:
    return describe_producers.DescribeProducersResponse(
        throttle_time_ms=0,
        topics=[
            describe_producers.TopicResponse(
                name=topic.name,
                partitions=[
                    describe_producers.PartitionResponse(partition_index=each, error_code=code, active_producers=[])
                    for each in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ],
    )


def _alter_replica_log_dirs(request: Any, code: int, version: int) -> Any:
    return alter_replica_log_dirs.AlterReplicaLogDirsResponse(
        throttle_time_ms=0,
        results=[
            alter_replica_log_dirs.AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    alter_replica_log_dirs.AlterReplicaLogDirPartitionResult(partition_index=each, error_code=code)
                    for each in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ],
    )


def _elect_leaders(request: Any, code: int, version: int) -> Any:
    if version >= 1:
        return elect_leaders.ElectLeadersResponse(throttle_time_ms=0, error_code=code, replica_election_results=[])
    return elect_leaders.ElectLeadersResponse(
        throttle_time_ms=0,
        replica_election_results=[
            elect_leaders.ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    elect_leaders.PartitionResult(partition_id=each, error_code=code, error_message=None) for each in topic.partitions
                ],
            )
            for topic in request.topic_partitions or []
        ],
    )


# -- errors in every topic, group or resource


def _describe_topic_partitions(request: Any, code: int, version: int) -> Any:
    topics = [
        describe_topic_partitions.DescribeTopicPartitionsResponseTopic(error_code=code, name=each.name, topic_id=ZERO_UUID, partitions=[])
        for each in request.topics
    ]
    return describe_topic_partitions.DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=topics)


def _find_coordinator(request: Any, code: int, version: int) -> Any:
    if version < 4:
        return find_coordinator.FindCoordinatorResponse(error_code=code, node_id=-1, port=-1)
    return find_coordinator.FindCoordinatorResponse(
        coordinators=[
            find_coordinator.Coordinator(key=each, node_id=-1, port=-1, error_code=code, error_message=None)
            for each in request.coordinator_keys
        ]
    )


def _create_topics(request: Any, code: int, version: int) -> Any:
    topics = [create_topics.CreatableTopicResult(name=each.name, error_code=code, error_message=None) for each in request.topics]
    return create_topics.CreateTopicsResponse(throttle_time_ms=0, topics=topics)


def _delete_topics(request: Any, code: int, version: int) -> Any:
    named = [(each.name, each.topic_id) for each in request.topics] + [(each, ZERO_UUID) for each in request.topic_names]
    topics = [delete_topics.DeletableTopicResult(name=name, topic_id=topic_id, error_code=code) for name, topic_id in named]
    return delete_topics.DeleteTopicsResponse(throttle_time_ms=0, responses=topics)


def _create_partitions(request: Any, code: int, version: int) -> Any:
    topics = [create_partitions.CreatePartitionsTopicResult(name=each.name, error_code=code) for each in request.topics]
    return create_partitions.CreatePartitionsResponse(throttle_time_ms=0, results=topics)


def _describe_configs(request: Any, code: int, version: int) -> Any:
    results = [
        describe_configs.DescribeConfigsResult(
            error_code=code, error_message=None, resource_type=each.resource_type, resource_name=each.resource_name, configs=[]
        )
        for each in request.resources
    ]
    return describe_configs.DescribeConfigsResponse(throttle_time_ms=0, results=results)


def _alter_configs(request: Any, code: int, version: int) -> Any:
    results = [
        alter_configs.AlterConfigsResourceResponse(
            error_code=code, error_message=None, resource_type=each.resource_type, resource_name=each.resource_name
        )
        for each in request.resources
    ]
    return alter_configs.AlterConfigsResponse(throttle_time_ms=0, responses=results)


def _incremental_alter_configs(request: Any, code: int, version: int) -> Any:
    results = [
        incremental_alter_configs.AlterConfigsResourceResponse(
            error_code=code, error_message=None, resource_type=each.resource_type, resource_name=each.resource_name
        )
        for each in request.resources
    ]
    return incremental_alter_configs.IncrementalAlterConfigsResponse(throttle_time_ms=0, responses=results)


def _alter_user_scram_credentials(request: Any, code: int, version: int) -> Any:
    users = dict.fromkeys(each.name for each in (*request.deletions, *request.upsertions))
    results = [
        alter_user_scram_credentials.AlterUserScramCredentialsResult(user=user, error_code=code, error_message=None) for user in users
    ]
    return alter_user_scram_credentials.AlterUserScramCredentialsResponse(throttle_time_ms=0, results=results)


def _describe_groups(request: Any, code: int, version: int) -> Any:
    groups = [
        describe_groups.DescribedGroup(error_code=code, group_id=each, group_state="", protocol_type="", protocol_data="", members=[])
        for each in request.groups
    ]
    return describe_groups.DescribeGroupsResponse(groups=groups)


def _consumer_group_describe(request: Any, code: int, version: int) -> Any:
    groups = [
        consumer_group_describe.DescribedGroup(
            error_code=code, group_id=each, group_state="", group_epoch=0, assignment_epoch=0, assignor_name="", members=[]
        )
        for each in request.group_ids
    ]
    return consumer_group_describe.ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=groups)


def _share_group_describe(request: Any, code: int, version: int) -> Any:
    groups = [
        share_group_describe.DescribedGroup(
            error_code=code, group_id=each, group_state="", group_epoch=0, assignment_epoch=0, assignor_name="", members=[]
        )
        for each in request.group_ids
    ]
    return share_group_describe.ShareGroupDescribeResponse(throttle_time_ms=0, groups=groups)


def _streams_group_describe(request: Any, code: int, version: int) -> Any:
    groups = [
        streams_group_describe.DescribedGroup(error_code=code, group_id=each, group_state="", group_epoch=0, assignment_epoch=0, members=[])
        for each in request.group_ids
    ]
    return streams_group_describe.StreamsGroupDescribeResponse(throttle_time_ms=0, groups=groups)


def _describe_share_group_offsets(request: Any, code: int, version: int) -> Any:
    groups = [
        describe_share_group_offsets.DescribeShareGroupOffsetsResponseGroup(group_id=each.group_id, topics=[], error_code=code)
        for each in request.groups
    ]
    return describe_share_group_offsets.DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=groups)


def _delete_groups(request: Any, code: int, version: int) -> Any:
    groups = [delete_groups.DeletableGroupResult(group_id=each, error_code=code) for each in request.groups_names]
    return delete_groups.DeleteGroupsResponse(throttle_time_ms=0, results=groups)


def _describe_transactions(request: Any, code: int, version: int) -> Any:
    states = [
        describe_transactions.TransactionState(
            error_code=code,
            transactional_id=each,
            transaction_state="",
            transaction_timeout_ms=0,
            transaction_start_time_ms=-1,
            producer_id=-1,
            producer_epoch=-1,
            topics=[],
        )
        for each in request.transactional_ids
    ]
    return describe_transactions.DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=states)


def _alter_partition_reassignments(request: Any, code: int, version: int) -> Any:
    return alter_partition_reassignments.AlterPartitionReassignmentsResponse(
        throttle_time_ms=0, error_code=code, error_message=None, responses=[]
    )


def _as_the_controller(request: Any, code: int, version: int) -> Any:
    return controllers_error_response(request, ErrorCode(code), version=version)


_BUILDERS: Mapping[ApiKey, Build] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.HEARTBEAT: _at_the_top(ApiKey.HEARTBEAT),
    ApiKey.LEAVE_GROUP: _leave_group,
    ApiKey.SYNC_GROUP: _at_the_top(ApiKey.SYNC_GROUP),
    ApiKey.DESCRIBE_GROUPS: _describe_groups,
    ApiKey.LIST_GROUPS: _at_the_top(ApiKey.LIST_GROUPS),
    ApiKey.SASL_HANDSHAKE: _at_the_top(ApiKey.SASL_HANDSHAKE),
    ApiKey.API_VERSIONS: _at_the_top(ApiKey.API_VERSIONS),
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.DELETE_TOPICS: _delete_topics,
    ApiKey.DELETE_RECORDS: _delete_records,
    ApiKey.INIT_PRODUCER_ID: _at_the_top(ApiKey.INIT_PRODUCER_ID, producer_epoch=-1),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: _at_the_top(ApiKey.ADD_OFFSETS_TO_TXN),
    ApiKey.END_TXN: _at_the_top(ApiKey.END_TXN),
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.ALTER_CONFIGS: _alter_configs,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: _describe_log_dirs,
    ApiKey.SASL_AUTHENTICATE: _at_the_top(ApiKey.SASL_AUTHENTICATE, error_message=None),
    ApiKey.CREATE_PARTITIONS: _create_partitions,
    ApiKey.DELETE_GROUPS: _delete_groups,
    ApiKey.ELECT_LEADERS: _elect_leaders,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _incremental_alter_configs,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: _alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: _at_the_top(ApiKey.LIST_PARTITION_REASSIGNMENTS, error_message=None),
    ApiKey.OFFSET_DELETE: _offset_delete,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _at_the_top(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, error_message=None),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_user_scram_credentials,
    ApiKey.DESCRIBE_QUORUM: _at_the_top(ApiKey.DESCRIBE_QUORUM),
    ApiKey.UPDATE_FEATURES: _at_the_top(ApiKey.UPDATE_FEATURES, error_message=None),
    ApiKey.DESCRIBE_CLUSTER: _at_the_top(ApiKey.DESCRIBE_CLUSTER),
    ApiKey.DESCRIBE_PRODUCERS: _describe_producers,
    ApiKey.UNREGISTER_BROKER: _at_the_top(ApiKey.UNREGISTER_BROKER, error_message=None),
    ApiKey.DESCRIBE_TRANSACTIONS: _describe_transactions,
    ApiKey.LIST_TRANSACTIONS: _at_the_top(ApiKey.LIST_TRANSACTIONS),
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: _at_the_top(ApiKey.GET_TELEMETRY_SUBSCRIPTIONS),
    ApiKey.PUSH_TELEMETRY: _at_the_top(ApiKey.PUSH_TELEMETRY),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: _at_the_top(ApiKey.CONSUMER_GROUP_HEARTBEAT),
    ApiKey.CONSUMER_GROUP_DESCRIBE: _consumer_group_describe,
    ApiKey.SHARE_GROUP_HEARTBEAT: _at_the_top(ApiKey.SHARE_GROUP_HEARTBEAT, member_epoch=0, heartbeat_interval_ms=0),
    ApiKey.SHARE_GROUP_DESCRIBE: _share_group_describe,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: _describe_share_group_offsets,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: _at_the_top(ApiKey.ALTER_SHARE_GROUP_OFFSETS, responses=[]),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: _at_the_top(ApiKey.DELETE_SHARE_GROUP_OFFSETS, responses=[]),
    ApiKey.STREAMS_GROUP_HEARTBEAT: _at_the_top(ApiKey.STREAMS_GROUP_HEARTBEAT, member_id="", member_epoch=0, status=[]),
    ApiKey.STREAMS_GROUP_DESCRIBE: _streams_group_describe,
    ApiKey.SHARE_FETCH: _at_the_top(ApiKey.SHARE_FETCH, responses=[], node_endpoints=[]),
    ApiKey.SHARE_ACKNOWLEDGE: _at_the_top(ApiKey.SHARE_ACKNOWLEDGE, responses=[], node_endpoints=[]),
    ApiKey.LIST_CONFIG_RESOURCES: _at_the_top(ApiKey.LIST_CONFIG_RESOURCES),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: _describe_topic_partitions,
    ApiKey.DESCRIBE_ACLS: _as_the_controller,
    ApiKey.CREATE_ACLS: _as_the_controller,
    ApiKey.DELETE_ACLS: _as_the_controller,
    ApiKey.CREATE_DELEGATION_TOKEN: _as_the_controller,
    ApiKey.RENEW_DELEGATION_TOKEN: _as_the_controller,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _as_the_controller,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: _as_the_controller,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _as_the_controller,
    ApiKey.ALTER_CLIENT_QUOTAS: _as_the_controller,
}
