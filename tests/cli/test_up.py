"""``barnabas up``: one broker in this process, several as children."""

from __future__ import annotations

import signal
import socket
from pathlib import Path

import pytest

from barnabas.config.properties import read_properties
from tests.cli.running import PATIENCE_SECONDS, Cli
from tests.cli.up_cluster import UpCluster
from tests.scenarios.waiting import until


def test_one_broker_prints_one_line_and_keeps_its_data(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=1) as first:
        assert first.ready["node"] == "1"
        Cli(first.bootstrap)("topics", "create", "kept").worked()
    assert first.process.returncode == 0
    with UpCluster(tmp_path, brokers=1) as again:
        assert again.ready["cluster"] == first.ready["cluster"]
        assert [row[0] for row in Cli(again.bootstrap)("topics", "list").rows] == ["kept"]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_three_brokers_serve_stop_cleanly_and_start_again_on_their_data(tmp_path: Path, how: signal.Signals) -> None:
    with UpCluster(tmp_path, brokers=3) as first:
        assert len(first.bootstrap.split(",")) == len(set(first.pids)) == 3
        cli = Cli(first.bootstrap)
        cli("topics", "create", "kept", "--partitions", 3).worked()
        cli("produce", "kept", "--idempotent", stdin=b"one\ntwo\n").worked()
        out, err = first.stop(how)
        # The last of them may find no quorum any more for its controlled shutdown, and reports that
        # after its timeout.
        assert (out, [line for line in err.splitlines() if b"no controller let this broker go" not in line]) == (b"", [])
    assert first.process.returncode == 0
    with UpCluster(tmp_path, brokers=3) as again:
        assert again.ready["cluster"] == first.ready["cluster"]
        cli = Cli(again.bootstrap)
        (topic,) = cli("topics", "describe", "kept", "--json").json
        assert topic["replication_factor"] == 3
        assert sorted(cli("consume", "kept", "--from-beginning", "--until-end").text.split()) == ["one", "two"]


def test_a_node_that_dies_is_named_and_the_others_continue(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=3) as cluster:
        for address in cluster.bootstrap.split(","):
            # Wait until every broker knows all of them, because a node may die before it has passed
            # on its metadata.
            until(lambda address=address: _active(Cli(address)) == [1, 2, 3], "every broker is active")  # type: ignore[misc]
        cluster.kill(2)
        assert cluster.process.stderr is not None
        line = cluster.process.stderr.readline().decode()
        assert line.startswith("barnabas: Node 2 has stopped: killed by SIGKILL.")
        assert str(tmp_path / "node-2.properties") in line
        assert cluster.process.poll() is None
        assert sorted(row["broker"] for row in Cli(cluster.bootstrap)("brokers", "list", "--json").json) == [1, 2, 3]


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


def test_a_cluster_of_several_nodes_is_not_started_with_fewer_controllers(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=3):
        pass
    for brokers in (1, 2):
        assert "holds a cluster" in Cli()("up", "--brokers", brokers, "--data-dir", tmp_path).complaint


@pytest.mark.parametrize("name", ["node.id", "listeners", "log.dirs"])
def test_settings_that_differ_per_node_cannot_be_overridden(tmp_path: Path, name: str) -> None:
    refused = Cli()("up", "--brokers", 3, "--data-dir", tmp_path, "--override", f"{name}=1")
    assert refused.complaint == f"{name} cannot be the same for 3 brokers."


def test_nodes_have_ordinary_properties_files(tmp_path: Path) -> None:
    with UpCluster(tmp_path, brokers=4, overrides={"num.partitions": "5"}) as cluster:
        first, last = (read_properties((tmp_path / f"node-{each}.properties").read_text()) for each in (1, 4))
    assert (first["process.roles"], last["process.roles"]) == ("broker,controller", "broker")
    assert first["controller.quorum.voters"] == last["controller.quorum.voters"]
    assert first["offsets.topic.replication.factor"] == first["default.replication.factor"] == "3"
    assert first["transaction.state.log.min.isr"] == "2"
    assert last["num.partitions"] == "5"
    assert f"PLAINTEXT://{cluster.bootstrap.split(',')[-1]}" == last["listeners"]


def _active(cli: Cli) -> list[int]:
    return sorted(row["broker"] for row in cli("brokers", "list", "--json").json if row["state"] == "active")


def _until_nobody_listens(place: tuple[str, int]) -> None:
    while True:
        try:
            socket.create_connection(place, timeout=PATIENCE_SECONDS).close()
        except ConnectionError:
            return
