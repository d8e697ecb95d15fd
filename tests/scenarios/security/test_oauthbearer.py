"""OAUTHBEARER with a real identity provider on a loopback port, seen by librdkafka."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.config.broker_keys.security_sasl import UNSECURED_LOGIN, UNSECURED_VALIDATOR
from barnabas.model.cannot_start import CannotStart
from barnabas.security.sasl.unsecured_tokens import make_unsecured_token
from barnabas.testing import EmbeddedBroker
from tests.scenarios.security.identity_provider import CLIENT_ID, IdentityProvider, bearer_settings, identity_provider
from tests.unit.security.sasl.tokens import claims, key_set, rsa_key, signed
from tests.waiting import PATIENCE_SECONDS, until

LISTENERS = {
    "listeners": "SASL_PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
    "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
    "security.inter.broker.protocol": "SASL_PLAINTEXT",
}
NAMES = ("sasl_plaintext", "controller")


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    with identity_provider() as running:
        yield running


def client(token: str, *, life_seconds: float = 3600, **settings: Any) -> dict[str, Any]:
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token, time.time() + life_seconds),
        "log_level": 0,
        **settings,
    }


def produce(bootstrap: str, token: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **client(token)})
    producer.produce("t", b"1")
    assert producer.flush(PATIENCE_SECONDS) == 0


def refusal(bootstrap: str, token: str) -> str:
    errors: list[KafkaError] = []
    admin = AdminClient({"bootstrap.servers": bootstrap, **client(token, error_cb=errors.append)})
    until(lambda: admin.poll(0) or any(each.code() == KafkaError._AUTHENTICATION for each in errors), "librdkafka reports the refusal")
    return next(each.str() for each in errors if each.code() == KafkaError._AUTHENTICATION)


def test_a_client_with_a_token_is_let_in_and_others_are_refused_with_a_challenge(provider: IdentityProvider) -> None:
    with EmbeddedBroker(config=LISTENERS | bearer_settings(provider, *NAMES)) as kafka:
        produce(kafka.bootstrap, provider.token())
        bad = [
            provider.token(aud="another"),
            provider.token(exp=time.time() - 60),
            make_unsecured_token(claims(time.time())),
            signed(rsa_key("stranger"), claims(time.time())),
        ]
        for token in bad:
            assert "invalid_token" in refusal(kafka.bootstrap, token)


def test_new_keys_are_fetched_for_a_token_that_names_them(provider: IdentityProvider) -> None:
    with EmbeddedBroker(config=LISTENERS | bearer_settings(provider, *NAMES)) as kafka:
        produce(kafka.bootstrap, provider.token())
        provider.key = rsa_key("rotated")
        fetched = provider.key_requests
        # The first token with the new key is refused; the client tries again, and the keys are
        # there.
        produce(kafka.bootstrap, provider.token())
        assert provider.key_requests > fetched


@pytest.mark.parametrize(
    "fault", [(500, b""), (200, b"<html>"), (302, b""), (200, b"x" * 2_000_000)], ids=["500", "html", "redirect", "huge"]
)
def test_old_keys_stay_in_use_while_the_provider_is_down(provider: IdentityProvider, fault: tuple[int, bytes]) -> None:
    settings = {"sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000", "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "100"}
    with EmbeddedBroker(config=LISTENERS | bearer_settings(provider, *NAMES) | settings) as kafka:
        produce(kafka.bootstrap, provider.token())
        provider.fault = fault
        fetched = provider.key_requests
        until(lambda: provider.key_requests > fetched + 2, "keys are fetched in vain")
        produce(kafka.bootstrap, provider.token())


def test_a_node_starts_without_its_provider_and_serves_once_it_is_there(provider: IdentityProvider) -> None:
    provider.fault = (503, b"")
    # The listener of controllers has no SASL: a node that logs in to itself needs its provider.
    plain = {"listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT"}
    with EmbeddedBroker(config=LISTENERS | bearer_settings(provider, "sasl_plaintext") | plain) as kafka:
        assert "invalid_token" in refusal(kafka.bootstrap, provider.token())
        provider.fault = None
        produce(kafka.bootstrap, provider.token())


def test_a_session_ends_with_the_token_and_a_client_goes_on_with_a_new_one(provider: IdentityProvider) -> None:
    asked = []

    def next_token(_: str) -> tuple[str, float]:
        asked.append(1)
        expires = time.time() + 3
        return provider.token(exp=expires), expires

    with EmbeddedBroker(config=LISTENERS | bearer_settings(provider, *NAMES)) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap, **client(""), "oauth_cb": next_token})
        failed: list[KafkaError] = []

        def sent_after_three_tokens() -> bool:
            producer.produce("t", b"1", on_delivery=lambda error, _: failed.append(error) if error is not None else None)
            producer.flush(PATIENCE_SECONDS)
            producer.poll(0.05)
            return len(asked) > 3

        until(sent_after_three_tokens, "three tokens were used")
        assert failed == []


def cluster_settings(**changes: str) -> dict[str, str]:
    return {"listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT", **changes}


def replicate(kafka: EmbeddedBroker, settings: dict[str, Any]) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap, **settings})
    admin.create_topics([NewTopic("t", 1, 3)])["t"].result(PATIENCE_SECONDS)
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", **settings})
    for number in range(100):
        producer.produce("t", b"%d" % number)
    assert producer.flush(PATIENCE_SECONDS) == 0


def test_nodes_log_in_to_each_other_with_tokens_of_the_provider(provider: IdentityProvider) -> None:
    config = bearer_settings(provider, "plaintext", "controller") | cluster_settings()
    with EmbeddedBroker(brokers=3, config=config) as kafka:
        replicate(kafka, client(provider.token()))
    # Each node asks once for each of its two kinds of peers, and not once for each connection.
    assert 0 < provider.token_requests <= 6


def test_nodes_log_in_to_each_other_with_tokens_from_a_file(provider: IdentityProvider, tmp_path: Path) -> None:
    keys, token = tmp_path / "keys.json", tmp_path / "token"
    keys.write_bytes(key_set(provider.key))
    token.write_text(provider.token(CLIENT_ID) + "\n")
    config = bearer_settings(provider, "plaintext", "controller") | cluster_settings()
    config |= {
        "sasl.oauthbearer.jwks.endpoint.url": keys.as_uri(),
        "sasl.oauthbearer.token.endpoint.url": token.as_uri(),
        "barnabas.sasl.oauthbearer.allowed.files": f"{keys},{token}",
    }
    with EmbeddedBroker(brokers=3, config=config) as kafka:
        replicate(kafka, client(provider.token()))
    assert provider.key_requests == provider.token_requests == 0


def test_unsecured_tokens_are_accepted_where_kafkas_class_for_them_is_set(provider: IdentityProvider) -> None:
    jaas = 'org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="node";'
    config = LISTENERS | {
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        "sasl.mechanism.controller.protocol": "OAUTHBEARER",
        **{f"listener.name.{each}.oauthbearer.sasl.jaas.config": jaas for each in NAMES},
        **{f"listener.name.{each}.oauthbearer.sasl.server.callback.handler.class": UNSECURED_VALIDATOR for each in NAMES},
        **{f"listener.name.{each}.oauthbearer.sasl.login.callback.handler.class": UNSECURED_LOGIN for each in NAMES},
    }
    with EmbeddedBroker(config=config) as kafka:
        produce(kafka.bootstrap, make_unsecured_token(claims(time.time())))
        assert "invalid_token" in refusal(kafka.bootstrap, provider.token())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sasl.oauthbearer.jwks.endpoint.url": ""}, "must name the keys of the identity provider"),
        ({"barnabas.sasl.oauthbearer.allowed.urls": "http://127.0.0.1:1/other"}, "is not in barnabas.sasl.oauthbearer.allowed.urls"),
        ({"sasl.oauthbearer.jwks.endpoint.url": "file:///etc/passwd"}, "is not in barnabas.sasl.oauthbearer.allowed.urls"),
        ({"sasl.oauthbearer.jwks.endpoint.url": "ftp://127.0.0.1/keys"}, "must be a URL"),
        ({"sasl.oauthbearer.token.endpoint.url": ""}, "must say where its token is"),
        ({"listener.name.controller.oauthbearer.sasl.jaas.config": "Module required;"}, "clientId and clientSecret"),
        ({"sasl.oauthbearer.jwt.validator.class": "com.example.Mine"}, "sasl.oauthbearer.jwt.validator.class must be one of"),
    ],
)
def test_settings_that_cannot_be_used_are_a_sentence(provider: IdentityProvider, changes: dict[str, str], reason: str) -> None:
    with (
        pytest.raises((CannotStart, ValueError), match=reason),
        EmbeddedBroker(config=LISTENERS | bearer_settings(provider, *NAMES) | changes),
    ):
        pass
