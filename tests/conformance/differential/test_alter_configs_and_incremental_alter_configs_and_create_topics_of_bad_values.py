"""AlterConfigs, IncrementalAlterConfigs and CreateTopics refuse a value in Kafka's words first,
then in ours: tools look for Kafka's.

Every setting gets every bad value, so that each validator of Kafka meets each kind of fault. The
requests are dry runs, and most values that are valid for one setting are invalid for another.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import Scope
from barnabas.config.topic_keys import TOPIC_KEYS
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from barnabas.wire.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from tests.conformance.differential.config_requests import BROKER, CLIENT_METRICS, GROUP, SET, TOPIC, altering
from tests.conformance.differential.pair import Pair, Peer

BAD_VALUES = (
    *("", " ", "soon", " x ", "yes", "-5", "0", "1", "1.5", "99999999999", "99999999999999999999"),
    *("a,b", "a,,b", "x,x", "Delete", "compact,burn", "client_id", "client_id=(", "no_such=y"),
)

# Barnabas cannot change listeners while it runs and loads no Java classes. It sets no limit on how
# fast thread pools grow, because it has none. The last two differ in Java's words about an index.
# Kafka accepts any value of a setting that it does not know.
OTHERWISE = {
    *(name for name in BROKER_KEYS if name.startswith("barnabas.")),
    *("listeners", "advertised.listeners", "listener.security.protocol.map", "principal.builder.class", "ssl.engine.factory.class"),
    *("metric.reporters", "max.connections.per.ip.overrides", "config.providers"),
    *(name for name in BROKER_KEYS if name.endswith((".threads", ".thread.pool.size", ".threads.per.data.dir", ".fetchers"))),
    *("super.users", "allow.everyone.if.no.acl.found", "remote.log.storage.url", "log.cleaner.threads"),
}


KINDS = {TOPIC: "topic", GROUP: "group"}


def refusals(peer: Peer, kind: int, resource: str, name: str, value: str) -> tuple[int, str]:
    (response,) = Pair.ask(peer, altering((kind, resource, [(name, SET, value)]), dry=True), 1).responses
    return response.error_code, response.error_message or ""


def assert_same_words(pair: Pair, kind: int, resource: str, names: Iterable[str]) -> None:
    different = []
    refused = 0
    for name in names:
        for value in BAD_VALUES:
            kafka, barnabas = (refusals(peer, kind, resource, name, value) for peer in pair.peers)
            if kafka[1] == f"Unknown {KINDS.get(kind)} config name: {name}" and name in {*TOPIC_KEYS, *GROUP_KEYS}:
                # A setting of later versions of Kafka, or of ours.
                continue
            refused += kafka[0] != ErrorCode.NONE
            # Kafka ends some of its reasons with a full stop, and a sentence of ours may follow.
            if barnabas[0] != kafka[0] or not barnabas[1].startswith(kafka[1].removesuffix(".")):
                different.append(f"{name}={value!r}\n  Kafka    {kafka}\n  Barnabas {barnabas}")
    assert refused, "no value was refused"
    assert not different, "\n".join(different)


def test_incremental_alter_configs_refuses_settings_of_topics_in_kafkas_words(pair: Pair) -> None:
    pair.create("words")
    assert_same_words(pair, TOPIC, "words", [*TOPIC_KEYS, "no.such", "retention.mss"])


def test_incremental_alter_configs_refuses_settings_of_groups_in_kafkas_words(pair: Pair) -> None:
    assert_same_words(pair, GROUP, "words", [*GROUP_KEYS, "no.such"])


def test_incremental_alter_configs_refuses_client_metrics_in_kafkas_words(pair: Pair) -> None:
    assert_same_words(pair, CLIENT_METRICS, "words", [*CLIENT_METRICS_KEYS, "no.such"])


@pytest.mark.parametrize("resource", ["1", ""], ids=["one broker", "all brokers"])
def test_incremental_alter_configs_refuses_settings_of_brokers_in_kafkas_words(pair: Pair, resource: str) -> None:
    changeable = [key.name for key in (*BROKER_KEYS.values(), *DYNAMIC_ONLY_KEYS.values()) if key.scope is not Scope.READ_ONLY]
    assert_same_words(pair, BROKER, resource, [name for name in changeable if name not in OTHERWISE])


def test_incremental_alter_configs_refuses_read_only_settings_in_kafkas_words(pair: Pair) -> None:
    for name in ("num.partitions", "node.id", "log.dirs", "process.roles"):
        kafka, barnabas = (refusals(peer, BROKER, "1", name, "2") for peer in pair.peers)
        assert barnabas == kafka


CONFLICTS: list[dict[str, str]] = [
    {"min.compaction.lag.ms": "9", "max.compaction.lag.ms": "5"},
    {"retention.ms": "soon"},
    {"compression.type": "lz5"},
    {"no.such": "1"},
    {"remote.storage.enable": "true"},
]


@pytest.mark.parametrize("configs", CONFLICTS, ids=lambda configs: next(iter(configs)))
def test_create_topics_refuses_settings_in_kafkas_words(pair: Pair, configs: dict[str, str]) -> None:
    settings = [CreatableTopicConfig(name=name, value=value) for name, value in configs.items()]
    topic = CreatableTopic(name="words-of-create", num_partitions=1, replication_factor=1, assignments=[], configs=settings)
    for kafka, barnabas in pair.same(CreateTopicsRequest(topics=[topic], validate_only=True), [7]):
        assert barnabas.topics[0].error_message.startswith(kafka.topics[0].error_message)


@pytest.mark.parametrize("configs", CONFLICTS, ids=lambda configs: next(iter(configs)))
def test_alter_configs_refuses_settings_in_kafkas_words(pair: Pair, configs: dict[str, str]) -> None:
    pair.create(topic := f"words-{next(iter(configs))}")
    settings = [AlterableConfig(name=name, value=value) for name, value in configs.items()]
    resource = AlterConfigsResource(resource_type=TOPIC, resource_name=topic, configs=settings)
    for kafka, barnabas in pair.same(AlterConfigsRequest(resources=[resource], validate_only=True)):
        assert barnabas.responses[0].error_message.startswith(kafka.responses[0].error_message)


def test_incremental_alter_configs_shortens_a_long_value_in_its_refusal(pair: Pair) -> None:
    """A message of both sentences must fit into a string of the wire."""
    code, message = refusals(pair.barnabas, TOPIC, pair.create("long-words"), "retention.ms", "9" * 32_000)
    assert code == ErrorCode.INVALID_CONFIG
    assert message.startswith("Invalid value 999")
    assert len(message) < 4000
