"""``barnabas up``: one broker in this process, several as children."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.config.properties import read_properties
from peers.ports import free_port
from tests.cli.running import Cli
from tests.cli.up_cluster import UpCluster
from tests.waiting import PATIENCE_SECONDS, until


def test_one_broker_prints_one_line_and_keeps_its_data(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=1) as first:
        assert first.ready["node"] == "1"
        Cli(first.bootstrap)("topics", "create", "kept").worked()
    assert first.process.returncode == 0
    with UpCluster(tmp_path, brokers=1) as again:
        assert again.ready["cluster"] == first.ready["cluster"]
        assert [row[0] for row in Cli(again.bootstrap)("topics", "list").rows] == ["kept"]


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> UpCluster:
    """A cluster of three that was written to and stopped by SIGTERM."""
    with UpCluster(tmp_path_factory.mktemp("three"), brokers=3) as cluster:
        assert len(cluster.bootstrap.split(",")) == len(set(cluster.pids)) == 3
        cli = Cli(cluster.bootstrap)
        cli("topics", "create", "kept", "--partitions", 3).worked()
        for address in cluster.bootstrap.split(","):
            # The broker that created it knows it first.
            until(lambda address=address: Cli(address)("topics", "describe", "kept").code == 0, "every broker knows the topic")  # type: ignore[misc]
        cli("produce", "kept", "--idempotent", stdin=b"one\ntwo\n").worked()
        _stops_cleanly(cluster, signal.SIGTERM)
    return cluster


def test_three_brokers_serve_stop_cleanly_and_are_found_again(stopped: UpCluster) -> None:
    with UpCluster(stopped.data_dir, brokers=3) as again:
        assert again.ready["cluster"] == stopped.ready["cluster"]
        cli = Cli(again.bootstrap)
        (topic,) = cli("topics", "describe", "kept", "--json").json
        assert topic["replication_factor"] == 3
        assert sorted(cli("consume", "kept", "--from-beginning", "--until-end").text.split()) == ["one", "two"]
        _stops_cleanly(again, signal.SIGINT)


def test_a_cluster_of_several_is_not_started_with_fewer_controllers(stopped: UpCluster) -> None:
    for brokers in (1, 2):
        assert "holds a cluster" in Cli()("up", "--brokers", brokers, "--data-dir", stopped.data_dir).complaint


def _stops_cleanly(cluster: UpCluster, how: signal.Signals) -> None:
    out, err = cluster.stop(how)
    # The last node may find no quorum for its controlled shutdown, and logs that after a while.
    assert (out, [line for line in err.splitlines() if b"no controller let this broker go" not in line]) == (b"", [])
    assert cluster.process.returncode == 0


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpCluster]:
    with UpCluster(tmp_path_factory.mktemp("four"), brokers=4, overrides={"num.partitions": "5"}) as cluster:
        yield cluster
        # Nothing looks at it any more, and without one of its nodes a clean stop takes long.
        cluster.process.kill()
        cluster.process.wait()


def test_nodes_are_configured_as_a_user_would(four: UpCluster) -> None:
    first, last = (read_properties((four.data_dir / f"node-{each}.properties").read_text()) for each in (1, 4))
    assert (first["process.roles"], last["process.roles"]) == ("broker,controller", "broker")
    assert first["controller.quorum.voters"] == last["controller.quorum.voters"]
    assert first["offsets.topic.replication.factor"] == first["default.replication.factor"] == "3"
    assert first["transaction.state.log.min.isr"] == "2"
    assert last["num.partitions"] == "5"
    assert f"PLAINTEXT://{four.bootstrap.split(',')[-1]}" == last["listeners"]


def test_a_node_that_dies_is_named_and_the_others_continue(four: UpCluster) -> None:
    for address in four.bootstrap.split(","):
        # Wait until every broker knows all of them, because a node may die before it has passed
        # on its metadata.
        until(lambda address=address: _active(Cli(address)) == [1, 2, 3, 4], "every broker is active")  # type: ignore[misc]
    four.kill(2)
    assert four.process.stderr is not None
    line = four.process.stderr.readline().decode()
    assert line.startswith("barnabas: Node 2 has stopped: killed by SIGKILL.")
    assert str(four.data_dir / "node-2.properties") in line
    assert four.process.poll() is None
    assert sorted(row["broker"] for row in Cli(four.bootstrap)("brokers", "list", "--json").json) == [1, 2, 3, 4]


def test_nodes_end_with_the_process_that_started_them(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=2) as cluster:
        places = [(host, int(port)) for host, port in (each.split(":") for each in cluster.bootstrap.split(","))]
        cluster.process.kill()
        cluster.process.wait(PATIENCE_SECONDS)
        for place in places:
            _until_nobody_listens(place)


def test_a_node_that_cannot_start_is_reported_as_the_reason(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = Cli().process("up", "--brokers", 3, "--port", port, "--data-dir", tmp_path)
        out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (1, b"")
    last = err.decode().splitlines()[-1]
    assert last.startswith("barnabas: Node 1 cannot start: ")
    assert str(port) in last


def test_the_number_of_controllers_cannot_change(tmp_path: Path) -> None:
    """New controllers could outvote those that hold the metadata."""
    with UpCluster(tmp_path, brokers=1) as alone:
        Cli(alone.bootstrap)("topics", "create", "kept").worked()
    with UpCluster(tmp_path, brokers=3) as grown:
        assert grown.ready["cluster"] == alone.ready["cluster"]
        assert [row[0] for row in Cli(grown.bootstrap)("topics", "list").rows] == ["kept"]
        assert [each["node"] for each in Cli(grown.bootstrap)("quorum", "describe", "--json").json["voters"]] == [1]


@pytest.mark.parametrize("name", ["node.id", "broker.id", "listeners", "log.dirs"])
def test_settings_that_differ_per_node_cannot_be_overridden(tmp_path: Path, name: str) -> None:
    refused = Cli()("up", "--brokers", 3, "--data-dir", tmp_path, "--override", f"{name}=1")
    nodes = "; they are the nodes 1 to 3" if name.endswith(".id") else ""
    assert refused.complaint == f"{name} cannot be the same for 3 brokers{nodes}."


def test_a_single_broker_takes_any_node_id_and_keeps_it(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=1, overrides={"node.id": "0"}) as first:
        assert first.ready["node"] == "0"
        Cli(first.bootstrap)("topics", "create", "kept").worked()
    with UpCluster(tmp_path, brokers=1) as again:
        assert (again.ready["node"], again.ready["cluster"]) == ("0", first.ready["cluster"])
        assert [row[0] for row in Cli(again.bootstrap)("topics", "list").rows] == ["kept"]
    assert "belongs to node 0" in Cli()("up", "--port", 0, "--data-dir", tmp_path, "--override", "broker.id=7").complaint


def test_a_single_broker_takes_the_settings_that_users_of_kafka_give(tmp_path: Path) -> None:
    port = free_port()
    given = {
        "broker.id": "7",
        "log.dir": str(tmp_path / "elsewhere"),
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://localhost:{port}",
    }
    with UpCluster(tmp_path / "data", brokers=1, overrides=given) as cluster:
        assert cluster.ready["node"] == "7"
        assert cluster.bootstrap == f"localhost:{port}"
        Cli(cluster.bootstrap)("topics", "create", "there").worked()
        assert (tmp_path / "elsewhere" / "there-0").is_dir()


@pytest.mark.parametrize(
    ("override", "complaint"),
    [
        ("node.id=first", "node.id must be a 32-bit integer of at least 0, but is 'first'."),
        ("process.roles=broker", "controller.quorum.voters must not include this node, 1, because it is not a controller."),
        ("zookeeper.connect=localhost:2181", "zookeeper.connect is a setting of Kafka 3 that Kafka 4 no longer has."),
    ],
)
def test_a_setting_that_a_single_broker_cannot_have_is_refused_in_a_sentence(tmp_path: Path, override: str, complaint: str) -> None:
    assert Cli()("up", "--port", 0, "--data-dir", tmp_path, "--override", override).complaint == complaint


def _active(cli: Cli) -> list[int]:
    return sorted(row["broker"] for row in cli("brokers", "list", "--json").json if row["state"] == "active")


def _until_nobody_listens(place: tuple[str, int]) -> None:
    def is_refused() -> bool:
        try:
            socket.create_connection(place, timeout=PATIENCE_SECONDS).close()
        except ConnectionError:
            return True
        return False

    until(is_refused, f"nothing listens at {place}")
