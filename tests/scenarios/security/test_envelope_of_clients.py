"""Requests that brokers forward to a controller of another node are decided as those of the client,
and a client cannot pose as a broker."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pytest

from barnabas.controller.envelopes import principal_bytes
from barnabas.model.errors import ErrorCode
from barnabas.security.acls.acl import CLUSTER_NAME, Operation, PatternType, ResourceType
from barnabas.security.principal import Principal
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey
from barnabas.wire.compiler import encode
from barnabas.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.alter_partition import AlterPartitionRequest
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.wire.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.messages.metadata import MetadataRequest
from barnabas.wire.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.acl_creation import acl_creation
from tests.scenarios.client import Client, fetch_request
from tests.scenarios.security.logged_in import AUTHORIZER, log_in_at
from tests.scenarios.security.sasl import protocols
from tests.waiting import until

BROKERS = (1, 2, 3)
CREATE_VERSION = 7


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedBroker]:
    """The only controller is a node of its own, so every broker forwards."""
    config = protocols("SASL_PLAINTEXT") | AUTHORIZER
    with EmbeddedBroker(brokers=len(BROKERS), config=config) as running:
        with log_in_at(address(running, 1), "admin") as admin:
            allow(admin, ResourceType.TOPIC, "hers-", Operation.CREATE, PatternType.PREFIXED)
            allow(admin, ResourceType.TOPIC, "read", Operation.READ)
            allow(admin, ResourceType.TOPIC, "read", Operation.WRITE)
            admin.create_topic("read")
        yield running


def address(kafka: EmbeddedBroker, broker: int) -> str:
    return kafka.bootstrap.split(",")[broker - 1]


def controller_address(kafka: EmbeddedBroker) -> str:
    request = DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])])
    with log_in_at(address(kafka, 1), "admin") as admin:
        (listener,) = admin.ask(request, 2).nodes[0].listeners
    return f"{listener.host}:{listener.port}"


@pytest.fixture
def at_controller(kafka: EmbeddedBroker) -> Iterator[Client]:
    with log_in_at(controller_address(kafka), "alice") as client:
        yield client


@pytest.fixture
def alice(kafka: EmbeddedBroker) -> Iterator[Client]:
    with log_in_at(leader_of(kafka, "read"), "alice") as client:
        yield client


def leader_of(kafka: EmbeddedBroker, topic: str) -> str:
    with log_in_at(address(kafka, 1), "admin") as admin:
        found = admin.ask(MetadataRequest(topics=None), 12)
        (leader,) = (each.partitions[0].leader_id for each in found.topics if each.name == topic)
    return address(kafka, leader)


def allow(admin: Client, kind: ResourceType, name: str, operation: Operation, pattern: PatternType = PatternType.LITERAL) -> None:
    (result,) = admin.ask(CreateAclsRequest(creations=[rule(kind, name, operation, pattern)]), 3).results
    assert result.error_code == ErrorCode.NONE


def rule(kind: ResourceType, name: str, operation: Operation, pattern: PatternType = PatternType.LITERAL) -> AclCreation:
    return acl_creation(resource_type=kind, resource_name=name, resource_pattern_type=pattern, operation=operation)


def created(client: Client, name: str) -> int:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    (result,) = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), CREATE_VERSION).topics
    code: int = result.error_code
    return code


def envelope(principal: Principal, name: str) -> EnvelopeRequest:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[])
    header = struct.pack(">hhih", ApiKey.CREATE_TOPICS, CREATE_VERSION, 7, 4) + b"test" + b"\0"
    return EnvelopeRequest(
        request_data=header + encode(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), CREATE_VERSION),
        request_principal=principal_bytes(principal),
        client_host_address=b"\x7f\0\0\1",
    )


# -- forwarded requests --------------------------------------------------------------------------


@pytest.mark.parametrize("broker", BROKERS)
def test_every_broker_forwards_what_its_client_may_do_and_nothing_else(kafka: EmbeddedBroker, broker: int) -> None:
    with log_in_at(address(kafka, broker), "alice") as client:
        # A broker that is not asked by the administrator learns of the rule a moment later.
        until(lambda: created(client, f"hers-{broker}") in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), "the rule arrives")
        assert created(client, f"theirs-{broker}") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        (refused,) = client.ask(CreateAclsRequest(creations=[rule(ResourceType.CLUSTER, CLUSTER_NAME, Operation.ALL)]), 3).results
        assert refused.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_broker_that_forwards_a_request_too_much_is_refused_by_the_controller(kafka: EmbeddedBroker) -> None:
    """The controller decides by the principal in the envelope, although the broker itself may do
    everything."""
    with log_in_at(controller_address(kafka), "admin") as broker:
        answer = broker.ask(envelope(Principal("User", "alice"), "theirs"), 0)
        assert answer.error_code == ErrorCode.NONE
        assert error_of_only_topic(answer.response_data, "theirs") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        answer = broker.ask(envelope(Principal("User", "alice"), "hers-by-envelope"), 0)
        assert error_of_only_topic(answer.response_data, "hers-by-envelope") == ErrorCode.NONE


def error_of_only_topic(response: bytes, name: str) -> int:
    """The error code is behind the name and the topic's id."""
    position = response.index(name.encode()) + len(name) + 16
    code: int = struct.unpack_from(">h", response, position)[0]
    return code


# -- clients that pose as brokers ----------------------------------------------------------------


def test_an_envelope_of_a_client_is_refused(at_controller: Client) -> None:
    for posing_as in ("admin", "alice"):
        answer = at_controller.ask(envelope(Principal("User", posing_as), "hers-forged"), 0)
        assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert answer.response_data is None


def test_requests_of_brokers_are_refused_to_a_client_of_the_controller(at_controller: Client) -> None:
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert at_controller.ask(AlterPartitionRequest(broker_id=1, broker_epoch=1, topics=[]), 3).error_code == refused
    assert at_controller.ask(AllocateProducerIdsRequest(broker_id=1, broker_epoch=1), 0).error_code == refused
    heartbeat = BrokerHeartbeatRequest(broker_id=1, broker_epoch=1, current_metadata_offset=0, want_fence=True, want_shut_down=True)
    assert at_controller.ask(heartbeat, 1).error_code == refused
    metadata_log = fetch_request([("__cluster_metadata", 0, 0)])
    metadata_log.replica_id = 99
    assert at_controller.ask(metadata_log, 12).error_code == refused


def test_a_client_that_fetches_as_a_replica_gets_nothing(alice: Client) -> None:
    alice.produce("read", [b"value"])
    assert alice.fetch("read").error_code == ErrorCode.NONE
    request = fetch_request([("read", 0, 0)])
    request.replica_id = 2
    (answer,) = alice.ask(request, 12).responses[0].partitions
    assert (answer.error_code, bytes(answer.records or b"")) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, b"")


def test_a_client_cannot_verify_transactions_or_write_markers(alice: Client) -> None:
    topics = [AddPartitionsToTxnTopic(name="read", partitions=[0])]
    one = AddPartitionsToTxnTransaction(transactional_id="x", producer_id=1, producer_epoch=0, verify_only=True, topics=topics)
    answer = alice.ask(AddPartitionsToTxnRequest(transactions=[one]), 5)
    assert (answer.error_code, answer.results_by_transaction) == (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, [])
    marker = WritableTxnMarker(
        producer_id=1,
        producer_epoch=0,
        transaction_result=True,
        topics=[WritableTxnMarkerTopic(name="read", partition_indexes=[0])],
        coordinator_epoch=0,
    )
    (written,) = alice.ask(WriteTxnMarkersRequest(markers=[marker]), 1).markers[0].topics[0].partitions
    assert written.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_a_broker_does_not_serve_the_requests_of_controllers(kafka: EmbeddedBroker) -> None:
    for request in (
        envelope(Principal("User", "admin"), "hers-forged"),
        AlterPartitionRequest(broker_id=1, broker_epoch=1, topics=[]),
        AllocateProducerIdsRequest(broker_id=1, broker_epoch=1),
    ):
        with log_in_at(address(kafka, 1), "alice") as client:
            client.send(request, 0 if not isinstance(request, AlterPartitionRequest) else 3)
            assert client.hung_up(), request


def test_a_principal_that_is_a_super_user_of_another_type_is_none(kafka: EmbeddedBroker) -> None:
    with log_in_at(controller_address(kafka), "admin") as broker:
        answer = broker.ask(envelope(Principal("Robot", "admin"), "theirs"), 0)
        assert error_of_only_topic(answer.response_data, "theirs") == ErrorCode.TOPIC_AUTHORIZATION_FAILED
