"""``kill -9`` at any moment: nothing that was acknowledged is lost, duplicated or out of order."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.wire.messages.metadata import MetadataRequest
from tests.cluster.ledger import Ledger
from tests.scenarios.client import Client
from tests.waiting import PATIENCE_SECONDS, until

PARTITIONS = 3
TOPIC_CONFIG = {"segment.bytes": "1048576"}
SHORT_ROUNDS, LONG_ROUNDS = 5, 200
# Enough to keep a batch in flight at any time, and few enough to read back quickly.
SENDS_PER_SECOND = 2000


def make_producer(bootstrap: str, *, idempotent: bool) -> Producer:
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all" if idempotent else "1",
            "enable.idempotence": idempotent,
            # Without sequence numbers a retry may be overtaken by a later batch; with one request
            # in flight it cannot.
            "max.in.flight.requests.per.connection": 5 if idempotent else 1,
            "linger.ms": 2,
            "message.timeout.ms": 120_000,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            "socket.timeout.ms": 10_000,
            "log_level": 2,
        }
    )


@contextmanager
def sending(producer: Producer, ledger: Ledger) -> Iterator[None]:
    """Sends in the background until the end of the block."""
    stop = threading.Event()

    def run() -> None:
        started, sent = time.monotonic(), 0
        while not stop.is_set():
            producer.poll(0)
            if sent > (time.monotonic() - started) * SENDS_PER_SECOND:
                time.sleep(0.001)
                continue
            try:
                ledger.send(producer, sent % ledger.partitions)
                sent += 1
            except BufferError:
                producer.poll(0.05)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def killed_again_and_again(rounds: int, seed: int, *, idempotent: bool) -> None:
    chance = random.Random(seed)
    with EmbeddedBroker(process=True) as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t", PARTITIONS, TOPIC_CONFIG)
        ledger = Ledger("t", PARTITIONS, exactly_once=idempotent)
        producer = make_producer(kafka.bootstrap, idempotent=idempotent)
        with sending(producer, ledger):
            for number in range(rounds):
                before = ledger.acknowledged_count()
                until(lambda before=before: ledger.acknowledged_count() > before, "something is acknowledged")  # type: ignore[misc]
                time.sleep(chance.expovariate(8))
                kafka.kill()
                kafka.start()
                assert kafka.complaints == ""
                ledger.check(kafka.bootstrap, from_the_start=number % 20 == 0)
        assert producer.flush(PATIENCE_SECONDS) == 0
        ledger.check(kafka.bootstrap)
        ledger.check_complete()
        kafka.stop()
        kafka.start()
        ledger.check(kafka.bootstrap)


@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_acknowledged_records_survive_a_killed_broker(idempotent: bool) -> None:
    killed_again_and_again(SHORT_ROUNDS, 11, idempotent=idempotent)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_acknowledged_records_survive_many_kills_of_the_broker(idempotent: bool) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    try:
        killed_again_and_again(LONG_ROUNDS, seed, idempotent=idempotent)
    except BaseException as failure:
        failure.add_note(f"seed {seed}")
        raise


def test_topics_and_settings_that_were_acknowledged_survive_a_kill() -> None:
    """The metadata log is flushed before anything in it is acknowledged."""
    chance = random.Random(5)
    alive: dict[str, str] = {}
    with EmbeddedBroker(process=True) as kafka:
        number = 0
        for _ in range(4):
            with Client(kafka.bootstrap) as client:
                for _ in range(chance.randrange(1, 12)):
                    name, value = f"t{number}", str(10_000 + number)
                    number += 1
                    client.create_topic(name)
                    client.alter_configs(2, name, {"retention.ms": value})
                    alive[name] = value
                    if chance.random() < 0.4:
                        doomed = chance.choice(sorted(alive))
                        client.delete_topic(doomed)
                        del alive[doomed]
            kafka.kill()
            kafka.start()
            assert kafka.complaints == ""
            with Client(kafka.bootstrap) as client:
                described = client.ask(MetadataRequest(topics=None, allow_auto_topic_creation=False))
                assert {topic.name for topic in described.topics} == set(alive)
                asked = [
                    DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=["retention.ms"]) for name in alive
                ]
                told = client.ask(DescribeConfigsRequest(resources=asked)).results
                assert {each.resource_name: each.configs[0].value for each in told} == alive
                for name in alive:
                    client.produce(name, [b"usable"])


def test_a_broker_killed_while_it_recovers_recovers() -> None:
    """The broker is killed the moment it is ready, several times in a row, while it still has to
    recover all its segments."""
    with EmbeddedBroker(process=True) as kafka:
        with Client(kafka.bootstrap) as client:
            client.create_topic("t", 1, TOPIC_CONFIG)
            for number in range(40):
                client.produce("t", [b"%d" % number, bytes(100_000)])
        for _ in range(3):
            kafka.kill()
            kafka.start()
        with Client(kafka.bootstrap) as client:
            assert client.values("t")[::2] == [b"%d" % number for number in range(40)]
            assert client.produce("t", [b"next"]) == 80
