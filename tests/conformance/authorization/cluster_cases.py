"""Requests about settings, rules, passwords and the cluster itself."""

from __future__ import annotations

from typing import Any

from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages import alter_configs, incremental_alter_configs
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.alter_replica_log_dirs import AlterReplicaLogDir, AlterReplicaLogDirsRequest, AlterReplicaLogDirTopic
from barnabas.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsRequest, ScramCredentialDeletion
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from barnabas.wire.messages.describe_acls import DescribeAclsRequest
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.wire.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest, ListPartitionReassignmentsTopics
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest
from barnabas.wire.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.acl_creation import acl_creation
from tests.conformance.authorization.case import GROUPS, OPEN, TOPICS, Case, Question
from tests.conformance.authorization.sides import Side

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP_CONFIG = 2, 4, 8, 16, 32
RESOURCES = [
    *((TOPIC, each) for each in TOPICS),
    *((GROUP_CONFIG, each) for each in GROUPS),
    (BROKER, "1"),
    (BROKER, ""),
    (BROKER_LOGGER, "1"),
    (CLIENT_METRICS, "metrics"),
]
# Kafka has a logger for each of its classes, and we for ours; settings are compared elsewhere.
SETTINGS = {"results[].configs": "compared elsewhere"}
SIZES = {"results[].topics[].partitions[].partition_size": "grows", "results[].total_bytes": "the disk is in use"}
NOBODY = "nobody"
DIRECTORY = Uuid(b"directory-of-one")


def setting_of(kind: int) -> tuple[str, str]:
    return {
        TOPIC: ("retention.ms", "1000"),
        GROUP_CONFIG: ("consumer.session.timeout.ms", "46000"),
        BROKER: ("log.cleaner.threads", "1"),
        BROKER_LOGGER: ("root", "WARN"),
        CLIENT_METRICS: ("interval.ms", "1000"),
    }[kind]


def describe_configs(side: Side, version: int) -> DescribeConfigsRequest:
    resources = [DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None) for kind, name in RESOURCES]
    return DescribeConfigsRequest(resources=resources)


def altered_configs(side: Side, version: int) -> alter_configs.AlterConfigsRequest:
    resources = []
    for kind, name in RESOURCES:
        if kind in (TOPIC, BROKER):
            key, value = setting_of(kind)
            configs = [alter_configs.AlterableConfig(name=key, value=value)]
            resources.append(alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs))
    return alter_configs.AlterConfigsRequest(resources=resources, validate_only=True)


def incrementally_altered(side: Side, version: int) -> incremental_alter_configs.IncrementalAlterConfigsRequest:
    resources = []
    for kind, name in RESOURCES:
        if kind == BROKER_LOGGER:
            continue
        key, value = setting_of(kind)
        configs = [incremental_alter_configs.AlterableConfig(name=key, config_operation=0, value=value)]
        resources.append(incremental_alter_configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs))
    return incremental_alter_configs.IncrementalAlterConfigsRequest(resources=resources, validate_only=True)


def no_filter() -> dict[str, Any]:
    """Accepts the rules of a user that does not exist."""
    return {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": 1,
        "principal_filter": f"User:{NOBODY}",
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }


def create_acls(side: Side, version: int) -> CreateAclsRequest:
    """Rules that are invalid each in its own way; a valid one would change later cases."""

    def rule(**fields: Any) -> AclCreation:
        return acl_creation(**{"principal": f"User:{NOBODY}"} | fields)

    return CreateAclsRequest(
        creations=[
            rule(resource_name=""),
            rule(resource_type=4, resource_name="other"),
            rule(principal="no colon"),
            rule(principal=":name"),
            rule(principal=""),
            rule(host=""),
        ]
    )


def delete_acls(side: Side, version: int) -> DeleteAclsRequest:
    return DeleteAclsRequest(filters=[DeleteAclsFilter(**no_filter())])


def reassign(side: Side, version: int) -> AlterPartitionReassignmentsRequest:
    partition = ReassignablePartition(partition_index=9, replicas=[1])
    return AlterPartitionReassignmentsRequest(
        timeout_ms=10_000, topics=[ReassignableTopic(name=each, partitions=[partition]) for each in TOPICS]
    )


def move(side: Side, version: int) -> AlterReplicaLogDirsRequest:
    topics = [AlterReplicaLogDirTopic(name=each, partitions=[0]) for each in TOPICS]
    return AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path="/nowhere", topics=topics)])


def elect(side: Side, version: int) -> ElectLeadersRequest:
    return ElectLeadersRequest(topic_partitions=[TopicPartitions(topic=each, partitions=[0]) for each in TOPICS], timeout_ms=10_000)


def quorum(side: Side, version: int) -> DescribeQuorumRequest:
    return DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])])


def reassignments(side: Side, version: int) -> ListPartitionReassignmentsRequest:
    topics = [ListPartitionReassignmentsTopics(name=OPEN, partition_indexes=[0])]
    return ListPartitionReassignmentsRequest(timeout_ms=10_000, topics=topics)


def log_dirs(side: Side, version: int) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic=each, partitions=[0]) for each in TOPICS])


def describe_cluster(kind: int) -> Question:
    """``kind`` 1 is for brokers and 2 for controllers."""
    return lambda side, version: DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=kind)


ALTER, DESCRIBE = ("ALTER cluster",), ("DESCRIBE cluster",)
OTHER_WAYS = (("ALL cluster",), ("CLUSTER_ACTION cluster",))

CASES = [
    Case(
        "ApiVersions",
        ApiVersionsRequest,
        lambda side, version: ApiVersionsRequest(
            **({"client_software_name": "test", "client_software_version": "1"} if version >= 3 else {})
        ),
    ),
    Case(
        "GetTelemetrySubscriptions",
        GetTelemetrySubscriptionsRequest,
        lambda side, version: GetTelemetrySubscriptionsRequest(client_instance_id=ZERO_UUID),
        differ={"subscription_id": "made from the random id of the client"},
    ),
    Case(
        "PushTelemetry",
        PushTelemetryRequest,
        lambda side, version: PushTelemetryRequest(
            client_instance_id=Uuid(b"one of a client."), subscription_id=0, terminating=False, compression_type=0, metrics=b""
        ),
    ),
    Case(
        "DescribeConfigs",
        DescribeConfigsRequest,
        describe_configs,
        ("DESCRIBE_CONFIGS topic", "DESCRIBE_CONFIGS group", "DESCRIBE_CONFIGS cluster"),
        (("ALTER_CONFIGS topic *", "ALTER_CONFIGS cluster"), ("DESCRIBE topic *", "DESCRIBE group *", "DESCRIBE cluster")),
        differ=SETTINGS,
    ),
    Case(
        "AlterConfigs",
        alter_configs.AlterConfigsRequest,
        altered_configs,
        ("ALTER_CONFIGS topic", "ALTER_CONFIGS cluster"),
        (("ALTER topic *", "ALTER cluster"),),
    ),
    Case(
        "IncrementalAlterConfigs",
        incremental_alter_configs.IncrementalAlterConfigsRequest,
        incrementally_altered,
        ("ALTER_CONFIGS topic", "ALTER_CONFIGS group", "ALTER_CONFIGS cluster"),
        (("DESCRIBE_CONFIGS topic *", "DESCRIBE_CONFIGS cluster"),),
    ),
    Case(
        "ListConfigResources",
        ListConfigResourcesRequest,
        lambda side, version: ListConfigResourcesRequest(**({"resource_types": []} if version else {})),
        ("DESCRIBE_CONFIGS cluster",),
    ),
    Case("DescribeAcls", DescribeAclsRequest, lambda side, version: DescribeAclsRequest(**no_filter()), DESCRIBE, (*OTHER_WAYS, ALTER)),
    Case("CreateAcls", CreateAclsRequest, create_acls, ALTER, (*OTHER_WAYS, DESCRIBE)),
    Case("DeleteAcls", DeleteAclsRequest, delete_acls, ALTER, (*OTHER_WAYS, DESCRIBE)),
    Case(
        "DescribeUserScramCredentials",
        DescribeUserScramCredentialsRequest,
        lambda side, version: DescribeUserScramCredentialsRequest(users=[UserName(name=NOBODY), UserName(name="scram")]),
        DESCRIBE,
        OTHER_WAYS,
    ),
    Case(
        "AlterUserScramCredentials",
        AlterUserScramCredentialsRequest,
        lambda side, version: AlterUserScramCredentialsRequest(
            deletions=[ScramCredentialDeletion(name=NOBODY, mechanism=1), ScramCredentialDeletion(name=NOBODY, mechanism=2)], upsertions=[]
        ),
        ALTER,
        OTHER_WAYS,
    ),
    Case("ElectLeaders", ElectLeadersRequest, elect, ALTER, OTHER_WAYS),
    Case("AlterPartitionReassignments", AlterPartitionReassignmentsRequest, reassign, ALTER, OTHER_WAYS),
    Case("AlterReplicaLogDirs", AlterReplicaLogDirsRequest, move, ALTER, OTHER_WAYS),
    Case("ListPartitionReassignments", ListPartitionReassignmentsRequest, reassignments, DESCRIBE, OTHER_WAYS),
    Case("DescribeQuorum", DescribeQuorumRequest, quorum, DESCRIBE, OTHER_WAYS),
    Case(
        "DescribeLogDirs",
        DescribeLogDirsRequest,
        log_dirs,
        DESCRIBE,
        OTHER_WAYS,
        differ=SIZES,
    ),
    Case(
        "UpdateFeatures",
        UpdateFeaturesRequest,
        lambda side, version: UpdateFeaturesRequest(
            timeout_ms=10_000, feature_updates=[FeatureUpdateKey(feature="unknown.feature", max_version_level=1)]
        ),
        ALTER,
        OTHER_WAYS,
    ),
    Case("UnregisterBroker", UnregisterBrokerRequest, lambda side, version: UnregisterBrokerRequest(broker_id=99), ALTER, OTHER_WAYS),
    Case(
        "AddRaftVoter",
        AddRaftVoterRequest,
        lambda side, version: AddRaftVoterRequest(
            cluster_id="wrong", timeout_ms=1_000, voter_id=9, voter_directory_id=DIRECTORY, listeners=[]
        ),
        ALTER,
        OTHER_WAYS,
    ),
    Case(
        "RemoveRaftVoter",
        RemoveRaftVoterRequest,
        lambda side, version: RemoveRaftVoterRequest(cluster_id="wrong", voter_id=9, voter_directory_id=DIRECTORY),
        ALTER,
        OTHER_WAYS,
    ),
    Case("DescribeCluster", DescribeClusterRequest, describe_cluster(1), DESCRIBE, (*OTHER_WAYS, ALTER, ("CREATE cluster",))),
]
