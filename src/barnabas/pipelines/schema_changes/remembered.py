"""The columns that a source had when it was first read, or when a change was last accepted.

    -kept/schemas/<source>         `id` bigint, `place` struct<`city`:string NOT NULL>
    -kept/schema_notes/<source>    {"announced": ["note"], "removed": ["qty"]}

Texts beside the checkpoint, wherever that is, each replaced atomically. NOT NULL marks a field that
every sampled record had (JSON), or a column that every file had (Parquet); columns of tables have
no such mark. A checkpoint without the text remembers the first columns found. The notes are for
records and files that were read before a change is accepted: new columns are searched in them too,
but a column that an earlier acceptance removed comes back only if it was announced since.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.errors import SchemaChanged
from barnabas.pipelines.schema_changes.columns import Added, Removed, SchemaChange, Struct, changes, columns, ddl, describe

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from barnabas.pipelines.context import RunContext
    from barnabas.pipelines.declaration.source_declarations import SourceDeclaration
    from barnabas.pipelines.kept_text import KeptText

# Observed metrics of queries start with this; the source's name follows.
UNKNOWN_FIELDS = "barnabas.unknown_fields."
# Names of fields may be ids; this keeps the notes from growing with them.
ANNOUNCED_MAX = 100
_log = logging.getLogger("barnabas.pipelines")


@dataclass(frozen=True, slots=True)
class Notes:
    announced: tuple[str, ...] = ()  # since the last acceptance
    removed: tuple[str, ...] = ()  # by acceptances so far, and not found again


class _KeptNotes:
    def __init__(self, kept: KeptText) -> None:
        self._kept = kept

    def read(self) -> Notes:
        text = self._kept.read()
        return Notes() if text is None else Notes(**{name: tuple(names) for name, names in json.loads(text).items()})

    def write(self, notes: Notes) -> None:
        self._kept.write(json.dumps(asdict(notes)))


class RememberedSchema:
    """The remembered columns of one source in one run."""

    def __init__(self, source: SourceDeclaration, context: RunContext) -> None:
        self.source = source
        self.pipeline = context.pipeline
        self._kept = context.kept(f"schemas/{source.name}")
        self._notes = _KeptNotes(context.kept(f"schema_notes/{source.name}"))
        self._announced = context.announced

    @property
    def accepts(self) -> bool:
        return self.source.schema_changes == "accept"

    def read(self) -> StructType | None:
        text = self._kept.read()
        return None if text is None else struct(text)

    def write(self, schema: StructType) -> None:
        names = {each.name for each in columns(schema.jsonValue())}
        notes = self._notes.read()
        removed = {each.name for each in self.changes(schema) if isinstance(each, Removed)}
        if removed or notes.announced or notes.removed:
            self._notes.write(Notes(removed=tuple(sorted({*notes.removed, *removed} - names))))
        self._kept.write(ddl(schema.jsonValue()))

    def wants(self) -> Callable[[str], bool]:
        """Whether a new column of records that were read already is accepted, by its name."""
        notes = self._notes.read()
        return lambda name: name in notes.announced or name not in notes.removed

    def changes(self, found: StructType) -> tuple[SchemaChange, ...]:
        """Empty if nothing is remembered."""
        known = self.read()
        return () if known is None else changes(known.jsonValue(), found.jsonValue())

    def announce(self, found: Iterable[SchemaChange]) -> None:
        """New columns, each once in a run."""
        for each in found:
            if isinstance(each, Added):
                self.announce_new(each.name)

    def announce_new(self, name: str) -> None:
        source = self.source
        if (source.name, name) in self._announced:
            return
        self._announced.add((source.name, name))
        notes = self._notes.read()
        if name not in notes.announced and len(notes.announced) < ANNOUNCED_MAX:
            self._notes.write(replace(notes, announced=(*notes.announced, name)))
        _log.warning(
            "%s:%d: source %r has a new column %r; its values are left out until `barnabas pipelines accept-schema %s`.",
            source.place.path,
            source.place.line,
            source.name,
            name,
            self.pipeline.path,
        )

    def changed(self, found: Sequence[SchemaChange], where: str) -> SchemaChanged:
        return changed(self.source, self.pipeline.path, f"{where} changed: {describe(found)}")


def announce_unknown_fields(context: RunContext, metrics: Mapping[str, Any]) -> None:
    """``metrics`` are those of a query's report, some of them from
    :mod:`barnabas.pipelines.formats.decoding`."""
    for source in context.pipeline.sources:
        found = metrics.get(f"{UNKNOWN_FIELDS}{source.name}") or {}
        for name in (found.get("first"), found.get("last")):
            if name is not None:
                RememberedSchema(source, context).announce_new(name)


def changed(source: SourceDeclaration, path: str, what: str) -> SchemaChanged:
    remedy = f"`barnabas pipelines accept-schema {path}` accepts the change, and the pipeline continues where it stopped"
    return SchemaChanged(f"{source.place.path}:{source.place.line}: source {source.name!r}: {what}; {remedy}.")


def struct(text: str) -> StructType:
    """Parsed from DDL. Needs a session."""
    from pyspark.sql.types import StructType

    parsed = StructType.fromDDL(text)
    assert isinstance(parsed, StructType)
    return parsed


def as_struct(value: Struct) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(dict(value))
