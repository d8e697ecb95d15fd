"""Requests to a controller's listener: those of brokers and controllers, sent by a client, and
those of administration."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

from barnabas.controller.envelopes import principal_bytes
from barnabas.model.ids import Uuid
from barnabas.security.principal import Principal
from barnabas.wire.compiler import decode, encode
from barnabas.wire.messages import begin_quorum_epoch, end_quorum_epoch, fetch_snapshot, vote
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, TopicData
from barnabas.wire.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest
from barnabas.wire.messages.controller_registration import ControllerRegistrationRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from barnabas.wire.messages.update_raft_voter import KRaftVersionFeature, UpdateRaftVoterRequest
from tests.conformance.authorization import cluster_cases, topic_cases
from tests.conformance.authorization.case import ABSENT, OPEN, Case
from tests.conformance.authorization.sides import ADMIN, Side

CLUSTER_ACTION = ("CLUSTER_ACTION cluster",)
WRONG_CLUSTER = "wrong"
BROKER = 99
INNER_VERSION = 6
INCARNATION = Uuid(b"incarnation-of-1")


def envelope_as(user: str) -> EnvelopeRequest:
    """Asks to delete a topic that does not exist, in the name of ``user``."""
    inner = DeleteTopicsRequest(topics=[DeleteTopicState(name=ABSENT)], timeout_ms=1_000)
    header = struct.pack(">hhih", 20, INNER_VERSION, 7, 4) + b"test" + b"\0"
    return EnvelopeRequest(
        request_data=header + encode(inner, INNER_VERSION),
        request_principal=principal_bytes(Principal("User", user)),
        client_host_address=b"\x7f\0\0\1",
    )


def inner_answer(answer: Any) -> Any:
    """The response that an envelope contains, without its header of five bytes."""
    data = answer["response_data"]
    if data is None:
        return answer
    response, end = decode(DeleteTopicsResponse, INNER_VERSION, data, 5)
    assert end == len(data)
    deleted = [(each.name, each.error_code) for each in response.responses]
    return answer | {"response_data": (data[:5], deleted)}


def metadata_fetch(side: Side, version: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1)
    topics = [FetchTopic(topic="__cluster_metadata", partitions=[partition])]
    return FetchRequest(
        cluster_id=WRONG_CLUSTER, replica_id=BROKER, max_wait_ms=0, min_bytes=0, max_bytes=1, topics=topics, forgotten_topics_data=[]
    )


OTHERS = (("ALTER cluster", "DESCRIBE cluster"), ("ALL cluster",))

_OF_NODES = [
    Case("Envelope", EnvelopeRequest, lambda side, version: envelope_as(ADMIN), CLUSTER_ACTION, OTHERS, open=inner_answer),
    Case("Envelope of a client", EnvelopeRequest, lambda side, version: envelope_as("somebody"), CLUSTER_ACTION, OTHERS, open=inner_answer),
    Case("Fetch of the metadata log", FetchRequest, metadata_fetch, CLUSTER_ACTION, OTHERS, versions=(12,)),
    Case(
        "AlterPartition",
        AlterPartitionRequest,
        lambda side, version: AlterPartitionRequest(
            broker_id=BROKER, broker_epoch=1, topics=[TopicData(topic_id=side.topic_id(OPEN), partitions=[])]
        ),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "BrokerHeartbeat",
        BrokerHeartbeatRequest,
        lambda side, version: BrokerHeartbeatRequest(
            broker_id=BROKER, broker_epoch=1, current_metadata_offset=0, want_fence=False, want_shut_down=False
        ),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "BrokerRegistration",
        BrokerRegistrationRequest,
        lambda side, version: BrokerRegistrationRequest(
            broker_id=BROKER, cluster_id=WRONG_CLUSTER, incarnation_id=INCARNATION, listeners=[], features=[], rack=None
        ),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "AllocateProducerIds",
        AllocateProducerIdsRequest,
        lambda side, version: AllocateProducerIdsRequest(broker_id=BROKER, broker_epoch=1),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "AssignReplicasToDirs",
        AssignReplicasToDirsRequest,
        lambda side, version: AssignReplicasToDirsRequest(broker_id=BROKER, broker_epoch=1, directories=[]),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "ControllerRegistration",
        ControllerRegistrationRequest,
        lambda side, version: ControllerRegistrationRequest(
            controller_id=BROKER, incarnation_id=INCARNATION, zk_migration_ready=False, listeners=[], features=[]
        ),
        (),
        (("ALTER cluster", "DESCRIBE cluster"),),
    ),
    Case("Vote", vote.VoteRequest, lambda side, version: vote.VoteRequest(cluster_id=WRONG_CLUSTER, topics=[]), CLUSTER_ACTION, OTHERS),
    Case(
        "BeginQuorumEpoch",
        begin_quorum_epoch.BeginQuorumEpochRequest,
        lambda side, version: begin_quorum_epoch.BeginQuorumEpochRequest(cluster_id=WRONG_CLUSTER, topics=[]),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "EndQuorumEpoch",
        end_quorum_epoch.EndQuorumEpochRequest,
        lambda side, version: end_quorum_epoch.EndQuorumEpochRequest(cluster_id=WRONG_CLUSTER, topics=[]),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "FetchSnapshot",
        fetch_snapshot.FetchSnapshotRequest,
        lambda side, version: fetch_snapshot.FetchSnapshotRequest(cluster_id=WRONG_CLUSTER, topics=[]),
        CLUSTER_ACTION,
        OTHERS,
    ),
    Case(
        "UpdateRaftVoter",
        UpdateRaftVoterRequest,
        lambda side, version: UpdateRaftVoterRequest(
            cluster_id=WRONG_CLUSTER,
            current_leader_epoch=1,
            voter_id=BROKER,
            voter_directory_id=cluster_cases.DIRECTORY,
            listeners=[],
            kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
        ),
        CLUSTER_ACTION,
        OTHERS,
    ),
]
# Administration that a controller also answers to clients (KIP-919).
_ALSO_HERE = {
    "CreateTopics",
    "DeleteTopics",
    "DeleteTopics by id",
    "CreatePartitions",
    "DescribeConfigs",
    "AlterConfigs",
    "IncrementalAlterConfigs",
    "DescribeAcls",
    "CreateAcls",
    "DeleteAcls",
    "AlterUserScramCredentials",
    "ElectLeaders",
    "AlterPartitionReassignments",
    "ListPartitionReassignments",
    "DescribeQuorum",
    "UpdateFeatures",
    "UnregisterBroker",
    "AddRaftVoter",
    "RemoveRaftVoter",
}
_OF_NODES.append(
    Case(
        "DescribeCluster at the controller",
        DescribeClusterRequest,
        cluster_cases.describe_cluster(2),
        ("ALTER cluster",),
        OTHERS,
        versions=(1, 2),
    )
)
CASES = [replace(each, listener="controller") for each in _OF_NODES] + [
    replace(each, name=f"{each.name} at the controller", listener="controller")
    for each in topic_cases.CASES + cluster_cases.CASES
    if each.name in _ALSO_HERE
]
