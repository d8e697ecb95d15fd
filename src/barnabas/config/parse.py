"""Text to typed settings. A setting that cannot be honoured is refused in one sentence, before the
node opens any file or socket.

Kafka ignores names that it does not know, so a misspelt setting silently does nothing. Here an
unknown name is refused, and the error suggests the closest known name. Unknown environment
variables only cause a warning (:mod:`~barnabas.config.environment`). Besides the keys of
``BROKER_KEYS`` a file may have:

===============================================  =================================================
``listener.name.<listener>.<key>``               the keys that Kafka reads per listener, mostly
                                                 TLS and SASL
``listener.name.<listener>.<mechanism>.<key>``   the few keys that Kafka reads per SASL mechanism
``rsm.config.* rlmm.config.*``                   settings of the plugins of tiered storage; the
                                                 prefixes are settings themselves
``remote.log.storage.config.*``                  options of the store of ``remote.log.storage.url``
``metrics.context.*``                            settings of metric reporters
``config.providers.<name>.*``                    settings of a provider in ``config.providers``
===============================================  =================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from barnabas.config.broker_keys import BROKER_KEYS, DYNAMIC_ONLY_KEYS, security_sasl, security_tls
from barnabas.config.client_metrics_keys import CLIENT_METRICS_KEYS
from barnabas.config.consistency import check
from barnabas.config.group_keys import GROUP_KEYS
from barnabas.config.keys import ConfigError, ConfigKey, EffectKind, Required, Value
from barnabas.config.listeners import inter_broker_listener_name, security_protocols
from barnabas.config.schema_validation import TWINS
from barnabas.config.settings import BrokerSettings
from barnabas.config.topic_keys import TOPIC_KEYS

__all__ = [
    "BrokerSettings",
    "ListenerKey",
    "is_of_kafka_3",
    "listener_key",
    "names_a_setting",
    "parse_broker_config",
    "parse_client_metrics_config",
    "parse_group_config",
    "parse_topic_config",
    "refuse_unknown_listener",
]

MECHANISM_KEYS: Final = frozenset(
    {
        "connections.max.reauth.ms",
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.server.callback.handler.class",
    }
)
LISTENER_KEYS: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads", "principal.builder.class"}
    | {key.name for key in (*security_tls.KEYS, *security_sasl.KEYS)}
) - {"connection.failed.authentication.delay.ms", "sasl.mechanism.inter.broker.protocol"}

# Two names of one number: setting either sets both.
_TWINS: Final = {"node.id": "broker.id", "broker.id": "node.id", **TWINS, **{theirs: ours for ours, theirs in TWINS.items()}}
LISTENER_PREFIX: Final = "listener.name."
_PROVIDER_PREFIX: Final = "config.providers."
_METRICS_CONTEXT_PREFIX: Final = "metrics.context."
REMOTE_STORE_PREFIX: Final = "remote.log.storage.config."
_PLUGIN_PREFIX_KEYS: Final = ("remote.log.storage.manager.impl.prefix", "remote.log.metadata.manager.impl.prefix")

# Kafka 4 has neither ZooKeeper nor the old formats, but files written for Kafka 3 still mention
# them.
_GONE_PREFIXES: Final = ("zookeeper.", "password.encoder.")
_GONE: Final = frozenset(
    {
        "auto.include.jmx.reporter",
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "controlled.shutdown.max.retries",
        "controlled.shutdown.retry.backoff.ms",
        "delegation.token.master.key",
        "group.coordinator.new.enable",
        "inter.broker.protocol.version",
        "leader.imbalance.per.broker.percentage",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "log.message.timestamp.difference.max.ms",
        "offsets.commit.required.acks",
        "reserved.broker.max.id",
    }
)


def parse_broker_config(raw: Mapping[str, str]) -> BrokerSettings:
    """The settings of a node, from its file and its command line together."""
    given = {name: BROKER_KEYS[name].parse(text) for name, text in raw.items() if name in BROKER_KEYS}
    prefixed = {name: text for name, text in raw.items() if name not in BROKER_KEYS}
    values = {name: given[name] if name in given else _default(key, given) for name, key in BROKER_KEYS.items()}
    of_listeners, of_plugins = _sort_prefixed(prefixed, values)
    explicit = frozenset({*given, *(_TWINS[name] for name in given if name in _TWINS)})
    settings = BrokerSettings(MappingProxyType(values), explicit, of_listeners, of_plugins)
    _refuse_unserved(BROKER_KEYS, given)
    for listener, overrides in of_listeners.items():
        refuse_unknown_listener(listener, settings)
        _refuse_unserved(BROKER_KEYS, overrides)
    check(settings)
    return settings


def names_a_setting(name: str, raw: Mapping[str, str]) -> bool:
    """Whether the name belongs to a setting of a node whose settings are ``raw``; the value does
    not matter.
    """
    if name in BROKER_KEYS or name in DYNAMIC_ONLY_KEYS:
        return True
    if name.startswith(LISTENER_PREFIX):
        key = name.removeprefix(LISTENER_PREFIX).partition(".")[2]
        return key in BROKER_KEYS or key.partition(".")[2] in MECHANISM_KEYS
    plugins = (raw.get(key, str(BROKER_KEYS[key].default)) for key in _PLUGIN_PREFIX_KEYS)
    return name.startswith((_PROVIDER_PREFIX, _METRICS_CONTEXT_PREFIX, REMOTE_STORE_PREFIX, *plugins))


def parse_topic_config(raw: Mapping[str, str]) -> dict[str, Value]:
    """The settings that a topic overrides."""
    values = _parse_overrides("topic", TOPIC_KEYS, raw)
    least, most = (values.get(name, TOPIC_KEYS[name].default) for name in ("min.compaction.lag.ms", "max.compaction.lag.ms"))
    assert isinstance(least, int)
    assert isinstance(most, int)
    if least > most:
        raise ConfigError(
            f"min.compaction.lag.ms is {least}, which must not exceed max.compaction.lag.ms, {most}.",
            kafka=f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})",
        )
    return values


def parse_group_config(raw: Mapping[str, str]) -> dict[str, Value]:
    """The settings that a group overrides. The caller checks the bounds that the broker sets."""
    return _parse_overrides("group", GROUP_KEYS, raw)


def parse_client_metrics_config(raw: Mapping[str, str]) -> dict[str, Value]:
    return _parse_overrides("client metrics", CLIENT_METRICS_KEYS, raw)


def _default(key: ConfigKey, given: Mapping[str, Value]) -> Value:
    twin = _TWINS.get(key.name)
    if twin is not None and twin in given:
        return given[twin]
    if isinstance(key.default, Required):
        raise ConfigError(f"{key.name} must be set: {key.doc}")
    return key.default


def _sort_prefixed(prefixed: Mapping[str, str], values: Mapping[str, Value]) -> tuple[Mapping[str, Mapping[str, Value]], Mapping[str, str]]:
    of_listeners: dict[str, dict[str, Value]] = {}
    of_plugins: dict[str, str] = {}
    plugin_prefixes = (_METRICS_CONTEXT_PREFIX, REMOTE_STORE_PREFIX, *(str(values[name]) for name in _PLUGIN_PREFIX_KEYS))
    for name, text in prefixed.items():
        if (found := listener_key(name)) is not None:
            of_listeners.setdefault(found.listener, {})[found.rest] = found.key.parse(text)
        elif name.startswith(_PROVIDER_PREFIX):
            _refuse_unknown_provider(name, values)
            of_plugins[name] = text
        elif name.startswith(plugin_prefixes):
            of_plugins[name] = text
        else:
            raise _unknown(name)
    return of_listeners, of_plugins


class ListenerKey(NamedTuple):
    """A setting of one listener."""

    listener: str  # in upper case
    rest: str  # the name without the prefix, which may begin with a mechanism
    key: ConfigKey


def listener_key(name: str) -> ListenerKey | None:
    """None for a name without the prefix of a listener. Raises ``ConfigError`` for one that cannot
    be set for a listener.
    """
    if not name.startswith(LISTENER_PREFIX):
        return None
    listener, _, rest = name.removeprefix(LISTENER_PREFIX).partition(".")
    return ListenerKey(listener.upper(), rest, _key_of_listener(name, rest))


def _key_of_listener(name: str, rest: str) -> ConfigKey:
    if rest in LISTENER_KEYS:
        return BROKER_KEYS[rest]
    mechanism, _, key = rest.partition(".")
    if mechanism and key in MECHANISM_KEYS:
        return BROKER_KEYS[key]
    if rest in BROKER_KEYS:
        raise ConfigError(f"{name} has no meaning, because {rest} cannot be set for one listener.")
    raise _not_a_setting(name, rest, LISTENER_KEYS)


def refuse_unknown_listener(listener: str, settings: BrokerSettings) -> None:
    """Raises ``ConfigError`` if no listener has this name, which is in upper case."""
    known = {*security_protocols(settings), inter_broker_listener_name(settings)}
    known.update(name.upper() for name in settings.strings("controller.listener.names"))
    if listener not in known:
        prefix = f"{LISTENER_PREFIX}{listener.lower()}"
        raise ConfigError(f"{prefix} configures a listener that does not exist: there are {', '.join(sorted(known))}.")


def _refuse_unknown_provider(name: str, values: Mapping[str, Value]) -> None:
    provider = name.removeprefix(_PROVIDER_PREFIX).partition(".")[0]
    providers = values["config.providers"]
    assert isinstance(providers, tuple)
    if provider not in providers:
        raise ConfigError(f"{name} configures the provider {provider!r}, which config.providers does not name.")


def is_of_kafka_3(name: str) -> bool:
    """Whether this was a setting before Kafka 4."""
    return name in _GONE or name.startswith(_GONE_PREFIXES)


def _unknown(name: str) -> ConfigError:
    if name in DYNAMIC_ONLY_KEYS:
        return ConfigError(f"{name} can only be set on a running broker, not in its configuration.")
    if is_of_kafka_3(name):
        return ConfigError(f"{name} is a setting of Kafka 3 that Kafka 4 no longer has.")
    return _not_a_setting(name, name, BROKER_KEYS)


def _not_a_setting(name: str, wanted: str, known: Iterable[str], of: str = "") -> ConfigError:
    from difflib import get_close_matches  # imported late: only a mistake needs it

    closest = get_close_matches(wanted, list(known), n=1)
    setting = f"{of} setting" if of else "setting"
    suggestion = f"; did you mean {name.removesuffix(wanted)}{closest[0]}?" if closest else "."
    return ConfigError(f"{name} is not a {setting}{suggestion}", kafka=f"Unknown {of} config name: {name}" if of else "")


def _refuse_unserved(keys: Mapping[str, ConfigKey], values: Mapping[str, Value]) -> None:
    for name, value in values.items():
        key = keys.get(name)
        if key is not None and key.effect.kind is EffectKind.REFUSED and value != key.default:
            raise ConfigError(f"{name} cannot be set: {key.effect.reason}.")


def _parse_overrides(what: str, keys: Mapping[str, ConfigKey], raw: Mapping[str, str]) -> dict[str, Value]:
    values = {}
    for name, text in raw.items():
        if name not in keys:
            raise _not_a_setting(name, name, keys, what)
        values[name] = keys[name].parse(text)
    _refuse_unserved(keys, values)
    return values
