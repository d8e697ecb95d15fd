"""Brokers, leaders and offline replicas, depending on the listener of the client."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.api.broker import Broker
from barnabas.api.broker_apis import describe_cluster, find_coordinator, metadata
from barnabas.api.described_topics import DescribedTopics
from barnabas.api.sliced_answers import SlicedAnswers
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection
from barnabas.security.principal import ANONYMOUS
from barnabas.wire.compiler import decode, encode
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.wire.metadata_records import MetadataRecord, TopicRecord
from tests.unit.api.neighbours import HERE, NOBODY, THERE, partition, registration
from tests.unit.api.open_access import OPEN_ACCESS
from tests.unit.metadata.made import after, uuid

FENCED, INTERNAL = 3, 4
DIRECTORY, OTHER_DIRECTORY = uuid(900), uuid(901)
BROKERS: list[MetadataRecord] = [
    registration(HERE, 9001, rack="a"),
    registration(THERE, 9002, rack="b", log_dirs=[DIRECTORY, OTHER_DIRECTORY]),
    registration(FENCED, 9003, fenced=True),
    registration(INTERNAL, 9004, listener="INTERNAL"),
]


def cluster(*records: MetadataRecord) -> MetadataImage:
    return after([*BROKERS, TopicRecord(name="t", topic_id=uuid(1)), *records])


def seat(image: MetadataImage, node_id: int = HERE) -> Broker:
    coordinator = SimpleNamespace(topic="t", partition_of=lambda key: 0)
    parts = {
        "node_id": node_id,
        "cluster_id": "a cluster",
        "metadata": SimpleNamespace(image=image),
        "access": OPEN_ACCESS,
        "doubted_brokers": (),
        "groups": coordinator,
        "transactions": coordinator,
        "sliced_answers": SlicedAnswers(),
        "described_topics": DescribedTopics(),
    }
    return cast(Broker, SimpleNamespace(**parts))


def client(version: int, listener: str = "PLAINTEXT") -> Caller:
    connection = SimpleNamespace(
        peer_address=("127.0.0.1", 1), principal=ANONYMOUS, listener=SimpleNamespace(name=listener, for_controllers=False)
    )
    return Caller(cast(Connection, connection), version, 1, "client")


def asked(image: MetadataImage, *, version: int = 13, listener: str = "PLAINTEXT", node_id: int = HERE) -> Any:
    response = metadata.handle(seat(image, node_id), client(version, listener), MetadataRequest(topics=None))
    return decode(MetadataResponse, version, encode(response, version))[0]


def only_partition(response: Any) -> Any:
    return response.topics[0].partitions[0]


def test_clients_see_live_brokers_at_their_own_listener() -> None:
    response = asked(cluster())
    assert [(each.node_id, each.port, each.rack) for each in response.brokers] == [(HERE, 9001, "a"), (THERE, 9002, "b")]
    assert [each.port for each in asked(cluster(), listener="INTERNAL").brokers] == [9004]


def test_fenced_brokers_are_listed_when_all_are_fenced() -> None:
    fenced = after([registration(HERE, 9001, fenced=True), registration(THERE, 9002, fenced=True), TopicRecord(name="t", topic_id=uuid(1))])
    response = asked(fenced)
    assert [(each.node_id, each.port) for each in response.brokers] == [(HERE, 9001), (THERE, 9002)]
    assert response.controller_id == NOBODY


@pytest.mark.parametrize(
    ("node_id", "listener", "told"),
    [(THERE, "PLAINTEXT", THERE), (FENCED, "PLAINTEXT", HERE), (HERE, "INTERNAL", INTERNAL), (HERE, "X", NOBODY)],
)
def test_the_controller_is_any_broker_that_a_client_can_reach(node_id: int, listener: str, told: int) -> None:
    assert asked(cluster(), node_id=node_id, listener=listener).controller_id == told
    described = describe_cluster.handle(
        seat(cluster(), node_id), client(2, listener), DescribeClusterRequest(include_cluster_authorized_operations=False)
    )
    assert described.controller_id == told


@pytest.mark.parametrize(
    ("leader", "version", "error"),
    [
        (HERE, 13, ErrorCode.NONE),
        (NOBODY, 13, ErrorCode.LEADER_NOT_AVAILABLE),
        (FENCED, 13, ErrorCode.LEADER_NOT_AVAILABLE),
        (INTERNAL, 13, ErrorCode.LISTENER_NOT_FOUND),
        (INTERNAL, 5, ErrorCode.LEADER_NOT_AVAILABLE),
    ],
)
def test_a_leader_that_a_client_cannot_reach_is_no_leader(leader: int, version: int, error: ErrorCode) -> None:
    found = only_partition(asked(cluster(partition(1, leader)), version=version))
    assert (found.error_code, found.leader_id) == (error, leader if error is ErrorCode.NONE else NOBODY)


def test_replicas_are_offline_with_their_broker_their_listener_or_their_directory() -> None:
    replicas = [HERE, THERE, FENCED, INTERNAL, 99]
    somewhere = partition(1, HERE, replicas=replicas, isr=[HERE], directories=[uuid(0), OTHER_DIRECTORY, uuid(0), uuid(0), uuid(0)])
    assert only_partition(asked(cluster(somewhere))).offline_replicas == [FENCED, INTERNAL, 99]
    lost = partition(1, HERE, replicas=replicas, isr=[HERE], directories=[uuid(0), uuid(777), uuid(0), uuid(0), uuid(0)])
    assert only_partition(asked(cluster(lost))).offline_replicas == [THERE, FENCED, INTERNAL, 99]


@pytest.mark.parametrize(
    ("leader", "listener", "found"),
    [
        (THERE, "PLAINTEXT", (ErrorCode.NONE, THERE, 9002)),
        (INTERNAL, "INTERNAL", (ErrorCode.NONE, INTERNAL, 9004)),
        (INTERNAL, "PLAINTEXT", (ErrorCode.COORDINATOR_NOT_AVAILABLE, NOBODY, -1)),
        (FENCED, "PLAINTEXT", (ErrorCode.COORDINATOR_NOT_AVAILABLE, NOBODY, -1)),
        (NOBODY, "PLAINTEXT", (ErrorCode.COORDINATOR_NOT_AVAILABLE, NOBODY, -1)),
    ],
)
@pytest.mark.parametrize("key_type", [0, 1])
def test_a_coordinator_is_the_leader_of_its_partition(leader: int, listener: str, found: tuple[ErrorCode, int, int], key_type: int) -> None:
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g"])
    response = find_coordinator.handle(seat(cluster(partition(1, leader))), client(4, listener), request)
    (coordinator,) = decode(FindCoordinatorResponse, 4, encode(response, 4))[0].coordinators
    assert (coordinator.error_code, coordinator.node_id, coordinator.port) == found
