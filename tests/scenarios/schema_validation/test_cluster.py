"""Three brokers: every leader validates, and a batch that waits survives a change of leaders."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from peers.apache_kafka import free_port
from tests.registry_process import RegistryProcess
from tests.scenarios.client import Client, produce_request
from tests.scenarios.schema_validation.stage import BY_ID, REGISTRY_URL, Stage, batch, stamped
from tests.waiting import until


@pytest.fixture(scope="module")
def cluster() -> Iterator[Stage]:
    port = free_port()
    config = {REGISTRY_URL: f"http://127.0.0.1:{port}", "barnabas.schema.validation.timeout.ms": "60000"}
    with EmbeddedBroker(brokers=3, config=config) as kafka, RegistryProcess(kafka.bootstrap, "--port", str(port)) as registry:
        yield Stage(kafka, registry)


def all_leaders(client: Client, topic: str, partitions: int) -> dict[int, tuple[int, str]] | None:
    found = leaders(client, topic)
    return found if len(found) == partitions else None


def leaders(client: Client, topic: str) -> dict[int, tuple[int, str]]:
    """The leader of each partition, and its address."""
    found = client.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False), 9)
    addresses = {broker.node_id: f"{broker.host}:{broker.port}" for broker in found.brokers}
    return {
        each.partition_index: (each.leader_id, addresses[each.leader_id])
        for each in found.topics[0].partitions
        if each.leader_id in addresses
    }


def address_of(client: Client, topic: str, node: int) -> str | None:
    """The address of ``node`` once it leads the first partition."""
    leader, address = leaders(client, topic).get(0, (-1, ""))
    return address if leader == node else None


def test_every_leader_validates(cluster: Stage) -> None:
    with Client(cluster.kafka.bootstrap.split(",")[0]) as client:
        topic = cluster.topic(client, {**BY_ID, "min.insync.replicas": "2"}, partitions=3)
        good = stamped(cluster.register(f"{topic}-value"))
        led = until(lambda: all_leaders(client, topic, 3), "all partitions have leaders")
    assert len({leader for leader, _ in led.values()}) == 3
    for partition, (_, address) in led.items():
        with Client(address) as leader:
            assert leader.produce_batch(topic, partition, batch(good), acks=-1).error_code == ErrorCode.NONE
            assert leader.produce_batch(topic, partition, batch(good, b"raw"), acks=-1).error_code == ErrorCode.INVALID_RECORD
            assert leader.end_offset(topic, partition) == 1


def test_a_batch_that_waits_while_its_partition_moves_is_not_appended(cluster: Stage) -> None:
    with Client(cluster.kafka.bootstrap.split(",")[0]) as client:
        topic = cluster.topic(client, BY_ID)
        good = stamped(cluster.register(f"{topic}-value", '"bytes"'))
        leader, address = until(lambda: leaders(client, topic).get(0), "the partition has a leader")
        elsewhere = next(node for node in (1, 2, 3) if node != leader)
        with Client(address) as producer:
            cluster.registry.pause()
            try:
                for _ in range(3):
                    producer.send(produce_request(topic, 0, batch(good), acks=-1), 12)
                moved = AlterPartitionReassignmentsRequest(
                    topics=[ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=0, replicas=[elsewhere])])],
                    timeout_ms=30_000,
                )
                assert client.ask(moved).error_code == 0
                new_address = until(lambda: address_of(client, topic, elsewhere), "the partition has moved")
            finally:
                cluster.registry.resume()
            answers = [producer.receive(produce_request(topic, 0, None), 12)[1].responses[0].partition_responses[0] for _ in range(3)]
        assert {each.error_code for each in answers} <= {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        with Client(new_address) as successor:
            assert successor.end_offset(topic) == 0
            assert until(lambda: successor.produce_batch(topic, 0, batch(good)).error_code == ErrorCode.NONE, "the new leader validates")
