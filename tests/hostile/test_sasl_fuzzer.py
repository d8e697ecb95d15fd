"""Frames before, during and after authentication never crash a node, never let a stranger in, and
leave no connection behind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from confluent_kafka import Producer

from barnabas.testing import EmbeddedBroker
from tests.hostile.conftest import GROWTH_BYTES_MAX, Victim
from tests.hostile.sasl_fuzzer import MECHANISMS, PASSWORD, USER, Phase, attempt, run
from tests.scenarios.security.sasl import sasl_listeners
from tests.unit.security.sasl.tokens import key_set, rsa_key
from tests.waiting import PATIENCE_SECONDS, until

SHORT_ATTEMPTS = 2500
LONG_ATTEMPTS = 100_000


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    keys = tmp_path / "keys.json"
    keys.write_bytes(key_set(rsa_key()))
    config = sasl_listeners() | {
        "listener.name.sasl_plaintext.sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "barnabas.sasl.oauthbearer.allowed.files": str(keys),
        # The delay is for guessing users; the fuzzer would only wait.
        "connection.failed.authentication.delay.ms": "0",
        "auto.create.topics.enable": "false",
    }
    with EmbeddedBroker(process=True, config=config) as running:
        yield running


def produce(kafka: EmbeddedBroker) -> None:
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER, "sasl.password": PASSWORD}
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **client})
    assert producer.list_topics(timeout=PATIENCE_SECONDS).brokers


def sockets(kafka: EmbeddedBroker) -> int:
    """The broker's open sockets; it opens files of topics meanwhile."""
    found = []
    for each in Path(f"/proc/{kafka.pid}/fd").iterdir():
        with suppress(OSError):
            found.append(str(each.readlink()))
    return sum(each.startswith("socket:") for each in found)


def bombard(kafka: EmbeddedBroker, seed: int, count: int) -> None:
    victim = Victim(kafka)
    produce(kafka)
    open_before, memory_before = sockets(kafka), victim.memory_bytes()
    outcomes = run(kafka.bootstrap, seed, count)
    # The producer above may have closed its own since.
    until(lambda: sockets(kafka) <= open_before, "all connections are closed", seen=lambda: sockets(kafka))
    assert victim.memory_bytes("VmHWM") - memory_before < GROWTH_BYTES_MAX
    assert victim.complaints == ""
    produce(kafka)
    # A run whose frames all ended a connection at once would prove nothing.
    assert outcomes[Phase.AFTER, "answered"] > count / 20
    assert outcomes[Phase.BEFORE, "not answered"] > count / 5
    assert outcomes[Phase.DURING, "not answered"] > count / 5


def test_frames_around_an_authentication_leave_a_node_serving(kafka: EmbeddedBroker) -> None:
    bombard(kafka, 20_261_117, SHORT_ATTEMPTS)


def test_an_attempt_depends_on_its_seed_and_number_alone() -> None:
    assert attempt(3, 14) == attempt(3, 14)
    assert len({repr(attempt(3, index)) for index in range(50)}) == 50


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_frames_around_an_authentication_leave_a_node_serving(kafka: EmbeddedBroker) -> None:
    bombard(kafka, random.SystemRandom().randrange(1 << 30), LONG_ATTEMPTS)
