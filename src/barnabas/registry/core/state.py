"""Everything that ``_schemas`` says, indexed for reading.

State changes only by replaying records, so that every instance of the registry, and one that
starts again, comes to the same state. Soft-deleted versions stay: their ids must still decode old
records.

Threads that parse schemas read the state while the event loop changes it. So a reader first copies
what it iterates over, with ``list``, during which no other thread runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from barnabas.registry.core.digest import guid_of
from barnabas.registry.core.entries import (
    AssociationKey,
    ClearSubjectKey,
    ConfigKey,
    ContextKey,
    DeleteSubjectKey,
    Entry,
    ModeKey,
    NoopKey,
    SchemaEntry,
    SchemaKey,
)
from barnabas.registry.core.subject import DEFAULT_CONTEXT, Subject


class Version(NamedTuple):
    subject: str
    version: int


class RegistryState:
    def __init__(self) -> None:
        self._versions: dict[str, dict[int, SchemaEntry]] = {}
        # By context, then by id: the versions that have this schema. The text stays known by its
        # id even when all of them are deleted for good.
        self._uses: dict[str, dict[int, dict[Version, None]]] = {}
        self._texts: dict[str, dict[int, SchemaEntry]] = {}
        self._ids_by_md5: dict[str, dict[bytes, int]] = {}
        self._by_guid: dict[str, SchemaEntry] = {}
        self._referrers: dict[Version, dict[Version, None]] = {}
        self._id_max: dict[str, int] = {}
        self.configs: dict[str | None, Mapping[str, Any]] = {}
        self.modes: dict[str | None, str] = {}
        self._contexts: set[str] = set()
        self.associations: dict[AssociationKey, Mapping[str, Any]] = {}

    # -- reading -----------------------------------------------------------------------------------

    def version(self, subject: str, version: int) -> SchemaEntry | None:
        return self._versions.get(subject, {}).get(version)

    def versions(self, subject: str, *, deleted: bool = False) -> list[SchemaEntry]:
        """The versions of a subject, oldest first; with ``deleted``, soft-deleted ones too."""
        return [entry for entry in list(self._versions.get(subject, {}).values()) if deleted or not entry.deleted]

    def latest(self, subject: str) -> SchemaEntry | None:
        return next((entry for entry in reversed(list(self._versions.get(subject, {}).values())) if not entry.deleted), None)

    def subjects(self, *, deleted: bool = False) -> list[str]:
        return sorted(subject for subject in list(self._versions) if self.versions(subject, deleted=deleted))

    def by_id(self, context: str, schema_id: int) -> SchemaEntry | None:
        return self._texts.get(context, {}).get(schema_id)

    def by_guid(self, guid: str) -> SchemaEntry | None:
        return self._by_guid.get(guid)

    def id_of(self, context: str, md5: bytes) -> int | None:
        return self._ids_by_md5.get(context, {}).get(md5)

    def uses(self, context: str, schema_id: int, *, deleted: bool = False) -> list[SchemaEntry]:
        """The versions that have a schema."""
        found = (self.version(*each) for each in list(self._uses.get(context, {}).get(schema_id, ())))
        return [entry for entry in found if entry is not None and (deleted or not entry.deleted)]

    def referrers(self, subject: str, version: int, *, deleted: bool = False) -> list[SchemaEntry]:
        """The schemas that refer to a version."""
        found = (self.version(*each) for each in list(self._referrers.get(Version(subject, version), ())))
        return [entry for entry in found if entry is not None and (deleted or not entry.deleted)]

    def next_id(self, context: str) -> int:
        return self._id_max.get(context, 0) + 1

    @property
    def id_max(self) -> int:
        return max(self._id_max.values(), default=0)

    @property
    def contexts(self) -> list[str]:
        return sorted({DEFAULT_CONTEXT, *self._contexts, *(Subject.parse(subject).context for subject in list(self._versions))})

    def has_context(self, context: str) -> bool:
        return context in self._contexts

    def all_versions(self) -> Iterator[SchemaEntry]:
        for subject in sorted(self._versions):
            yield from self._versions[subject].values()

    # -- replaying ---------------------------------------------------------------------------------

    def replay(self, entry: Entry) -> None:
        key, value = entry.key, entry.value
        match key:
            case SchemaKey():
                if value is None:
                    self._forget(key.subject, key.version)
                elif isinstance(value, SchemaEntry):
                    self._put(value)
            case ConfigKey(subject=subject):
                _set(self.configs, subject, value)
            case ModeKey(subject=named):
                if isinstance(value, Mapping) and value.get("mode"):
                    self.modes[named] = str(value["mode"])
                else:
                    self.modes.pop(named, None)
            case DeleteSubjectKey(subject=gone):
                if isinstance(value, Mapping):
                    self._delete_up_to(gone, int(value.get("version", 0)))
            case ClearSubjectKey(subject=cleared):
                self._clear(cleared)
            case ContextKey(context=context):
                self._contexts.discard(context) if value is None else self._contexts.add(context)
            case AssociationKey():
                _set(self.associations, key, value)
            case NoopKey():
                pass

    def _put(self, entry: SchemaEntry) -> None:
        context = Subject.parse(entry.subject).context
        if self.version(entry.subject, entry.version) is not None:
            self._forget(entry.subject, entry.version)
        versions = self._versions.setdefault(entry.subject, {})
        in_order = not versions or entry.version > next(reversed(versions))
        versions[entry.version] = entry
        if not in_order:
            self._versions[entry.subject] = dict(sorted(versions.items()))
        place = Version(entry.subject, entry.version)
        self._uses.setdefault(context, {}).setdefault(entry.id, {})[place] = None
        self._texts.setdefault(context, {})[entry.id] = entry
        self._ids_by_md5.setdefault(context, {})[entry.md5] = entry.id
        self._by_guid.setdefault(guid_of(entry.md5), entry)
        self._id_max[context] = max(self._id_max.get(context, 0), entry.id)
        for target in self._targets(entry):
            self._referrers.setdefault(target, {})[place] = None

    def _forget(self, subject: str, version: int) -> None:
        versions = self._versions.get(subject, {})
        entry = versions.pop(version, None)
        if entry is None:
            return
        if not versions:
            del self._versions[subject]
        place = Version(subject, version)
        self._uses.get(Subject.parse(subject).context, {}).get(entry.id, {}).pop(place, None)
        for target in self._targets(entry):
            self._referrers.get(target, {}).pop(place, None)

    def _delete_up_to(self, subject: str, version: int) -> None:
        versions = self._versions.get(subject, {})
        for number, entry in versions.items():
            if number <= version:
                versions[number] = entry.as_deleted()

    def _clear(self, subject: str | None) -> None:
        """Forget ids of deleted schemas, so that an import may use them again."""
        context = Subject.parse(subject).context if subject is not None else None
        cleared: set[bytes] = set()
        for each in [context] if context is not None else list(self._texts):
            used = self._uses.get(each, {})
            unused = [schema_id for schema_id in self._texts.get(each, {}) if not used.get(schema_id)]
            for schema_id in unused:
                md5 = self._texts[each].pop(schema_id).md5
                cleared.add(md5)
                if self.id_of(each, md5) == schema_id:
                    del self._ids_by_md5[each][md5]
                known = self._by_guid.get(guid_of(md5))
                if known is not None and (Subject.parse(known.subject).context, known.id) == (each, schema_id):
                    del self._by_guid[guid_of(md5)]
        self._index_again(cleared)

    def _index_again(self, md5s: Collection[bytes]) -> None:
        """Index schemas that have lost an id by their other ids, in the same context and in
        others. Ids that versions have come first."""
        remaining = [(context, entry) for context, texts in self._texts.items() for entry in texts.values() if entry.md5 in md5s]
        remaining.sort(key=lambda each: not self._uses.get(each[0], {}).get(each[1].id))
        for context, entry in remaining:
            self._ids_by_md5.setdefault(context, {}).setdefault(entry.md5, entry.id)
            self._by_guid.setdefault(guid_of(entry.md5), entry)

    def _targets(self, entry: SchemaEntry) -> Iterator[Version]:
        parent = Subject.parse(entry.subject)
        for reference in entry.references:
            yield Version(Subject.parse(reference.subject).within(parent).text, reference.version)


def _set(values: dict[Any, Any], key: Any, value: Any) -> None:
    if value is None:
        values.pop(key, None)
    else:
        values[key] = value
