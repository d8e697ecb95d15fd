"""Kafka's own command-line tools against three nodes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from confluent_kafka import Producer

from peers.apache_kafka import why_missing
from peers.cluster import CLUSTER_ID, Cluster
from tests.cluster.view import View
from tests.conformance.clients.kafka_tools import Tools
from tests.waiting import PATIENCE_SECONDS, until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

TOPICS = "org.apache.kafka.tools.TopicCommand"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"
CONFIGS = "kafka.admin.ConfigCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"


def brokers(cluster: Cluster) -> tuple[str, str]:
    return ("--bootstrap-server", cluster.bootstrap)


def controllers(cluster: Cluster) -> tuple[str, str]:
    return ("--bootstrap-controller", cluster.bootstrap_controllers)


# -- kafka-topics -----------------------------------------------------------------------------


def test_topics_are_created_on_all_brokers_evenly(tools: Tools, cluster: Cluster, view: View) -> None:
    made = ("--topic", "even", "--partitions", "6", "--replication-factor", "3")
    assert "Created topic even" in tools.run(TOPICS, *brokers(cluster), "--create", *made)

    def shown() -> str | None:
        """The tool may ask another broker, which learns of the topic a moment later."""
        ended = tools.try_run(TOPICS, *brokers(cluster), "--describe", "--topic", "even")
        return ended.out if ended.status == 0 else None

    described = until(shown, "the brokers know the topic")
    assert re.search(r"PartitionCount: 6\s+ReplicationFactor: 3", described)
    leaders = re.findall(r"Leader: (\d+)", described)
    assert sorted(leaders) == ["1", "1", "2", "2", "3", "3"]
    for replicas in re.findall(r"Replicas: ([\d,]+)", described):
        assert sorted(replicas.split(",")) == ["1", "2", "3"]


def test_more_replicas_than_brokers_are_refused(tools: Tools, cluster: Cluster, view: View) -> None:
    refused = tools.try_run(TOPICS, *brokers(cluster), "--create", "--topic", "wide", "--replication-factor", "4")
    assert refused.status == 1
    assert "Unable to replicate the partition 4 time(s)" in refused.out + refused.err


def test_a_missing_broker_is_seen_in_every_list(tools: Tools, cluster: Cluster, view: View) -> None:
    view.create_topic("all-three", 2, assignments={0: [1, 2, 3], 1: [2, 3, 1]})
    view.create_topic("just-one", assignments={0: [3]}, configs={"min.insync.replicas": "1"})
    view.create_topic("strict", assignments={0: [1, 2, 3]}, configs={"min.insync.replicas": "3"})
    cluster.node(3).kill()
    view.await_brokers(1, 2)
    view.await_in_sync("all-three", replicas=[1, 2])

    def listed(flag: str) -> set[str]:
        return set(re.findall(r"Topic: (\S+)", tools.run(TOPICS, *brokers(cluster), "--describe", flag)))

    assert {"all-three", "just-one", "strict"} <= listed("--under-replicated-partitions")
    assert listed("--unavailable-partitions") & {"all-three", "just-one", "strict"} == {"just-one"}
    assert "strict" in listed("--under-min-isr-partitions")
    assert "all-three" not in listed("--under-min-isr-partitions")
    assert "all-three" in listed("--at-min-isr-partitions")
    cluster.node(3).start()
    view.await_in_sync("all-three")
    view.await_in_sync("just-one")
    view.await_in_sync("strict")
    until(lambda: not listed("--under-replicated-partitions") & {"all-three", "just-one", "strict"}, "every broker knows it")


# -- kafka-metadata-quorum --------------------------------------------------------------------


def test_kafka_metadata_quorum_shows_the_status(tools: Tools, cluster: Cluster, view: View) -> None:
    active = view.await_controller()
    for by in (brokers(cluster), controllers(cluster)):
        status = tools.run(QUORUM, *by, "describe", "--status")
        assert re.search(rf"ClusterId:\s+{CLUSTER_ID}", status)
        assert re.search(rf"LeaderId:\s+{active}\b", status)
        assert re.search(r"MaxFollowerLag:\s+\d+", status)
        voters = re.search(r"CurrentVoters:\s+(\[.*\])", status)
        assert voters is not None
        assert [voter["id"] for voter in json.loads(voters.group(1))] == [1, 2, 3]


def test_kafka_metadata_quorum_shows_the_replication(tools: Tools, cluster: Cluster, view: View) -> None:
    active = view.await_controller()

    def caught_up() -> bool:
        lines = tools.run(QUORUM, *brokers(cluster), "describe", "--replication").splitlines()
        rows = [line.split() for line in lines if re.match(r"\d", line)]
        assert {int(row[0]) for row in rows} == {1, 2, 3}
        assert [int(row[0]) for row in rows if row[-1] == "Leader"] == [active]
        return all(row[-1] in ("Leader", "Follower") for row in rows) and len({row[2] for row in rows}) == 1

    until(caught_up, "every voter has come as far")


def test_another_controller_leads_after_the_active_one_is_killed(tools: Tools, cluster: Cluster, view: View) -> None:
    active = view.await_controller()
    before = re.search(r"LeaderEpoch:\s+(\d+)", tools.run(QUORUM, *controllers(cluster), "describe", "--status"))
    cluster.node(active).kill()
    successor = view.await_controller(other_than=active)
    status = tools.run(QUORUM, *controllers(cluster), "describe", "--status")
    after = re.search(r"LeaderEpoch:\s+(\d+)", status)
    assert before is not None
    assert after is not None
    assert int(after.group(1)) > int(before.group(1))
    assert re.search(rf"LeaderId:\s+{successor}\b", status)


# -- kafka-reassign-partitions ----------------------------------------------------------------


def plan(path: Path, topic: str, replicas: dict[int, list[int]]) -> Path:
    partitions = [{"topic": topic, "partition": partition, "replicas": ids} for partition, ids in replicas.items()]
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return path


def test_partitions_are_moved_and_verified(tools: Tools, cluster: Cluster, view: View, tmp_path: Path) -> None:
    view.create_topic("moving", assignments={0: [1, 2], 1: [2, 3]})
    moves = plan(tmp_path / "moves.json", "moving", {0: [3, 1], 1: [1, 2, 3]})
    executed = tools.run(REASSIGN, *brokers(cluster), "--execute", "--reassignment-json-file", moves)
    assert "Successfully started partition reassignments for moving-0,moving-1" in executed

    def complete() -> bool:
        verified = tools.run(REASSIGN, *brokers(cluster), "--verify", "--reassignment-json-file", moves)
        return verified.count("is completed.") == 2

    until(complete, "the partitions are where they should be")
    moved = {0: [3, 1], 1: [1, 2, 3]}
    until(lambda: {index: each.replica_nodes for index, each in view.partitions("moving").items()} == moved, "every broker knows it")
    # A moved replica leaves the disk after the delete delay; it does not count as a replica from
    # the start.
    until(lambda: not (cluster.node(2).data / "moving-0").exists(), "the old replica is removed")
    assert "No partition reassignments found." in tools.run(REASSIGN, *brokers(cluster), "--list")


def test_a_plan_is_generated_for_other_brokers(tools: Tools, cluster: Cluster, view: View, tmp_path: Path) -> None:
    view.create_topic("planned", assignments={0: [1, 2], 1: [2, 1]})
    topics = tmp_path / "topics.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "planned"}]}))
    asked = ("--generate", "--topics-to-move-json-file", topics, "--broker-list", "2,3")
    generated = tools.run(REASSIGN, *brokers(cluster), *asked)
    current, proposed = (json.loads(line) for line in generated.splitlines() if line.startswith("{"))
    assert {each["partition"]: each["replicas"] for each in current["partitions"]} == {0: [1, 2], 1: [2, 1]}
    assert {broker for each in proposed["partitions"] for broker in each["replicas"]} == {2, 3}


def test_a_throttled_reassignment_is_listed_and_cancelled(tools: Tools, cluster: Cluster, view: View, tmp_path: Path) -> None:
    view.create_topic("slow", assignments={0: [1, 2]})
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for _ in range(40):
        producer.produce("slow", bytes(100_000), partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0
    moves = plan(tmp_path / "moves.json", "slow", {0: [2, 3]})
    executed = tools.run(REASSIGN, *brokers(cluster), "--execute", "--reassignment-json-file", moves, "--throttle", "1000")
    assert "The inter-broker throttle limit was set to 1000 B/s" in executed
    assert "slow-0: replicas: 2,3,1. adding: 3. removing: 1." in tools.run(REASSIGN, *brokers(cluster), "--list")
    described = tools.run(CONFIGS, *brokers(cluster), "--describe", "--entity-type", "brokers", "--entity-name", "1")
    assert "leader.replication.throttled.rate=1000" in described
    assert "is still in progress." in tools.run(
        REASSIGN, *brokers(cluster), "--verify", "--reassignment-json-file", moves, "--preserve-throttles"
    )
    cancelled = tools.run(REASSIGN, *brokers(cluster), "--cancel", "--reassignment-json-file", moves)
    assert "Successfully cancelled partition reassignment for: slow-0" in cancelled
    until(lambda: [sorted(each.replica_nodes) for each in view.partitions("slow").values()] == [[1, 2]], "the replicas are the old ones")
    first = ("--entity-type", "brokers", "--entity-name", "1")
    until(lambda: "throttled" not in tools.run(CONFIGS, *brokers(cluster), "--describe", *first), "nothing is throttled")


# -- kafka-leader-election --------------------------------------------------------------------


def test_the_preferred_leader_is_elected(tools: Tools, cluster: Cluster, view: View) -> None:
    view.create_topic("preferred", assignments={0: [2, 3, 1]})
    cluster.node(2).stop()
    assert view.await_leader("preferred", other_than=2) == 3
    cluster.node(2).start()
    view.await_in_sync("preferred")
    assert view.leader("preferred") == 3
    one = ("--election-type", "PREFERRED", "--topic", "preferred", "--partition", "0")
    elected = tools.run(ELECTION, *brokers(cluster), *one)
    assert "Successfully completed leader election (PREFERRED) for partitions preferred-0" in elected
    assert view.await_leader("preferred", other_than=3) == 2
    again = tools.run(ELECTION, *brokers(cluster), *one)
    assert "Valid replica already elected for partitions preferred-0" in again


def test_an_unclean_leader_is_elected_by_hand_only(tools: Tools, cluster: Cluster, view: View) -> None:
    view.create_topic("unclean", assignments={0: [3, 2]}, configs={"min.insync.replicas": "1", "unclean.leader.election.enable": "false"})
    cluster.node(2).kill()
    view.await_in_sync("unclean", replicas=[3])
    cluster.node(3).kill()
    cluster.node(2).start()
    # Only one controller is left until node 2 is there, so the topic cannot be seen without a
    # leader before.
    until(lambda: view.seen_without(3).partitions("unclean") and view.seen_without(3).leader("unclean") is None, "there is no leader")
    until(lambda: 2 in view.seen_without(3).brokers(), "the broker is back")
    one = ("--election-type", "UNCLEAN", "--topic", "unclean", "--partition", "0")
    assert "Successfully completed leader election (UNCLEAN)" in tools.run(ELECTION, *brokers(cluster), *one)
    assert view.seen_without(3).await_leader("unclean") == 2


# -- kafka-features, kafka-cluster and others -------------------------------------------------


def test_features_are_described_by_brokers_and_controllers(tools: Tools, cluster: Cluster, view: View) -> None:
    for by in (brokers(cluster), controllers(cluster)):
        described = tools.run(FEATURES, *by, "describe")
        assert re.search(r"Feature: metadata.version\s.*FinalizedVersionLevel: 4\.3-IV\d", described)
        assert re.search(r"Feature: kraft.version\s.*FinalizedVersionLevel: 0", described)


def test_kafka_cluster_lists_the_endpoints(tools: Tools, cluster: Cluster, view: View) -> None:
    for by in (brokers(cluster), controllers(cluster)):
        assert f"Cluster ID: {CLUSTER_ID}" in tools.run(CLUSTER, "cluster-id", *by)
    endpoints = tools.run(CLUSTER, "list-endpoints", *brokers(cluster))
    for node in cluster.brokers:
        assert re.search(rf"^{node.id}\s+127\.0\.0\.1\s+{node.advertised_port}\s", endpoints, re.MULTILINE)
    endpoints = tools.run(CLUSTER, "list-endpoints", *controllers(cluster))
    for node in cluster.controllers:
        assert re.search(rf"^{node.id}\s+127\.0\.0\.1\s+{node.advertised_controller_port}\s", endpoints, re.MULTILINE)


def test_a_broker_that_is_gone_for_good_is_unregistered(tools: Tools, cluster: Cluster, view: View) -> None:
    gone = cluster.add_broker(9) if 9 not in cluster.nodes else cluster.node(9)
    view.await_brokers(1, 2, 3, 9)
    gone.kill()
    del cluster.nodes[9]
    until(lambda: view.brokers() == {1, 2, 3}, "it is fenced")

    def listed() -> str:
        return tools.run(CLUSTER, "list-endpoints", *brokers(cluster), "--include-fenced-brokers")

    until(lambda: re.search(r"^9\s.*fenced", listed(), re.MULTILINE), "every broker knows it")
    assert "Broker 9 is no longer registered." in tools.run(CLUSTER, "unregister", *brokers(cluster), "--id", "9")
    until(lambda: not re.search(r"^9\s", listed(), re.MULTILINE), "it is forgotten")


def test_every_broker_is_described(tools: Tools, cluster: Cluster, view: View) -> None:
    described = tools.run(API_VERSIONS, *brokers(cluster))
    assert set(re.findall(r"\(id: (\d+) rack: ", described)) == {"1", "2", "3"}
    line = next(line for line in tools.run(LOG_DIRS, *brokers(cluster), "--describe").splitlines() if line.startswith("{"))
    assert {each["broker"] for each in json.loads(line)["brokers"]} == {1, 2, 3}
