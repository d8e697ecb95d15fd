"""``barnabas server --processes``: clients, crashes, stops, and what is refused."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from prometheus_client.parser import text_string_to_metric_families

from barnabas.storage.log_directory import CLEAN_SHUTDOWN
from peers.apache_kafka import why_missing
from tests.cli.running import Cli
from tests.cluster.processes_of_machine import Machine, Running, alive
from tests.conformance.clients.kafka_tools import kafka_tools
from tests.waiting import PATIENCE_SECONDS, until

TOPIC, PARTITIONS = "spread", 6


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def served(machine: Machine) -> Iterator[Running]:
    """A node that ran alone, and has three processes since."""
    with machine.serve(None) as alone:
        Cli(alone.bootstrap)("topics", "create", "of-one").worked()
        Cli(alone.bootstrap)("produce", "of-one", stdin=b"early\n").worked()
        assert alone.stop() == 0
    with machine.serve(3) as running:
        create(running, TOPIC)
        yield running


def create(running: Running, topic: str) -> None:
    # The request ends with the client, so it needs a name.
    admin = AdminClient({"bootstrap.servers": running.bootstrap})
    admin.create_topics([NewTopic(topic, PARTITIONS, 1)])[topic].result(PATIENCE_SECONDS)


def leaders(running: Running, topic: str) -> dict[int, int]:
    admin = AdminClient({"bootstrap.servers": running.bootstrap})

    def known() -> dict[int, int]:
        found = admin.list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic].partitions.values()
        return {each.id: each.leader for each in found} if all(each.leader >= 0 for each in found) else {}

    # The process that is asked may learn of the topic later than the one that created it.
    return until(known, f"the leaders of {topic} are known")


def produce(running: Running, topic: str, values: list[bytes]) -> None:
    """With one address to begin with: clients learn the others."""
    failed: list[Any] = []
    producer = Producer({"bootstrap.servers": running.bootstrap.split(",")[0], "acks": "all", "enable.idempotence": True})
    for number, value in enumerate(values):
        producer.produce(topic, value, partition=number % PARTITIONS, on_delivery=lambda error, _: failed.append(error) if error else None)
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert failed == []


def consumed(running: Running, topic: str, count: int) -> set[bytes]:
    address = running.bootstrap.split(",")[-1]
    consumer = Consumer(
        {"bootstrap.servers": address, "group.id": f"{topic}-readers", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    )
    consumer.subscribe([topic])
    found: set[bytes] = set()

    def read() -> bool:
        found.update(each.value() or b"" for each in consumer.consume(1000, 0.2) if each.error() is None)
        return len(found) >= count

    try:
        until(read, f"{count} records are read", seen=lambda: len(found))
    finally:
        consumer.close()
    return found


def page(running: Running, path: str) -> tuple[int, str]:
    try:
        with urlopen(f"http://127.0.0.1:{running.machine.metrics_port}{path}", timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def await_ready(running: Running) -> None:
    until(lambda: page(running, "/ready")[0] == 200, "all processes are ready", seen=lambda: page(running, "/ready"))


def test_clients_find_the_right_process_by_themselves(served: Running) -> None:
    assert served.ready["nodes"] == "1,2,3"
    port = served.machine.port
    assert served.bootstrap == f"127.0.0.1:{port},127.0.0.1:{port + 2},127.0.0.1:{port + 3}"
    assert set(leaders(served, TOPIC).values()) == {1, 2, 3}
    values = [b"value-%d" % number for number in range(60)]
    produce(served, TOPIC, values)
    assert consumed(served, TOPIC, len(values)) == set(values)


def test_a_node_that_ran_alone_keeps_its_data(served: Running) -> None:
    assert set(leaders_of_one(served)) == {1}
    assert Cli(served.bootstrap)("consume", "of-one", "--from-beginning", "--until-end").text == "early\n"


def leaders_of_one(served: Running) -> list[int]:
    return list(leaders(served, "of-one").values())


def test_every_process_has_the_rack_of_the_machine(served: Running) -> None:
    rows = Cli(served.bootstrap)("brokers", "list", "--json").json
    assert [(row["broker"], row["rack"]) for row in rows] == [(each, socket.gethostname()) for each in (1, 2, 3)]


@pytest.mark.java
@pytest.mark.skipif(why_missing() is not None, reason=str(why_missing()))
def test_kafkas_own_tools_see_the_brokers_and_their_racks(served: Running) -> None:
    with kafka_tools() as tools:
        listed = tools.run("org.apache.kafka.tools.ClusterTool", "list-endpoints", "--bootstrap-server", served.bootstrap)
    rack = re.escape(socket.gethostname())
    for node_id, address in enumerate(served.bootstrap.split(","), start=1):
        host, port = address.split(":")
        assert re.search(rf"^{node_id}\s+{re.escape(host)}\s+{port}\s+{rack}\s", listed, re.MULTILINE), listed


def test_one_page_has_the_metrics_of_all_processes(served: Running) -> None:
    await_ready(served)
    status, text = page(served, "/metrics")
    assert status == 200
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert {each.labels["process"] for each in families["barnabas_partitions"].samples} == {"1", "2", "3"}
    assert {each.labels["process"]: each.value for each in families["barnabas_process_serving"].samples} == {"1": 1, "2": 1, "3": 1}
    assert sum(each.value for each in families["barnabas_controller_active"].samples) == 1


def test_one_page_tells_of_the_health_of_all_processes(served: Running) -> None:
    await_ready(served)
    for path, word in (("/health", "alive"), ("/ready", "ready")):
        fields = json.loads(page(served, path)[1])
        assert (fields["status"], fields["reasons"]) == (word, [])
        assert [each["node_id"] for each in fields["processes"]] == [1, 2, 3]


def test_the_log_is_one_stream_of_json_with_the_ids_of_nodes(served: Running) -> None:
    assert {event["node_id"] for event in served.events() if event["event"] == "node ready"} == {1, 2, 3}


def test_storage_info_shows_the_directories_of_all_processes(served: Running) -> None:
    lines = Cli()("storage", "info", "--config", served.machine.file).text.splitlines()
    assert [line.partition(", directory")[0] for line in lines] == [
        f"{served.machine.data}{place}: cluster {served.ready['cluster']}, node {node_id}"
        for node_id, place in ((1, ""), (2, "/processes/node-2"), (3, "/processes/node-3"))
    ]


def test_fewer_processes_are_refused_with_the_way_out(served: Running) -> None:
    place = served.machine.data / "processes" / "node-3"
    sentence = served.machine.refused("--processes", 2)
    assert f"{place} holds the data of a process that --processes 2 does not start" in sentence
    assert "barnabas reassign" in sentence
    place = served.machine.data / "processes" / "node-2"
    assert f"{place} holds the data of a process that `barnabas server` without --processes does not start" in served.machine.refused()


@pytest.mark.parametrize("node_id", [2, 1])
def test_a_killed_process_comes_back_with_every_acknowledged_record(machine: Machine, served: Running, node_id: int) -> None:
    """The first process is the controller, too."""
    topic = f"kept-{node_id}"
    create(served, topic)
    values = [b"value-%d" % number for number in range(60)]
    produce(served, topic, values[:30])
    before = restarts(served, node_id)
    served.kill_node(node_id)
    until(lambda: restarts(served, node_id) > before, "the supervisor restarts the process")
    await_ready(served)
    produce(served, topic, values[30:])
    assert consumed(served, topic, len(values)) == set(values)
    (ended,) = [each for each in served.events() if each["event"].startswith("process ended") and each["node_id"] == node_id]
    assert (ended["code"], ended["reason"]) == (-signal.SIGKILL, "killed by SIGKILL.")
    started = [each["pid"] for each in served.events() if each["event"] == "process started" and each["node_id"] == node_id]
    assert [alive(pid) for pid in started] == [False, True]


def restarts(served: Running, node_id: int) -> float:
    _, text = page(served, "/metrics")
    found = re.search(rf'^barnabas_process_restarts_total{{process="{node_id}"}} (\S+)$', text, re.MULTILINE)
    assert found is not None, text
    return float(found[1])


def test_sigterm_stops_one_process_after_the_other_and_a_restart_finds_everything(
    machine: Machine, served: Running, tmp_path: Path
) -> None:
    """Runs last, because it stops the server of this module."""
    topic = "found-again"
    create(served, topic)
    values = [b"value-%d" % number for number in range(12)]
    produce(served, topic, values)
    assert served.stop() == 0
    stops = [(each["node_id"], each["event"]) for each in served.events() if each["event"] in ("node stops", "node stopped")]
    assert stops == [(node_id, event) for node_id in (3, 2, 1) for event in ("node stops", "node stopped")]
    assert all(each["clean"] for each in served.events() if each["event"] == "node stopped")
    with service_manager(tmp_path) as (heard, environment), machine.serve(3, environment) as again:
        assert heard.recv(100) == b"READY=1"
        assert all(each["clean"] for each in again.events() if each["event"] == "logs opened")
        assert consumed(again, topic, len(values)) == set(values)
        assert again.stop(signal.SIGINT) == 0
        # The processes have notified no one: the service manager would have heard them before.
        assert heard.recv(100) == b"STOPPING=1"


@contextmanager
def service_manager(directory: Path) -> Iterator[tuple[socket.socket, dict[str, str]]]:
    """The socket on which systemd listens to a unit, and the variable that names it."""
    address = str(directory / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as heard:
        heard.bind(address)
        heard.settimeout(PATIENCE_SECONDS)
        yield heard, {"NOTIFY_SOCKET": address}


def test_no_process_survives_a_killed_supervisor(tmp_path: Path) -> None:
    """The voters are in the log of this cluster, so that both kinds of quorum are started."""
    with Machine(tmp_path, format_options=("--standalone",)).serve(2) as running:
        assert all(map(alive, running.pids))
        os.kill(running.process.pid, signal.SIGKILL)
        until(lambda: not any(map(alive, running.pids)), "the processes end")
        # They stopped cleanly. The log ended with the supervisor, but each left its mark.
        for directory in (running.machine.data, running.machine.data / "processes" / "node-2"):
            assert (directory / CLEAN_SHUTDOWN).exists()


def test_a_port_that_is_taken_is_one_sentence_before_any_process_starts(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    with socket.create_server(("127.0.0.1", machine.port + 2)):
        sentence = machine.refused("--processes", 2)
    assert sentence == (
        f"Node 2 cannot listen on PLAINTEXT://127.0.0.1:{machine.port + 2}: Address already in use."
        " The ports of all 2 processes must be free."
    )
    assert not (machine.data / "processes").exists()
    with socket.create_server(("127.0.0.1", machine.metrics_port)):
        assert "barnabas.prometheus.listener" in machine.refused("--processes", 2)


def test_a_setting_that_is_wrong_is_one_sentence(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    assert "num.partitons is not a setting" in machine.refused("--processes", 2, "--override", "num.partitons=3")
    assert "--processes must be auto or a number" in machine.refused("--processes", "many")


def test_a_process_that_cannot_start_ends_the_whole_with_its_sentence(tmp_path: Path) -> None:
    """The directory of the second process belongs to another node, which only that process
    finds out."""
    machine = Machine(tmp_path)
    foreign = machine.data / "processes" / "node-2"
    foreign.mkdir(parents=True)
    own = (machine.data / "meta.properties").read_text()
    (foreign / "meta.properties").write_text(own.replace("node.id=1", "node.id=7"))
    process = Cli().process("server", "--log-level", "FATAL", "--config", machine.file, "--processes", 2, stdin=subprocess.DEVNULL)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert (process.returncode, out) == (1, b"")
    assert err.decode() == f"barnabas: Node 2 cannot start: {foreign} belongs to node 7, but node.id is 2.\n"
