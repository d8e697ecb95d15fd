"""A Barnabas broker forwards requests to Kafka's controller, for clients and for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.controller.envelopes import envelope_of
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.network.peers import Peers
from barnabas.security.principal import ANONYMOUS
from barnabas.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from barnabas.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.wire.messages.envelope import EnvelopeRequest
from barnabas.wire.messages.metadata import MetadataRequest
from peers.apache_kafka import why_missing
from peers.apache_kafka_cluster import APACHE
from peers.cluster import Cluster
from tests.unit.controller.test_channel import THERE, World, client

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

PATIENCE_MS = 30_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(APACHE, brokers=1) as running:
        yield running


def ask(cluster: Cluster, request: Any, version: int | None) -> Any:
    """``version`` is that of the client for which the broker forwards; None for the broker's own
    requests."""

    async def main() -> Any:
        world = World()
        world.leads(THERE, int(cluster.node(1).controller.rpartition(":")[2]))
        try:
            return await world.ask(request, None if version is None else client(version))
        finally:
            world.peers.close()

    return asyncio.run(main())


def creation(name: str) -> CreateTopicsRequest:
    topic = CreatableTopic(name=name, num_partitions=2, replication_factor=1, assignments=[], configs=[])
    return CreateTopicsRequest(topics=[topic], timeout_ms=PATIENCE_MS)


@pytest.mark.parametrize("version", range(2, 8))
def test_topics_are_created_for_a_client_in_every_version(cluster: Cluster, version: int) -> None:
    (created,) = ask(cluster, creation(f"t{version}"), version).topics
    assert (created.name, created.error_code) == (f"t{version}", ErrorCode.NONE)
    (again,) = ask(cluster, creation(f"t{version}"), version).topics
    assert again.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_requests_of_the_broker_itself_travel_without_an_envelope(cluster: Cluster) -> None:
    (created,) = ask(cluster, creation("own"), None).topics
    assert created.error_code == ErrorCode.NONE
    # A broker that never registered has no epoch.
    refused = ask(cluster, AllocateProducerIdsRequest(broker_id=7, broker_epoch=1), None)
    assert refused.error_code != ErrorCode.NONE


@pytest.mark.parametrize("version", [1, 4, 6])
def test_topics_are_deleted_for_a_client(cluster: Cluster, version: int) -> None:
    ask(cluster, creation(f"gone{version}"), None)
    if version < 6:
        request = DeleteTopicsRequest(topic_names=[f"gone{version}"], timeout_ms=PATIENCE_MS)
    else:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=f"gone{version}")], timeout_ms=PATIENCE_MS)
    (deleted,) = ask(cluster, request, version).responses
    assert (deleted.name, deleted.error_code) == (f"gone{version}", ErrorCode.NONE)


def test_the_quorum_is_described_through_a_broker(cluster: Cluster) -> None:
    question = DescribeQuorumRequest(topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])])
    answer = ask(cluster, question, 2)
    assert answer.topics[0].partitions[0].leader_id == 1


def test_kafka_refuses_the_same_forwarded_requests_as_we_do(cluster: Cluster) -> None:
    async def main() -> Any:
        peers = Peers("a broker")
        host, _, port = cluster.node(1).controller.rpartition(":")
        envelope: EnvelopeRequest = envelope_of(
            MetadataRequest(topics=None), 12, correlation_id=1, client_id="c", principal=ANONYMOUS, client_host="127.0.0.1"
        )
        try:
            return await awaited(peers.at(host, int(port)).send(envelope, timeout_ms=PATIENCE_MS))
        finally:
            peers.close()

    assert asyncio.run(main()).error_code == ErrorCode.INVALID_REQUEST
