from __future__ import annotations

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.client_settings.bearer_token import for_librdkafka_client
from barnabas.client_settings.delegation_token import BY_TOKEN
from barnabas.client_settings.errors import SettingsRefused
from barnabas.client_settings.java_names import IGNORED, IMPOSSIBLE, RENAMED, REWRITTEN, for_librdkafka, ignored_sentence
from barnabas.client_settings.librdkafka_names import for_java


def made(**given: str) -> dict[str, str]:
    return for_librdkafka({name.replace("_", "."): value for name, value in given.items()}).properties


def librdkafka_knows(name: str, value: str) -> bool:
    try:
        Producer({name: value, "log_level": 0})
    except KafkaException as error:
        return "No such configuration property" not in str(error)
    except TypeError:
        return True
    return True


def test_shared_names_pass_unchanged() -> None:
    given = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "client.id": "me", "linger.ms": "5"}
    assert for_librdkafka(given) == (given, [])


def test_the_login_of_java_becomes_a_user_and_a_password() -> None:
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="ann" password="p\\"w d;";'
    assert made(sasl_jaas_config=jaas) == {"sasl.username": "ann", "sasl.password": 'p"w d;'}


def test_the_other_logins_of_java_have_their_names_too() -> None:
    kerberos = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="me@REALM";'
    assert made(sasl_jaas_config=kerberos) == {"sasl.kerberos.principal": "me@REALM", "sasl.kerberos.keytab": "/k"}
    oauth = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientId='c' clientSecret='s' scope=x;"
    assert made(sasl_jaas_config=oauth) == {
        "sasl.oauthbearer.client.id": "c",
        "sasl.oauthbearer.client.secret": "s",
        "sasl.oauthbearer.scope": "x",
    }


def test_a_login_by_token_is_kept_for_our_own_requests_and_refused_for_librdkafka() -> None:
    properties = made(sasl_jaas_config='a.ScramLoginModule required username="id" password="hmac" tokenauth="true";')
    assert properties == {"sasl.username": "id", "sasl.password": "hmac", BY_TOKEN: "true"}
    with pytest.raises(SettingsRefused, match="librdkafka cannot log in with a delegation token"):
        for_librdkafka_client(properties)
    assert for_librdkafka_client(properties | {BY_TOKEN: "false"}) == {"sasl.username": "id", "sasl.password": "hmac"}
    assert 'tokenauth="true"' in for_java(properties | {"sasl.mechanism": "SCRAM-SHA-256"})["sasl.jaas.config"]


def test_cipher_suites_of_java_get_the_names_of_openssl() -> None:
    older = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
    translated = {"ssl.cipher.suites": "ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"}
    assert made(ssl_cipher_suites=older) == translated
    # librdkafka always offers the suites of TLS 1.3.
    assert made(ssl_cipher_suites=f"TLS_AES_256_GCM_SHA384, {older}") == translated
    assert for_librdkafka({"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"}) == ({}, ["ssl.cipher.suites"])
    # Names of OpenSSL pass as they are.
    assert made(ssl_cipher_suites="HIGH:!aNULL") == {"ssl.cipher.suites": "HIGH:!aNULL"}
    with pytest.raises(SettingsRefused, match="has TLS_NONSENSE, which is not the name of a cipher suite"):
        made(ssl_cipher_suites="TLS_NONSENSE")


def test_a_login_module_without_an_equivalent_is_refused() -> None:
    with pytest.raises(SettingsRefused, match=r"names the login module my\.Module, and librdkafka has no equivalent\."):
        made(sasl_jaas_config="my.Module required;")


def test_pem_stores_become_files_of_certificates_and_keys() -> None:
    assert made(ssl_truststore_location="/ca.pem", ssl_truststore_password="unused") == {"ssl.ca.location": "/ca.pem"}
    assert made(ssl_truststore_location="/ca", ssl_truststore_type="PEM") == {"ssl.ca.location": "/ca"}
    assert made(ssl_keystore_location="/k.pem") == {"ssl.certificate.location": "/k.pem", "ssl.key.location": "/k.pem"}
    assert made(ssl_keystore_location="/k.p12", ssl_keystore_password="x") == {
        "ssl.keystore.location": "/k.p12",
        "ssl.keystore.password": "x",
    }


def test_java_key_stores_are_refused_with_the_way_out() -> None:
    with pytest.raises(SettingsRefused, match=r"reads certificates from PEM files, but .* is /ca\.jks: convert it with `keytool"):
        made(ssl_truststore_location="/ca.jks")
    with pytest.raises(SettingsRefused, match="reads keys from PKCS12 and PEM files"):
        made(ssl_keystore_location="/k", ssl_keystore_type="JKS")


def test_renamed_properties_keep_their_values_in_librdkafkas_unit() -> None:
    assert made(buffer_memory="33554432", max_request_size="1000000") == {
        "queue.buffering.max.kbytes": "32768",
        "message.max.bytes": "1000000",
    }
    with pytest.raises(SettingsRefused, match=r"buffer\.memory takes a number of bytes, but was given '32M'\."):
        made(buffer_memory="32M")


def test_the_level_of_the_codec_in_use_counts() -> None:
    levels = {"compression.gzip.level": "9", "compression.zstd.level": "3"}
    assert for_librdkafka({"compression.type": "zstd", **levels}).properties == {"compression.type": "zstd", "compression.level": "3"}
    assert for_librdkafka(levels) == ({}, [])


def test_a_name_of_librdkafkas_wins_over_javas() -> None:
    given = {"request.timeout.ms": "1000", "socket.timeout.ms": "2000"}
    assert for_librdkafka(given).properties == given


def test_an_empty_identification_algorithm_turns_the_check_off() -> None:
    assert made(ssl_endpoint_identification_algorithm="") == {"ssl.endpoint.identification.algorithm": "none"}


def test_assignors_are_named_as_librdkafka_does() -> None:
    classes = "org.apache.kafka.clients.consumer.RangeAssignor,org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
    assert made(partition_assignment_strategy=classes) == {"partition.assignment.strategy": "range,cooperative-sticky"}
    assert made(partition_assignment_strategy="roundrobin") == {"partition.assignment.strategy": "roundrobin"}
    with pytest.raises(SettingsRefused, match=r"no assignor like org\.x\.StickyAssignor"):
        made(partition_assignment_strategy="org.x.StickyAssignor")


def test_names_without_an_equivalent_are_left_out_and_named() -> None:
    translated = for_librdkafka({"max.poll.records": "5", "key.deserializer": "X", "client.id": "me"})
    assert translated == ({"client.id": "me"}, ["max.poll.records", "key.deserializer"])
    assert ignored_sentence(translated.ignored) == (
        "max.poll.records and key.deserializer have no effect here, because librdkafka has no equivalent."
    )
    assert ignored_sentence(["a"]) == "a has no effect here, because librdkafka has no equivalent."


def test_a_class_that_logs_in_is_refused() -> None:
    with pytest.raises(SettingsRefused, match=r"sasl\.login\.class names a Java class"):
        made(sasl_login_class="x.Y")


def test_librdkafka_knows_every_name_that_ours_become_and_none_of_those_left_out() -> None:
    assert {name for name in RENAMED.values() if not librdkafka_knows(name, "1")} == set()
    left_out = IGNORED | IMPOSSIBLE
    assert {name for name in left_out if librdkafka_knows(name, "1")} <= {"max.poll.records", "share.acknowledgement.mode"}
    assert not REWRITTEN & RENAMED.keys()


def test_a_token_endpoint_that_is_a_file_names_the_file_of_the_token() -> None:
    given = {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.login.callback.handler.class": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": "file:///etc/a%20token",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
    }
    assert for_librdkafka(given) == ({"sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.token.file": "/etc/a token"}, [])


def test_a_login_that_begins_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(SettingsRefused, match="names the login module of no name") as refused:
        made(sasl_jaas_config='password="hunter2" required;')
    assert "hunter2" not in str(refused.value)
