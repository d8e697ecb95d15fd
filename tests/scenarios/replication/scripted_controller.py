"""The controller's core with one topic, and the requests that a script has for it."""

from __future__ import annotations

from typing import Any

from barnabas.config.parse import parse_broker_config
from barnabas.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.metadata.topics import PartitionImage
from barnabas.model.ids import NodeId, TopicPartition, Uuid
from barnabas.wire.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from barnabas.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.wire.metadata_records import FeatureLevelRecord, MetadataRecord
from tests.scenarios.replication.core import bootstrap, controller, features, isr

CLUSTER_ID = "Some-cluster-id-------"
CONTROLLER_ID = 9
TOPIC = "t"
PARTITION = TopicPartition(TOPIC, 0)
# A broker's heartbeat says that it has seen all metadata.
EVERYTHING = 10**6
PREFERRED, UNCLEAN = 0, 1
_PROPERTIES = {
    "process.roles": "controller",
    "node.id": str(CONTROLLER_ID),
    "controller.quorum.voters": f"{CONTROLLER_ID}@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "CONTROLLER://localhost:9093",
    "log.dirs": "/data",
}


class FixedEntropy:
    """The topic's id is always the same."""

    def bytes(self, size: int) -> bytes:
        return bytes([7]) * size

    def below(self, bound: int) -> int:
        return 0


class ScriptedController:
    def __init__(self, *, elr: bool, imbalance_check_seconds: int = 300) -> None:
        properties = {**_PROPERTIES, "leader.imbalance.check.interval.seconds": str(imbalance_check_seconds)}
        self._core = controller.Controller(NodeId(CONTROLLER_ID), CLUSTER_ID, parse_broker_config(properties), FixedEntropy())
        first: list[MetadataRecord] = [
            record
            for record in bootstrap.bootstrap_records()
            if elr or not (isinstance(record, FeatureLevelRecord) and record.name == ELIGIBLE_LEADER_REPLICAS_VERSION)
        ]
        self._next_offset = len(self._core.activate(MetadataImage(), first, next_offset=0, now_ms=0))
        self.now_ms = 0

    @property
    def image(self) -> MetadataImage:
        return self._core.image

    @property
    def partition(self) -> PartitionImage | None:
        return self.image.topics.partition(PARTITION)

    @property
    def topic_id(self) -> Uuid:
        return self.image.topics.by_name[TOPIC].topic_id

    def decide(self, request: Any) -> Any:
        outcome = self._core.step(request, next_offset=self._next_offset, now_ms=self.now_ms, wall_ms=self.now_ms)
        self._next_offset += len(outcome.records)
        return outcome.response

    def tick(self) -> None:
        self._next_offset += len(self._core.tick(next_offset=self._next_offset, now_ms=self.now_ms, wall_ms=self.now_ms))

    # -- requests ----------------------------------------------------------------------------------

    def register(self, broker_id: int, *, incarnation: int, directory_id: Uuid, previous_epoch: int) -> int:
        """The broker's epoch."""
        offered = [
            Feature(name=name, min_supported_version=levels.lowest, max_supported_version=levels.highest)
            for name, levels in features.SUPPORTED_FEATURES.items()
        ]
        request = BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=CLUSTER_ID,
            incarnation_id=Uuid(bytes([broker_id, incarnation]) * 8),
            listeners=[Listener(name="PLAINTEXT", host=f"b{broker_id}", port=9092, security_protocol=0)],
            features=offered,
            rack=None,
            log_dirs=[directory_id],
            previous_broker_epoch=previous_epoch,
        )
        response = self.decide(request)
        assert not response.error_code, response
        return int(response.broker_epoch)

    def heartbeat(self, broker_id: int, epoch: int, *, stop: bool = False) -> bool:
        """Whether the broker may stop."""
        request = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=EVERYTHING, want_fence=False, want_shut_down=stop
        )
        return bool(self.decide(request).should_shut_down)

    def create(self, replicas: list[int], *, min_isr: int, unclean: bool) -> None:
        configs = {"min.insync.replicas": str(min_isr), "unclean.leader.election.enable": str(unclean).lower()}
        topic = CreatableTopic(
            name=TOPIC,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
        )
        (created,) = self.decide(CreateTopicsRequest(topics=[topic], timeout_ms=1000, validate_only=False)).topics
        assert not created.error_code, created

    def alter_partition(self, leader: int, leader_broker_epoch: int, change: isr.IsrChange) -> Any:
        """The response for the partition."""
        data = PartitionData(
            partition_index=0,
            leader_epoch=change.leader_epoch,
            new_isr_with_epochs=[BrokerState(broker_id=each.broker_id, broker_epoch=each.broker_epoch) for each in change.isr],
            leader_recovery_state=isr.REPORTED_RECOVERY_STATE,
            partition_epoch=change.partition_epoch,
        )
        topics = [TopicData(topic_id=self.topic_id, partitions=[data])]
        response = self.decide(AlterPartitionRequest(broker_id=leader, broker_epoch=leader_broker_epoch, topics=topics))
        return response.topics[0].partitions[0] if response.topics else response

    def elect(self, election: int) -> int:
        asked = [TopicPartitions(topic=TOPIC, partitions=[0])]
        response = self.decide(ElectLeadersRequest(election_type=election, topic_partitions=asked, timeout_ms=1000))
        return int(response.replica_election_results[0].partition_result[0].error_code)

    def reassign(self, replicas: list[int] | None) -> int:
        asked = ReassignableTopic(name=TOPIC, partitions=[ReassignablePartition(partition_index=0, replicas=replicas)])
        response = self.decide(AlterPartitionReassignmentsRequest(timeout_ms=1000, topics=[asked]))
        return int(response.responses[0].partitions[0].error_code)
