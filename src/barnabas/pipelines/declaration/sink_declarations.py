"""Sinks as they are declared: the fields that all kinds share. A kind's own fields are declared in
its module.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from barnabas.pipelines.declaration.fields import Fields
from barnabas.pipelines.declaration.findings import Findings
from barnabas.pipelines.declaration.located import Located, Place
from barnabas.pipelines.sinks import SINKS

# A sink's name is part of a folder, of a query's name and of a transactional id.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
MODES = ("append", "update", "complete")
DEFAULT_MODE = "append"


@dataclass(frozen=True, slots=True)
class SinkDeclaration:
    name: str
    kind: str
    place: Place
    declared: Located  # the values with the place of each
    source: str  # the source or step it writes: ``from`` in a file
    source_place: Place
    settings: object
    mode: str  # append, update or complete: which rows of a changing result Spark passes on


def declare_sink(name: str, found: Located, findings: Findings) -> SinkDeclaration | None:
    """None when it cannot be read; ``findings`` have the reason."""
    what = f"sink {name!r}"
    if _NAME.fullmatch(name) is None:
        findings.report(found.place.error(f"{what}: a name has letters, digits, dots, underscores and dashes."))
    fields = Fields(found, what, findings)
    kind = fields.kind(SINKS.names, "writes to one of")
    if kind is None:
        return None
    source = fields.text("from")
    mode = fields.choice("mode", MODES, default=DEFAULT_MODE)
    settings = None
    with findings.collected():
        settings = SINKS.of(kind).declare(fields)
        fields.end()
    return SinkDeclaration(name, kind, found.place, found, source, fields.place_of("from"), settings, mode)
