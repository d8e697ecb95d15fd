"""The parameters of an operation: declared once, read from a query, a form or JSON, and documented.

A value from a query or a form is text; a value from JSON may have its type already. An empty text
is the same as no value, because a form sends every field.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from barnabas.console.errors import BadValue

_TRUE: Final = frozenset({"true", "1", "on", "yes"})
_FALSE: Final = frozenset({"false", "0", "off", "no"})
# The longest text of a parameter that declares no length of its own: a search, a name.
TEXT_CHARACTERS_MAX: Final = 1_000
# Numbers of Kafka are at most int64.
_INT64: Final = range(-(2**63), 2**63)
# Neither can be in a name of Kafka, an argument of a program or an address. JSON has escapes for
# both.
_UNUSABLE: Final = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    sentence: str
    kind: type = str
    """``str``, ``int``, ``bool``, or ``list`` for several texts."""
    default: Any = None
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    """Of a number its value, of a text its length."""
    choices: tuple[str, ...] = ()
    secret: bool = False
    """Never in the audit log: passwords, and contents of records."""

    def read(self, given: Any) -> Any:
        """Raises :class:`BadValue` for a value of another type or outside of the bounds."""
        if given is None or given == "" or (self.kind is not list and given == []):
            if self.required:
                raise BadValue(f"{self.name} is missing.", self.name)
            return self.default
        if self.kind is list:
            values = given if isinstance(given, list) else [given]
            return [self._text(each) for each in values if each != ""]
        if isinstance(given, list):
            given = given[-1]
        if self.kind is bool:
            return self._flag(given)
        if self.kind is int:
            return self._number(given)
        return self._text(given)

    def _flag(self, given: Any) -> bool:
        if isinstance(given, bool):
            return given
        word = str(given).lower()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise BadValue(f"{self.name} is true or false, and not {_shown(given)}.", self.name)

    def _number(self, given: Any) -> int:
        text = str(given).strip()
        if isinstance(given, bool | float) or not text.removeprefix("-").isdecimal() or len(text) > 20:
            raise BadValue(f"{self.name} is a number, and not {_shown(given)}.", self.name)
        number = int(text)
        if number not in _INT64:
            raise BadValue(f"{self.name} is a number of 64 bits, and not {number}.", self.name)
        if self.minimum is not None and number < self.minimum:
            raise BadValue(f"{self.name} is at least {self.minimum}, and not {number}.", self.name)
        if self.maximum is not None and number > self.maximum:
            raise BadValue(f"{self.name} is at most {self.maximum}, and not {number}.", self.name)
        return number

    def _text(self, given: Any) -> str:
        if not isinstance(given, str):
            if isinstance(given, dict | list):
                raise BadValue(f"{self.name} is a text.", self.name)
            given = str(given)
        text: str = given
        if len(text) > (self.maximum or TEXT_CHARACTERS_MAX):
            raise BadValue(f"{self.name} has more than {self.maximum or TEXT_CHARACTERS_MAX} characters.", self.name)
        if _UNUSABLE.search(text):
            raise BadValue(f"{self.name} has a NUL or half of a surrogate pair, which a text here must not have.", self.name)
        if self.choices and text not in self.choices:
            raise BadValue(f"{self.name} is one of {', '.join(self.choices)}, and not {_shown(text)}.", self.name)
        return text

    def schema(self) -> dict[str, Any]:
        """The parameter as JSON Schema."""
        if self.kind is list:
            return {"type": "array", "items": {"type": "string"}}
        names = {str: "string", int: "integer", bool: "boolean"}
        made: dict[str, Any] = {"type": names[self.kind]}
        if self.choices:
            made["enum"] = list(self.choices)
        if self.default is not None:
            made["default"] = self.default
        for bound, word in ((self.minimum, "min"), (self.maximum, "max")):
            if bound is not None:
                made[f"{word}imum" if self.kind is int else f"{word}Length"] = bound
        return made


def read_values(parameters: tuple[Parameter, ...], given: Mapping[str, Any]) -> dict[str, Any]:
    return {each.name: each.read(given.get(each.name)) for each in parameters}


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 60 else text[:60] + "…"
