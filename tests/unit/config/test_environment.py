"""Which environment variables are settings of a node, and how the others are reported."""

from __future__ import annotations

import pytest

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.environment import START_SCRIPT_VARIABLES, EnvironmentSettings, read_environment, variable_name, variables_at_fault

SERVICE_LINKS = {
    "KAFKA_SERVICE_HOST": "10.0.0.1",
    "KAFKA_SERVICE_PORT": "9092",
    "KAFKA_SERVICE_PORT_CLIENTS": "9092",
    "KAFKA_PORT": "tcp://10.0.0.1:9092",
    "KAFKA_PORT_9092_TCP": "tcp://10.0.0.1:9092",
    "KAFKA_PORT_9092_TCP_PROTO": "tcp",
    "KAFKA_PORT_9092_TCP_PORT": "9092",
    "KAFKA_PORT_9092_TCP_ADDR": "10.0.0.1",
    "KAFKA_UI_SERVICE_HOST": "10.0.0.2",
    "KAFKA_UI_PORT": "tcp://10.0.0.2:80",
    "KAFKA_UI_PORT_80_TCP_ADDR": "10.0.0.2",
}


def read(environment: dict[str, str], **others: str) -> EnvironmentSettings:
    return read_environment(environment, others)


@pytest.mark.parametrize(
    ("variable", "setting"),
    [
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_LISTENER_NAME_INSIDE_MAX_CONNECTIONS", "listener.name.inside.max.connections"),
        ("KAFKA_LISTENER_NAME_SASL___SSL_SSL_CLIENT_AUTH", "listener.name.sasl_ssl.ssl.client.auth"),
        ("KAFKA_LISTENER_NAME_THE__INSIDE_SSL_CLIENT_AUTH", "listener.name.the-inside.ssl.client.auth"),
        ("KAFKA_LISTENER_NAME_INSIDE_PLAIN_SASL_JAAS_CONFIG", "listener.name.inside.plain.sasl.jaas.config"),
        ("KAFKA_REMOTE_LOG_STORAGE_CONFIG_REGION", "remote.log.storage.config.region"),
        ("KAFKA_RLMM_CONFIG_X", "rlmm.config.x"),
        ("KAFKA_METRICS_CONTEXT_X", "metrics.context.x"),
    ],
)
def test_a_variable_that_names_a_setting_is_taken(variable: str, setting: str) -> None:
    found = read({variable: "value", "PATH": "/bin"})
    assert (found.properties, found.variables) == ({setting: "value"}, {setting: variable})
    assert not found.unknown


def test_every_setting_can_be_set_by_its_variable() -> None:
    found = read({variable_name(setting): "x" for setting in BROKER_KEYS})
    assert set(found.properties) == set(BROKER_KEYS)


def test_the_prefix_of_a_plugins_settings_may_come_from_elsewhere() -> None:
    assert read({"KAFKA_MINE_X": "1"}).unknown == ("KAFKA_MINE_X",)
    known = read_environment({"KAFKA_MINE_X": "1"}, {"remote.log.storage.manager.impl.prefix": "mine."})
    assert known.properties == {"mine.x": "1"}


def test_variables_that_kubernetes_injects_are_ignored() -> None:
    assert read(SERVICE_LINKS) == EnvironmentSettings({}, {}, (), ())


def test_variables_of_kafkas_start_scripts_are_neither_settings_nor_unknown() -> None:
    found = read(dict.fromkeys(START_SCRIPT_VARIABLES, "-Xmx1g"))
    assert found == EnvironmentSettings({}, {}, tuple(sorted(START_SCRIPT_VARIABLES)), ())


@pytest.mark.parametrize(
    "variable",
    [
        "KAFKA_TOPIC",
        "KAFKA_BOOTSTRAP_SERVERS",
        "KAFKA_BROKERS",
        "KAFKA_USERNAME",
        "KAFKA_SECURITY_PROTOCOL",
        "KAFKA_LISTENER_NAME",
        "KAFKA_",
    ],
)
def test_any_other_variable_is_unknown(variable: str) -> None:
    assert read({variable: "x"}) == EnvironmentSettings({}, {}, (), (variable,))


def test_a_port_variable_with_a_plain_number_is_not_a_service_link() -> None:
    assert read({"KAFKA_PORT": "9092"}).unknown == ("KAFKA_PORT",)


@pytest.mark.parametrize(
    ("variable", "remark"),
    [
        ("KAFKA_NUM_PARTITON", "did you mean KAFKA_NUM_PARTITIONS?"),
        ("KAFKA_ZOOKEEPER_CONNECT", "a setting of Kafka 3"),
        ("KAFKA_INTER_BROKER_PROTOCOL_VERSION", "a setting of Kafka 3"),
    ],
)
def test_an_unknown_variable_that_was_meant_for_kafka_carries_a_remark(variable: str, remark: str) -> None:
    assert read({variable: "x"}).unknown == (f"{variable} ({remark})",)


@pytest.mark.parametrize(
    ("sentence", "at_fault"),
    [
        ("num.partitions must be at least 1, but is '0'.", ["KAFKA_NUM_PARTITIONS"]),
        ("log.dir.x is not a setting; did you mean log.dirs?", ["KAFKA_LOG_DIRS"]),
        ("listener.name.inside configures a listener that does not exist.", ["KAFKA_LISTENER_NAME_INSIDE_MAX_CONNECTIONS"]),
        ("node.id must be set: The number that identifies this node in the cluster.", []),
        ("auto.num.partitions, num.partitions.max and log.dirs-x are others.", []),
    ],
)
def test_the_variables_at_fault_are_those_whose_settings_the_sentence_names(sentence: str, at_fault: list[str]) -> None:
    settings = read({"KAFKA_NUM_PARTITIONS": "0", "KAFKA_LOG_DIRS": "/d", "KAFKA_LISTENER_NAME_INSIDE_MAX_CONNECTIONS": "1"})
    assert variables_at_fault(sentence, settings.variables) == at_fault
