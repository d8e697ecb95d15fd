"""The settings of schema validation, under both of their names."""

from __future__ import annotations

import pytest

from barnabas.config.keys import ConfigError, Password, Value
from barnabas.config.parse import parse_broker_config, parse_topic_config
from barnabas.config.schema_validation import (
    CONFLUENT_URL,
    CONFLUENT_USER,
    REGISTRY_URL,
    REGISTRY_USER,
    check_validated_topic,
    level_of,
    strategy_of,
)
from barnabas.config.topic_keys import TOPIC_KEYS
from barnabas.records.schema_rules import Level, PartRules, SchemaRules, SubjectStrategy, schema_rules

NODE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
}
CONFLUENT = "io.confluent.kafka.serializers.subject."


def topic(**own: str) -> dict[str, Value]:
    given = {name.replace("_", "."): value for name, value in own.items()}
    return {name: key.default for name, key in TOPIC_KEYS.items()} | parse_topic_config(given)  # type: ignore[return-value]


def test_a_topic_has_no_validation_by_default() -> None:
    assert schema_rules(topic()) is None


@pytest.mark.parametrize(
    ("confluents", "ours", "level"),
    [
        ("false", "none", "none"),
        ("true", "none", "id"),
        ("false", "id", "id"),
        ("true", "id", "id"),
        ("false", "payload", "payload"),
        ("true", "payload", "payload"),
    ],
)
@pytest.mark.parametrize("part", ["key", "value"])
def test_the_stricter_of_the_two_levels_counts(part: str, confluents: str, ours: str, level: str) -> None:
    values = topic(**{f"confluent_{part}_schema_validation": confluents, f"barnabas_{part}_schema_validation": ours})
    assert level_of(values, part) == level


def test_our_strategy_counts_before_confluents() -> None:
    both = {"confluent_value_subject_name_strategy": CONFLUENT + "RecordNameStrategy"}
    assert strategy_of(topic(), "value") == "TopicNameStrategy"
    assert strategy_of(topic(**both), "value") == "RecordNameStrategy"
    assert strategy_of(topic(**both, barnabas_value_subject_name_strategy="TopicRecordNameStrategy"), "value") == "TopicRecordNameStrategy"
    assert strategy_of(topic(**both), "key") == "TopicNameStrategy"


def test_the_rules_of_a_topic_are_its_settings() -> None:
    values = topic(
        confluent_key_schema_validation="true",
        barnabas_value_schema_validation="payload",
        barnabas_value_subject_name_strategy="RecordNameStrategy",
    )
    assert schema_rules(values) == SchemaRules(PartRules(Level.ID), PartRules(Level.PAYLOAD, SubjectStrategy.RECORD))


@pytest.mark.parametrize(
    "own",
    [
        {"confluent.value.schema.validation": "yes"},
        {"barnabas.value.schema.validation": "true"},
        {"confluent.value.subject.name.strategy": "RecordNameStrategy"},
        {"barnabas.key.subject.name.strategy": "com.example.Own"},
    ],
    ids=str,
)
def test_other_values_are_refused(own: dict[str, str]) -> None:
    with pytest.raises(ConfigError):
        parse_topic_config(own)


def test_a_topic_with_validation_needs_a_registry() -> None:
    check_validated_topic(topic(), registry_known=False)
    values = topic(confluent_key_schema_validation="true")
    check_validated_topic(values, registry_known=True)
    with pytest.raises(ConfigError, match=r"validation of its keys, which needs barnabas\.schema\.registry\.url"):
        check_validated_topic(values, registry_known=False)


@pytest.mark.parametrize("name", [REGISTRY_URL, CONFLUENT_URL])
def test_either_name_of_the_url_sets_both(name: str) -> None:
    settings = parse_broker_config({**NODE, name: "http://a:8081, https://b"})
    assert settings.strings(REGISTRY_URL) == settings.strings(CONFLUENT_URL) == ("http://a:8081", "https://b")
    assert {REGISTRY_URL, CONFLUENT_URL} <= settings.explicit


def test_two_different_values_of_one_setting_are_refused() -> None:
    with pytest.raises(ConfigError, match="two names of one setting"):
        parse_broker_config({**NODE, REGISTRY_URL: "http://a", CONFLUENT_URL: "http://b"})


@pytest.mark.parametrize("url", ["registry:8081", "ftp://a", "http://user:secret@a:8081"])
def test_a_url_is_http_and_has_no_password(url: str) -> None:
    with pytest.raises(ConfigError):
        parse_broker_config({**NODE, REGISTRY_URL: url})


@pytest.mark.parametrize("name", [REGISTRY_USER, CONFLUENT_USER])
def test_the_login_is_a_secret(name: str) -> None:
    settings = parse_broker_config({**NODE, name: "user:secret"})
    assert isinstance(settings[REGISTRY_USER], Password)
    assert "secret" not in repr(settings[REGISTRY_USER])
    with pytest.raises(ConfigError) as refused:
        parse_broker_config({**NODE, name: "without-colon"})
    assert "without-colon" not in str(refused.value)


def test_a_key_of_tls_needs_its_certificate() -> None:
    with pytest.raises(ConfigError, match=r"needs barnabas\.schema\.registry\.ssl\.certificate\.location"):
        parse_broker_config({**NODE, "barnabas.schema.registry.ssl.key.location": "/k.pem"})
