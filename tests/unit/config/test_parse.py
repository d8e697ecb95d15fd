"""A node's settings: the defaults that are filled in, and the errors for configurations that are
refused.
"""

from __future__ import annotations

import pytest

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.keys import ConfigError
from barnabas.config.listeners import Listener, advertised_listeners, controller_listeners, listeners
from barnabas.config.parse import (
    parse_broker_config,
    parse_client_metrics_config,
    parse_group_config,
    parse_topic_config,
)

SMALLEST = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.voters": "1@localhost:9093",
    "listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
}
MAP = "listener.security.protocol.map"


def refusal(changes: dict[str, str], *, without: str = "") -> str:
    given = {name: value for name, value in (SMALLEST | changes).items() if name != without}
    with pytest.raises(ConfigError) as error:
        parse_broker_config(given)
    return str(error.value)


def test_every_setting_has_a_value_and_only_given_ones_are_explicit() -> None:
    settings = parse_broker_config(SMALLEST)
    assert set(settings.values) == set(BROKER_KEYS)
    # Setting node.id also sets broker.id, its older name.
    assert settings.explicit == {*SMALLEST, "broker.id"}
    assert settings.integer("num.partitions") == 1
    assert settings.strings("process.roles") == ("broker", "controller")
    assert settings.strings("log.dirs") == ()
    assert settings.integer_or_none("log.roll.ms") is None
    assert settings.flag("auto.create.topics.enable")
    assert settings.number("log.cleaner.min.cleanable.ratio") == 0.5
    assert settings.text_or_none("broker.rack") is None
    assert settings["barnabas.prometheus.listener"] == ""


def test_broker_id_and_node_id_stand_for_each_other() -> None:
    given = {name: value for name, value in SMALLEST.items() if name != "node.id"}
    assert parse_broker_config(given | {"broker.id": "1"})["node.id"] == 1
    assert parse_broker_config(SMALLEST)["broker.id"] == 1
    assert refusal({"broker.id": "2"}) == "node.id is 1 and broker.id is 2, but they must be the same."


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"num.partition": "1"}, "num.partition is not a setting; did you mean num.partitions?"),
        ({"log.retention.minute": "1"}, "log.retention.minute is not a setting; did you mean log.retention.minutes?"),
        ({"qqqq": "1"}, "qqqq is not a setting."),
        ({"zookeeper.connect": "x"}, "zookeeper.connect is a setting of Kafka 3 that Kafka 4 no longer has."),
        ({"inter.broker.protocol.version": "3.9"}, "inter.broker.protocol.version is a setting of Kafka 3 that Kafka 4 no longer has."),
        (
            {"leader.replication.throttled.rate": "5"},
            "leader.replication.throttled.rate can only be set on a running broker, not in its configuration.",
        ),
        (
            {"config.providers.env.class": "x"},
            "config.providers.env.class configures the provider 'env', which config.providers does not name.",
        ),
        (
            {"listener.name.plaintext.num.partitions": "1"},
            "listener.name.plaintext.num.partitions has no meaning, because num.partitions cannot be set for one listener.",
        ),
        (
            {"listener.name.plaintext.max.connection": "1"},
            "listener.name.plaintext.max.connection is not a setting; did you mean listener.name.plaintext.max.connections?",
        ),
        (
            {"listener.name.clients.max.connections": "1", MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"},
            "listener.name.clients configures a listener that does not exist: there are CONTROLLER, PLAINTEXT.",
        ),
        (
            {"listener.name.plaintext.principal.builder.class": "x"},
            "principal.builder.class cannot be set: principal builders are JVM classes, and ignoring one would give clients other names.",
        ),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_refused_in_a_sentence(changes: dict[str, str], sentence: str) -> None:
    assert refusal(changes) == sentence


def test_a_required_setting_that_is_missing_is_named() -> None:
    assert refusal({}, without="process.roles") == "process.roles must be set: The roles of this node: broker, controller, or both."


def test_a_refused_setting_may_be_set_to_its_default() -> None:
    builder = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
    parse_broker_config(SMALLEST | {"principal.builder.class": builder})


def test_settings_of_one_listener_are_kept_under_its_name() -> None:
    settings = parse_broker_config(
        SMALLEST
        | {
            "listener.name.plaintext.max.connections": "5",
            "listener.name.plaintext.plain.sasl.jaas.config": "module required;",
            "listener.name.controller.ssl.key.password": "secret",
        }
    )
    assert settings.of_listeners == {
        "PLAINTEXT": {"max.connections": 5, "plain.sasl.jaas.config": "module required;"},
        "CONTROLLER": {"ssl.key.password": "secret"},
    }


def test_settings_of_plugins_are_accepted_unread() -> None:
    given = {"rsm.config.bucket": "b", "metrics.context.zone": "z", "remote.log.storage.config.region": "r"}
    assert parse_broker_config(SMALLEST | given).of_plugins == given
    moved = {"remote.log.storage.manager.impl.prefix": "store.", "store.bucket": "b"}
    assert parse_broker_config(SMALLEST | moved).of_plugins == {"store.bucket": "b"}
    assert refusal({"store.bucket": "b"}).startswith("store.bucket is not a setting")


def test_tiered_storage_needs_a_url_and_refuses_a_class() -> None:
    enabled = {"remote.log.storage.system.enable": "true"}
    assert "remote.log.storage.url" in refusal(SMALLEST | enabled)
    settings = parse_broker_config(SMALLEST | enabled | {"remote.log.storage.url": "file:///remote"})
    assert settings.text("remote.log.storage.url") == "file:///remote"
    assert "set remote.log.storage.url instead" in refusal(SMALLEST | {"remote.log.storage.manager.class.name": "org.Some"})


def test_controller_listeners_are_apart_from_client_listeners() -> None:
    settings = parse_broker_config(SMALLEST)
    clients, controllers = Listener("PLAINTEXT", "PLAINTEXT", "localhost", 9092), Listener("CONTROLLER", "PLAINTEXT", "localhost", 9093)
    assert listeners(settings) == (clients, controllers)
    assert advertised_listeners(settings) == (clients,)
    assert controller_listeners(settings) == (controllers,)


def test_listeners_may_have_any_name_and_host() -> None:
    settings = parse_broker_config(
        SMALLEST
        | {
            "listeners": "clients://[::1]:9092,CONTROLLER://:9093",
            "advertised.listeners": "clients://example.org:19092",
            "inter.broker.listener.name": "clients",
            MAP: "clients:plaintext, controller:PLAINTEXT",
        }
    )
    assert list(map(str, listeners(settings))) == ["CLIENTS://[::1]:9092", "CONTROLLER://:9093"]
    assert list(map(str, advertised_listeners(settings))) == ["CLIENTS://example.org:19092"]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({MAP: "PLAINTEXT:PLAINTEXT"}, f"listeners has the listener CONTROLLER, but {MAP} does not give its security protocol."),
        (
            {MAP: "PLAINTEXT:PLAIN,CONTROLLER:PLAINTEXT"},
            f"{MAP} gives PLAINTEXT the protocol 'PLAIN', but it must be one of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL.",
        ),
        (
            {"listeners": "PLAINTEXT://:99999,CONTROLLER://:9093"},
            "listeners has the entry 'PLAINTEXT://:99999', but an entry must be NAME://host:port.",
        ),
        (
            {"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"},
            "listeners uses port 9092 2 times, which only one IPv4 and one IPv6 address may do.",
        ),
        (
            {"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"},
            "advertised.listeners must give PLAINTEXT an address that others can reach, not 0.0.0.0.",
        ),
        ({"listeners": "PLAINTEXT://:9092"}, "listeners must have CONTROLLER, which controller.listener.names gives to this controller."),
        (
            {"controller.quorum.voters": "2@localhost:9093"},
            "controller.quorum.voters must include this node, 1, because it is a controller.",
        ),
        ({"log.retention.ms": "0"}, "log.retention.ms must be -1 for no limit, or at least 1, but comes to 0."),
        ({"security.inter.broker.protocol": "SSL"}, "inter.broker.listener.name must be one of the advertised PLAINTEXT, but is SSL."),
    ],
)
def test_settings_that_cannot_hold_together_are_refused_in_a_sentence(changes: dict[str, str], sentence: str) -> None:
    assert refusal(changes) == sentence


def test_the_protocol_map_may_name_tls_while_no_listener_uses_it() -> None:
    parse_broker_config(SMALLEST | {MAP: "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SSL:SSL", "ssl.keystore.location": "/k.jks"})


def test_topic_settings_are_parsed_and_checked_together() -> None:
    assert parse_topic_config({"retention.ms": "5", "cleanup.policy": "compact"}) == {"retention.ms": 5, "cleanup.policy": ("compact",)}
    for raw, sentence in (
        ({"retention.m": "5"}, "retention.m is not a topic setting; did you mean retention.ms?"),
        (
            {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "8"},
            "min.compaction.lag.ms is 9, which must not exceed max.compaction.lag.ms, 8.",
        ),
    ):
        with pytest.raises(ConfigError) as error:
            parse_topic_config(raw)
        assert str(error.value) == sentence


def test_group_and_client_metrics_settings_are_parsed() -> None:
    assert parse_group_config({"share.isolation.level": "read_committed"}) == {"share.isolation.level": "read_committed"}
    assert parse_client_metrics_config({"match": "client_id=a.*", "interval.ms": "100"}) == {
        "match": ("client_id=a.*",),
        "interval.ms": 100,
    }
    with pytest.raises(ConfigError, match=r"interval\.ms must be a 32-bit integer between 100 and 3600000, but is '99'\."):
        parse_client_metrics_config({"interval.ms": "99"})
