"""Takes a mapping of a file apart: each call names a field and its type, and at the end no unknown
field may be left.

The calls *are* the grammar, so there is no second list of fields to keep in step:
:meth:`Fields.end` knows which fields were read and reports every other one as unknown, with the
nearest name as a guess.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from barnabas.model.topic_names import why_illegal
from barnabas.pipelines.declaration.located import Located, Mapped, Place, plain
from barnabas.pipelines.errors import DeclarationError

Needed = TypeVar("Needed")

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|s|minutes?|min|m|hours?|h|days?|d)\s*", re.IGNORECASE)
_UNIT_MS = {"m": 60_000, "s": 1000, "h": 3_600_000, "d": 86_400_000}


class Fields:
    """``what`` begins the sentences about it: "sink 'alerts_out'"."""

    def __init__(self, located: Located, what: str) -> None:
        if not isinstance(located.value, dict):
            raise located.place.error(f"{what} is a mapping of names to values, not {_shown(located.value)}.")
        self._mapping: Mapped = located.value
        self._asked: list[str] = []
        self.place = located.place
        self.what = what

    def __contains__(self, name: str) -> bool:
        return name in self._mapping

    @property
    def names(self) -> Collection[str]:
        return self._mapping.keys()

    def error(self, sentence: str, name: str | None = None) -> DeclarationError:
        """About one field if named, otherwise about the whole mapping."""
        return (self.place if name is None else self.place_of(name)).error(sentence)

    def place_of(self, name: str) -> Place:
        return self._mapping[name].place if name in self._mapping else self.place

    # -- questions ----------------------------------------------------------------------------

    def located(self, name: str) -> Located | None:
        """The value with its place; None when it is missing or empty."""
        self._asked.append(name)
        found = self._mapping.get(name)
        return None if found is None or found.value is None else found

    def text(self, name: str) -> str:
        return self._needed(name, "a text", self.optional_text(name))

    def optional_text(self, name: str) -> str | None:
        found = self.located(name)
        if found is None:
            return None
        if isinstance(found.value, (int, float)) and not isinstance(found.value, bool):
            return str(found.value)
        if not isinstance(found.value, str) or not found.value.strip():
            raise found.place.error(f"{name!r} of {self.what} is a text, not {_shown(found.value)}.")
        return found.value.strip()

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, or one text for a list of one."""
        return self._needed(name, "a list of texts", self.optional_texts(name))

    def optional_texts(self, name: str) -> tuple[str, ...] | None:
        found = self.located(name)
        if found is None:
            return None
        each = found.value if isinstance(found.value, list) else [found]
        values = tuple(item.value for item in each)
        if not values or not all(isinstance(value, str) and value for value in values):
            raise found.place.error(f"{name!r} of {self.what} is a list of texts, not {_shown(plain(found))}.")
        return values

    def topic(self, name: str) -> str:
        topic = self.text(name)
        self._check_topic(name, topic)
        return topic

    def topics(self, name: str) -> tuple[str, ...]:
        topics = self.texts(name)
        for topic in topics:
            self._check_topic(name, topic)
        return topics

    def integer(self, name: str, *, minimum: int = 0) -> int:
        return self._needed(name, "a whole number", self.optional_integer(name, minimum=minimum))

    def optional_integer(self, name: str, *, minimum: int = 0) -> int | None:
        found = self.located(name)
        if found is None:
            return None
        # In flow style ``${N}`` must be quoted, because braces mean a mapping there.
        value = int(found.value) if isinstance(found.value, str) and found.value.isdecimal() else found.value
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            raise found.place.error(f"{name!r} of {self.what} is a whole number of at least {minimum}, not {_shown(found.value)}.")
        return value

    def flag(self, name: str, *, default: bool) -> bool:
        found = self.located(name)
        if found is None:
            return default
        if not isinstance(found.value, bool):
            raise found.place.error(f"{name!r} of {self.what} is true or false, not {_shown(found.value)}.")
        return found.value

    def choice(self, name: str, choices: Sequence[str], *, default: str | None = None) -> str:
        found = self.located(name)
        if found is None:
            return self._needed(name, f"one of {', '.join(choices)}", default)
        if found.value not in choices:
            raise found.place.error(
                f"{name!r} of {self.what} is one of {', '.join(choices)}, not {_shown(found.value)}{ending(found.value, choices)}"
            )
        return str(found.value)

    def optional_duration_ms(self, name: str) -> int | None:
        """``10 seconds``, ``1 hour``, ``500 ms``."""
        found = self.located(name)
        return None if found is None else duration_ms(found, f"{name!r} of {self.what}")

    def optional_interval(self, name: str) -> str | None:
        """The same, in Spark's notation."""
        milliseconds = self.optional_duration_ms(name)
        return None if milliseconds is None else f"{milliseconds} milliseconds"

    def optional_nested(self, name: str) -> Fields | None:
        found = self.located(name)
        return None if found is None else Fields(found, f"{name!r} of {self.what}")

    def nested(self, name: str) -> Fields:
        return self._needed(name, "a mapping", self.optional_nested(name))

    def optional_texts_by_name(self, name: str) -> dict[str, str]:
        """Names to texts; numbers and booleans become texts, as in a properties file."""
        found = self.located(name)
        if found is None:
            return {}
        if not isinstance(found.value, dict):
            raise found.place.error(f"{name!r} of {self.what} is a mapping of names to values, not {_shown(found.value)}.")
        for each, value in found.value.items():
            if not isinstance(value.value, (str, int, float)):
                raise value.place.error(f"{each!r} in {name!r} of {self.what} is a text or a number, not {_shown(value.value)}.")
        return {each: _property(value.value) for each, value in found.value.items()}

    def optional_items(self, name: str) -> Mapping[str, Located]:
        """A mapping with names that the user chose."""
        found = self.located(name)
        if found is None:
            return {}
        if not isinstance(found.value, dict):
            raise found.place.error(f"{name!r} of {self.what} is a mapping of names to declarations, not {_shown(found.value)}.")
        return found.value

    def optional_list(self, name: str) -> list[Located]:
        found = self.located(name)
        if found is None:
            return []
        if not isinstance(found.value, list):
            raise found.place.error(f"{name!r} of {self.what} is a list, not {_shown(found.value)}.")
        return found.value

    def end(self) -> None:
        """Every field that was not read is unknown."""
        for name in self._mapping:
            if name not in self._asked:
                known = list(dict.fromkeys(self._asked))
                guess = ending(name, known)
                hint = f"; it may have {', '.join(sorted(known))}." if guess == "." and known else guess
                raise self.error(f"{self.what} has no field {name!r}{hint}", name)

    def _check_topic(self, name: str, topic: str) -> None:
        if (why := why_illegal(topic)) is not None:
            raise self.error(f"{name!r} of {self.what} names no topic: {why}.", name)

    def _needed(self, name: str, expected: str, value: Needed | None) -> Needed:
        if value is None:
            raise self.error(f"{self.what} lacks {name!r}: {expected}.", name)
        return value


def duration_ms(found: Located, what: str) -> int:
    match = _DURATION.fullmatch(found.value) if isinstance(found.value, str) else None
    if match is None:
        raise found.place.error(f"{what} is a duration such as '10 seconds' or '1 hour', not {_shown(found.value)}.")
    unit = match[2].lower()
    factor = 1 if unit.startswith(("ms", "milli")) else _UNIT_MS[unit[0]]
    return round(float(match[1]) * factor)


def ending(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest known name, or just a full stop."""
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else "."


def _property(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
        case None:
            return "nothing"
        case _:
            return repr(value)
