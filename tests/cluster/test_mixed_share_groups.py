"""Share groups in a cluster of Kafka and Barnabas: the leader of a partition keeps its delivery
state at a share coordinator of the other program.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer, ShareConsumer

from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.metadata.configs import ResourceType
from barnabas.model.ids import Uuid
from barnabas.model.topic_names import SHARE_GROUP_STATE
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.wire.messages.read_share_group_state_summary import (
    PartitionData,
    ReadShareGroupStateSummaryRequest,
    ReadStateSummaryData,
)
from peers.apache_kafka import why_missing
from peers.apache_kafka_cluster import APACHE
from peers.cluster import Cluster, Program
from tests.cluster.barnabas_cluster import BARNABAS
from tests.cluster.view import View, ready
from tests.scenarios.client import Client
from tests.waiting import LONG_PATIENCE_SECONDS, until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

OURS, THEIRS = 1, 2
RECORDS = 200


@pytest.fixture(scope="module")
def view() -> Iterator[View]:
    programs: dict[int, Program] = {OURS: BARNABAS, THEIRS: APACHE, 101: APACHE}
    with Cluster(BARNABAS, brokers=2, controllers=1, programs=programs) as cluster:
        view = ready(cluster)
        key = "anybody:AAAAAAAAAAAAAAAAAAAAAQ:0"
        until(
            lambda: coordinator_of(view, key) >= 0,
            "there is a share coordinator",
            seconds_max=LONG_PATIENCE_SECONDS,
        )
        yield view


def coordinator_of(view: View, key: str) -> int:
    answer = view.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]))
    return answer.coordinators[0].node_id if answer is not None else -1


def topic_id(view: View, topic: str) -> Uuid:
    answer = view.ask(MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False))
    assert answer is not None
    return Uuid(answer.topics[0].topic_id)


def delivered(view: View, coordinator: int, key: SharePartitionKey) -> int:
    """The number of delivered records that the share coordinator on this broker knows of. A leader
    moves the start offset over them with a later write.
    """
    partitions = [PartitionData(partition=key.partition, leader_epoch=0)]
    topics = [ReadStateSummaryData(topic_id=key.topic_id, partitions=partitions)]
    with Client(view.cluster.node(coordinator).bootstrap) as client:
        (found,) = client.ask(ReadShareGroupStateSummaryRequest(group_id=key.group_id, topics=topics)).results[0].partitions
    return -1 if found.error_code else int(found.start_offset + found.delivery_complete_count)


def from_the_start(view: View, group: str) -> None:
    setting = AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    resource = AlterConfigsResource(resource_type=ResourceType.GROUP, resource_name=group, configs=[setting])
    answer = view.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False))
    assert answer is not None
    assert not any(each.error_code for each in answer.responses), answer


def consume(view: View, group: str, topic: str, count: int) -> list[bytes]:
    """Accepts records until there are ``count`` of them."""
    consumer = ShareConsumer({"bootstrap.servers": view.cluster.bootstrap, "group.id": group, "log_level": 0})
    consumer.subscribe([topic])
    values: list[bytes] = []
    try:

        def enough() -> bool:
            values.extend(each.value() or b"" for each in consumer.poll(1.0) if each.error() is None)
            return len(values) >= count

        until(enough, f"{group} has read {count} records", seen=lambda: len(values), seconds_max=LONG_PATIENCE_SECONDS)
        consumer.commit_sync(60.0)
    finally:
        consumer.close()
    return values


@pytest.mark.parametrize(("leader", "coordinator"), [(THEIRS, OURS), (OURS, THEIRS)], ids=["kafka leads", "barnabas leads"])
def test_a_leader_keeps_its_state_at_a_coordinator_of_the_other_program(view: View, leader: int, coordinator: int) -> None:
    topic, group = f"led-by-{leader}", f"kept-by-{coordinator}"
    view.create_topic(topic, assignments={0: [leader, OURS + THEIRS - leader]})
    shards = view.partitions(SHARE_GROUP_STATE)
    view.reassign(SHARE_GROUP_STATE, {index: [coordinator, OURS + THEIRS - coordinator] for index in shards})
    view.elect_preferred(SHARE_GROUP_STATE, list(shards))
    key = SharePartitionKey(group, topic_id(view, topic), 0)
    until(lambda: coordinator_of(view, key.coordinator_key) == coordinator, f"node {coordinator} is the share coordinator")
    from_the_start(view, group)

    producer = Producer({"bootstrap.servers": view.cluster.bootstrap, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, str(number))
    assert producer.flush(LONG_PATIENCE_SECONDS) == 0
    assert sorted(consume(view, group, topic, RECORDS), key=int) == [str(number).encode() for number in range(RECORDS)]
    until(
        lambda: delivered(view, coordinator, key) == RECORDS,
        f"node {coordinator} knows that all records are delivered",
        seen=lambda: delivered(view, coordinator, key),
    )
    # The next leader, of the other program, reads the state and delivers only newer records.
    other = OURS + THEIRS - leader
    view.reassign(topic, {0: [other, leader]})
    view.elect_preferred(topic, [0])
    for number in range(RECORDS, 2 * RECORDS):
        producer.produce(topic, str(number))
    assert producer.flush(LONG_PATIENCE_SECONDS) == 0
    assert sorted(consume(view, group, topic, RECORDS), key=int) == [str(number).encode() for number in range(RECORDS, 2 * RECORDS)]
