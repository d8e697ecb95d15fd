"""How bytes become columns and back: ``format: json``, or with settings ``format: {avro: {framing:
registry}}``.
"""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.pipelines.declaration.fields import Fields, ending
from barnabas.pipelines.declaration.located import Located
from barnabas.pipelines.formats import FORMATS

DEFAULT_FORMAT = "json"


@dataclass(frozen=True, slots=True)
class FormatDeclaration:
    kind: str
    schema: str | None  # the columns as Spark's DDL; None: inferred, or given by the format
    settings: object = None  # made by the format's module from its fields
    inferred: bool = False  # the schema was inferred, not declared: it may be out of date


def declare_format(fields: Fields) -> FormatDeclaration:
    """From the fields ``format`` and ``schema`` of a source or a sink."""
    found = fields.located("format")
    schema = fields.optional_text("schema")
    kind, own = _kind(found, fields)
    if kind not in FORMATS.names:
        raise fields.error(
            f"{fields.what} has the format {kind!r}, which is none of {', '.join(FORMATS.names)}{ending(kind, FORMATS.names)}", "format"
        )
    settings = FORMATS.of(kind).declare(own)
    own.end()
    return FormatDeclaration(kind, schema, settings)


def _kind(found: Located | None, fields: Fields) -> tuple[str, Fields]:
    place = fields.place_of("format")
    if found is None:
        return DEFAULT_FORMAT, Fields(Located({}, place), f"format of {fields.what}")
    if isinstance(found.value, str):
        return found.value, Fields(Located({}, place), f"format {found.value!r} of {fields.what}")
    if isinstance(found.value, dict) and len(found.value) == 1:
        ((kind, own),) = found.value.items()
        settings = own if own.value is not None else Located({}, own.place)
        return kind, Fields(settings, f"format {kind!r} of {fields.what}")
    raise found.place.error(f"'format' of {fields.what} is a name such as json, or one name with its settings.")
