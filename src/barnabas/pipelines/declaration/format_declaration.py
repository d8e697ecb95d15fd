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


def declare_format(fields: Fields, *, has_schema: bool = True) -> FormatDeclaration:
    """From the fields ``format`` and ``schema`` of a source. A sink has no ``schema``: its columns
    are those of its view."""
    found = fields.located("format", "choice", DEFAULT_FORMAT, FORMATS.names)
    schema = fields.optional_text("schema") if has_schema else None
    kind, own = _kind(found, fields)
    if kind not in FORMATS.names:
        names = FORMATS.names
        fields.report(f"{fields.what} has the format {kind!r}, which is none of {', '.join(names)}{ending(kind, names)}", "format")
        return FormatDeclaration(DEFAULT_FORMAT, schema)
    settings = FORMATS.of(kind).declare(own)
    own.end()
    return FormatDeclaration(kind, schema, settings)


def _kind(found: Located | None, fields: Fields) -> tuple[str, Fields]:
    place = fields.place_of("format")

    def own(kind: str, settings: Located) -> Fields:
        return Fields(settings, f"format {kind!r} of {fields.what}", fields.findings)

    if found is None:
        return DEFAULT_FORMAT, own(DEFAULT_FORMAT, Located({}, place))
    if isinstance(found.value, str):
        return found.value, own(found.value, Located({}, place))
    if isinstance(found.value, dict) and len(found.value) == 1:
        ((kind, settings),) = found.value.items()
        return kind, own(kind, settings if settings.value is not None else Located({}, settings.place))
    fields.report(f"'format' of {fields.what} is a name such as json, or one name with its settings.", "format")
    return DEFAULT_FORMAT, own(DEFAULT_FORMAT, Located({}, place))
