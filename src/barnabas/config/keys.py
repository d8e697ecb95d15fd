"""What one setting is: :class:`ConfigKey`.

A key is declared once, in the table of its subject, and everything else follows from the declaration: parsing, the answer of
DescribeConfigs, the documentation page, and whether the setting may be changed while the node runs.

Each key also says what it does *here* (:class:`Effect`), because a setting that is silently ignored is a lie:

==========  ==========================================================================================================
served      the node behaves as the setting says
no effect   the setting is taken and shown, but changes nothing; the reason says why, or what it is waiting for
refused     any value but the default stops the node, because ignoring it would weaken security or change semantics
==========  ==========================================================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from barnabas.config.validators import Between, ListOf, Validator
from barnabas.config.values import ConfigType, Password, Value, read, write

__all__ = [
    "ConfigError",
    "ConfigKey",
    "ConfigType",
    "Effect",
    "EffectKind",
    "Password",
    "REQUIRED",
    "Required",
    "SERVED",
    "Scope",
    "Value",
    "no_effect",
    "refused",
]


class ConfigError(Exception):
    """The user's configuration cannot be used; the text is one sentence to show as it is."""


class Scope(Enum):
    """Who may change a setting while nodes run: Kafka's dynamic update modes, under Kafka's names."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class EffectKind(Enum):
    SERVED = "served"
    NO_EFFECT = "no effect"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Effect:
    """What a setting does here, and if it is not simply served, why."""

    kind: EffectKind
    reason: str = ""


SERVED: Final = Effect(EffectKind.SERVED)


def no_effect(reason: str) -> Effect:
    return Effect(EffectKind.NO_EFFECT, reason)


def refused(reason: str) -> Effect:
    return Effect(EffectKind.REFUSED, reason)


class Required(Enum):
    """The default of a key that has none. An enum, so that the type of a default without it is a plain :data:`Value`."""

    REQUIRED = "required"


REQUIRED: Final = Required.REQUIRED

_NOUNS = {
    ConfigType.BOOLEAN: "true or false",
    ConfigType.STRING: "a text",
    ConfigType.INT: "a 32-bit integer",
    ConfigType.SHORT: "a 16-bit integer",
    ConfigType.LONG: "a 64-bit integer",
    ConfigType.DOUBLE: "a number",
    ConfigType.LIST: "a comma-separated list",
    ConfigType.CLASS: "the name of a class",
    ConfigType.PASSWORD: "a secret",
}


@dataclass(frozen=True, slots=True)
class ConfigKey:
    """One setting; ``doc`` is a sentence of ours, shown in the documentation and in DescribeConfigs."""

    name: str
    type: ConfigType
    default: Value | Required
    doc: str
    scope: Scope = Scope.READ_ONLY
    valid: Validator | None = None
    effect: Effect = SERVED
    internal: bool = False
    """Kafka neither documents such a key nor lists it in DescribeConfigs unless it was set."""

    @property
    def sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.type is ConfigType.PASSWORD

    @property
    def expected(self) -> str:
        """What a value must be, in words that follow "must be"."""
        if self.valid is None:
            return _NOUNS[self.type]
        if isinstance(self.valid, Between):
            return f"{_NOUNS[self.type]} {self.valid.words}"
        return self.valid.words

    def parse(self, text: str) -> Value:
        """The typed value of a text, or :class:`ConfigError`. Never None: null cannot be written in a properties file."""
        value = read(self.type, text)
        if isinstance(value, tuple) and isinstance(self.valid, ListOf):
            value = tuple(dict.fromkeys(value))
        if value is None or (self.valid is not None and not self.valid.allows(value)):
            given = "what was given is not" if self.sensitive else f"is {text!r}"
            raise ConfigError(f"{self.name} must be {self.expected}, but {given}.")
        return value

    def render(self, value: Value) -> str | None:
        """The text Kafka shows for a value. None is null on the wire, and stays None."""
        return write(self.type, value)
