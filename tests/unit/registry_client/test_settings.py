"""Settings of Confluent's clients, as settings of ours."""

from __future__ import annotations

import pickle

import pytest

from barnabas.registry_client.client import RegistryClient
from barnabas.registry_client.errors import RegistrySettingsRefused
from barnabas.registry_client.settings import RegistrySettings


def test_settings_of_a_kafka_client_have_a_prefix() -> None:
    found = RegistrySettings.of(
        {
            "bootstrap.servers": "localhost:9092",
            "ssl.ca.location": "of-the-brokers.pem",
            "schema.registry.url": "https://a:8081, https://b:8081/",
            "schema.registry.basic.auth.user.info": "alice:se:cret",
            "schema.registry.ssl.ca.location": "of-the-registry.pem",
        }
    )
    assert found.urls == ("https://a:8081", "https://b:8081")
    assert found.login == ("alice", "se:cret")
    assert found.trusted == "of-the-registry.pem"


def test_settings_of_confluents_registry_client_have_none() -> None:
    found = RegistrySettings.of(
        {"url": "http://a", "bearer.auth.token": "t", "ssl.ca.location": "ca.pem", "timeout": 3, "cache.capacity": 7}
    )
    assert (found.token, found.trusted, found.answer_seconds, found.cache_entries) == ("t", "ca.pem", 3.0, 7)


def test_login_may_stand_in_the_address() -> None:
    found = RegistrySettings.of_url("http://alice:p%40ss@a:8081")
    assert found.urls == ("http://a:8081",)
    assert found.login == ("alice", "p@ss")


def test_login_may_be_that_of_the_kafka_client() -> None:
    settings = {"schema.registry.url": "http://a", "basic.auth.credentials.source": "SASL_INHERIT"}
    assert RegistrySettings.of({**settings, "sasl.username": "u", "sasl.password": "p"}).login == ("u", "p")
    with pytest.raises(RegistrySettingsRefused, match="SASL_INHERIT needs"):
        RegistrySettings.of(settings)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "no schema.registry.url"),
        ({"url": "localhost:8081"}, "a URL such as"),
        ({"url": "ftp://a"}, "a URL such as"),
        ({"url": "http://a", "basic.auth.user.info": "alice"}, "with a colon between"),
        ({"url": "http://a", "basic.auth.credentials.source": "MAGIC"}, "is one of SASL_INHERIT, URL, USER_INFO"),
        ({"url": "http://a", "timeout": "soon"}, "a number above 0"),
        ({"url": "http://a", "bearer.auth.issuer.endpoint.url": "http://b"}, "needs a login at another server"),
    ],
)
def test_settings_that_make_no_client_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(RegistrySettingsRefused, match=sentence):
        RegistrySettings.of(settings)


def test_secrets_are_not_shown() -> None:
    shown = repr(RegistrySettings.of({"url": "http://u:secret@a", "bearer.auth.token": "secret", "ssl.key.password": "secret"}))
    assert "secret" not in shown


def test_client_travels_to_another_process_by_its_settings() -> None:
    client = RegistryClient({"url": "http://a", "basic.auth.user.info": "u:p"})
    assert pickle.loads(pickle.dumps(client)).settings == client.settings
