"""Administration with librdkafka's and kafka-python's admin clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from kafka import KafkaAdminClient, TopicPartition as KafkaPythonPartition
from kafka.admin import ConfigResource as KafkaPythonResource, ConfigResourceType as KafkaPythonKind, NewPartitions as KafkaPythonPartitions
from kafka.errors import InvalidPartitionsError, TopicAlreadyExistsError, UnknownTopicOrPartitionError

from barnabas.testing import EmbeddedBroker
from tests.conformance.clients.conftest import MakeTopic
from tests.conformance.clients.three_clients import CLIENTS, QUIET, Record
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(scope="module")
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({**QUIET, "bootstrap.servers": bootstrap})


@pytest.fixture(scope="module")
def python_admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def done(futures: dict[Any, Any]) -> Any:
    """The only result of a call about one resource."""
    (future,) = futures.values()
    return future.result(PATIENCE_SECONDS)


def refused(futures: dict[Any, Any]) -> int:
    with pytest.raises(KafkaException) as caught:
        done(futures)
    code: int = caught.value.args[0].code()
    return code


# -- librdkafka -------------------------------------------------------------------------------


def test_topics_are_created_shown_and_deleted(admin: AdminClient) -> None:
    done(admin.create_topics([NewTopic("admin-made", 3, 1, config={"retention.ms": "1000"})]))
    shown = admin.list_topics("admin-made", PATIENCE_SECONDS).topics["admin-made"]
    assert sorted(shown.partitions) == [0, 1, 2]
    assert all(partition.leader == 1 and partition.replicas == partition.isrs == [1] for partition in shown.partitions.values())
    assert "admin-made" in admin.list_topics(timeout=PATIENCE_SECONDS).topics
    assert refused(admin.create_topics([NewTopic("admin-made", 1, 1)])) == KafkaError.TOPIC_ALREADY_EXISTS
    done(admin.delete_topics(["admin-made"]))
    assert "admin-made" not in admin.list_topics(timeout=PATIENCE_SECONDS).topics
    assert refused(admin.delete_topics(["admin-made"])) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_a_topic_is_created_with_manual_replica_assignments(admin: AdminClient) -> None:
    done(admin.create_topics([NewTopic("admin-by-hand", 2, replica_assignment=[[1], [1]])]))
    assert len(admin.list_topics("admin-by-hand", PATIENCE_SECONDS).topics["admin-by-hand"].partitions) == 2
    assert refused(admin.create_topics([NewTopic("nobody", 1, replica_assignment=[[9]])])) == KafkaError.INVALID_REPLICA_ASSIGNMENT


def test_validate_only_changes_nothing(admin: AdminClient) -> None:
    done(admin.create_topics([NewTopic("admin-dry", 1, 1)], validate_only=True))
    assert "admin-dry" not in admin.list_topics(timeout=PATIENCE_SECONDS).topics
    assert refused(admin.create_topics([NewTopic("admin-dry", 1, 3)], validate_only=True)) == KafkaError.INVALID_REPLICATION_FACTOR
    assert refused(admin.create_topics([NewTopic("a b", 1, 1)], validate_only=True)) == KafkaError.TOPIC_EXCEPTION


def test_partitions_are_added(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(2)
    done(admin.create_partitions([NewPartitions(topic, 5)]))
    assert len(admin.list_topics(topic, PATIENCE_SECONDS).topics[topic].partitions) == 5
    assert refused(admin.create_partitions([NewPartitions(topic, 5)])) == KafkaError.INVALID_PARTITIONS
    assert refused(admin.create_partitions([NewPartitions(topic, 3)])) == KafkaError.INVALID_PARTITIONS


def test_topics_are_described(admin: AdminClient, make_topic: MakeTopic) -> None:
    from confluent_kafka import TopicCollection

    topic = make_topic(2)
    (future,) = admin.describe_topics(TopicCollection([topic])).values()
    described = future.result(PATIENCE_SECONDS)
    assert described.name == topic
    assert not described.is_internal
    assert [partition.leader.id for partition in described.partitions] == [1, 1]


def test_settings_of_a_topic_are_shown_and_changed(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="1000")
    resource = ConfigResource(ResourceType.TOPIC, topic)
    shown = done(admin.describe_configs([resource]))
    assert shown["retention.ms"].value == "1000"
    assert shown["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert shown["segment.bytes"].value == "1073741824"
    assert shown["segment.bytes"].is_default
    synonyms = shown["segment.bytes"].synonyms
    assert {synonym.source for synonym in synonyms.values()} == {ConfigSource.DEFAULT_CONFIG.value}

    changes = [
        ConfigEntry("retention.ms", "2000", incremental_operation=AlterConfigOpType.SET),
        ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND),
    ]
    done(admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=changes)]))
    shown = done(admin.describe_configs([resource]))
    assert (shown["retention.ms"].value, shown["cleanup.policy"].value) == ("2000", "delete,compact")

    undone = [
        ConfigEntry("retention.ms", None, incremental_operation=AlterConfigOpType.DELETE),
        ConfigEntry("cleanup.policy", "delete", incremental_operation=AlterConfigOpType.SUBTRACT),
    ]
    done(admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=undone)]))
    shown = done(admin.describe_configs([resource]))
    assert (shown["retention.ms"].value, shown["cleanup.policy"].value) == ("604800000", "compact")
    assert shown["retention.ms"].source == ConfigSource.DEFAULT_CONFIG.value

    wrong = [ConfigEntry("retention.ms", "soon", incremental_operation=AlterConfigOpType.SET)]
    assert refused(admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, topic, incremental_configs=wrong)])) == (
        KafkaError.INVALID_CONFIG
    )


def test_settings_of_a_broker_are_shown_and_changed(admin: AdminClient) -> None:
    resource = ConfigResource(ResourceType.BROKER, "1")
    shown = done(admin.describe_configs([resource]))
    assert shown["node.id"].value == "1"
    assert shown["node.id"].is_read_only
    assert shown["ssl.keystore.password"].is_sensitive
    assert shown["ssl.keystore.password"].value is None

    change = [ConfigEntry("log.segment.bytes", "5000000", incremental_operation=AlterConfigOpType.SET)]
    done(admin.incremental_alter_configs([ConfigResource(ResourceType.BROKER, "1", incremental_configs=change)]))
    assert done(admin.describe_configs([resource]))["log.segment.bytes"].value == "5000000"
    back = [ConfigEntry("log.segment.bytes", None, incremental_operation=AlterConfigOpType.DELETE)]
    done(admin.incremental_alter_configs([ConfigResource(ResourceType.BROKER, "1", incremental_configs=back)]))
    assert done(admin.describe_configs([resource]))["log.segment.bytes"].value == "1073741824"


def test_records_are_deleted(admin: AdminClient, make_topic: MakeTopic, bootstrap: str) -> None:
    topic = make_topic()
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"v")] * 10)
    assert done(admin.delete_records([TopicPartition(topic, 0, 4)])).low_watermark == 4
    assert [each.offset for each in CLIENTS[1].consume(bootstrap, topic, 6, offset=4)] == [4, 5, 6, 7, 8, 9]
    assert refused(admin.delete_records([TopicPartition(topic, 0, 11)])) == KafkaError.OFFSET_OUT_OF_RANGE
    assert done(admin.delete_records([TopicPartition(topic, 0, -1)])).low_watermark == 10


def test_the_cluster_is_described(admin: AdminClient, broker: EmbeddedBroker) -> None:
    described = admin.describe_cluster(include_authorized_operations=True).result(PATIENCE_SECONDS)
    assert len(described.cluster_id) == 22
    assert described.controller.id == 1
    assert [f"{node.host}:{node.port}" for node in described.nodes] == [broker.bootstrap]
    assert described.authorized_operations
    listed = admin.list_topics(timeout=PATIENCE_SECONDS)
    assert listed.cluster_id == described.cluster_id
    assert sorted(listed.brokers) == [1]


# -- kafka-python -----------------------------------------------------------------------------


def test_kafka_python_creates_grows_and_deletes_topics(python_admin: KafkaAdminClient) -> None:
    python_admin.create_topics({"python-made": {"num_partitions": 2, "replication_factor": 1, "configs": {"retention.ms": "5"}}})
    (described,) = python_admin.describe_topics(["python-made"])
    assert len(described["partitions"]) == 2
    with pytest.raises(TopicAlreadyExistsError):
        python_admin.create_topics({"python-made": {"num_partitions": 1, "replication_factor": 1}})
    python_admin.create_partitions({"python-made": KafkaPythonPartitions(4)})
    (described,) = python_admin.describe_topics(["python-made"])
    assert len(described["partitions"]) == 4
    with pytest.raises(InvalidPartitionsError):
        python_admin.create_partitions({"python-made": KafkaPythonPartitions(1)})
    assert "python-made" in python_admin.list_topics()
    python_admin.delete_topics(["python-made"])
    with pytest.raises(UnknownTopicOrPartitionError):
        python_admin.delete_topics(["python-made"])


def test_kafka_python_reads_and_changes_settings(python_admin: KafkaAdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="5")
    resource = KafkaPythonResource(KafkaPythonKind.TOPIC, topic)

    def value(name: str) -> str:
        shown = python_admin.describe_configs([resource], config_filter="all")
        found: str = shown["topic"][topic][name]["value"]
        return found

    assert value("retention.ms") == "5"
    python_admin.alter_configs([KafkaPythonResource(KafkaPythonKind.TOPIC, topic, configs={"retention.ms": "7"})])
    assert value("retention.ms") == "7"
    python_admin.reset_configs([KafkaPythonResource(KafkaPythonKind.TOPIC, topic, configs=["retention.ms"])])
    assert value("retention.ms") == "604800000"


def test_kafka_python_sees_the_cluster_its_quorum_and_its_directories(
    python_admin: KafkaAdminClient, make_topic: MakeTopic, bootstrap: str, broker: EmbeddedBroker
) -> None:
    topic = make_topic()
    CLIENTS[0].produce(bootstrap, topic, [Record(None, bytes(1000))])
    cluster = python_admin.describe_cluster()
    assert [node["broker_id"] for node in cluster["brokers"]] == [1]
    ((metadata,),) = (quorum["partitions"] for quorum in python_admin.describe_metadata_quorum()["topics"])
    assert metadata["leader_id"] == 1
    directories = python_admin.describe_log_dirs()
    shown = repr(directories)
    assert broker.data_dir in shown
    assert topic in shown
    features = python_admin.describe_features()
    assert "metadata.version" in repr(features)


def test_kafka_python_deletes_records_and_lists_offsets(python_admin: KafkaAdminClient, make_topic: MakeTopic, bootstrap: str) -> None:
    from kafka import OffsetSpec

    topic = make_topic()
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"v", (), 1000 + number) for number in range(10)])
    partition = KafkaPythonPartition(topic, 0)
    python_admin.delete_records({partition: 3})
    for specification, offset in ((OffsetSpec.EARLIEST, 3), (OffsetSpec.LATEST, 10), (OffsetSpec.MAX_TIMESTAMP, 9)):
        assert python_admin.list_partition_offsets({partition: specification})[partition].offset == offset


def test_kafka_python_lists_resources_with_settings(python_admin: KafkaAdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert topic in repr(python_admin.list_config_resources())
