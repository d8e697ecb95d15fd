from __future__ import annotations

from typing import Any

from barnabas.cli.cluster.client import reach
from barnabas.cli.configs.resources import ConfigResource, ResourceKind, _describe_by_librdkafka, _describe_by_request
from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli


def settings_of(cli: Cli, *words: object) -> dict[str, Any]:
    return {each["name"]: each for each in cli("configs", "describe", *words, "--json").json}


def test_a_topic_shows_its_own_settings_and_with_all_its_defaults_too(cli: Cli) -> None:
    cli("topics", "create", "orders", "--config", "retention.ms=1000").worked()
    assert list(settings_of(cli, "--topic", "orders")) == ["retention.ms"]
    everything = settings_of(cli, "--topic", "orders", "--all")
    assert len(everything) > 25
    assert everything["segment.bytes"]["source"] == "DEFAULT_CONFIG"
    assert cli("configs", "describe", "--topic", "orders").rows[0][:3] == ["retention.ms", "1000", "DYNAMIC_TOPIC_CONFIG"]


def test_settings_are_set_deleted_appended_to_and_subtracted_from(cli: Cli) -> None:
    cli("topics", "create", "orders", "--config", "retention.ms=1000", "--config", "cleanup.policy=compact").worked()
    altered = cli("configs", "alter", "--topic", "orders", "--delete", "retention.ms", "--append", "cleanup.policy=delete")
    assert altered.text == "Altered retention.ms, cleanup.policy of topic orders.\n"
    assert {name: each["value"] for name, each in settings_of(cli, "--topic", "orders").items()} == {"cleanup.policy": "compact,delete"}
    cli("configs", "alter", "--topic", "orders", "--subtract", "cleanup.policy=compact", "--set", "segment.bytes=2000000").worked()
    now = {name: each["value"] for name, each in settings_of(cli, "--topic", "orders").items()}
    assert now == {"cleanup.policy": "delete", "segment.bytes": "2000000"}


def test_every_level_with_a_value_is_a_synonym_strongest_first(cli: Cli) -> None:
    cli("topics", "create", "orders").worked()
    cli("configs", "alter", "--broker-defaults", "--set", "log.retention.ms=5000").worked()
    cli("configs", "alter", "--broker", 1, "--set", "log.retention.ms=6000").worked()
    cli("configs", "alter", "--topic", "orders", "--set", "retention.ms=7000").worked()
    setting = settings_of(cli, "--topic", "orders")["retention.ms"]
    assert (setting["value"], setting["source"]) == ("7000", "DYNAMIC_TOPIC_CONFIG")
    assert [(each["source"], each["name"], each["value"]) for each in setting["synonyms"]] == [
        ("DYNAMIC_TOPIC_CONFIG", "retention.ms", "7000"),
        ("DYNAMIC_BROKER_CONFIG", "log.retention.ms", "6000"),
        ("DYNAMIC_DEFAULT_BROKER_CONFIG", "log.retention.ms", "5000"),
        ("DEFAULT_CONFIG", "log.retention.hours", "168"),
    ]


def test_brokers_their_defaults_groups_loggers_and_client_metrics_all_have_settings(cli: Cli) -> None:
    for words, name, value, source in (
        (("--broker", 1), "log.cleaner.threads", "2", "DYNAMIC_BROKER_CONFIG"),
        (("--broker-defaults",), "log.retention.ms", "5000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
        (("--group", "g"), "consumer.session.timeout.ms", "50000", "DYNAMIC_GROUP_CONFIG"),
        (("--client-metrics", "m"), "interval.ms", "5000", "DYNAMIC_CLIENT_METRICS_CONFIG"),
        (("--broker-logger", 1), "root", "DEBUG", "DYNAMIC_BROKER_LOGGER_CONFIG"),
    ):
        cli("configs", "alter", *words, "--set", f"{name}={value}").worked()
        setting = settings_of(cli, *words)[name]
        assert (setting["value"], setting["source"]) == (value, source)


def test_settings_of_a_brokers_own_file_show_their_source(cli: Cli) -> None:
    assert settings_of(cli, "--broker", 1)["node.id"]["source"] == "STATIC_BROKER_CONFIG"


def test_librdkafka_and_our_request_return_the_same_settings(kafka: EmbeddedBroker) -> None:
    """Over an encrypted connection only librdkafka can describe settings; values and sources must
    not depend on it."""
    cli = Cli(kafka.bootstrap)
    cli("topics", "create", "orders", "--config", "retention.ms=1000").worked()
    admin = reach(kafka.bootstrap, None).admin()
    for kind, name in ((ResourceKind.TOPIC, "orders"), (ResourceKind.BROKER, "1"), (ResourceKind.GROUP, "g")):
        resource = ConfigResource(kind, name)
        ours = {each.name: (each.value, each.source, each.read_only) for each in _describe_by_request(admin, resource)}
        theirs = {each.name: (each.value, each.source, each.read_only) for each in _describe_by_librdkafka(admin, resource)}
        assert ours == theirs


def test_missing_resources_are_named_in_the_error(cli: Cli) -> None:
    assert cli("configs", "describe", "--topic", "nope").complaint == "There is no topic nope."
    assert cli("configs", "describe", "--broker", 9).complaint == "There is no broker 9; the cluster has 1."
    assert cli("configs", "alter", "--broker", 9, "--set", "a=b").complaint == "There is no broker 9; the cluster has 1."
    assert cli("configs", "alter", "--broker-logger", 9, "--set", "a=b").complaint == "There is no broker 9; the cluster has 1."
    assert "nope" in cli("configs", "alter", "--topic", "nope", "--set", "retention.ms=1").complaint


def test_a_refused_change_is_one_sentence_and_changes_nothing(cli: Cli) -> None:
    cli("topics", "create", "orders").worked()
    assert "retention.ms" in cli("configs", "alter", "--topic", "orders", "--set", "retention.ms=soon").complaint
    assert "node.id" in cli("configs", "alter", "--broker", 1, "--set", "node.id=5").complaint
    assert "bogus" in cli("configs", "alter", "--topic", "orders", "--set", "bogus=1", "--set", "segment.bytes=2000000").complaint
    assert "nobody" in cli("configs", "alter", "--broker-logger", 1, "--set", "nobody=DEBUG").complaint
    assert settings_of(cli, "--topic", "orders") == {}


def test_configs_takes_exactly_one_resource() -> None:
    nowhere = Cli("127.0.0.1:1")
    assert "exactly one" in nowhere("configs", "describe").complaint
    assert "exactly one" in nowhere("configs", "describe", "--topic", "a", "--broker", 1).complaint
    assert "cannot be empty" in nowhere("configs", "describe", "--topic", "").complaint
    assert "Nothing to alter" in nowhere("configs", "alter", "--topic", "a").complaint
    assert "--set takes name=value" in nowhere("configs", "alter", "--topic", "a", "--set", "b").complaint
