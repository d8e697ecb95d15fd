"""The names of the settings of schema validation, and the rule for a topic that has them.

Confluent's names are accepted, so that a topic which a tool made for Confluent's broker is checked
here too, and so are our own, which also have a level. Where both are set, the stricter level
counts, and our strategy counts before Confluent's.

The controller refuses a topic that asks for validation when it has no URL of a registry itself: a
topic that no producer can write to is of no use, and its owner sees the reason at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from barnabas.config.keys import ConfigError, Value

REGISTRY_URL: Final = "barnabas.schema.registry.url"
REGISTRY_USER: Final = "barnabas.schema.registry.basic.auth.user.info"
REGISTRY_TOKEN: Final = "barnabas.schema.registry.bearer.auth.token"  # noqa: S105
REGISTRY_CA: Final = "barnabas.schema.registry.ssl.ca.location"
REGISTRY_CERTIFICATE: Final = "barnabas.schema.registry.ssl.certificate.location"
REGISTRY_KEY: Final = "barnabas.schema.registry.ssl.key.location"
REGISTRY_KEY_PASSWORD: Final = "barnabas.schema.registry.ssl.key.password"  # noqa: S105
TIMEOUT_MS: Final = "barnabas.schema.validation.timeout.ms"
WHEN_UNREACHABLE: Final = "barnabas.schema.validation.when.unreachable"
CACHE_SIZE: Final = "barnabas.schema.validation.cache.size"
CACHE_MS: Final = "barnabas.schema.validation.cache.ms"
MISSING_MS: Final = "barnabas.schema.validation.missing.cache.ms"
WAITING_BYTES_MAX: Final = "barnabas.schema.validation.waiting.max.bytes"

REFUSE: Final = "refuse"
ACCEPT: Final = "accept"

CONFLUENT_URL: Final = "confluent.schema.registry.url"
CONFLUENT_USER: Final = "confluent.basic.auth.user.info"
CONFLUENT_USER_SOURCE: Final = "confluent.basic.auth.credentials.source"
CONFLUENT_BROKER_KEYS: Final = (CONFLUENT_URL, CONFLUENT_USER, CONFLUENT_USER_SOURCE)
# Either name sets both.
TWINS: Final = {REGISTRY_URL: CONFLUENT_URL, REGISTRY_USER: CONFLUENT_USER}

CONFLUENT_PACKAGE: Final = "io.confluent.kafka.serializers.subject."
STRATEGIES: Final = ("TopicNameStrategy", "RecordNameStrategy", "TopicRecordNameStrategy")
LEVELS: Final = ("none", "id", "payload")
PARTS: Final = ("key", "value")


def level_key(part: str) -> str:
    return f"barnabas.{part}.schema.validation"


def strategy_key(part: str) -> str:
    return f"barnabas.{part}.subject.name.strategy"


def confluent_level_key(part: str) -> str:
    return f"confluent.{part}.schema.validation"


def confluent_strategy_key(part: str) -> str:
    return f"confluent.{part}.subject.name.strategy"


CONFLUENT_TOPIC_KEYS: Final = tuple(key(part) for part in PARTS for key in (confluent_level_key, confluent_strategy_key))


def level_of(values: Mapping[str, Value], part: str) -> str:
    """One of :data:`LEVELS`; ``values`` are all settings of a topic."""
    own = values[level_key(part)]
    assert isinstance(own, str)
    return "id" if own == "none" and values[confluent_level_key(part)] else own


def strategy_of(values: Mapping[str, Value], part: str) -> str:
    """One of :data:`STRATEGIES`."""
    name = values[strategy_key(part)] or values[confluent_strategy_key(part)]
    assert isinstance(name, str)
    return name.removeprefix(CONFLUENT_PACKAGE)


def check_validated_topic(values: Mapping[str, Value], *, registry_known: bool) -> None:
    """``values`` are all settings of the topic, both its own and those inherited."""
    if registry_known:
        return
    for part in PARTS:
        if level_of(values, part) != "none":
            raise ConfigError(
                f"The topic asks for schema validation of its {part}s, which needs {REGISTRY_URL} (or {CONFLUENT_URL})"
                " in the configuration of every node."
            )
