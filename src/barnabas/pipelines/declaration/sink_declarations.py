"""Sinks as they are declared: the fields that all kinds share. A kind's own fields are declared in
its module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from barnabas.pipelines.declaration.fields import Fields, ending
from barnabas.pipelines.declaration.located import Located, Place
from barnabas.pipelines.sinks import SINKS

# A sink's name is part of a folder, of a query's name and of a transactional id.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class SinkDeclaration:
    name: str
    kind: str
    place: Place
    source: str  # the source or step it writes: ``from`` in a file
    source_place: Place
    settings: object
    mode: str  # append, update or complete: which rows of a changing result Spark passes on


def declare_sink(name: str, found: Located) -> SinkDeclaration:
    what = f"sink {name!r}"
    if _NAME.fullmatch(name) is None:
        raise found.place.error(f"{what}: a name has letters, digits, dots, underscores and dashes.")
    fields = Fields(found, what)
    kinds = [kind for kind in SINKS.names if kind in fields]
    if len(kinds) != 1:
        given = f"it has {' and '.join(kinds)}." if kinds else f"it has none of these{_nearest(fields)}"
        raise fields.error(f"{what} writes to one of {', '.join(SINKS.names)}, but {given}")
    (kind,) = kinds
    source = fields.text("from")
    mode = fields.choice("mode", ("append", "update", "complete"), default="append")
    settings = SINKS.of(kind).declare(fields)
    fields.end()
    return SinkDeclaration(name, kind, found.place, source, fields.place_of("from"), settings, mode)


def _nearest(fields: Fields) -> str:
    guesses = (ending(name, SINKS.names) for name in fields.names)
    return next((guess for guess in guesses if guess != "."), ".")
