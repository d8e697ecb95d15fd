"""What Kafka says about a value that it refuses.

Tools and test suites look for these words in error messages ("Invalid value soon for configuration
retention.ms: Not a number of type LONG"), so a response begins with them, and a sentence of ours
follows. Start-up errors have our sentence alone.

Kafka checks the type first and shows the text that it was given. Then it asks the validator and
shows the value as Java prints it: a double as ``1.5E7``, a list as ``[a, b]``. The first fault that
it meets is the one that it names.
"""

from __future__ import annotations

from barnabas.config.validators import Between, ListOf, Matching, OneOf, Validator
from barnabas.config.values import ConfigType, Value, write

# A response must fit into a string of the wire, however long the refused text is.
SHOWN_CHARACTERS_MAX = 1000


def invalid_value(name: str, shown: str, reason: str) -> str:
    return f"Invalid value {shortened(shown)} for configuration {name}: {reason}"


def wrong_type(name: str, kind: ConfigType, text: str) -> str:
    """Kafka's words for a text that is not of the type."""
    match kind:
        case ConfigType.BOOLEAN:
            return invalid_value(name, text, "Expected value to be either true or false")
        case ConfigType.CLASS:
            return invalid_value(name, text, f"Class {shortened(text)} could not be found.")
        case _:
            return invalid_value(name, text, f"Not a number of type {kind.name}")


def not_allowed(name: str, kind: ConfigType, valid: Validator, value: Value) -> str:
    """Kafka's words for a value of the right type that its validator refuses."""
    match valid:
        case Between():
            return invalid_value(name, write(kind, value) or "", _outside(valid, value))
        case OneOf():
            any_case = " (case insensitive)" if valid.ignoring_case else ""
            return invalid_value(name, str(value), f"String must be one of{any_case}: {', '.join(valid.choices)}")
        case ListOf():
            assert isinstance(value, tuple)
            return _of_list(name, valid, value)
        case Matching() if valid.in_kafkas_words:
            shown = f"[{', '.join(value)}]" if isinstance(value, tuple) else str(value)
            return invalid_value(name, shown, valid.in_kafkas_words.format(name=name, value=shortened(shown)))
        case _:
            return ""


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"


def _outside(valid: Between, value: Value) -> str:
    assert isinstance(value, int | float)
    if valid.or_exactly is not None:
        return f"Value must be between {valid.low} and {valid.high} or equal to {valid.or_exactly}"
    if value < valid.low:
        return f"Value must be at least {_number(valid.low)}"
    assert valid.high is not None
    return f"Value must be no more than {_number(valid.high)}"


def _of_list(name: str, valid: ListOf, value: tuple[str, ...]) -> str:
    if not value:
        choices = f"[{', '.join(valid.choices)}]" if valid.choices else "any non-empty value"
        return f"Configuration '{name}' must not be empty. Valid values include: {choices}"
    for item in value:
        if not item:
            return f"Configuration '{name}' values must not be empty."
        if valid.choices and item not in valid.choices:
            return invalid_value(name, item, f"String must be one of: {', '.join(valid.choices)}")
    assert valid.each is not None
    refused = next(item for item in value if not valid.each.allows(item))
    return valid.each.in_kafkas_words.format(name=name, value=shortened(refused))


def _number(bound: float) -> str:
    return f"{bound:g}" if isinstance(bound, float) else str(bound)
