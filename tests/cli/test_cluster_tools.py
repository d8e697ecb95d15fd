"""What only makes sense where there are several nodes: the same claims about our cluster and about Apache Kafka's.

Ours is started once by ``barnabas up --brokers 3`` itself, Kafka's as ``peers`` does it. Tests leave three nodes running behind them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from peers.apache_kafka import why_missing
from peers.apache_kafka_cluster import apache_cluster
from peers.cluster import QUICK
from tests.cli.running import PATIENCE_SECONDS, Cli
from tests.cli.up_cluster import UpCluster


class ClusterOfThree(NamedTuple):
    cli: Cli
    kill: Callable[[int], None]
    start: Callable[[int], None]


@pytest.fixture(
    scope="module",
    params=[
        "barnabas",
        pytest.param("kafka", marks=[pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))]),
    ],
)
def cluster(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterOfThree]:
    if request.param == "kafka":
        with apache_cluster(brokers=3, properties=QUICK) as apache:
            yield ClusterOfThree(Cli(apache.bootstrap), lambda each: apache.node(each).kill(), lambda each: apache.node(each).start())
    else:
        with UpCluster(tmp_path_factory.mktemp("up"), brokers=3, overrides=QUICK) as ours:
            yield ClusterOfThree(Cli(ours.bootstrap), ours.kill, ours.start)


@pytest.fixture
def cli(cluster: ClusterOfThree) -> Cli:
    return cluster.cli


# -- brokers ---------------------------------------------------------------------------------------------------------------------


def test_brokers_are_listed_with_what_they_have_to_do(cli: Cli) -> None:
    cli("topics", "create", "duties", "--assignment", "1:2,1:3,2:1").worked()
    before = {row["broker"]: row for row in _brokers(cli)}
    assert {row["state"] for row in before.values()} == {"active"}
    assert f"127.0.0.1:{cli.environment['BARNABAS_BOOTSTRAP'].split(',')[0].split(':')[1]}" == before[1]["address"]
    cli("topics", "create", "more-duties", "--assignment", "3:2").worked()
    _eventually(lambda: {row["broker"]: row["leads"] - before[row["broker"]]["leads"] for row in _brokers(cli)} == {1: 0, 2: 0, 3: 1})
    _eventually(lambda: {row["broker"]: row["replicas"] - before[row["broker"]]["replicas"] for row in _brokers(cli)} == {1: 0, 2: 1, 3: 1})
    assert [row[0] for row in cli("brokers", "list").rows] == ["1", "2", "3"]
    cli("topics", "delete", "duties", "more-duties").worked()


def test_a_broker_that_was_never_there_cannot_be_unregistered(cli: Cli) -> None:
    assert cli("brokers", "unregister", 99).complaint == "There is no broker 99."


def test_a_broker_that_died_is_listed_as_fenced_until_it_is_back(cluster: ClusterOfThree) -> None:
    cluster.kill(3)
    _eventually(lambda: {row["broker"]: row["state"] for row in _brokers(cluster.cli)}.get(3) == "fenced")
    cluster.start(3)
    _eventually(lambda: {row["broker"]: row["state"] for row in _brokers(cluster.cli)}.get(3) == "active")


# -- the quorum ------------------------------------------------------------------------------------------------------------------


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


def test_voters_of_a_static_quorum_stay(cli: Cli) -> None:
    """Both clusters have ``controller.quorum.voters``; only a dynamic quorum lets voters come and go."""
    directory = "AAAAAAAAAAAAAAAAAAAA1A"
    assert "Cannot remove voter 1 with directory" in cli("quorum", "remove", 1, "--directory-id", directory).complaint
    words = ("--voter", 4, "--directory-id", directory, "--listener", "CONTROLLER://127.0.0.1:1")
    assert "Cannot add node 4 to the voters" in cli("quorum", "add", *words).complaint
    assert cli("quorum", "remove", 9).complaint.startswith("Node 9 is not a voter; those are ")


# -- what they stand on ----------------------------------------------------------------------------------------------------------


def _brokers(cli: Cli) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = cli("brokers", "list", "--json").json
    return rows


def _eventually(holds: Callable[[], bool]) -> None:
    """Brokers hear of what the controller decided a little later."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)
