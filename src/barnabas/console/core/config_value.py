"""Settings of topics, brokers and groups: their values, and the places that have them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final


class ConfigSource(Enum):
    """Where a value comes from, the strongest first."""

    TOPIC = "this topic"
    BROKER_DYNAMIC = "this broker, changed at run time"
    BROKERS_DYNAMIC = "all brokers, changed at run time"
    BROKER_FILE = "the broker's file"
    DEFAULT = "Kafka's default"
    LOGGER = "this broker's loggers"
    CLIENT_METRICS = "this subscription"
    GROUP = "this group"
    UNKNOWN = "unknown"


_OWN: Final = frozenset({ConfigSource.TOPIC, ConfigSource.BROKER_DYNAMIC, ConfigSource.GROUP, ConfigSource.CLIENT_METRICS})


@dataclass(frozen=True, slots=True)
class Synonym:
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigValue:
    name: str
    value: str | None
    """None for a secret, and for a setting without a value."""
    source: ConfigSource
    kind: str
    is_sensitive: bool
    is_read_only: bool
    documentation: str
    synonyms: list[Synonym]
    """All places that have a value, the strongest first."""

    @property
    def is_own(self) -> bool:
        """Set on the resource itself, so it can be unset."""
        return self.source in _OWN
