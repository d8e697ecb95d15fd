"""The effective value of a setting, and its source.

    topic  >  dynamic, this broker  >  dynamic, all brokers  >  configuration file  >  default

A topic setting that the topic does not set falls back to its broker synonyms, each through the same
chain. DescribeConfigs shows the chain as synonyms, beginning with the first entry that has the
setting's own name. Like Kafka it leaves out earlier entries, which belong to another setting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from enum import IntEnum
from itertools import dropwhile
from typing import NamedTuple

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import ConfigError, ConfigKey, Required, Scope, Value
from barnabas.config.parse import LISTENER_PREFIX, ListenerKey, listener_key
from barnabas.config.providers import Sources, provider_settings, resolve
from barnabas.config.settings import BrokerSettings
from barnabas.config.topic_keys import TOPIC_KEYS, topic_defaults
from barnabas.metadata.configs import CLUSTER_DEFAULT, ConfigsImage, ResourceType

# Broker settings that exist in several units, the finest first.
_IN_OTHER_UNITS = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_BROKER_SYNONYMS = {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    **{name: names for names in _IN_OTHER_UNITS for name in names},
}


_ALL_BROKER_KEYS: Mapping[str, ConfigKey] = {**BROKER_KEYS, **DYNAMIC_ONLY_KEYS}


class ConfigSource(IntEnum):
    """The numbers of the protocol."""

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
        # Changed settings of listeners, by the whole name.
        self._of_listeners = _listener_keys(self._broker_dynamic)
        self._topic_defaults = topic_defaults(self.broker)

    def _broker_values(self) -> Mapping[str, Value]:
        values = dict(self.settings.values)
        for limit in DYNAMIC_ONLY_KEYS.values():
            assert not isinstance(limit.default, Required)
            values[limit.name] = limit.default
        for dynamic in (self._cluster_dynamic, self._broker_dynamic):
            live = {name: key for name in dynamic if (key := _ALL_BROKER_KEYS.get(name)) is not None and key.scope is not Scope.READ_ONLY}
            for name in live:
                # Otherwise the finer unit of a weaker source would override the coarser unit that
                # was set last.
                for synonym in _BROKER_SYNONYMS.get(name, ()):
                    default = BROKER_KEYS[synonym].default
                    assert not isinstance(default, Required)
                    values[synonym] = default
            for name, key in live.items():
                values[name] = _read(key, dynamic[name], values[name])
        return values

    def in_force(self, sources: Sources | None = None) -> BrokerSettings:
        """The settings of this broker with every change made at run time.

        With ``sources``, references in settings of listeners are replaced by their values, as those
        of the file were at the start. The metadata log keeps the reference, so that a password need
        not be there. Raises ``ConfigError`` when there is no such value.
        """
        texts: Mapping[str, str] = {name: self._broker_dynamic[name] for name in self._of_listeners}
        if sources is not None and any("${" in text for text in texts.values()):
            texts = resolve({**provider_settings(self.settings), **texts}, sources)
        of_listeners = {listener: dict(values) for listener, values in self.settings.of_listeners.items()}
        for name, found in self._of_listeners.items():
            own = of_listeners.setdefault(found.listener, {})
            before = own.get(found.rest, self.broker[found.key.name])
            own[found.rest] = _read(found.key, texts[name], before)
        return replace(self.settings, values=self.broker, of_listeners=of_listeners)

    @property
    def changed_listeners(self) -> frozenset[str]:
        """The listeners with settings that were changed at run time, in upper case."""
        return frozenset(found.listener for found in self._of_listeners.values())

    @property
    def topic_defaults(self) -> Mapping[str, Value]:
        """The settings of a topic that sets none itself."""
        return self._topic_defaults

    def topic(self, name: str) -> dict[str, Value]:
        """Every setting of a topic, typed."""
        values = dict(self._topic_defaults)
        for key, text in self.configs.of(ResourceType.TOPIC, name).items():
            if key in TOPIC_KEYS:
                values[key] = _read(TOPIC_KEYS[key], text, values[key])
        return values

    # -- describing --------------------------------------------------------------------------------

    def describe_topic(self, name: str) -> Iterator[ConfigEntry]:
        own = self.configs.of(ResourceType.TOPIC, name)
        values = self.topic(name)
        yield from self._topic_entries({key: TOPIC_KEYS[key].render(values[key]) for key in own if key in TOPIC_KEYS})

    def describe_new_topic(self, own: Mapping[str, str]) -> list[ConfigEntry]:
        """Sorted by name, with values as given in the request, as Kafka's controller describes a
        new topic.
        """
        found = []
        for entry in sorted(self._topic_entries(own)):
            # A controller considers all units to find the source of a value, a broker only one
            # name.
            chain = self._whole_chain([synonym.broker_key for synonym in TOPIC_KEYS[entry.name].synonyms])
            found.append(entry if entry.name in own else entry._replace(source=next((each.source for each in chain), ConfigSource.DEFAULT)))
        return found

    def _topic_entries(self, own: Mapping[str, str | None]) -> Iterator[ConfigEntry]:
        for key in TOPIC_KEYS.values():
            if key.internal and key.name not in own:
                continue
            synonyms = list(self._chain([synonym.broker_key for synonym in key.synonyms]))
            value = key.render(self._topic_defaults[key.name])
            if key.name in own:
                value = own[key.name]
                synonyms.insert(0, ConfigSynonym(key.name, value, ConfigSource.TOPIC))
            source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
            yield ConfigEntry(key.name, value, source, False, key.sensitive, key.type.code, key.doc, synonyms)

    def describe_broker(self) -> Iterator[ConfigEntry]:
        for key in _ALL_BROKER_KEYS.values():
            if key.internal and key.name not in self.settings.explicit:
                continue
            # A setting that no file can contain is shown only while it is set.
            if key.name in DYNAMIC_ONLY_KEYS and key.name not in self._broker_dynamic and key.name not in self._cluster_dynamic:
                continue
            synonyms = list(self._chain(_BROKER_SYNONYMS.get(key.name, (key.name,)), key.name))
            value = None if key.sensitive else key.render(self.broker[key.name])
            source = synonyms[0].source if synonyms else ConfigSource.DEFAULT
            yield ConfigEntry(key.name, value, source, key.scope is Scope.READ_ONLY, key.sensitive, key.type.code, key.doc, synonyms)
        yield from self._listener_entries()

    def _listener_entries(self) -> Iterator[ConfigEntry]:
        """The settings of single listeners. A value falls back to the setting of the node."""
        static = {
            f"{LISTENER_PREFIX}{listener.lower()}.{rest}": value
            for listener, values in self.settings.of_listeners.items()
            for rest, value in values.items()
        }
        for name in sorted({*static, *self._of_listeners}):
            found = listener_key(name)
            assert found is not None
            key = found.key
            synonyms = []
            if name in self._broker_dynamic:
                synonyms.append(ConfigSynonym(name, _shown(key, self._broker_dynamic[name]), ConfigSource.BROKER))
            if name in static:
                synonyms.append(ConfigSynonym(name, None if key.sensitive else key.render(static[name]), ConfigSource.STATIC))
            value, source = synonyms[0].value, synonyms[0].source
            synonyms += self._chain((key.name,))
            yield ConfigEntry(name, value, source, key.scope is Scope.READ_ONLY, key.sensitive, key.type.code, key.doc, synonyms)

    def describe_cluster_default(self) -> Iterator[ConfigEntry]:
        """Only settings made for all brokers; defaults belong to single brokers."""
        for name, text in sorted(self._cluster_dynamic.items()):
            key = _ALL_BROKER_KEYS.get(name)
            if key is None:
                continue
            synonyms = [each for each in self._chain((name,)) if each.source is ConfigSource.CLUSTER_DEFAULT]
            yield ConfigEntry(name, _shown(key, text), ConfigSource.CLUSTER_DEFAULT, False, key.sensitive, key.type.code, key.doc, synonyms)

    def describe_group(self, name: str) -> Iterator[ConfigEntry]:
        own = self.configs.of(ResourceType.GROUP, name)
        for key in GROUP_KEYS.values():
            behind = f"group.{key.name}"
            if behind in BROKER_KEYS:
                synonyms = list(self._chain((behind,)))
                value = key.render(self.broker[behind])
            else:
                assert not isinstance(key.default, Required)
                value = key.render(key.default)
                synonyms = [ConfigSynonym(key.name, value, ConfigSource.DEFAULT)]
            if key.name in own:
                value = own[key.name]
                synonyms.insert(0, ConfigSynonym(key.name, value, ConfigSource.GROUP))
            yield ConfigEntry(key.name, value, synonyms[0].source, False, key.sensitive, key.type.code, key.doc, synonyms)

    def describe_client_metrics(self, name: str) -> Iterator[ConfigEntry]:
        own = self.configs.of(ResourceType.CLIENT_METRICS, name)
        for key in CLIENT_METRICS_KEYS.values():
            assert not isinstance(key.default, Required)
            source = ConfigSource.CLIENT_METRICS if key.name in own else ConfigSource.DEFAULT
            value = own.get(key.name, key.render(key.default))
            synonyms = [ConfigSynonym(key.name, value, source)] if key.name in own else []
            yield ConfigEntry(key.name, value, source, False, key.sensitive, key.type.code, key.doc, synonyms)

    def _chain(self, names: Sequence[str], own_name: str | None = None) -> Iterator[ConfigSynonym]:
        """The part of the chain that DescribeConfigs shows: from the first source of ``own_name``,
        by default the first of ``names``.
        """
        if not names:
            return iter(())
        shown = names[0] if own_name is None else own_name
        return dropwhile(lambda synonym: synonym.name != shown, self._whole_chain(names))

    def _whole_chain(self, names: Sequence[str]) -> Iterator[ConfigSynonym]:
        """All sources of a value for one of ``names``, the strongest first."""
        for dynamic, source in ((self._broker_dynamic, ConfigSource.BROKER), (self._cluster_dynamic, ConfigSource.CLUSTER_DEFAULT)):
            for name in names:
                if name in dynamic:
                    yield ConfigSynonym(name, _shown(_ALL_BROKER_KEYS[name], dynamic[name]), source)
        for name in names:
            if name in self.settings.explicit:
                key = _ALL_BROKER_KEYS[name]
                value = None if key.sensitive else key.render(self.settings.values[name])
                yield ConfigSynonym(name, value, ConfigSource.STATIC)
        for name in names:
            key = _ALL_BROKER_KEYS[name]
            # Kafka has no defaults for settings that no file can contain.
            if name in BROKER_KEYS and key.default is not None and not isinstance(key.default, Required):
                yield ConfigSynonym(name, None if key.sensitive else key.render(key.default), ConfigSource.DEFAULT)


def _listener_keys(dynamic: Mapping[str, str]) -> dict[str, ListenerKey]:
    """The settings of listeners among those of a broker. A name that this node does not know was
    accepted by a controller that does, and has no effect here."""
    found = {}
    for name in dynamic:
        try:
            key = listener_key(name)
        except ConfigError:
            continue
        if key is not None and key.key.scope is not Scope.READ_ONLY:
            found[name] = key
    return found


def _read(key: ConfigKey, text: str, otherwise: Value) -> Value:
    """Parse a value of the metadata log. The controller that wrote it may have had other rules, and
    a node must accept any log: an unreadable value counts as not set.
    """
    try:
        return key.parse(text)
    except ConfigError:
        return otherwise


def _shown(key: ConfigKey, text: str) -> str | None:
    return None if key.sensitive else text
