"""What a setting is worth in the end, and where that comes from.

    topic's own  >  this broker's dynamic  >  the cluster's dynamic  >  the configuration file  >  the default

A topic setting that the topic does not make falls back to its broker synonyms, each through the same chain. DescribeConfigs shows the
whole chain as synonyms; the first of them is the value in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import ConfigKey, Required, Scope, Value
from barnabas.config.settings import BrokerSettings
from barnabas.config.topic_keys import TOPIC_KEYS, topic_defaults
from barnabas.metadata.configs import CLUSTER_DEFAULT, ConfigsImage, ResourceType

# Broker settings that stand for each other in several units, finest first.
_BROKER_SYNONYMS = {
    first: names
    for names in (
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    for first in names
}


class ConfigSource(IntEnum):
    """Numbers of the protocol."""

    TOPIC = 1
    BROKER = 2
    CLUSTER_DEFAULT = 3
    STATIC = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class ConfigSynonym(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource


class ConfigEntry(NamedTuple):
    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type_code: int
    doc: str
    synonyms: Sequence[ConfigSynonym]


class EffectiveConfigs:
    """One broker's view of all settings at one image."""

    def __init__(self, settings: BrokerSettings, configs: ConfigsImage, broker_id: int) -> None:
        self.settings = settings
        self.configs = configs
        self._broker_dynamic = configs.of(ResourceType.BROKER, str(broker_id))
        self._cluster_dynamic = configs.by_resource.get(CLUSTER_DEFAULT, {})
        self.broker: Mapping[str, Value] = self._broker_values()
        self._topic_defaults = topic_defaults(self.broker)

    def _broker_values(self) -> Mapping[str, Value]:
        values = dict(self.settings.values)
        for dynamic in (self._cluster_dynamic, self._broker_dynamic):
            for name, text in dynamic.items():
                key = BROKER_KEYS.get(name)
                if key is not None and key.scope is not Scope.READ_ONLY:
                    values[name] = key.parse(text)
        return values

    def topic(self, name: str) -> dict[str, Value]:
        """Every setting of a topic, typed."""
        values = dict(self._topic_defaults)
        for key, text in self.configs.of(ResourceType.TOPIC, name).items():
            if key in TOPIC_KEYS:
                values[key] = TOPIC_KEYS[key].parse(text)
        return values

    # -- describing -----------------------------------------------------------------------------------------------------------

    def describe_topic(self, name: str, overrides: Mapping[str, str] | None = None) -> Iterator[ConfigEntry]:
        """``overrides`` for a topic that does not exist yet."""
        own = self.configs.of(ResourceType.TOPIC, name) if overrides is None else overrides
        for key in TOPIC_KEYS.values():
            synonyms = list(self._chain([synonym.broker_key for synonym in key.synonyms]))
            default = key.render(self._topic_defaults[key.name])
            value = default
            if key.name in own:
                value = _shown(key, own[key.name])
                synonyms.insert(0, ConfigSynonym(key.name, value, ConfigSource.TOPIC))
            source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
            yield ConfigEntry(key.name, value, source, False, key.sensitive, key.type.code, key.doc, synonyms)

    def describe_broker(self) -> Iterator[ConfigEntry]:
        for key in BROKER_KEYS.values():
            if key.internal and key.name not in self.settings.explicit:
                continue
            synonyms = list(self._chain(_BROKER_SYNONYMS.get(key.name, (key.name,))))
            own = [synonym for synonym in synonyms if synonym.name == key.name]
            value = None if key.sensitive else key.render(self.broker[key.name])
            source = own[0].source if own else ConfigSource.DEFAULT
            yield ConfigEntry(key.name, value, source, key.scope is Scope.READ_ONLY, key.sensitive, key.type.code, key.doc, synonyms)

    def describe_cluster_default(self) -> Iterator[ConfigEntry]:
        """Only what was set for all brokers: defaults are a broker's own matter."""
        for name, text in sorted(self._cluster_dynamic.items()):
            key = BROKER_KEYS.get(name)
            if key is None:
                continue
            synonyms = [each for each in self._chain((name,)) if each.source is not ConfigSource.BROKER]
            yield ConfigEntry(name, _shown(key, text), ConfigSource.CLUSTER_DEFAULT, False, key.sensitive, key.type.code, key.doc, synonyms)

    def describe_group(self, name: str) -> Iterator[ConfigEntry]:
        yield from self._plain(GROUP_KEYS, self.configs.of(ResourceType.GROUP, name), ConfigSource.GROUP)

    def describe_client_metrics(self, name: str) -> Iterator[ConfigEntry]:
        yield from self._plain(CLIENT_METRICS_KEYS, self.configs.of(ResourceType.CLIENT_METRICS, name), ConfigSource.CLIENT_METRICS)

    @staticmethod
    def _plain(keys: Mapping[str, ConfigKey], own: Mapping[str, str], source: ConfigSource) -> Iterator[ConfigEntry]:
        for key in keys.values():
            default = None if isinstance(key.default, Required) else key.render(key.default)
            synonyms = [ConfigSynonym(key.name, default, ConfigSource.DEFAULT)]
            if key.name in own:
                synonyms.insert(0, ConfigSynonym(key.name, own[key.name], source))
            first = synonyms[0]
            yield ConfigEntry(key.name, first.value, first.source, False, key.sensitive, key.type.code, key.doc, synonyms)

    def _chain(self, names: Sequence[str]) -> Iterator[ConfigSynonym]:
        """All places where one of ``names`` has a value, the strongest first."""
        for dynamic, source in ((self._broker_dynamic, ConfigSource.BROKER), (self._cluster_dynamic, ConfigSource.CLUSTER_DEFAULT)):
            for name in names:
                if name in dynamic:
                    yield ConfigSynonym(name, _shown(BROKER_KEYS[name], dynamic[name]), source)
        for name in names:
            if name in self.settings.explicit:
                key = BROKER_KEYS[name]
                value = None if key.sensitive else key.render(self.settings.values[name])
                yield ConfigSynonym(name, value, ConfigSource.STATIC)
        for name in names:
            key = BROKER_KEYS[name]
            if key.default is not None and not isinstance(key.default, Required):
                yield ConfigSynonym(name, None if key.sensitive else key.render(key.default), ConfigSource.DEFAULT)


def _shown(key: ConfigKey, text: str) -> str | None:
    return None if key.sensitive else text
