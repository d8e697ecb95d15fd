"""Takes a mapping of a file apart: each call names a field and its type, and at the end no unknown
field may be left.

The calls *are* the grammar, so there is no second list of fields to keep in step:
:meth:`Fields.end` knows which fields were read and reports every other one as unknown, with the
nearest name as a guess.

A mistake does not end the reading. It goes to the :class:`~.findings.Findings`, and the call
returns None or an empty value, which the caller treats like any other: the findings raise all
mistakes before the declaration is used.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from barnabas.model.topic_names import why_illegal
from barnabas.pipelines.declaration.findings import INVALID, Findings, FirstMistake, Question
from barnabas.pipelines.declaration.located import Located, Mapped, Place, plain
from barnabas.pipelines.errors import DeclarationError

Needed = TypeVar("Needed")

_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(milliseconds?|ms|seconds?|s|minutes?|min|m|hours?|h|days?|d)\s*", re.IGNORECASE)
# A field of another name that all kinds share must not count as a misspelt kind: `options` is not
# `topics`.
_KIND_LIKENESS_MIN = 0.65
_UNIT_MS = {"m": 60_000, "s": 1000, "h": 3_600_000, "d": 86_400_000}


class Fields:
    """``what`` begins the sentences about it: "sink 'alerts_out'". Without ``findings`` the first
    mistake is raised."""

    def __init__(self, located: Located, what: str, findings: Findings | None = None) -> None:
        self.findings = FirstMistake() if findings is None else findings
        self.place = located.place
        self.what = what
        self._mapping: Mapped = {}
        self._asked: list[str] = []
        self._missing: dict[str, DeclarationError] = {}
        if isinstance(located.value, dict):
            self._mapping = located.value
        elif located.value is not INVALID:
            self.report(f"{what} is a mapping of names to values, not {_shown(located.value)}.")
        # Without a mapping there is nothing that may be missing.
        self._is_mapping = isinstance(located.value, dict)

    def __contains__(self, name: str) -> bool:
        return name in self._mapping

    @property
    def names(self) -> Collection[str]:
        return self._mapping.keys()

    def error(self, sentence: str, name: str | None = None) -> DeclarationError:
        """About one field if named, otherwise about the whole mapping."""
        return (self.place if name is None else self.place_of(name)).error(sentence)

    def report(self, sentence: str, name: str | None = None) -> None:
        self.findings.report(self.error(sentence, name))

    def place_of(self, name: str) -> Place:
        return self._mapping[name].place if name in self._mapping else self.place.of(name)

    def kind(self, kinds: Sequence[str], expected: str) -> str | None:
        """The one of these fields that is there, also if it is misspelt, so that the rest of the
        mapping is checked too; None after a report."""
        given = [each for each in kinds if each in self]
        if len(given) == 1:
            return given[0]
        if not given and (meant := self.corrected(kinds)) is not None:
            return meant
        if self._is_mapping:
            self.report(f"{self.what} {expected} {', '.join(kinds)}, but it has {' and '.join(given) or 'none of these'}.")
        return None

    def corrected(self, names: Sequence[str]) -> str | None:
        """Reports the first field that is one of these misspelt, and reads it under that name from
        then on."""
        for name in self._mapping:
            meant = None if name in names else nearest(name, names, _KIND_LIKENESS_MIN)
            if meant is not None and meant not in self._mapping:
                self.report(f"{self.what} has no field {name!r}; did you mean {meant!r}?", name)
                self._mapping = {meant if each == name else each: value for each, value in self._mapping.items()}
                return meant
        return None

    # -- questions ----------------------------------------------------------------------------

    def located(self, name: str, kind: str = "value", default: Any = None, choices: Sequence[str] = ()) -> Located | None:
        """The value with its place; None when it is missing, empty or reported already."""
        self._asked.append(name)
        self.findings.questions.append(Question(self.place.of(name).field, kind, default, tuple(choices)))
        found = self._mapping.get(name)
        return None if found is None or found.value is None or found.value is INVALID else found

    def text(self, name: str, *, default: str | None = None) -> str:
        """Needed, unless there is a default."""
        return self._needed(name, "a text", self._text(name, default), "")

    def optional_text(self, name: str) -> str | None:
        return self._text(name, None)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, or one text for a list of one."""
        return self._needed(name, "a list of texts", self.optional_texts(name), ())

    def optional_texts(self, name: str) -> tuple[str, ...] | None:
        found = self.located(name, "texts")
        if found is None:
            return None
        each = found.value if isinstance(found.value, list) else [found]
        values = tuple(item.value for item in each if item.value is not INVALID)
        if (not values and not each) or not all(isinstance(value, str) and value for value in values):
            self._mistaken(found, name, f"a list of texts, not {_shown(plain(found))}.")
            return None
        return values

    def topic(self, name: str) -> str:
        topic = self.text(name)
        self._check_topics(name, (topic,))
        return topic

    def topics(self, name: str) -> tuple[str, ...]:
        topics = self.texts(name)
        self._check_topics(name, topics)
        return topics

    def integer(self, name: str, *, minimum: int = 0, default: int | None = None) -> int:
        """Needed, unless there is a default."""
        return self._needed(name, "a whole number", self._integer(name, minimum, default), minimum)

    def optional_integer(self, name: str, *, minimum: int = 0) -> int | None:
        return self._integer(name, minimum, None)

    def flag(self, name: str, *, default: bool) -> bool:
        found = self.located(name, "flag", default)
        if found is None:
            return default
        if not isinstance(found.value, bool):
            self._mistaken(found, name, f"true or false, not {_shown(found.value)}.")
            return default
        return found.value

    def choice(self, name: str, choices: Sequence[str], *, default: str | None = None) -> str:
        found = self.located(name, "choice", default, choices)
        if found is None:
            return self._needed(name, f"one of {', '.join(choices)}", default, choices[0])
        if found.value not in choices:
            self._mistaken(found, name, f"one of {', '.join(choices)}, not {_shown(found.value)}{ending(found.value, choices)}")
            return default or choices[0]
        return str(found.value)

    def duration_ms(self, name: str, *, default: int) -> int:
        """``10 seconds``, ``1 hour``, ``500 ms``."""
        found = self._duration_ms(name, default)
        return default if found is None else found

    def optional_duration_ms(self, name: str) -> int | None:
        return self._duration_ms(name, None)

    def optional_interval(self, name: str) -> str | None:
        """The same, in Spark's notation."""
        milliseconds = self.optional_duration_ms(name)
        return None if milliseconds is None else f"{milliseconds} milliseconds"

    def optional_nested(self, name: str) -> Fields | None:
        found = self.located(name, "mapping")
        return None if found is None else Fields(found, f"{name!r} of {self.what}", self.findings)

    def nested(self, name: str) -> Fields:
        place = self.place_of(name)
        return self._needed(name, "a mapping", self.optional_nested(name), Fields(Located(INVALID, place), self.what, self.findings))

    def optional_texts_by_name(self, name: str) -> dict[str, str]:
        """Names to texts; numbers and booleans become texts, as in a properties file."""
        found = self.located(name, "mapping")
        if found is None:
            return {}
        if not isinstance(found.value, dict):
            self._mistaken(found, name, f"a mapping of names to values, not {_shown(found.value)}.")
            return {}
        values = {each: value for each, value in found.value.items() if value.value is not INVALID}
        for each, value in values.items():
            if not isinstance(value.value, (str, int, float)):
                sentence = f"{each!r} in {name!r} of {self.what} is a text or a number, not {_shown(value.value)}."
                self.findings.report(value.place.error(sentence))
        return {each: _property(value.value) for each, value in values.items()}

    def optional_items(self, name: str) -> Mapping[str, Located]:
        """A mapping with names that the user chose."""
        found = self.located(name, "mapping")
        if found is None:
            return {}
        if not isinstance(found.value, dict):
            self._mistaken(found, name, f"a mapping of names to declarations, not {_shown(found.value)}.")
            return {}
        return found.value

    def optional_list(self, name: str) -> list[Located]:
        found = self.located(name, "list")
        if found is None:
            return []
        if not isinstance(found.value, list):
            self._mistaken(found, name, f"a list, not {_shown(found.value)}.")
            return []
        return found.value

    def end(self) -> None:
        """Every field that was not read is unknown."""
        known = list(dict.fromkeys(self._asked))
        for name in self._mapping:
            if name not in self._asked:
                guess = nearest(name, known)
                if guess in self._missing:
                    # One mistake, not two: the field is there, under another name.
                    self.findings.withdraw(self._missing.pop(guess))
                hint = f"; it may have {', '.join(sorted(known))}." if guess is None and known else ending(name, known)
                self.report(f"{self.what} has no field {name!r}{hint}", name)

    # -- answers ------------------------------------------------------------------------------

    def _text(self, name: str, default: str | None) -> str | None:
        found = self.located(name, "text", default)
        if found is None:
            return default
        if isinstance(found.value, (int, float)) and not isinstance(found.value, bool):
            return str(found.value)
        if not isinstance(found.value, str) or not found.value.strip():
            self._mistaken(found, name, f"a text, not {_shown(found.value)}.")
            return None
        return found.value.strip()

    def _integer(self, name: str, minimum: int, default: int | None) -> int | None:
        found = self.located(name, "whole number", default)
        if found is None:
            return default
        # In flow style ``${N}`` must be quoted, because braces mean a mapping there.
        value = int(found.value) if isinstance(found.value, str) and found.value.isdecimal() else found.value
        if not isinstance(value, int) or isinstance(value, bool) or value < minimum:
            self._mistaken(found, name, f"a whole number of at least {minimum}, not {_shown(found.value)}.")
            return None
        return value

    def _duration_ms(self, name: str, default: int | None) -> int | None:
        found = self.located(name, "duration", default)
        if found is None:
            return None
        milliseconds = parsed_duration_ms(found.value)
        if milliseconds is None:
            self._mistaken(found, name, f"a duration such as '10 seconds' or '1 hour', not {_shown(found.value)}.")
        return milliseconds

    def _mistaken(self, found: Located, name: str, expected: str) -> None:
        self.findings.report(found.place.error(f"{name!r} of {self.what} is {expected}"))

    def _check_topics(self, name: str, topics: Sequence[str]) -> None:
        for topic in topics:
            if topic and (why := why_illegal(topic)) is not None:
                self.report(f"{name!r} of {self.what} names no topic: {why}.", name)

    def _needed(self, name: str, expected: str, value: Needed | None, instead: Needed) -> Needed:
        if value is not None:
            return value
        given = self._mapping.get(name)
        if self._is_mapping and (given is None or given.value is None):
            self._missing[name] = self.error(f"{self.what} lacks {name!r}: {expected}.", name)
            self.findings.report(self._missing[name])
        return instead


def parsed_duration_ms(value: object) -> int | None:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    unit = match[2].lower()
    factor = 1 if unit.startswith(("ms", "milli")) else _UNIT_MS[unit[0]]
    return round(float(match[1]) * factor)


def nearest(name: object, known: Iterable[str], likeness_min: float = 0.6) -> str | None:
    near = difflib.get_close_matches(str(name), list(known), n=1, cutoff=likeness_min)
    return near[0] if near else None


def ending(name: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name: the nearest known name, or just a full stop."""
    near = nearest(name, known)
    return "." if near is None else f"; did you mean {near!r}?"


def _property(value: str | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(value: object) -> str:
    match value:
        case dict():
            return "a mapping"
        case []:
            return "an empty list"
        case list():
            return "a list"
        case None:
            return "nothing"
        case _:
            return repr(value)
