"""The effect of a change of a broker's setting, before it is made. Pure.

A broker takes a setting from the strongest place that has a value::

    this broker at run time > all brokers at run time > the broker's file > Kafka's default

So a change for all brokers has no effect on a broker with a value of its own, and a setting that is
unset falls back to the next place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.console.core.config_value import ConfigSource, ConfigValue, Synonym


@dataclass(frozen=True, slots=True)
class SettingEffect:
    """The value of one broker before and after the change; None for a secret or no value."""

    broker: int
    before: str | None
    before_source: ConfigSource
    after: str | None
    after_source: ConfigSource

    @property
    def is_change(self) -> bool:
        return (self.before, self.before_source) != (self.after, self.after_source)


def effects(values: Mapping[int, ConfigValue], place: ConfigSource, value: str | None) -> list[SettingEffect]:
    """``values`` are those of the brokers that the change concerns, ``place`` is where it is made,
    and None unsets the value there."""
    return [_effect(broker, found, place, value) for broker, found in sorted(values.items())]


def _effect(broker: int, found: ConfigValue, place: ConfigSource, value: str | None) -> SettingEffect:
    others = [each for each in found.synonyms if (each.name, each.source) != (found.name, place)]
    if value is not None:
        others.append(Synonym(found.name, value, place))
    # Settings in another unit, such as log.retention.hours for log.retention.ms, come last.
    strongest = min(others, key=lambda each: (each.name != found.name, _rank(each.source)), default=None)
    after, source = (None, ConfigSource.UNKNOWN) if strongest is None else (strongest.value, strongest.source)
    return SettingEffect(broker, found.value, found.source, None if found.is_sensitive else after, source)


def _rank(source: ConfigSource) -> int:
    return list(ConfigSource).index(source)
