"""SCRAM users: made with librdkafka's admin client, and then used to log in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._scram import (
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from barnabas.testing import EmbeddedBroker
from tests.scenarios.security.sasl import sasl_listeners
from tests.waiting import PATIENCE_SECONDS, until

SHA_256, SHA_512 = ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512


class Places:
    """A broker on which the administrator logs in with PLAIN."""

    def __init__(self, kafka: EmbeddedBroker) -> None:
        self.clients = kafka.bootstrap
        self._admin = AdminClient({"bootstrap.servers": kafka.bootstrap, **login("admin", "admins", "PLAIN")})

    def alter(self, *changes: Any) -> dict[str, int]:
        """The error code of each user."""
        outcomes = {}
        for user, future in self._admin.alter_user_scram_credentials(list(changes)).items():
            try:
                future.result(PATIENCE_SECONDS)
                outcomes[user] = KafkaError.NO_ERROR
            except KafkaException as error:
                outcomes[user] = error.args[0].code()
        return outcomes

    def describe(self, *users: str) -> dict[str, list[tuple[str, int]]]:
        found: Any = self._admin.describe_user_scram_credentials(list(users))
        described = {name: each.result(PATIENCE_SECONDS) for name, each in found.items()}
        return {name: [(info.mechanism.name, info.iterations) for info in each.scram_credential_infos] for name, each in described.items()}

    def produce(self, user: str, password: str, mechanism: str) -> None:
        producer = Producer({"bootstrap.servers": self.clients, **login(user, password, mechanism)})
        producer.produce("t", b"1")
        assert producer.flush(PATIENCE_SECONDS) == 0


def login(user: str, password: str, mechanism: str) -> dict[str, str]:
    return {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


def upsertion(user: str, password: str, mechanism: ScramMechanism = SHA_256, iterations: int = 4096) -> UserScramCredentialUpsertion:
    return UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, iterations), password.encode())


@pytest.fixture
def places() -> Iterator[Places]:
    with EmbeddedBroker(config=sasl_listeners() | {"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512"}) as kafka:
        yield Places(kafka)


@pytest.mark.parametrize(("mechanism", "name"), [(SHA_256, "SCRAM-SHA-256"), (SHA_512, "SCRAM-SHA-512")])
def test_a_user_logs_in_until_it_is_removed(places: Places, mechanism: ScramMechanism, name: str) -> None:
    assert places.alter(upsertion("alice", "wonder", mechanism)) == {"alice": KafkaError.NO_ERROR}
    places.produce("alice", "wonder", name)
    assert places.describe("alice") == {"alice": [(mechanism.name, 4096)]}
    assert places.alter(upsertion("alice", "other", mechanism)) == {"alice": KafkaError.NO_ERROR}
    places.produce("alice", "other", name)
    assert places.alter(UserScramCredentialDeletion("alice", mechanism)) == {"alice": KafkaError.NO_ERROR}
    assert refusal(places, "alice", "other", name) == refusal(places, "unknown", "x", name)


def refusal(places: Places, user: str, password: str, mechanism: str) -> str:
    """librdkafka's text for a login that fails, without the time it took."""
    errors: list[KafkaError] = []
    settings: dict[str, Any] = {"bootstrap.servers": places.clients, "log_level": 0, "error_cb": errors.append}
    client = AdminClient(settings | login(user, password, mechanism))
    until(lambda: client.poll(0) or errors, "librdkafka reports the failure")
    assert errors[0].code() == KafkaError._AUTHENTICATION
    return errors[0].str().partition(": ")[2].partition(" (after")[0]


def test_each_user_has_an_outcome_of_its_own(places: Places) -> None:
    assert places.alter(
        upsertion("good", "x"),
        upsertion("weak", "x", iterations=4095),
        upsertion("slow", "x", iterations=16385),
        UserScramCredentialDeletion("missing", SHA_256),
        upsertion("both", "x"),
        UserScramCredentialDeletion("both", SHA_256),
    ) == {
        "good": KafkaError.NO_ERROR,
        "weak": KafkaError.UNACCEPTABLE_CREDENTIAL,
        "slow": KafkaError.UNACCEPTABLE_CREDENTIAL,
        "missing": KafkaError.RESOURCE_NOT_FOUND,
        "both": KafkaError.RESOURCE_NOT_FOUND,
    }


def test_a_user_that_does_not_exist_cannot_be_described(places: Places) -> None:
    with pytest.raises(KafkaException) as raised:
        places.describe("missing")
    assert raised.value.args[0].code() == KafkaError.RESOURCE_NOT_FOUND
