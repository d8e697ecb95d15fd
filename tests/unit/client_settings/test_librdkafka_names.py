from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.client_settings.errors import SettingsRefused
from barnabas.client_settings.java_names import for_librdkafka
from barnabas.client_settings.librdkafka_names import for_java

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_names_of_java_pass_unchanged() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": "x required;", "max.poll.records": "5"}
    assert for_java(given) == given


def test_a_user_and_a_password_become_a_login_of_java() -> None:
    given = {"security.protocol": "sasl_ssl", "sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "ann", "sasl.password": 'a"\\b'}
    assert for_java(given) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} required username="ann" password="a\\"\\\\b";',
    }


def test_a_login_survives_the_way_there_and_back() -> None:
    login = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "a n", "sasl.password": 'p\\"; =#'}
    assert for_librdkafka(for_java(login)).properties == login


def test_files_of_certificates_become_stores() -> None:
    assert for_java({"ssl.ca.location": "/ca.pem"}) == {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"}
    assert for_java({"ssl.ca.pem": "PEM TEXT"}) == {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "PEM TEXT"}
    assert for_java({"ssl.certificate.location": "/k.pem", "ssl.key.location": "/k.pem"}) == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": "/k.pem",
    }
    assert for_java({"ssl.keystore.location": "/k.p12"}) == {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/k.p12"}


def test_a_key_and_a_certificate_in_two_files_become_text(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    key.write_text("the key")
    certificate.write_text("the chain")
    assert for_java({"ssl.certificate.location": str(certificate), "ssl.key.location": str(key)}) == {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "the chain",
        "ssl.keystore.key": "the key",
    }


def test_a_token_in_a_file_is_read_by_javas_own_class() -> None:
    made = for_java({"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.file": "/token"})
    assert made["sasl.oauthbearer.token.endpoint.url"] == "file:///token"
    assert made["sasl.login.callback.handler.class"].endswith("OAuthBearerLoginCallbackHandler")
    assert for_librdkafka(made).properties == {"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.file": "/token"}


def test_settings_that_java_has_nothing_like_are_refused() -> None:
    with pytest.raises(SettingsRefused, match="always verify certificates"):
        for_java({"enable.ssl.certificate.verification": "false"})
    with pytest.raises(SettingsRefused, match="read a token from a file") as refused:
        for_java({"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token": "abc"})
    assert "abc" not in str(refused.value)


def test_an_identification_algorithm_of_none_is_empty_for_java() -> None:
    assert for_java({"ssl.endpoint.identification.algorithm": "none"}) == {"ssl.endpoint.identification.algorithm": ""}
