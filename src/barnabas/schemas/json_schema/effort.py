"""How many evaluations a document costs, before a validator begins them.

A validator evaluates a schema once for every way that leads to it. Definitions that refer to the
next one twice double the ways with each, so a schema of a kilobyte can keep a validator busy for
years, and nothing can stop it. Here the ways are counted, which takes time in proportion to the
schema and the document.

Most schemas cannot be that bad: they are not recursive and small when all references are written
out. Their documents are not counted.

Keywords either apply to the value itself (``allOf``, ``$ref``, ...) or to its parts
(``properties``, ``items``, ...). *Within* are the schemas that apply to the value itself when one
does, each with its number of ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from barnabas.schemas.errors import InvalidSchema
from barnabas.schemas.json_schema.parsing import resolver_of
from barnabas.schemas.limits import JSON_EVALUATIONS_MAX

_LISTS: Final = ("allOf", "anyOf", "oneOf")
_SINGLES: Final = ("not", "if", "then", "else")
_BY_NAME: Final = ("dependentSchemas", "dependencies")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
# Evaluations of a whole schema with all references written out, below which no document is
# counted: large schemas of practice have some hundreds.
_WRITTEN_OUT_MAX: Final = 2_000


class Effort:
    def __init__(self, schema: Any, known: Mapping[str, Any]) -> None:
        self._resolve = resolver_of(schema, known)
        self._root = ("", schema)
        self._within: dict[int, Counter[int]] = {}
        self._places: dict[int, tuple[str, Any]] = {}
        self._sizes: dict[int, int] = {}
        self._recursive = False
        self.is_counted = self._size(self._root) > _WRITTEN_OUT_MAX or self._recursive
        """Whether documents of this schema must be counted."""

    def is_too_much(self, document: Any) -> bool:
        return self._spent(document, self._ways(self._root), 0) > JSON_EVALUATIONS_MAX

    def _spent(self, value: Any, ways: Counter[int], spent: int) -> int:
        """The evaluations so far; counting ends when there are too many."""
        spent += ways.total()
        if spent > JSON_EVALUATIONS_MAX or not isinstance(value, dict | list):
            return spent
        for step, part in value.items() if isinstance(value, dict) else enumerate(value):
            inner: Counter[int] = Counter()
            for key, count in ways.items():
                for place in _parts(*self._places[key], step):
                    for reached, more in self._ways(place).items():
                        inner[reached] += count * more
            if inner:
                spent = self._spent(part, inner, spent)
                if spent > JSON_EVALUATIONS_MAX:
                    return spent
        return spent

    def _ways(self, place: tuple[str, Any], on_the_way: frozenset[int] = frozenset()) -> Counter[int]:
        """The schemas that apply to the same value."""
        key = id(place[1])
        known = self._within.get(key)
        if known is not None:
            return known
        if key in on_the_way:
            return Counter()  # A validator does not go round in circles.
        self._places[key] = place
        found = Counter({key: 1})
        for inner in self._applied(place):
            found += self._ways(inner, on_the_way | {key})
        self._within[key] = found
        return found

    def _size(self, place: tuple[str, Any], on_the_way: frozenset[int] = frozenset()) -> int:
        key = id(place[1])
        if key in on_the_way:
            self._recursive = True
            return 0
        known = self._sizes.get(key)
        if known is None:
            inner = [*self._applied(place), *_parts(*place, None)]
            known = self._sizes[key] = 1 + sum(self._size(each, on_the_way | {key}) for each in inner)
        return known

    def _applied(self, place: tuple[str, Any]) -> Iterator[tuple[str, Any]]:
        base, schema = place
        if not isinstance(schema, dict):
            return
        for keyword in _LISTS:
            if isinstance(schema.get(keyword), list):
                yield from ((base, each) for each in schema[keyword])
        for keyword in _SINGLES:
            if keyword in schema:
                yield base, schema[keyword]
        for keyword in _BY_NAME:
            if isinstance(schema.get(keyword), dict):
                yield from ((base, each) for each in schema[keyword].values())
        for keyword in _REFERENCES:
            if isinstance(schema.get(keyword), str):
                try:
                    yield self._resolve(schema[keyword], base)
                except InvalidSchema:
                    continue  # A dynamic reference, which is one of the schemas that have its name.


def _parts(base: str, schema: Any, step: str | int | None) -> Iterator[tuple[str, Any]]:
    """The schemas that apply to a property or an item; to all of them if ``step`` is None."""
    if not isinstance(schema, dict):
        return
    if step is None or isinstance(step, str):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from ((base, each) for name, each in properties.items() if step in (None, name))
        patterns = schema.get("patternProperties")
        if isinstance(patterns, dict):
            yield from ((base, each) for each in patterns.values())
        yield from ((base, schema[each]) for each in ("additionalProperties", "unevaluatedProperties", "propertyNames") if each in schema)
    if step is None or isinstance(step, int):
        for keyword in ("items", "prefixItems"):
            items = schema.get(keyword)
            if isinstance(items, list):
                yield from ((base, each) for index, each in enumerate(items) if step in (None, index))
            elif items is not None:
                yield base, items
        yield from ((base, schema[each]) for each in ("additionalItems", "unevaluatedItems", "contains") if each in schema)
