"""Commands for clusters of several nodes: the same claims about our cluster and about Apache
Kafka's.

``barnabas up --brokers 3`` starts ours once, ``peers`` starts Kafka's. Each test leaves three nodes
running.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from peers.apache_kafka import why_missing
from peers.apache_kafka_cluster import apache_cluster
from peers.cluster import QUICK
from tests.cli.running import Cli
from tests.cli.up_cluster import UpCluster
from tests.waiting import until

# Leaders are elected when a test says so.
SETTINGS = {**QUICK, "auto.leader.rebalance.enable": "false"}


class ClusterOfThree(NamedTuple):
    cli: Cli
    kill: Callable[[int], None]
    start: Callable[[int], None]


@pytest.fixture(
    scope="module",
    params=[
        "barnabas",
        pytest.param(
            "kafka", marks=[pytest.mark.soak, pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))]
        ),
    ],
)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterOfThree]:
    if request.param == "kafka":
        with apache_cluster(brokers=3, properties=SETTINGS) as apache:
            yield ClusterOfThree(Cli(apache.bootstrap), lambda each: apache.node(each).kill(), lambda each: apache.node(each).start())
    else:
        with UpCluster(tmp_path_factory.mktemp("up"), brokers=3, overrides=SETTINGS) as ours:
            yield ClusterOfThree(Cli(ours.bootstrap), ours.kill, ours.start)


@pytest.fixture
def cli(cluster: ClusterOfThree) -> Cli:
    return cluster.cli


# -- brokers ---------------------------------------------------------------------------------


def test_brokers_are_listed_with_their_load(cli: Cli) -> None:
    until(lambda: [row["state"] for row in _brokers(cli)] == ["active"] * 3, "all brokers are active")
    before = {row["broker"]: row for row in _brokers(cli)}
    assert f"127.0.0.1:{cli.environment['BARNABAS_BOOTSTRAP'].split(',')[0].split(':')[1]}" == before[1]["address"]

    def more(column: str) -> dict[int, int]:
        return {row["broker"]: row[column] - before[row["broker"]][column] for row in _brokers(cli)}

    # A command may ask another broker than the last one, which learns of a new topic later.
    cli("topics", "create", "duties", "--assignment", "1:2,1:3,2:1").worked()
    until(lambda: more("leads") == {1: 2, 2: 1, 3: 0}, "brokers 1 and 2 lead the partitions of duties")
    cli("topics", "create", "more-duties", "--assignment", "3:2").worked()
    until(lambda: more("leads") == {1: 2, 2: 1, 3: 1}, "broker 3 leads one partition more")
    until(lambda: more("replicas") == {1: 3, 2: 3, 3: 2}, "brokers 2 and 3 have one replica more")
    assert [row[0] for row in cli("brokers", "list").rows] == ["1", "2", "3"]
    cli("topics", "delete", "duties", "more-duties").worked()


def test_an_unknown_broker_cannot_be_unregistered(cli: Cli) -> None:
    assert cli("brokers", "unregister", 99).complaint == "There is no broker 99."


def test_a_killed_broker_is_listed_as_fenced_until_it_is_back(cluster: ClusterOfThree) -> None:
    cluster.kill(3)
    until(lambda: {row["broker"]: row["state"] for row in _brokers(cluster.cli)}.get(3) == "fenced", "broker 3 is fenced")
    cluster.start(3)
    until(lambda: {row["broker"]: row["state"] for row in _brokers(cluster.cli)}.get(3) == "active", "broker 3 is active again")


# -- the quorum ------------------------------------------------------------------------------


def test_the_quorum_has_a_leader_and_three_voters(cli: Cli) -> None:
    status = cli("quorum", "describe", "--json").json
    assert status["leader"] in (1, 2, 3)
    assert [voter["node"] for voter in status["voters"]].count(status["leader"]) == 1
    assert sorted(voter["node"] for voter in status["voters"]) == [1, 2, 3]
    assert status["high_watermark"] > 0
    assert f"node {status['leader']}, epoch {status['epoch']}" in cli("quorum", "describe").text


def test_replication_of_the_metadata_log_is_shown_leader_first(cli: Cli) -> None:
    rows = cli("quorum", "describe", "--replication", "--json").json["replication"]
    assert [row["status"] for row in rows] == ["leader", "follower", "follower"]
    assert rows[0]["lag"] == 0
    assert [row[-1] for row in cli("quorum", "describe", "--replication").rows] == ["leader", "follower", "follower"]


def test_voters_of_a_static_quorum_cannot_change(cli: Cli) -> None:
    """Both clusters have ``controller.quorum.voters``; only the voters of a dynamic quorum can
    change."""
    directory = "AAAAAAAAAAAAAAAAAAAA1A"
    assert "Cannot remove voter 1 with directory" in cli("quorum", "remove", 1, "--directory-id", directory).complaint
    words = ("--voter", 4, "--directory-id", directory, "--listener", "CONTROLLER://127.0.0.1:1")
    assert "Cannot add node 4 to the voters" in cli("quorum", "add", *words).complaint
    assert cli("quorum", "remove", 9).complaint.startswith("Node 9 is not a voter; the voters are ")


# -- reassignments ---------------------------------------------------------------------------


def test_a_topic_is_moved_and_its_throttle_is_removed_afterwards(cli: Cli, tmp_path: Path) -> None:
    _create(cli, "moved", "--assignment", "1:2,2:1,1:2")
    cli("produce", "moved", stdin=b"record\n" * 3000).worked()
    plan, back = tmp_path / "plan.json", tmp_path / "back.json"
    generated = cli("reassign", "generate", "--topic", "moved", "--brokers", "2,3", "--plan-to", plan).text
    assert generated.splitlines()[0] == "Current partition replica assignment"
    assert json.loads(generated.splitlines()[-1]) == json.loads(plan.read_text())
    cli("reassign", "execute", plan, "--throttle", 100_000_000, "--rollback-to", back).worked()
    until(lambda: cli("reassign", "verify", plan, "--json").code == 0, "the reassignment is complete")
    assert {frozenset(each["replicas"]) for each in _partitions(cli, "moved")} == {frozenset({2, 3})}
    until(lambda: not _throttles(cli, "--topic", "moved"), "the throttle of the topic is removed")
    until(lambda: not any(_throttles(cli, "--broker", broker) for broker in (1, 2, 3)), "the throttles of the brokers are removed")
    cli("reassign", "execute", back).worked()
    until(lambda: cli("reassign", "verify", back).code == 0, "the reassignment back is complete")
    assert [each["replicas"] for each in _partitions(cli, "moved")] == [[1, 2], [2, 1], [1, 2]]
    assert cli("consume", "moved", "--from-beginning", "--until-end").out.count(b"record\n") == 3000
    cli("topics", "delete", "moved").worked()


def test_a_slow_move_is_listed_and_can_be_cancelled(cli: Cli, tmp_path: Path) -> None:
    _create(cli, "slow", "--assignment", "1:2")
    cli("perf", "produce", "slow", "--records", 30_000, "--size", 1000).worked()
    plan, more = tmp_path / "plan.json", tmp_path / "more.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": "slow", "partition": 0, "replicas": [1, 3]}]}))
    cli("reassign", "execute", plan, "--throttle", 1000).worked()
    (ongoing,) = cli("reassign", "list", "--json").json
    assert (ongoing["topic"], ongoing["partition"], ongoing["adding"], ongoing["removing"]) == ("slow", 0, [3], [2])
    assert cli("reassign", "list").rows[0][-2:] == ["3", "2"]
    assert _throttles(cli, "--topic", "slow") == {
        "leader.replication.throttled.replicas": "0:1,0:2",
        "follower.replication.throttled.replicas": "0:3",
    }
    assert set(_throttles(cli, "--broker", 3).values()) == {"1000"}
    verified = cli("reassign", "verify", plan, "--json")
    assert (verified.code, json.loads(verified.out)["partitions"][0]["state"]) == (1, "in progress")
    # A replica that is being added does not count.
    assert cli("topics", "list", "--under-replicated", "--json").json == []

    cli("topics", "create", "meanwhile", "--assignment", "1").worked()
    more.write_text(json.dumps({"version": 1, "partitions": [{"topic": "meanwhile", "partition": 0, "replicas": [2]}]}))
    refused = cli("reassign", "execute", more)
    assert "1 partition is being reassigned already; --additional" in refused.complaint
    cli("reassign", "execute", more, "--additional").worked()
    until(lambda: [each["topic"] for each in cli("reassign", "list", "--json").json] == ["slow"], "only topic slow is being reassigned")

    assert cli("reassign", "cancel", plan).text == "Cancelled the reassignment of slow-0.\n"
    until(lambda: [each["replicas"] for each in _partitions(cli, "slow")] == [[1, 2]], "the reassignment of topic slow is undone")
    until(lambda: not _throttles(cli, "--topic", "slow"), "the throttle is removed")
    assert cli("reassign", "cancel", plan).text == "None of these partitions is being reassigned.\n"
    assert cli("reassign", "list").text == ""
    cli("topics", "delete", "slow", "meanwhile").worked()


def test_impossible_plans_are_refused(cli: Cli, tmp_path: Path) -> None:
    _create(cli, "stays", "--assignment", "1:2")
    plan = tmp_path / "plan.json"

    def refusal(topic: str, partition: int, replicas: list[int], *words: str) -> str:
        plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": partition, "replicas": replicas}]}))
        refused = cli("reassign", "execute", plan, *words)
        assert refused.code == 1
        return refused.err

    assert "There is no broker 9; the cluster has 1, 2, 3." in refusal("stays", 0, [1, 9])
    assert "There is no partition stays-1." in refusal("stays", 1, [1, 2])
    assert "There is no topic nowhere." in refusal("nowhere", 0, [1, 2])
    assert "Cannot reassign stays-0: " in refusal("stays", 0, [1, 2, 3], "--disallow-replication-factor-change")
    assert "more than the 1 brokers can hold" in cli("reassign", "generate", "--topic", "stays", "--brokers", 1).complaint
    assert "There is no broker 4" in cli("reassign", "generate", "--topic", "stays", "--brokers", "1,4").complaint
    assert cli("reassign", "list").text == ""
    cli("topics", "delete", "stays").worked()


# -- partitions that are not well ------------------------------------------------------------


def test_unhealthy_partitions_are_listed_only_while_a_broker_is_down(cluster: ClusterOfThree) -> None:
    cli = cluster.cli
    cli("topics", "create", "led-by-three", "--assignment", "3", "--config", "min.insync.replicas=1").worked()
    cli("topics", "create", "two-of-three", "--assignment", "1:2:3", "--config", "min.insync.replicas=3").worked()
    cli("topics", "create", "well", "--assignment", "1:2", "--config", "min.insync.replicas=1").worked()
    ours = {"led-by-three", "two-of-three", "well"}

    def affected(trouble: str) -> dict[str, list[int]]:
        return {row["name"]: row["affected"] for row in cli("topics", "list", trouble, "--json").json if row["name"] in ours}

    cluster.kill(3)
    until(lambda: affected("--unavailable") == {"led-by-three": [0]}, "the partition led by broker 3 is unavailable")
    until(lambda: affected("--under-replicated").get("two-of-three") == [0], "a partition is under-replicated")
    until(lambda: affected("--under-min-isr") == {"led-by-three": [0], "two-of-three": [0]}, "two partitions are below min.insync.replicas")
    cli("configs", "alter", "--topic", "two-of-three", "--set", "min.insync.replicas=2").worked()
    until(lambda: affected("--at-min-isr").get("two-of-three") == [0], "a partition is at min.insync.replicas")
    assert ["two-of-three", "1", "3", "0"] in cli("topics", "list", "--under-replicated").rows
    (described,) = cli("topics", "describe", "two-of-three", "well", "--under-replicated", "--json").json
    assert (described["name"], [each["partition"] for each in described["partitions"]]) == ("two-of-three", [0])
    (described,) = cli("topics", "describe", "led-by-three", "--unavailable", "--json").json
    assert (described["partitions"][0]["leader"], described["partitions"][0]["end_offset"]) == (None, None)

    refused = cli("topics", "elect-leaders", "--topic", "led-by-three")
    assert "Cannot elect a leader of led-by-three-0: " in refused.complaint
    cluster.start(3)
    until(lambda: not affected("--unavailable") and not affected("--under-replicated"), "all partitions are back")
    # The topics stay: Apache Kafka 4.3 remembers the eligible leaders of a deleted topic, and its
    # controller then refuses a broker that comes back after a kill.
    assert cli("topics", "describe", *ours, "--unavailable").text == ""


def test_an_election_moves_leadership_to_the_preferred_replicas(cluster: ClusterOfThree) -> None:
    cli = cluster.cli
    _create(cli, "homes", "--assignment", "3:1,1:2,3:2", "--config", "min.insync.replicas=1")
    words = ("topics", "elect-leaders", "--topic", "homes")
    assert {row["result"] for row in cli(*words, "--json").json} == {"not needed"}
    cluster.kill(3)
    until(lambda: [each["leader"] for each in _partitions(cli, "homes")] == [1, 1, 2], "the partitions have other leaders")
    cluster.start(3)
    until(lambda: all(3 in each["isr"] for each in _partitions(cli, "homes") if 3 in each["replicas"]), "broker 3 is in sync again")
    assert cli(*words, "--partition", 0, "--json").json == [{"topic": "homes", "partition": 0, "result": "elected"}]
    assert {row["topic"] for row in cli("topics", "elect-leaders", "--all", "--preferred", "--json").json} >= {"homes"}
    until(lambda: [each["leader"] for each in _partitions(cli, "homes")] == [3, 1, 3], "the preferred replicas lead")
    cli("topics", "delete", "homes").worked()


def test_contradicting_options_of_elections_are_refused(cli: Cli, tmp_path: Path) -> None:
    words = ("topics", "elect-leaders")
    assert "not both" in cli(*words, "--preferred", "--unclean", "--all").complaint
    assert "with one of --topic" in cli(*words).complaint
    assert "with one of --topic" in cli(*words, "--all", "--topic", "t").complaint
    assert "so give both" in cli(*words, "--all", "--partition", 0).complaint
    assert cli(*words, "--topic", "nowhere").complaint == "There is no topic nowhere."
    (tmp_path / "file").write_text('{"partitions": [{"topic": "nowhere", "partition": 0}]}')
    assert "Cannot elect a leader of nowhere-0: " in cli(*words, "--partitions-file", tmp_path / "file").complaint
    (tmp_path / "file").write_text("[]")
    assert "is not of the form" in cli(*words, "--partitions-file", tmp_path / "file").complaint


# -- what they stand on ----------------------------------------------------------------------


def _create(cli: Cli, topic: str, *words: object) -> None:
    """The broker that the next command asks may learn of the topic later than the one that created
    it."""
    cli("topics", "create", topic, *words).worked()
    until(lambda: cli("topics", "describe", topic).code == 0, f"the broker that is asked knows {topic}")


def _brokers(cli: Cli) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = cli("brokers", "list", "--json").json
    return rows


def _partitions(cli: Cli, topic: str) -> list[dict[str, Any]]:
    (described,) = cli("topics", "describe", topic, "--json").json
    partitions: list[dict[str, Any]] = described["partitions"]
    return partitions


def _throttles(cli: Cli, *resource: object) -> dict[str, str]:
    settings = cli("configs", "describe", *resource, "--json").json
    return {each["name"]: each["value"] for each in settings if "throttled" in each["name"] and each["source"].startswith("DYNAMIC")}
