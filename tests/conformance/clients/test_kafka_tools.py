"""Kafka's own command-line tools against a Barnabas node."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import free_port, why_missing
from tests.conformance.clients.conftest import MakeTopic
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.clients.three_clients import CLIENTS, QUIET, Record
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
PRODUCER_PERFORMANCE = "org.apache.kafka.tools.ProducerPerformance"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"


@pytest.fixture(scope="module")
def tools() -> Iterator[Tools]:
    with kafka_tools() as runner:
        yield runner


@pytest.fixture(scope="module")
def controller() -> Iterator[tuple[str, str]]:
    """A node with a known controller listener: (broker, controller)."""
    port = free_port()
    voters = {"controller.quorum.voters": f"1@127.0.0.1:{port}", "listeners": f"PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:{port}"}
    with EmbeddedBroker(config=voters) as node:
        yield node.bootstrap, f"127.0.0.1:{port}"


def at(bootstrap: str) -> tuple[str, str]:
    return ("--bootstrap-server", bootstrap)


def test_kafka_topics(tools: Tools, bootstrap: str) -> None:
    assert "Created topic tool-made" in tools.run(
        TOPICS, *at(bootstrap), "--create", "--topic", "tool-made", "--partitions", "3", "--config", "retention.ms=1000"
    )
    assert "tool-made" in tools.run(TOPICS, *at(bootstrap), "--list").split()
    described = tools.run(TOPICS, *at(bootstrap), "--describe", "--topic", "tool-made")
    assert re.search(
        r"Topic: tool-made\s+TopicId: \S{22}\s+PartitionCount: 3\s+ReplicationFactor: 1\s+Configs: \S*retention.ms=1000", described
    )
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 3
    tools.run(TOPICS, *at(bootstrap), "--alter", "--topic", "tool-made", "--partitions", "5")
    assert "PartitionCount: 5" in tools.run(TOPICS, *at(bootstrap), "--describe", "--topic", "tool-made")
    again = tools.try_run(TOPICS, *at(bootstrap), "--create", "--topic", "tool-made")
    assert again.status == 1
    assert "already exists" in again.out + again.err
    assert tools.run(TOPICS, *at(bootstrap), "--create", "--if-not-exists", "--topic", "tool-made") == ""
    tools.run(TOPICS, *at(bootstrap), "--delete", "--topic", "tool-made")
    assert "tool-made" not in tools.run(TOPICS, *at(bootstrap), "--list").split()
    for flag in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions", "--at-min-isr-partitions"):
        tools.run(TOPICS, *at(bootstrap), "--describe", flag)


def test_kafka_configs_of_a_topic(tools: Tools, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    entity = ("--entity-type", "topics", "--entity-name", topic)
    tools.run(CONFIGS, *at(bootstrap), "--alter", *entity, "--add-config", "retention.ms=5,cleanup.policy=[compact,delete]")
    described = tools.run(CONFIGS, *at(bootstrap), "--describe", *entity)
    assert "retention.ms=5 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5" in described
    assert "cleanup.policy=compact,delete" in described
    tools.run(CONFIGS, *at(bootstrap), "--alter", *entity, "--delete-config", "retention.ms")
    assert "retention.ms" not in tools.run(CONFIGS, *at(bootstrap), "--describe", *entity)
    everything = tools.run(CONFIGS, *at(bootstrap), "--describe", "--all", *entity)
    assert "segment.bytes=1073741824 sensitive=false synonyms={DEFAULT_CONFIG:log.segment.bytes=1073741824}" in everything
    wrong = tools.try_run(CONFIGS, *at(bootstrap), "--alter", *entity, "--add-config", "retention.ms=soon")
    assert wrong.status == 1


def test_kafka_configs_of_brokers(tools: Tools, bootstrap: str) -> None:
    one, every = ("--entity-type", "brokers", "--entity-name", "1"), ("--entity-type", "brokers", "--entity-default")
    tools.run(CONFIGS, *at(bootstrap), "--alter", *every, "--add-config", "log.cleaner.threads=2")
    tools.run(CONFIGS, *at(bootstrap), "--alter", *one, "--add-config", "log.cleaner.threads=1")
    described = tools.run(CONFIGS, *at(bootstrap), "--describe", *one)
    assert (
        "log.cleaner.threads=1 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:log.cleaner.threads=1,"
        " DYNAMIC_DEFAULT_BROKER_CONFIG:log.cleaner.threads=2, DEFAULT_CONFIG:log.cleaner.threads=1}"
    ) in described
    assert "log.cleaner.threads=2" in tools.run(CONFIGS, *at(bootstrap), "--describe", *every)
    assert "node.id=1" in tools.run(CONFIGS, *at(bootstrap), "--describe", "--all", *one)
    for entity in (one, every):
        tools.run(CONFIGS, *at(bootstrap), "--alter", *entity, "--delete-config", "log.cleaner.threads")
    assert "log.cleaner.threads" not in tools.run(CONFIGS, *at(bootstrap), "--describe", *one)


def test_kafka_configs_of_groups_client_metrics_and_loggers(tools: Tools, bootstrap: str) -> None:
    metrics = ("--entity-type", "client-metrics", "--entity-name", "some-metrics")
    tools.run(CONFIGS, *at(bootstrap), "--alter", *metrics, "--add-config", "interval.ms=1000")
    assert "interval.ms=1000" in tools.run(CONFIGS, *at(bootstrap), "--describe", *metrics)
    tools.run(CONFIGS, *at(bootstrap), "--alter", *metrics, "--delete-config", "interval.ms")
    # Describing a group's settings also lists groups, so this test only alters them.
    group = ("--entity-type", "groups", "--entity-name", "some-group")
    tools.run(CONFIGS, *at(bootstrap), "--alter", *group, "--add-config", "consumer.session.timeout.ms=50000")
    assert tools.try_run(CONFIGS, *at(bootstrap), "--alter", *group, "--add-config", "consumer.session.timeout.ms=1").status == 1
    tools.run(CONFIGS, *at(bootstrap), "--alter", *group, "--delete-config", "consumer.session.timeout.ms")
    loggers = ("--entity-type", "broker-loggers", "--entity-name", "1")
    assert "root=" in tools.run(CONFIGS, *at(bootstrap), "--describe", *loggers)
    tools.run(CONFIGS, *at(bootstrap), "--alter", *loggers, "--add-config", "root=FATAL")
    assert "root=FATAL" in tools.run(CONFIGS, *at(bootstrap), "--describe", *loggers)
    tools.run(CONFIGS, *at(bootstrap), "--alter", *loggers, "--add-config", "root=ERROR")


def test_console_producer_and_consumer(tools: Tools, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic()
    lines = "h1:v1,h2:v2\tkey-1\tvalue one\nh1:x\tkey-2\tzwei äöü\n"
    properties = [part for each in ("parse.key=true", "parse.headers=true") for part in ("--reader-property", each)]
    tools.run(CONSOLE_PRODUCER, *at(bootstrap), "--topic", topic, *properties, "--compression-codec", "zstd", stdin=lines)
    shown = [part for each in ("print.key=true", "print.headers=true", "print.offset=true") for part in ("--formatter-property", each)]
    place = ("--partition", "0", "--offset", "earliest", "--max-messages", "2")
    read = tools.run(CONSOLE_CONSUMER, *at(bootstrap), "--topic", topic, *place, *shown)
    assert read.splitlines() == ["Offset:0\th1:v1,h2:v2\tkey-1\tvalue one", "Offset:1\th1:x\tkey-2\tzwei äöü"]
    tail = tools.run(CONSOLE_CONSUMER, *at(bootstrap), "--topic", topic, "--partition", "0", "--offset", "1", "--max-messages", "1")
    assert tail == "zwei äöü\n"
    # The other clients read the records of the Java producer.
    assert [each.record.value for each in CLIENTS[2].consume(bootstrap, topic, 2)] == [b"value one", "zwei äöü".encode()]


def test_producer_performance(tools: Tools, bootstrap: str, make_topic: MakeTopic) -> None:
    topic = make_topic(3)
    load = ("--num-records", "5000", "--record-size", "100", "--throughput", "-1")
    printed = tools.run(PRODUCER_PERFORMANCE, "--topic", topic, *load, "--bootstrap-server", bootstrap)
    assert "5000 records sent" in printed
    offsets = tools.run(GET_OFFSETS, *at(bootstrap), "--topic", topic).splitlines()
    assert sum(int(line.rpartition(":")[2]) for line in offsets) == 5000


def test_get_offsets_and_delete_records(tools: Tools, bootstrap: str, make_topic: MakeTopic, tmp_path: Path) -> None:
    topic = make_topic(2)
    CLIENTS[0].produce(bootstrap, topic, [Record(None, b"v", (), 1000 * (number + 1)) for number in range(10)], partition=1)

    def offsets(time: str) -> list[str]:
        return tools.run(GET_OFFSETS, *at(bootstrap), "--topic", topic, "--time", time).split()

    assert offsets("latest") == [f"{topic}:0:0", f"{topic}:1:10"]
    assert offsets("earliest") == [f"{topic}:0:0", f"{topic}:1:0"]
    assert offsets("max-timestamp") == [f"{topic}:0:", f"{topic}:1:9"] or offsets("max-timestamp") == [f"{topic}:1:9"]
    assert f"{topic}:1:4" in offsets("4500")
    wish = tmp_path / "delete.json"
    wish.write_text(json.dumps({"partitions": [{"topic": topic, "partition": 1, "offset": 6}], "version": 1}))
    assert "low_watermark: 6" in tools.run(DELETE_RECORDS, *at(bootstrap), "--offset-json-file", wish)
    assert offsets("earliest") == [f"{topic}:0:0", f"{topic}:1:6"]


def test_log_dirs(tools: Tools, broker: EmbeddedBroker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    CLIENTS[0].produce(broker.bootstrap, topic, [Record(None, bytes(1000))])
    printed = tools.run(LOG_DIRS, *at(broker.bootstrap), "--describe", "--topic-list", topic)
    described = json.loads(printed.splitlines()[-1])
    (directory,) = described["brokers"][0]["logDirs"]
    assert directory["logDir"] == broker.data_dir
    (partition,) = directory["partitions"]
    assert 1000 < partition.pop("size") < 1100
    assert partition == {"partition": f"{topic}-0", "offsetLag": 0, "isFuture": False}


def test_broker_api_versions(tools: Tools, bootstrap: str) -> None:
    printed = tools.run(API_VERSIONS, *at(bootstrap))
    assert "Fetch(1): 4 to 18 [usable: 18]" in printed
    assert "Produce(0): 0 to 13 [usable: 13]" in printed


def test_features(tools: Tools, bootstrap: str, controller: tuple[str, str]) -> None:
    for place in (at(bootstrap), ("--bootstrap-controller", controller[1])):
        printed = tools.run(FEATURES, *place, "describe")
        assert re.search(
            r"Feature: metadata.version\s+SupportedMinVersion: \S+\s+SupportedMaxVersion: 4.3-IV0\s+FinalizedVersionLevel: 4.3-IV0", printed
        )
    refused = tools.try_run(FEATURES, *at(bootstrap), "upgrade", "--feature", "no.such.feature=1")
    assert refused.status == 1


def test_metadata_quorum(tools: Tools, bootstrap: str, controller: tuple[str, str]) -> None:
    for place in (at(bootstrap), ("--bootstrap-controller", controller[1])):
        status = tools.run(QUORUM, *place, "describe", "--status")
        assert re.search(r"LeaderId:\s+1\n", status)
        assert re.search(r"MaxFollowerLag:\s+0\n", status)
        replication = tools.run(QUORUM, *place, "describe", "--replication")
        assert re.search(r"^1\s+\S+\s+\d+\s+0\s.*Leader", replication, re.MULTILINE)


def test_cluster(tools: Tools, bootstrap: str, controller: tuple[str, str]) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
    cluster_id = admin.describe_cluster().result(PATIENCE_SECONDS).cluster_id
    assert f"Cluster ID: {cluster_id}" in tools.run(CLUSTER, "cluster-id", *at(bootstrap))
    assert re.search(r"^1\s+127.0.0.1\s+\d+", tools.run(CLUSTER, "list-endpoints", *at(bootstrap)), re.MULTILINE)
    listed = tools.run(CLUSTER, "list-endpoints", "--bootstrap-controller", controller[1])
    assert re.search(rf"^1\s+127.0.0.1\s+{controller[1].rpartition(':')[2]}", listed, re.MULTILINE)


def test_kafkas_tools_work_at_the_listener_of_the_controller(tools: Tools, controller: tuple[str, str]) -> None:
    place = ("--bootstrap-controller", controller[1])
    entity = ("--entity-type", "brokers", "--entity-default")
    tools.run(CONFIGS, *place, "--alter", *entity, "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in tools.run(CONFIGS, *place, "--describe", *entity)
