"""The fields that JSON objects have, besides their values: ``from_json`` makes the same null of a
field that is null and of one that is missing.

The expressions work on the text of a record. Fields of nested objects count too, by their path
(``place.city``); objects inside arrays do not, and neither do the few names that a JSON path cannot
express.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.pipelines.schema_changes.columns import Struct, is_struct
from barnabas.pipelines.schema_changes.merging import Presence

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_SAYABLE = re.compile(r"[^'\]\\*]+")


@dataclass(frozen=True, slots=True)
class JsonFields:
    """``keys`` belongs in a column of its own, because it parses the text once more."""

    schema: Struct
    text: Column

    @property
    def keys(self) -> Column:
        """The names of the fields of each object of a record, in the order of :func:`_objects`;
        null where the object is missing."""
        from pyspark.sql import functions as F

        return F.struct(*(keys.alias(f"k{place}") for place, (_, keys, _) in enumerate(_objects(self.text, self.schema))))

    def missing(self, keys: str) -> Column:
        """The first required field that is missing; null when there is none. ``keys`` is the
        column's name."""
        from pyspark.sql import functions as F

        found = []
        for place, (prefix, _, struct) in enumerate(_objects(self.text, self.schema)):
            required = [field["name"] for field in struct["fields"] if not field["nullable"]]
            if required:
                lacks = F.get(F.array_except(F.array(*map(F.lit, required)), F.col(f"{keys}.k{place}")), F.lit(0))
                found.append(F.concat(F.lit(prefix), lacks))
        return F.coalesce(*found) if found else F.lit(None).cast("string")

    def unknown(self, keys: str) -> Column:
        """An array of the fields that the schema does not have."""
        from pyspark.sql import functions as F

        nothing = F.array().cast("array<string>")
        parts = []
        for place, (prefix, _, struct) in enumerate(_objects(self.text, self.schema)):
            known = F.array(*(F.lit(field["name"]) for field in struct["fields"])).cast("array<string>")
            new = F.coalesce(F.array_except(F.col(f"{keys}.k{place}"), known), nothing)
            parts.append(_prefixed(new, prefix) if prefix else new)
        return F.concat(*parts) if len(parts) > 1 else parts[0]


def _prefixed(names: Column, prefix: str) -> Column:
    from pyspark.sql import functions as F

    return F.transform(names, lambda name: F.concat(F.lit(prefix), name))


def presence(texts: DataFrame, schema: Struct) -> dict[str, Presence]:
    """Counts of all fields, by path. ``texts`` has the one column ``text``; runs a job over all of
    it."""
    from pyspark.sql import functions as F

    names: list[str] = []
    counts: list[Column] = []
    for prefix, keys, struct in _objects(F.col("text"), schema):
        for field in struct["fields"]:
            names.append(prefix + field["name"])
            counts += [F.count_if(keys.isNotNull()), F.count_if(F.array_contains(keys, field["name"]))]
    if not counts:
        return {}
    found = texts.agg(*(count.alias(f"c{position}") for position, count in enumerate(counts))).collect()[0]
    return {name: Presence(found[2 * position], found[2 * position + 1]) for position, name in enumerate(names)}


def _objects(text: Column, schema: Struct, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Column, Struct]]:
    """Every object of a record: the path before its fields' names, the names of its fields (null
    where it is missing), and its schema."""
    from pyspark.sql import functions as F

    place = "$" + "".join(f"['{name}']" for name in path)
    keys = F.json_object_keys(F.get_json_object(text, place) if path else text)
    yield "".join(f"{name}." for name in path), keys, schema
    for field in schema["fields"]:
        if is_struct(field["type"]) and _SAYABLE.fullmatch(field["name"]):
            yield from _objects(text, field["type"], (*path, field["name"]))
