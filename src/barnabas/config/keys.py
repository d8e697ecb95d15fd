"""One setting: :class:`ConfigKey`.

A key is declared once, in the table of its subject. Parsing, the DescribeConfigs response, the
documentation page and the update mode all follow from the declaration.

Each key also declares its effect *here* (:class:`Effect`), because silently ignoring a setting
would deceive the user:

=========  =======================================================================================
served     the node behaves as the setting says
no effect  the setting is accepted and shown, but changes nothing; a reason is given
refused    any value but the default stops the node, because ignoring it would weaken security or
           change semantics
=========  =======================================================================================
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from barnabas.config.kafka_words import not_allowed, shortened, wrong_type
from barnabas.config.validators import Between, ListOf, Validator
from barnabas.config.values import ConfigType, Password, Value, read, write
from barnabas.model.dataclass import dataclass

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
    """The user's configuration cannot be used; the text is one sentence to show as it is.

    ``kafka`` has Kafka's words for the same fault, where a response must be recognisable by them.
    """

    def __init__(self, sentence: str, *, kafka: str = "") -> None:
        super().__init__(sentence)
        self.kafka = kafka

    @property
    def response_text(self) -> str:
        """Kafka's words first, because tools look for them, then ours."""
        return f"{self.kafka.removesuffix('.')}. {self}" if self.kafka else str(self)


class Scope(Enum):
    """Where a setting can change while nodes run: Kafka's dynamic update modes, under Kafka's
    names.
    """

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class EffectKind(Enum):
    SERVED = "served"
    NO_EFFECT = "no effect"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Effect:
    """What a setting does here and, unless it is served, the reason."""

    kind: EffectKind
    reason: str = ""


SERVED: Final = Effect(EffectKind.SERVED)


def no_effect(reason: str) -> Effect:
    return Effect(EffectKind.NO_EFFECT, reason)


def refused(reason: str) -> Effect:
    return Effect(EffectKind.REFUSED, reason)


class Required(Enum):
    """The default of a key that has none. It is an enum, so that the type of any other default is a
    plain :data:`Value`.
    """

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
    """One setting; ``doc`` is a sentence of ours, shown in the documentation and in
    DescribeConfigs.
    """

    name: str
    type: ConfigType
    default: Value | Required
    doc: str
    scope: Scope = Scope.READ_ONLY
    valid: Validator | None = None
    effect: Effect = SERVED
    internal: bool = False
    """Kafka does not document such a key, and lists it in DescribeConfigs only when it is set."""

    @property
    def sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.type is ConfigType.PASSWORD

    @property
    def expected(self) -> str:
        """A description of valid values, in words that follow "must be"."""
        if self.valid is None:
            return _NOUNS[self.type]
        if isinstance(self.valid, Between):
            return f"{_NOUNS[self.type]} {self.valid.words}"
        return self.valid.words

    def parse(self, text: str) -> Value:
        """The typed value of a text, or :class:`ConfigError`. Never None: a properties file cannot
        express null.
        """
        value = read(self.type, text)
        if isinstance(value, tuple) and isinstance(self.valid, ListOf):
            value = tuple(dict.fromkeys(value))
        if value is None:
            raise self._refusal(text, wrong_type(self.name, self.type, text))
        if self.valid is not None and not self.valid.allows(value):
            raise self._refusal(text, not_allowed(self.name, self.type, self.valid, value))
        return value

    def _refusal(self, text: str, kafka: str) -> ConfigError:
        if self.sensitive:
            return ConfigError(f"{self.name} must be {self.expected}, but the given value is not.")
        return ConfigError(f"{self.name} must be {self.expected}, but is {shortened(text)!r}.", kafka=kafka)

    def render(self, value: Value) -> str | None:
        """The text Kafka shows for a value. None is null on the wire, and stays None."""
        return write(self.type, value)
