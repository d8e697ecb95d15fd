"""Rules that bind several settings: the checks that ``KafkaConfig`` makes after parsing.

Each rule is a function of all settings that raises :class:`ConfigError`. :data:`RULES` run in
order, and the first broken one is reported. The bounds between group settings are not here yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from barnabas.config.addresses import is_host, voter
from barnabas.config.broker_keys.security import STANDARD_AUTHORIZER
from barnabas.config.keys import ConfigError
from barnabas.config.listeners import (
    advertised_controller_listeners,
    advertised_listeners,
    controller_listeners,
    inter_broker_listener_name,
    listeners,
    pairs,
)
from barnabas.config.schema_validation import REGISTRY_CERTIFICATE, REGISTRY_KEY, TWINS
from barnabas.config.settings import BrokerSettings
from barnabas.config.topic_keys import topic_defaults
from barnabas.config.values import read_integer

_CODEC_MAX: Final = 4  # zstd
_MEBIBYTE: Final = 1024 * 1024


def check(settings: BrokerSettings) -> None:
    for rule in RULES:
        rule(settings)


def _one_node_id(settings: BrokerSettings) -> None:
    if settings["node.id"] != settings["broker.id"]:
        raise ConfigError(f"node.id is {settings['node.id']} and broker.id is {settings['broker.id']}, but they must be the same.")


def _one_schema_registry(settings: BrokerSettings) -> None:
    for ours, theirs in TWINS.items():
        if settings[ours] != settings[theirs]:
            raise ConfigError(f"{ours} and {theirs} are two names of one setting, but their values differ.")
    certificate, key = (settings.text_or_none(name) for name in (REGISTRY_CERTIFICATE, REGISTRY_KEY))
    if key is not None and certificate is None:
        raise ConfigError(f"{REGISTRY_KEY} needs {REGISTRY_CERTIFICATE}, which is not set.")


def _known_authorizer(settings: BrokerSettings) -> None:
    """A node must not run without the protection that it was asked for."""
    name = settings.text("authorizer.class.name")
    if name not in ("", STANDARD_AUTHORIZER):
        raise ConfigError(f"authorizer.class.name is {name}, but only {STANDARD_AUTHORIZER} is supported.")


def _times(settings: BrokerSettings) -> None:
    topic = topic_defaults(settings.values)
    for name, least in (("segment.ms", 1), ("segment.jitter.ms", 0)):
        value = topic[name]
        assert isinstance(value, int)
        if value < least:
            source = "log.roll.ms" if name == "segment.ms" else "log.roll.jitter.ms"
            raise ConfigError(
                f"{source} must be at least {least}, but is {value}.",
                kafka=f"requirement failed: {source} must be greater than or equal to {least}",
            )
    if topic["retention.ms"] == 0:
        raise ConfigError(
            "log.retention.ms must be -1 for no limit, or at least 1, but comes to 0.",
            kafka="requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1",
        )


def _cleaner_memory(settings: BrokerSettings) -> None:
    workers = settings.integer("log.cleaner.threads")
    # Kafka divides by the number of threads before it compares, and so cannot start with none.
    if workers < 1 or settings.integer("log.cleaner.dedupe.buffer.size") // workers <= _MEBIBYTE:
        raise ConfigError(
            "log.cleaner.dedupe.buffer.size must be more than 1048576 bytes for each of log.cleaner.threads.",
            kafka="requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        )


def _replica_waits(settings: BrokerSettings) -> None:
    wait_ms = settings.integer("replica.fetch.wait.max.ms")
    for name in ("replica.socket.timeout.ms", "replica.lag.time.max.ms"):
        if wait_ms > settings.integer(name):
            raise ConfigError(f"replica.fetch.wait.max.ms is {wait_ms}, which must not exceed {name}, {settings.integer(name)}.")


def _codec_of_offsets(settings: BrokerSettings) -> None:
    codec = settings.integer("offsets.topic.compression.codec")
    if not 0 <= codec <= _CODEC_MAX:
        raise ConfigError(f"offsets.topic.compression.codec is {codec}, but codecs have the numbers 0 to {_CODEC_MAX}.")


def _quorum(settings: BrokerSettings) -> None:
    voters = settings.strings("controller.quorum.voters")
    if not voters and not settings.strings("controller.quorum.bootstrap.servers"):
        raise ConfigError("controller.quorum.voters must name the voters of the quorum, as id@host:port entries.")
    ids = {parsed[0] for parsed in map(voter, voters) if parsed is not None}
    node_id = settings.integer("node.id")
    if "controller" in settings.strings("process.roles"):
        if ids and node_id not in ids:
            raise ConfigError(f"controller.quorum.voters must include this node, {node_id}, because it is a controller.")
    elif node_id in ids:
        raise ConfigError(f"controller.quorum.voters must not include this node, {node_id}, because it is not a controller.")


def _controller_listeners(settings: BrokerSettings) -> None:
    names = settings.strings("controller.listener.names")
    own = {listener.name for listener in controller_listeners(settings)}
    roles = settings.strings("process.roles")
    if "controller" not in roles:
        if own:
            raise ConfigError(
                f"listeners must not have {', '.join(sorted(own))}, which controllers use, because this node is not a controller."
            )
        return
    for name in names:
        if name not in own:
            raise ConfigError(f"listeners must have {name}, which controller.listener.names gives to this controller.")
    if "broker" not in roles:
        for listener in listeners(settings):
            if listener.name not in own:
                raise ConfigError(f"listeners must not have {listener.name}, because only a broker serves clients.")


def _advertised_listeners(settings: BrokerSettings) -> None:
    advertised = advertised_listeners(settings)
    if "broker" in settings.strings("process.roles"):
        names = {listener.name for listener in advertised}
        if not names:
            raise ConfigError("advertised.listeners must have a listener for clients, one that is not in controller.listener.names.")
        if inter_broker_listener_name(settings) not in names:
            raise ConfigError(
                f"inter.broker.listener.name must be one of the advertised {', '.join(sorted(names))},"
                f" but is {inter_broker_listener_name(settings)}."
            )
        for name in sorted(names - {listener.name for listener in listeners(settings)}):
            raise ConfigError(f"advertised.listeners has {name}, which listeners does not open.")
    for listener in advertised:
        if listener.host == "0.0.0.0":  # noqa: S104 - refused, not bound
            raise ConfigError(f"advertised.listeners must give {listener.name} an address that others can reach, not 0.0.0.0.")
    # A controller may listen on every interface: the node finds out its own host. It may not
    # advertise every interface.
    for listener in advertised_controller_listeners(settings):
        if listener.host == "0.0.0.0" and listener not in controller_listeners(settings):  # noqa: S104 - refused, not bound
            raise ConfigError(f"advertised.listeners must give {listener.name} an address that others can reach, not 0.0.0.0.")


def _inter_broker(settings: BrokerSettings) -> None:
    if {"inter.broker.listener.name", "security.inter.broker.protocol"} <= settings.explicit:
        raise ConfigError("Only one of inter.broker.listener.name and security.inter.broker.protocol may be set.")
    name = settings["inter.broker.listener.name"]
    if "broker" not in settings.strings("process.roles") and name in settings.strings("controller.listener.names"):
        raise ConfigError(f"inter.broker.listener.name must not be {name}, which only controllers use.")


def _cordoned_directories(settings: BrokerSettings) -> None:
    cordoned = settings.strings("cordoned.log.dirs")
    if "*" in cordoned:
        if len(cordoned) > 1:
            raise ConfigError("cordoned.log.dirs must be * alone or a list of directories.")
        return
    directories = settings.strings("log.dirs") or settings.strings("log.dir")
    missing = [directory for directory in cordoned if directory not in directories]
    if missing:
        raise ConfigError(
            f"cordoned.log.dirs has {missing[0]}, which is not one of log.dirs.",
            kafka="requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
            f"Missing entries : {', '.join(missing)}",
        )


def _waiting_requests(settings: BrokerSettings) -> None:
    waiting, largest = settings.integer("queued.max.request.bytes"), settings.integer("socket.request.max.bytes")
    if 0 < waiting < largest:
        raise ConfigError(f"queued.max.request.bytes is {waiting}, which must not be less than socket.request.max.bytes, {largest}.")


def _connections(settings: BrokerSettings) -> None:
    overrides = pairs("max.connections.per.ip.overrides", settings.text("max.connections.per.ip.overrides"))
    if settings["max.connections.per.ip"] == 0 and not overrides:
        raise ConfigError(
            "max.connections.per.ip is 0, which admits no connection unless max.connections.per.ip.overrides does.",
            kafka="requirement failed: max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
        )
    for host, count in overrides.items():
        if read_integer(count) is None or not is_host(host):
            raise ConfigError(f"max.connections.per.ip.overrides has {host}:{count}, but an entry must be host:count.")
    delay_ms, idle_ms = settings.integer("connection.failed.authentication.delay.ms"), settings.integer("connections.max.idle.ms")
    if 0 <= idle_ms <= delay_ms:
        raise ConfigError(
            f"connection.failed.authentication.delay.ms is {delay_ms}, which must be less than connections.max.idle.ms, {idle_ms}."
        )


def _remote_store(settings: BrokerSettings) -> None:
    enabled = settings.flag("remote.log.storage.system.enable")
    if enabled and "broker" in settings.strings("process.roles") and settings["remote.log.storage.url"] is None:
        raise ConfigError("remote.log.storage.system.enable is true, so remote.log.storage.url must say where the remote store is.")


RULES: Final[tuple[Callable[[BrokerSettings], None], ...]] = (
    _one_node_id,
    _known_authorizer,
    _times,
    _cleaner_memory,
    _replica_waits,
    _codec_of_offsets,
    _quorum,
    _inter_broker,
    _controller_listeners,
    _advertised_listeners,
    _cordoned_directories,
    _waiting_requests,
    _connections,
    _remote_store,
    _one_schema_registry,
)
