"""The quotas of a node: made from its settings, and kept up to date with the metadata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.config.broker_keys import BROKER_KEYS
from barnabas.config.keys import ConfigError, Value
from barnabas.config.settings import BrokerSettings
from barnabas.metadata.configs import CLUSTER_DEFAULT, ResourceType
from barnabas.metadata.effective_configs import EffectiveConfigs
from barnabas.metadata.metadata_delta import MetadataDelta
from barnabas.metadata.metadata_image import MetadataImage
from barnabas.network.listener import Listener
from barnabas.security.quotas.client_quotas import ClientQuotas
from barnabas.security.quotas.connection_rates import ConnectionRates, RateLimits
from barnabas.security.quotas.windowed_rate import Windows
from barnabas.telemetry.logs import EventLog

RATE_KEY = "max.connection.creation.rate"


def client_quotas(settings: BrokerSettings) -> ClientQuotas:
    return ClientQuotas(_windows(settings, "quota"), _windows(settings, "controller.quota"))


def connection_rates(settings: BrokerSettings) -> ConnectionRates:
    rates = ConnectionRates(_windows(settings, "quota"))
    own = {name: _rate(values[RATE_KEY]) for name, values in settings.of_listeners.items() if RATE_KEY in values}
    rates.change_limits(RateLimits(settings.integer(RATE_KEY), own))
    return rates


def _windows(settings: BrokerSettings, prefix: str) -> Windows:
    return Windows(settings.integer(f"{prefix}.window.num"), settings.integer(f"{prefix}.window.size.seconds") * 1000)


class QuotasPublisher:
    """Follows the quotas in the metadata, and the settings for the rates of new connections."""

    def __init__(self, quotas: ClientQuotas, rates: ConnectionRates, listeners: Sequence[Listener], log: EventLog, *, node_id: int) -> None:
        self._quotas = quotas
        self._rates = rates
        self._listeners = listeners
        self._log = log
        self._node_id = node_id
        self._warned: frozenset[str] = frozenset()

    async def publish(self, delta: MetadataDelta, image: MetadataImage, effective: EffectiveConfigs) -> None:
        if delta.quotas.changed:
            self._quotas.replace(image.quotas.by_entity)
            self._rates.replace(image.quotas.by_entity)
            # A client that has a quota now must not be served by a shortcut, which measures
            # nothing.
            for listener in self._listeners:
                listener.forget_shortcuts()
            self._warn_of_host_names()
        if any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            self._rates.change_limits(self._rate_limits(effective))

    def _rate_limits(self, effective: EffectiveConfigs) -> RateLimits:
        own: dict[str, int] = {}
        dynamic: Mapping[str, str] = {
            **effective.configs.by_resource.get(CLUSTER_DEFAULT, {}),
            **effective.configs.of(ResourceType.BROKER, str(self._node_id)),
        }
        for listener in self._listeners:
            fixed = effective.settings.of_listeners.get(listener.name, {}).get(RATE_KEY)
            if fixed is not None:
                own[listener.name] = _rate(fixed)
            text = dynamic.get(f"listener.name.{listener.name.lower()}.{RATE_KEY}")
            if text is not None:
                try:
                    own[listener.name] = _rate(BROKER_KEYS[RATE_KEY].parse(text))
                except ConfigError:
                    # The controller that accepted it may know other formats.
                    continue
        return RateLimits(_rate(effective.broker[RATE_KEY]), own)

    def _warn_of_host_names(self) -> None:
        unknown = self._rates.not_addresses
        if unknown - self._warned:
            self._log.warning("quotas of host names have no effect", names=sorted(unknown), advice="Set them for addresses.")
        self._warned = unknown


def _rate(value: Value) -> int:
    assert isinstance(value, int)
    return value
