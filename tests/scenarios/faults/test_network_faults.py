"""Delays, lost connections, pauses and cut networks, as a client sees them; and their end."""

from __future__ import annotations

import socket
import time

import pytest

from barnabas.testing import EmbeddedBroker, EmbeddedCluster
from tests.scenarios.client import PRODUCE_BY_NAME, Client, batch_of, produce_request
from tests.waiting import until

DELAY_SECONDS = 0.3
# The loop counts in milliseconds, so a timer may come up to one early.
TOOK_SECONDS_MIN = DELAY_SECONDS - 0.001
SOON_SECONDS = 0.2


def refused(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except ConnectionRefusedError:
        return True
    return False


def took(client: Client) -> float:
    started = time.monotonic()
    client.probe()
    return time.monotonic() - started


# -- delays


def test_every_answer_is_late_while_the_broker_is_slow(kafka: EmbeddedBroker, client: Client) -> None:
    with kafka.slow(DELAY_SECONDS) as fault:
        assert took(client) >= TOOK_SECONDS_MIN
        assert fault.used == 1
    client.probe()
    assert fault.used == 1


def test_only_the_named_apis_are_slow(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    with kafka.slow(DELAY_SECONDS, "Produce") as fault:
        client.probe()
        assert fault.used == 0
        started = time.monotonic()
        client.produce("t", [b"v"])
        assert time.monotonic() - started >= TOOK_SECONDS_MIN
        assert fault.used == 1


def test_a_slow_broker_handles_the_request_at_once(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    with kafka.slow(30, "Produce"):
        client.send(produce_request("t", 0, batch_of([b"v"])), PRODUCE_BY_NAME)
        until(lambda: kafka.end_offsets("t") == {0: 1}, "the record is in the log")


def test_repeated_produces_are_slow_too(kafka: EmbeddedBroker, client: Client) -> None:
    """They take a shortcut through the broker while there are no faults."""
    client.create_topic("t")
    for _ in range(3):
        client.produce("t", [b"v"])
    with kafka.slow(DELAY_SECONDS, times=1) as fault:
        started = time.monotonic()
        client.produce("t", [b"v"])
        assert time.monotonic() - started >= TOOK_SECONDS_MIN
        assert fault.used == 1
    for _ in range(3):
        client.produce("t", [b"v"])
    assert kafka.end_offsets("t") == {0: 7}


# -- connections


def test_a_disconnect_ends_the_connection_and_the_request_is_not_handled(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    with kafka.disconnect("Produce") as fault:
        with Client(kafka.bootstrap) as client, pytest.raises(ConnectionError):
            client.produce("t", [b"v"])
        assert fault.used == 1
    assert kafka.consume("t") == []
    with Client(kafka.bootstrap) as client:
        client.produce("t", [b"v"])


def test_a_lost_answer_ends_the_connection_after_the_request_was_handled(kafka: EmbeddedBroker) -> None:
    kafka.create_topic("t")
    with kafka.disconnect("Produce", handled=True), Client(kafka.bootstrap) as client, pytest.raises(ConnectionError):
        client.produce("t", [b"v"])
    assert len(kafka.consume("t")) == 1


def test_a_cut_broker_drops_its_connections_and_refuses_new_ones(kafka: EmbeddedBroker, client: Client) -> None:
    with kafka.cut():
        assert client.hung_up()
        assert refused(kafka.bootstrap)
        with pytest.raises(ConnectionError, match="stopped, paused or cut off"):
            kafka.topics()
    with Client(kafka.bootstrap) as again:
        again.probe()
    assert kafka.topics() == []


def test_a_broker_stops_and_starts_while_it_is_cut(kafka: EmbeddedBroker) -> None:
    kafka.cut()
    kafka.restart()
    with Client(kafka.bootstrap) as client:
        client.probe()


# -- pauses


def test_a_paused_broker_keeps_its_connections_and_answers_later(kafka: EmbeddedBroker, client: Client) -> None:
    with kafka.pause():
        client.socket.settimeout(SOON_SECONDS)
        with pytest.raises(TimeoutError):
            client.probe()
        client.socket.settimeout(30)
    client.receive_frame()
    client.probe()


def test_a_paused_broker_can_be_closed() -> None:
    with EmbeddedBroker() as kafka:
        kafka.pause()


def test_a_fault_that_is_set_during_a_pause_holds_afterwards(kafka: EmbeddedBroker, client: Client) -> None:
    kafka.pause()
    fault = kafka.disconnect("ApiVersions")
    kafka.resume()
    with pytest.raises(ConnectionError):
        client.probe()
    assert fault.used == 1


# -- the end of a fault


def test_heal_ends_all_faults(kafka: EmbeddedBroker) -> None:
    faults = [kafka.slow(30), kafka.fail("ApiVersions", "INVALID_REQUEST", times=None), kafka.cut(), kafka.pause()]
    kafka.heal()
    with Client(kafka.bootstrap) as client:
        client.probe()
    for each in faults:
        each.undo()


def test_a_context_ends_its_fault_when_the_test_fails(kafka: EmbeddedBroker, client: Client) -> None:
    with pytest.raises(ZeroDivisionError), kafka.fail("ApiVersions", "INVALID_REQUEST", times=None):
        1 / 0  # noqa: B018
    client.probe()


def test_faults_are_used_in_the_order_in_which_they_were_set(kafka: EmbeddedBroker, client: Client) -> None:
    client.create_topic("t")
    kafka.fail("Produce", "REQUEST_TIMED_OUT", times=2)
    kafka.fail("Produce", "INVALID_RECORD")
    seen = [client.produce_batch("t", 0, None).error_code for _ in range(3)]
    assert seen == [7, 7, 87]


def test_a_fault_stays_when_the_broker_starts_again(kafka: EmbeddedBroker) -> None:
    fault = kafka.disconnect("ApiVersions")
    kafka.restart()
    with Client(kafka.bootstrap) as client, pytest.raises(ConnectionError):
        client.probe()
    assert fault.used == 1


def test_await_used_waits_for_a_request_and_names_the_fault_when_none_comes(kafka: EmbeddedBroker, client: Client) -> None:
    fault = kafka.slow(0.01, "ApiVersions")
    with pytest.raises(TimeoutError, match=r"slow ApiVersions by 0\.01 s: 0 of 1 requests came within 0\.05 seconds"):
        fault.await_used(timeout=0.05)
    client.probe()
    fault.await_used()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda kafka: kafka.fail("Produce", "NO_SUCH"), "no error code 'NO_SUCH'"),
        (lambda kafka: kafka.fail("Prodduce", "NOT_ENOUGH_REPLICAS"), "Did you mean Produce"),
        (lambda kafka: kafka.fail("Produce", "NOT_ENOUGH_REPLICAS", times=0), "at least once"),
        (lambda kafka: kafka.slow(-1), "not negative"),
        (lambda kafka: kafka.pause(broker=7), "There is no broker 7: the ids are 1"),
    ],
)
def test_a_mistake_in_a_fault_gets_a_sentence(kafka: EmbeddedBroker, call: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        call(kafka)  # type: ignore[operator]


# -- a broker in a process


def test_a_broker_in_a_process_has_the_same_faults() -> None:
    with EmbeddedBroker(process=True) as kafka:
        kafka.create_topic("t")
        with Client(kafka.bootstrap) as client:
            fault = kafka.fail("Produce", "REQUEST_TIMED_OUT", times=2)
            assert [client.produce_batch("t", 0, None).error_code for _ in range(2)] == [7, 7]
            assert fault.used == 2
            with kafka.slow(DELAY_SECONDS):
                assert took(client) >= TOOK_SECONDS_MIN
            with kafka.pause():
                client.socket.settimeout(SOON_SECONDS)
                with pytest.raises(TimeoutError):
                    client.probe()
                with pytest.raises(RuntimeError, match="paused"):
                    kafka.slow(1)
            with kafka.cut():
                assert refused(kafka.bootstrap)
        kafka.kill()
        kafka.start()
        assert kafka.topics() == ["t"]


# -- clusters


def test_the_count_of_a_fault_is_that_of_all_brokers(kafka_cluster: EmbeddedCluster) -> None:
    fault = kafka_cluster.disconnect("ApiVersions", times=2)
    for broker in kafka_cluster.brokers:
        with Client(kafka_cluster.address(broker)) as client:
            if broker < 3:
                with pytest.raises(ConnectionError):
                    client.probe()
            else:
                client.probe()
    assert fault.used == 2


def test_a_fault_of_one_broker_leaves_the_others_alone(kafka_cluster: EmbeddedCluster) -> None:
    with kafka_cluster.disconnect("ApiVersions", broker=2, times=None):
        with Client(kafka_cluster.address(1)) as client:
            client.probe()
        with Client(kafka_cluster.address(2)) as client, pytest.raises(ConnectionError):
            client.probe()


def test_faults_of_clients_do_not_touch_replication(kafka_cluster: EmbeddedCluster) -> None:
    topic = kafka_cluster.create_topic(config={"min.insync.replicas": 3})
    with kafka_cluster.fail("Fetch", "NOT_LEADER_OR_FOLLOWER", times=None) as fault, kafka_cluster.slow(30, "Fetch"):
        kafka_cluster.produce(topic, b"v")
        assert fault.used == 0
    assert len(kafka_cluster.consume(topic)) == 1


def test_a_cut_broker_loses_its_leadership_and_rejoins(kafka_cluster: EmbeddedCluster) -> None:
    topic = kafka_cluster.create_topic(partitions=3)
    kafka_cluster.produce(topic, [b"a", b"b", b"c"])
    with kafka_cluster.cut(2):
        kafka_cluster.produce(topic, [b"d", b"e", b"f"])
        assert len(kafka_cluster.consume(topic)) == 6
    kafka_cluster.await_in_sync(topic)
    kafka_cluster.stop(1)
    kafka_cluster.stop(3)
    assert len(kafka_cluster.await_records(topic, 6)) == 6


def test_a_paused_broker_is_replaced_as_leader(kafka_cluster: EmbeddedCluster) -> None:
    topic = kafka_cluster.create_topic(partitions=3)
    with kafka_cluster.pause(3):
        kafka_cluster.produce(topic, [b"a", b"b", b"c"])
    assert len(kafka_cluster.consume(topic)) == 3


def test_processes_count_on_their_own_and_say_so() -> None:
    cluster = EmbeddedCluster(process=True)
    try:
        with pytest.raises(ValueError, match="Brokers in processes count on their own"):
            cluster.fail("Produce", "NOT_ENOUGH_REPLICAS", times=3)
    finally:
        cluster.close()
