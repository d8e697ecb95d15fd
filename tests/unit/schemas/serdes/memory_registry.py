"""A registry in memory: the port of serdes, without requests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid5

from barnabas.schemas.parsing import parse_schema
from barnabas.schemas.schema import ParsedSchema, Reference, ResolvedReference, SchemaType

_SPACE = UUID(int=0)


class NotRegistered(Exception):
    pass


@dataclass(frozen=True)
class Version:
    type: SchemaType
    text: str
    id: int
    version: int
    references: tuple[Reference, ...]
    parsed: ParsedSchema = field(compare=False)

    @property
    def guid(self) -> UUID:
        return uuid5(_SPACE, self.text)


class MemoryRegistry:
    def __init__(self) -> None:
        self.subjects: dict[str, list[Version]] = {}
        self.associations: dict[tuple[str, bool], str] = {}
        self._ids: dict[tuple[SchemaType, str], int] = {}

    def register(
        self, subject: str, type_: SchemaType, text: str, references: Sequence[Reference] = (), *, normalize: bool = False
    ) -> Version:
        versions = self.subjects.setdefault(subject, [])
        known = next((each for each in versions if each.text == text), None)
        if known is None:
            schema_id = self._ids.setdefault((type_, text), len(self._ids) + 1)
            parsed = parse_schema(type_, text, self.resolve(references))
            known = Version(type_, text, schema_id, len(versions) + 1, tuple(references), parsed)
            versions.append(known)
        return known

    def lookup(
        self, subject: str, type_: SchemaType, text: str, references: Sequence[Reference] = (), *, normalize: bool = False
    ) -> Version:
        return _one(each for each in self.subjects.get(subject, ()) if each.text == text)

    def latest(self, subject: str) -> Version:
        return _one(reversed(self.subjects.get(subject, [])))

    def schema_by_id(self, schema_id: int) -> Version:
        return _one(each for versions in self.subjects.values() for each in versions if each.id == schema_id)

    def schema_by_guid(self, guid: UUID) -> Version:
        return _one(each for versions in self.subjects.values() for each in versions if each.guid == guid)

    def resolve(self, references: Sequence[Reference]) -> list[ResolvedReference]:
        found = []
        for reference in references:
            version = self.subjects[reference.subject][reference.version - 1]
            found += [*self.resolve(version.references), ResolvedReference(reference.name, version.text)]
        return found

    def associated_subject(self, topic: str, *, is_key: bool, namespace: str = "-") -> str | None:
        return self.associations.get((topic, is_key))


def _one(versions: object) -> Version:
    found = next(iter(versions), None)  # type: ignore[call-overload]
    if found is None:
        raise NotRegistered
    assert isinstance(found, Version)
    return found
