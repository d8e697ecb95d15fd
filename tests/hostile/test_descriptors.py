"""Brokers with few descriptors: the connections that they serve, and the events that they log at
the limit.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from barnabas.devcluster.development import development_properties
from barnabas.env.descriptors import OTHERS, Descriptors, descriptors
from barnabas.env.real_disk import open_files
from barnabas.network.connection import COPIED_BYTES_MAX
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.scenarios.client import Client, HungUp
from tests.waiting import PATIENCE_SECONDS, until

DESCRIPTORS = 1024
# Smaller responses are copied, and need no second descriptor.
LARGE = b"x" * (2 * COPIED_BYTES_MAX)
# Any of these errors, once the broker has closed the connection.
CLOSED = (HungUp, BrokenPipeError, ConnectionResetError)


class Server:
    def __init__(self, process: subprocess.Popen[str], bootstrap: str, log: Path) -> None:
        self.process = process
        self.bootstrap = bootstrap
        self._log = log

    def events(self, name: str) -> list[dict[str, Any]]:
        return [event for line in self._log.read_text().splitlines() if (event := json.loads(line))["event"] == name]

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))


@contextmanager
def server(directory: Path, limits: str, overrides: Mapping[str, str] | None = None, *, stop: bool = True) -> Iterator[Server]:
    """``limits`` are shell commands. Ends with no error in the log, and with a clean stop, or else
    a kill.
    """
    properties = development_properties(
        data_dir=str(directory / "data"),
        overrides={"socket.listen.backlog.size": "4000", **(overrides or {})},
    )
    ensure_formatted(parse_settings(properties))
    settings = " ".join(f"--override '{name}={value}'" for name, value in properties.items())
    log = directory / "log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            ["sh", "-c", f"{limits}; exec {sys.executable} -m barnabas server --log-level WARN {settings}"],
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
        )
    try:
        assert process.stdout is not None
        ready = process.stdout.readline()
        assert ready.startswith("ready "), log.read_text()
        yield Server(process, dict(part.split("=", 1) for part in ready.split()[1:])["bootstrap"], log)
        if stop:
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
        assert "error" not in {json.loads(line)["level"] for line in log.read_text().splitlines()}, log.read_text()
    finally:
        process.kill()
        process.communicate()


def served(bootstrap: str, crowd: ExitStack) -> Client | None:
    """A new connection that is answered; None when it is closed at once."""
    client = crowd.enter_context(Client(bootstrap))
    try:
        client.probe()
    except CLOSED:
        client.close()
        return None
    return client


def fill(bootstrap: str, crowd: ExitStack) -> list[Client]:
    """Open connections that are answered, until one is not."""
    inside = []
    while (client := served(bootstrap, crowd)) is not None:
        inside.append(client)
        assert len(inside) < DESCRIPTORS
    return inside


def test_connections_beyond_the_descriptors_are_closed_and_reported(tmp_path: Path) -> None:
    budget = Descriptors(DESCRIPTORS)
    with server(tmp_path, f"ulimit -n {DESCRIPTORS}") as broker, ExitStack() as crowd:
        inside = fill(broker.bootstrap, crowd)
        # The node has a few connections to itself.
        assert budget.connections_max - budget.kept_for_nodes - 10 <= len(inside) <= budget.connections_max - budget.kept_for_nodes
        for _ in range(20):
            assert served(broker.bootstrap, crowd) is None
        (said,) = broker.events("connections at their limit")
        assert (said["level"], said["listener"], said["limit"]) == ("warning", "PLAINTEXT", "descriptors of the process")
        assert "LimitNOFILE" in said["advice"]
        assert str(DESCRIPTORS) in said["advice"]
        # The open connections are served, and logs have the files they need.
        inside[0].create_topic("t", 200)
        for partition in range(200):
            inside[partition].produce("t", [b"%d" % partition], partition=partition)
        assert inside[-1].values("t", 199) == [b"199"]
        for each in inside[:50]:
            each.close()
        until(lambda: served(broker.bootstrap, crowd), "a connection is served again")
        for each in inside[50:]:
            each.probe()


def test_a_connection_has_a_second_descriptor_only_while_they_are_plentiful(tmp_path: Path) -> None:
    budget = Descriptors(DESCRIPTORS)
    with server(tmp_path, f"ulimit -n {DESCRIPTORS}") as broker, ExitStack() as crowd:
        first = crowd.enter_context(Client(broker.bootstrap))
        first.create_topic("t")
        first.produce("t", [LARGE])
        consumers: list[Client] = []
        while len(consumers) < budget.connections_max // 4:
            consumer = served(broker.bootstrap, crowd)
            assert consumer is not None
            assert consumer.values("t") == [LARGE]
            consumers.append(consumer)
        assert broker.open_files() > 2 * len(consumers)
        # The other connections get the descriptors that these do not need now.
        inside = fill(broker.bootstrap, crowd)
        assert len(consumers) + len(inside) >= budget.connections_max - budget.kept_for_nodes - 10
        for each in (*consumers, *inside[::20]):
            assert each.values("t") == [LARGE]
        assert broker.open_files() <= len(consumers) + len(inside) + OTHERS


def test_clients_do_not_fill_the_listener_between_brokers(tmp_path: Path) -> None:
    listeners = {
        "listeners": "INTERNAL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "INTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "INTERNAL",
    }
    with server(tmp_path, f"ulimit -n {DESCRIPTORS}", listeners) as broker, ExitStack() as crowd:
        # `bootstrap` is the first listener that is not the controllers'.
        between_brokers = broker.bootstrap
        others = {f"127.0.0.1:{port}" for port in listening_ports(broker.process.pid)} - {between_brokers}
        (clients,) = (address for address in others if serves_produce(address))
        (controllers,) = others - {clients}
        assert len(fill(clients, crowd)) > 600
        assert served(clients, crowd) is None
        assert served(between_brokers, crowd) is not None
        assert served(controllers, crowd) is not None
        assert {event["listener"] for event in broker.events("connections at their limit")} == {"PLAINTEXT"}


def serves_produce(address: str) -> bool:
    with Client(address) as client:
        versions = client.ask(ApiVersionsRequest(client_software_name="test", client_software_version="1"))
        return ApiKey.PRODUCE in {each.api_key for each in versions.api_keys}


def listening_ports(pid: int) -> set[int]:
    """Of a process, from /proc."""
    sockets = {
        target.removeprefix("socket:[").removesuffix("]")
        for link in Path(f"/proc/{pid}/fd").iterdir()
        if (target := str(link.readlink())).startswith("socket:[")
    }
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(row[1].rpartition(":")[2], 16) for row in rows if row[3] == "0A" and row[9] in sockets}


def test_a_soft_limit_is_raised_when_the_broker_starts(tmp_path: Path) -> None:
    with server(tmp_path, "ulimit -Sn 256; ulimit -Hn 700") as broker:
        limits = Path(f"/proc/{broker.process.pid}/limits").read_text()
        (line,) = (line for line in limits.splitlines() if line.startswith("Max open files"))
        assert line.split()[3:5] == ["700", "700"]


def test_reaching_max_connections_is_reported(tmp_path: Path) -> None:
    with server(tmp_path, "ulimit -n 700", {"max.connections": "5"}) as broker, ExitStack() as crowd:
        for _ in range(5):
            assert served(broker.bootstrap, crowd) is not None
        (said,) = until(lambda: broker.events("connections at their limit"), "the limit is announced")
        assert (said["limit"], said["connections_max"], said["closed"]) == ("max.connections", 5, 0)


def test_an_embedded_broker_returns_all_counted_descriptors() -> None:
    before = descriptors.connections, len(open_files().numbers)
    with ExitStack() as crowd, EmbeddedBroker() as kafka:
        clients = [crowd.enter_context(Client(kafka.bootstrap)) for _ in range(10)]
        clients[0].create_topic("t")
        clients[0].produce("t", [LARGE])
        for each in clients:
            assert each.values("t") == [LARGE]
        assert descriptors.connections >= before[0] + 20
    assert (descriptors.connections, len(open_files().numbers)) == before


@pytest.mark.parametrize(("limit", "partitions"), [(512, 600), pytest.param(1024, 1100, marks=pytest.mark.soak)])
def test_more_partitions_than_descriptors_are_written_and_read_also_after_a_crash(tmp_path: Path, limit: int, partitions: int) -> None:
    """With librdkafka, which asks for all of them in one fetch. The broker is killed, so that the
    next start has to recover all logs; a clean stop would wait for thousands of syncs.
    """
    everywhere = [TopicPartition("many", partition, 0) for partition in range(partitions)]
    limits = f"ulimit -n {limit}"
    rounds = 2

    def produce(bootstrap: str, number: int) -> None:
        producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 50})
        failures: list[str] = []
        for each in everywhere:
            producer.produce(
                "many",
                f"{number} of {each.partition}".encode(),
                partition=each.partition,
                on_delivery=lambda error, _: failures.append(str(error)) if error else None,
            )
            producer.poll(0)
        assert producer.flush(PATIENCE_SECONDS) == 0
        assert failures == []

    def consumed(bootstrap: str, count: int) -> dict[int, list[bytes]]:
        found: dict[int, list[bytes]] = {partition: [] for partition in range(partitions)}
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
        try:
            consumer.assign(everywhere)
            for _ in range(count * partitions):
                message = consumer.poll(PATIENCE_SECONDS)
                assert message is not None, f"{sum(map(len, found.values()))} of {count * partitions} records arrived"
                assert message.error() is None, message.error()
                partition, value = message.partition(), message.value()
                assert partition is not None
                assert value is not None
                found[partition].append(value)
        finally:
            consumer.close()
        return found

    def expected(count: int) -> dict[int, list[bytes]]:
        return {partition: [f"{number} of {partition}".encode() for number in range(count)] for partition in range(partitions)}

    with server(tmp_path, limits, stop=False) as broker:
        with Client(broker.bootstrap, timeout=PATIENCE_SECONDS) as client:
            client.create_topic("many", partitions)
        for number in range(rounds):
            produce(broker.bootstrap, number)
        assert consumed(broker.bootstrap, rounds) == expected(rounds)
        assert broker.open_files() <= limit
    with server(tmp_path, limits, stop=False) as broker:
        produce(broker.bootstrap, rounds)
        assert consumed(broker.bootstrap, rounds + 1) == expected(rounds + 1)
