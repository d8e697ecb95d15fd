"""The order of sources of a setting: the topic, this broker, all brokers, the file, the default."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.parse import parse_broker_config
from barnabas.config.topic_keys import TOPIC_KEYS
from barnabas.devcluster.development import development_properties
from barnabas.metadata.configs import ConfigResource, ConfigsImage
from barnabas.metadata.effective_configs import ConfigEntry, ConfigSource, ConfigSynonym, EffectiveConfigs

TOPIC, BROKER, ALL_BROKERS, STATIC, DEFAULT = (
    ConfigSource.TOPIC,
    ConfigSource.BROKER,
    ConfigSource.CLUSTER_DEFAULT,
    ConfigSource.STATIC,
    ConfigSource.DEFAULT,
)


def effective(*, file: dict[str, str] | None = None, **dynamic: dict[str, str]) -> EffectiveConfigs:
    """``topic``, ``broker``, ``cluster`` and so on: the settings of the topic "t", of broker 1, of
    all brokers.
    """
    resources = {
        "topic": ConfigResource(2, "t"),
        "broker": ConfigResource(4, "1"),
        "other": ConfigResource(4, "2"),
        "cluster": ConfigResource(4, ""),
        "group": ConfigResource(32, "g"),
        "metrics": ConfigResource(16, "m"),
    }
    settings = parse_broker_config(development_properties(data_dir="/data", overrides=file))
    return EffectiveConfigs(settings, ConfigsImage({resources[name]: values for name, values in dynamic.items()}), 1)


def shown(entries: Any, name: str) -> ConfigEntry:
    (found,) = (entry for entry in entries if entry.name == name)
    assert isinstance(found, ConfigEntry)
    return found


LAYERS: list[tuple[str, dict[str, str], int, ConfigSource]] = [
    ("file", {"message.max.bytes": "1"}, 1, STATIC),
    ("cluster", {"message.max.bytes": "2"}, 2, ALL_BROKERS),
    ("broker", {"message.max.bytes": "3"}, 3, BROKER),
    ("topic", {"max.message.bytes": "4"}, 4, TOPIC),
]


@pytest.mark.parametrize("count", range(5))
def test_the_strongest_place_wins_and_all_are_shown(count: int) -> None:
    layers = LAYERS[:count]
    configs = effective(**{name: values for name, values, _, _ in layers})
    value, source = (layers[-1][2], layers[-1][3]) if layers else (1_048_588, DEFAULT)
    assert configs.topic("t")["max.message.bytes"] == value
    entry = shown(configs.describe_topic("t"), "max.message.bytes")
    assert (entry.value, entry.source) == (str(value), source)
    assert [each.source for each in entry.synonyms] == [*(layer[3] for layer in reversed(layers)), DEFAULT]
    assert [each.value for each in entry.synonyms] == [*(str(layer[2]) for layer in reversed(layers)), "1048588"]


def test_a_topic_without_settings_inherits_those_of_its_broker() -> None:
    configs = effective(topic={"max.message.bytes": "4"}, cluster={"message.max.bytes": "2"})
    assert configs.topic("another")["max.message.bytes"] == 2


def test_a_setting_of_another_broker_does_not_apply() -> None:
    assert effective(other={"message.max.bytes": "9"}).topic("t")["max.message.bytes"] == 1_048_588


@pytest.mark.parametrize(
    ("file", "cluster", "milliseconds"),
    [
        ({}, {}, 7 * 24 * 3_600_000),
        ({"log.retention.hours": "1"}, {}, 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, {}, 120_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"}, {}, 3),
        ({"log.retention.hours": "1"}, {"log.retention.ms": "5"}, 5),
        ({"log.retention.hours": "-1"}, {}, -1),
    ],
)
def test_the_finest_unit_counts(file: dict[str, str], cluster: dict[str, str], milliseconds: int) -> None:
    assert effective(file=file, cluster=cluster).topic("t")["retention.ms"] == milliseconds


def test_read_only_settings_cannot_become_dynamic_behind_the_controllers_back() -> None:
    """A metadata log of another version may have such settings; they are never shown and change
    nothing.
    """
    configs = effective(broker={"num.partitions": "9"})
    assert configs.broker["num.partitions"] == 1


def test_unknown_settings_are_ignored() -> None:
    configs = effective(topic={"from.the.future": "1"}, broker={"from.the.future": "1"}, cluster={"from.the.future": "1"})
    assert "from.the.future" not in configs.topic("t")
    assert list(configs.describe_cluster_default()) == []


def test_a_broker_shows_everything_that_is_not_internal() -> None:
    names = [entry.name for entry in effective().describe_broker()]
    assert set(names) == {key.name for key in BROKER_KEYS.values() if not key.internal} | ({"process.roles"} & set(names))
    assert len(names) == len(set(names))


def test_a_topic_shows_all_its_settings() -> None:
    assert {entry.name for entry in effective().describe_topic("t")} == {key.name for key in TOPIC_KEYS.values() if not key.internal}


def test_a_broker_shows_all_synonyms_of_a_setting() -> None:
    configs = effective(file={"log.segment.bytes": "2000000"}, cluster={"log.segment.bytes": "3000000"})
    entry = shown(configs.describe_broker(), "log.segment.bytes")
    assert (entry.value, entry.source, entry.read_only) == ("3000000", ALL_BROKERS, False)
    assert entry.synonyms == [
        ConfigSynonym("log.segment.bytes", "3000000", ALL_BROKERS),
        ConfigSynonym("log.segment.bytes", "2000000", STATIC),
        ConfigSynonym("log.segment.bytes", "1073741824", DEFAULT),
    ]
    assert shown(configs.describe_broker(), "node.id").read_only


def test_secrets_are_never_shown_wherever_they_were_set() -> None:
    configs = effective(file={"ssl.keystore.password": "hush-file"}, broker={"ssl.keystore.password": "hush-broker"})
    assert "hush" not in repr(list(configs.describe_broker()))
    entry = shown(configs.describe_broker(), "ssl.keystore.password")
    assert (entry.value, entry.sensitive) == (None, True)


def test_limits_of_replication_have_a_value_always_and_are_shown_while_they_are_set() -> None:
    name = "leader.replication.throttled.rate"
    assert effective().broker[name] == 2**63 - 1
    assert name not in [entry.name for entry in effective().describe_broker()]
    limited = effective(broker={name: "1000"}, cluster={name: "2000"})
    assert limited.broker[name] == 1000
    entry = shown(limited.describe_broker(), name)
    assert [(each.value, each.source) for each in entry.synonyms] == [("1000", BROKER), ("2000", ALL_BROKERS)]


def test_the_cluster_default_shows_only_settings_for_all_brokers() -> None:
    configs = effective(cluster={"message.max.bytes": "2", "log.retention.ms": "3"}, broker={"message.max.bytes": "9"})
    assert [(entry.name, entry.value, entry.source) for entry in configs.describe_cluster_default()] == [
        ("log.retention.ms", "3", ALL_BROKERS),
        ("message.max.bytes", "2", ALL_BROKERS),
    ]


def test_groups_and_client_metrics_show_their_own_and_defaults() -> None:
    configs = effective(group={"consumer.session.timeout.ms": "50000"}, metrics={"interval.ms": "1000"})
    own = shown(configs.describe_group("g"), "consumer.session.timeout.ms")
    assert (own.value, own.source) == ("50000", ConfigSource.GROUP)
    other = shown(configs.describe_group("another"), "consumer.session.timeout.ms")
    assert (other.value, other.source) == ("45000", DEFAULT)
    assert shown(configs.describe_client_metrics("m"), "interval.ms").source == ConfigSource.CLIENT_METRICS
    assert shown(configs.describe_client_metrics("another"), "interval.ms").source == DEFAULT


def test_a_topic_about_to_be_created_shows_its_future_settings() -> None:
    entries = effective(file={"log.segment.bytes": "2000000"}).describe_new_topic({"retention.ms": "5"})
    assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
    assert (shown(entries, "retention.ms").value, shown(entries, "retention.ms").source) == ("5", TOPIC)
    assert (shown(entries, "segment.bytes").value, shown(entries, "segment.bytes").source) == ("2000000", STATIC)


def test_values_that_cannot_be_read_count_as_not_set() -> None:
    """Other rules accepted them into the metadata log; a node must accept them."""
    configs = effective(
        topic={"max.message.bytes": "many", "retention.ms": "5"}, broker={"message.max.bytes": "many"}, cluster={"message.max.bytes": "7"}
    )
    assert (configs.topic("t")["max.message.bytes"], configs.topic("t")["retention.ms"]) == (7, 5)
    assert shown(configs.describe_topic("t"), "max.message.bytes").value == "7"
    assert configs.broker["message.max.bytes"] == 7


def test_a_changed_setting_of_a_listener_overrides_the_file_and_passwords_are_not_shown() -> None:
    file = {"listener.name.plaintext.ssl.keystore.location": "/old", "listener.name.plaintext.ssl.keystore.password": "old-secret"}
    changes = {"listener.name.plaintext.ssl.keystore.location": "/new", "listener.name.plaintext.ssl.key.password": "new-secret"}
    found = effective(file=file, broker=changes)
    own = found.in_force().of_listeners["PLAINTEXT"]
    assert own == {"ssl.keystore.location": "/new", "ssl.keystore.password": "old-secret", "ssl.key.password": "new-secret"}
    assert found.changed_listeners == {"PLAINTEXT"}
    shown = {each.name: each for each in found.describe_broker() if each.name.startswith("listener.name.")}
    assert shown["listener.name.plaintext.ssl.keystore.location"].value == "/new"
    assert [each.source for each in shown["listener.name.plaintext.ssl.keystore.location"].synonyms] == [BROKER, STATIC]
    assert "secret" not in str(shown)


def test_a_changed_setting_of_a_listener_that_this_node_does_not_know_has_no_effect() -> None:
    found = effective(broker={"listener.name.plaintext.no.such": "1", "listener.name.plaintext.ssl.client.auth": "perhaps"})
    assert found.in_force().of_listeners == {"PLAINTEXT": {"ssl.client.auth": "none"}}
