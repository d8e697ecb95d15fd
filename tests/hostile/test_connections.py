"""Too many connections, idle connections, and the limits of Kafka's settings on both."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.devcluster.development import development_properties
from barnabas.model.errors import ErrorCode
from barnabas.node.process import ensure_formatted, parse_settings
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.hostile.conftest import Victim
from tests.scenarios.client import FETCH_BY_NAME, Client, HungUp, batch_of, fetch_request, frame_of
from tests.waiting import PATIENCE_SECONDS, until

IDLE_CONNECTIONS = 2000
FEW_DESCRIPTORS = 600
VERSIONS = ApiVersionsRequest(client_software_name="test", client_software_version="1")


@pytest.fixture
def crowd() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def connect_from(address: str, bootstrap: str) -> Client:
    """A client with another address of this machine."""
    client = Client.__new__(Client)
    host, _, port = bootstrap.rpartition(":")
    client.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS, source_address=(address, 0))
    client._next_id = 0
    return client


# -- many


def test_thousands_of_idle_connections_cost_little_and_delay_no_client(victim: Victim, crowd: ExitStack) -> None:
    before = victim.open_files()
    idle = [crowd.enter_context(victim.client()) for _ in range(IDLE_CONNECTIONS)]
    for each in idle[::100]:
        each.probe()
    worked = victim.worked_seconds()
    with victim.client() as client:
        for _ in range(50):
            client.probe()
    assert victim.worked_seconds() - worked < 5
    crowd.close()
    until(lambda: victim.open_files() <= before + 10, "all descriptors are given back")


def test_short_connections_leave_no_descriptor_behind(victim: Victim) -> None:
    before = victim.open_files()
    for number in range(1500):
        client = victim.client()
        if number % 3 == 0:
            client.send(VERSIONS)
        if number % 5 == 0:
            # Closed with a reset, while a response is in flight.
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
    until(lambda: victim.open_files() <= before + 10, "all descriptors are given back")


def test_a_reset_during_a_fetch_response_releases_its_descriptors(victim: Victim) -> None:
    before = victim.open_files()
    with victim.client() as client:
        client.create_topic("large")
        client.produce("large", [bytes(900_000)])
        for _ in range(30):
            peer = victim.client(receive_buffer_bytes=4096)
            peer.send_bytes(frame_of(fetch_request([("large", 0, 0)]), FETCH_BY_NAME) * 3)
            peer.receive_exactly(100)
            peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()
        assert client.fetch("large").error_code == 0
        client.delete_topic("large")
    until(lambda: victim.open_files() <= before + 10, "all descriptors are given back")


def test_a_half_closed_connection_is_answered_and_closed(victim: Victim) -> None:
    """When a peer closes its sending side, the broker answers its requests and closes the
    connection.
    """
    with victim.client() as client:
        client.send(VERSIONS)
        client.socket.shutdown(socket.SHUT_WR)
        assert client.receive(VERSIONS)[1].error_code == 0
        assert client.hung_up()


# -- limits


def test_connections_beyond_max_connections_wait_until_one_closes() -> None:
    with EmbeddedBroker(config={"max.connections": "3"}) as kafka, ExitStack() as stack:
        inside = [stack.enter_context(Client(kafka.bootstrap)) for _ in range(3)]
        for each in inside:
            each.probe()
        # The kernel accepts the connection; the broker does not serve it yet.
        waiting = stack.enter_context(Client(kafka.bootstrap))
        sent = waiting.send(VERSIONS)
        waiting.socket.settimeout(0.5)
        with pytest.raises(TimeoutError):
            waiting.receive_frame()
        inside[0].close()
        waiting.socket.settimeout(PATIENCE_SECONDS)
        assert waiting.receive(VERSIONS)[0] == sent
        for each in inside[1:]:
            each.probe()


def test_connections_beyond_the_limit_of_one_address_are_closed_at_once() -> None:
    config = {"max.connections.per.ip": "2", "max.connections.per.ip.overrides": "127.0.0.3:4,127.0.0.4:0"}
    with EmbeddedBroker(config=config) as kafka, ExitStack() as stack:

        def admitted(address: str) -> int:
            """How many connections at once are served."""
            clients = [stack.enter_context(connect_from(address, kafka.bootstrap)) for _ in range(6)]
            served = 0
            for each in clients:
                try:
                    each.probe()
                    served += 1
                except (HungUp, BrokenPipeError, ConnectionResetError):
                    each.close()
            for each in clients:
                each.close()
            return served

        assert admitted("127.0.0.2") == 2
        assert admitted("127.0.0.3") == 4
        assert admitted("127.0.0.4") == 0
        # A closed connection makes room.
        until(lambda: admitted("127.0.0.2") == 2, "the places are free again")


def test_connections_that_are_reset_before_they_are_served_count_no_longer() -> None:
    config = {"max.connections.per.ip": "5", "socket.listen.backlog.size": "500"}
    with EmbeddedBroker(config=config) as kafka, ExitStack() as stack:
        for _ in range(300):
            client = Client(kafka.bootstrap)
            client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.close()

        def admitted() -> bool:
            clients = [stack.enter_context(Client(kafka.bootstrap)) for _ in range(5)]
            try:
                for each in clients:
                    each.probe()
            except (HungUp, BrokenPipeError, ConnectionResetError):
                for each in clients:
                    each.close()
                return False
            return True

        until(admitted, "the address may have all its connections again")


def test_idle_connections_are_closed_and_busy_ones_are_not() -> None:
    idle_seconds_max = 2.5
    with EmbeddedBroker(config={"connections.max.idle.ms": str(round(idle_seconds_max * 1000))}) as kafka, ExitStack() as stack:
        with Client(kafka.bootstrap) as founder:
            founder.create_topic("t")
        idle, halfway, parked, busy = (stack.enter_context(Client(kafka.bootstrap)) for _ in range(4))
        halfway.send_bytes(b"\x00\x00\x01\x00half")
        waits = fetch_request([("t", 0, 0)], min_bytes=1, max_wait_ms=600_000)
        parked.send(waits, FETCH_BY_NAME)
        started = time.monotonic()
        with ThreadPoolExecutor(2) as threads:
            ends = [threads.submit(each.hung_up) for each in (idle, halfway)]
            while time.monotonic() - started < 2 * idle_seconds_max or not all(each.done() for each in ends):
                busy.probe()
                time.sleep(0.05)
        assert all(each.result() for each in ends)
        # A client that waits for records is not idle.
        busy.produce("t", [b"x"])
        assert parked.receive(waits, FETCH_BY_NAME)[1].responses[0].partitions[0].error_code == 0


def test_a_peer_that_receives_none_of_its_responses_counts_as_idle() -> None:
    with EmbeddedBroker(process=True, config={"connections.max.idle.ms": "5000"}) as kafka:
        victim = Victim(kafka)
        with victim.client() as client:
            client.create_topic("t")
            client.produce("t", [bytes(900_000)])
            before = victim.open_files()
        deaf = victim.client(receive_buffer_bytes=4096)
        deaf.send_bytes(frame_of(fetch_request([("t", 0, 0)]), FETCH_BY_NAME) * 10)
        try:
            until(lambda: victim.open_files() <= before - 1, "the broker closes the connection")
        finally:
            deaf.close()


def test_socket_request_max_bytes_is_the_largest_request() -> None:
    with EmbeddedBroker(config={"socket.request.max.bytes": "2000"}) as kafka, Client(kafka.bootstrap) as client:
        client.create_topic("t")
        frame = frame_of(VERSIONS, 3, client_id="x" * 1000)
        exact = frame_of(VERSIONS, 3, client_id="x" * (1000 + 2000 - len(frame) + 4))
        assert len(exact) == 2004
        client.send_bytes(exact)
        assert client.receive(VERSIONS, 3)[1].error_code == 0
        assert client.produce_batch("t", 0, batch_of([b"x" * 1500])).error_code == ErrorCode.NONE
        client.send_bytes(frame_of(VERSIONS, 3, client_id="x" * (1001 + 2000 - len(frame) + 4)))
        assert client.hung_up()


def test_limits_can_change_at_run_time_and_open_connections_stay() -> None:
    with EmbeddedBroker() as kafka, ExitStack() as stack:
        inside = [stack.enter_context(Client(kafka.bootstrap)) for _ in range(3)]
        for each in inside:
            each.probe()
        inside[0].alter_configs(4, "", {"max.connections.per.ip": "3"})
        refused = stack.enter_context(Client(kafka.bootstrap))
        assert refused.hung_up()
        for each in inside:
            each.probe()
        inside[0].alter_configs(4, "", {"max.connections.per.ip": "9"})
        stack.enter_context(Client(kafka.bootstrap)).probe()


@pytest.fixture
def poor(tmp_path: Path) -> Iterator[str]:
    """A broker that may open few descriptors."""
    properties = development_properties(data_dir=str(tmp_path), overrides={"socket.listen.backlog.size": "4000"})
    ensure_formatted(parse_settings(properties))
    overrides = " ".join(f"--override '{name}={value}'" for name, value in properties.items())
    command = f"ulimit -n {FEW_DESCRIPTORS}; exec {sys.executable} -m barnabas server --log-level ERROR {overrides}"
    server = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdout is not None
    ready = server.stdout.readline()
    assert ready.startswith("ready "), server.communicate()
    yield dict(part.split("=", 1) for part in ready.split()[1:])["bootstrap"]
    server.terminate()
    _, complaints = server.communicate(timeout=PATIENCE_SECONDS)
    assert complaints == ""
    assert server.returncode == 0


def test_connections_do_not_take_the_descriptors_that_logs_need(poor: str) -> None:
    """Otherwise a client that opens enough connections takes the node down: a log that cannot open
    its files takes its directory offline.
    """
    with Client(poor) as inside, ExitStack() as crowd:
        inside.create_topic("t", configs={"segment.bytes": "1048576"})
        for _ in range(FEW_DESCRIPTORS):
            crowd.enter_context(Client(poor))
        for number in range(5):
            inside.produce("t", [bytes(900_000)])
            inside.create_topic(f"made-{number}", 5)
        assert inside.fetch("t").error_code == 0
        crowd.close()

        def newcomer_is_served() -> bool:
            with Client(poor) as newcomer:
                newcomer.probe()
            return True

        until(newcomer_is_served, "there is room again", retry_on=(HungUp, BrokenPipeError, ConnectionResetError))
