"""Registering a schema under a subject.

1. A schema that the subject has already is found, whatever the mode of the subject.
2. The mode of the subject allows it: an id of the caller's own only in an import, and none there.
3. The text becomes canonical, and normal where that is asked for.
4. Metadata and rules that it does not name come from the latest version and the settings.
5. A schema that the subject has with these keeps its id and version; one that the context knows
   keeps its id and gets a version.
6. It must be compatible with the older versions, except in an import and by force.
7. The version is one above the highest that the subject ever had.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from barnabas.registry.core.compatibility import why_incompatible
from barnabas.registry.core.contracts import changes_contracts, inherited, without_version
from barnabas.registry.core.decision import Decision
from barnabas.registry.core.digest import digest_of
from barnabas.registry.core.entries import ContextKey, Entry, SchemaEntry, SchemaKey
from barnabas.registry.core.errors import incompatible, invalid_schema, invalid_subject, not_permitted
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.reserved_fields import reserved_conflicts
from barnabas.registry.core.scope import config_in_scope, mode_in_scope
from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import DEFAULT_CONTEXT, Subject, is_valid
from barnabas.schemas.avro.avro_schema import AvroSchema
from barnabas.schemas.schema import Reference, SchemaType

NO_ID = -1
NO_VERSION = 0


@dataclass(frozen=True, slots=True)
class Registration:
    """A schema as a client sends it."""

    type: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = None
    rule_set: Mapping[str, Any] | None = None
    id: int = NO_ID
    version: int = NO_VERSION


def register(
    state: RegistryState, parsed: ParsedSchemas, subject: str, wanted: Registration, *, normalize: bool = False, force: bool = False
) -> Decision[SchemaEntry]:
    """Raises a RegistryError. The subject is in its normalized form."""
    # The settings could change a schema, and a request for a version wants that one.
    if wanted.text.strip() and wanted.version == NO_VERSION and not changes_contracts(state, subject):
        present = existing(state, parsed, subject, wanted, normalize=normalize)
        if present is not None and wanted.id in (NO_ID, present.id):
            return Decision(present)
    return add_version(state, parsed, subject, wanted, normalize=normalize, force=force)


def existing(
    state: RegistryState, parsed: ParsedSchemas, subject: str, wanted: Registration, *, normalize: bool = False, deleted: bool = False
) -> SchemaEntry | None:
    """The version of a subject that has this schema, the newest first. Raises a RegistryError for a
    text that is no schema."""
    versions = state.versions(subject, deleted=deleted)
    if not versions:
        return None
    canonical = canonicalized(state, parsed, subject, wanted, normalize=normalize, stored=True)
    return _same(parsed, canonical, versions) or _same(parsed, inherited(state, subject, canonical, version=None), versions)


def _same(parsed: ParsedSchemas, wanted: Registration, versions: Sequence[SchemaEntry]) -> SchemaEntry | None:
    md5 = digest_of(wanted.text, wanted.references, wanted.metadata or None, wanted.rule_set or None)
    exact = next((entry for entry in reversed(versions) if entry.md5 == md5), None)
    return exact or next((entry for entry in reversed(versions) if is_same(parsed, wanted, entry)), None)


def add_version(
    state: RegistryState, parsed: ParsedSchemas, subject: str, wanted: Registration, *, normalize: bool = False, force: bool = False
) -> Decision[SchemaEntry]:
    """A new version, unless the subject has one with the metadata and the rules that this one gets.
    Raises a RegistryError."""
    if not is_valid(subject):
        raise invalid_subject(subject)
    _check_mode(state, subject, wanted)
    mode = mode_in_scope(state, subject)
    if not mode.imports:
        wanted = inherited(state, subject, _with_text(state, subject, wanted), version=_following(state, subject))
    canonical = canonicalized(state, parsed, subject, wanted, normalize=normalize)
    context = Subject.parse(subject).context
    md5 = digest_of(canonical.text, canonical.references, canonical.metadata, canonical.rule_set)
    known_id = state.id_of(context, md5)
    if known_id is not None and wanted.id in (NO_ID, known_id) and wanted.version == NO_VERSION:
        present = _present(state, context, known_id, subject)
        if present is not None:
            return Decision(present)
    if wanted.version == NO_VERSION:
        for entry in reversed(state.versions(subject)):
            if wanted.id in (NO_ID, entry.id) and is_same(parsed, canonical, entry):
                return Decision(entry)
    if not mode.imports and not force:
        reasons = [*reserved_conflicts(state, parsed, subject, canonical), *why_incompatible(state, parsed, subject, canonical)]
        if reasons:
            details = f"[{', '.join(reasons)}]"
            raise incompatible(
                f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {details}'
            )
    entry = SchemaEntry(
        subject,
        _version(state, subject, wanted, free=mode.imports),
        _id(state, context, md5, wanted, known_id),
        canonical.type,
        canonical.text,
        md5,
        canonical.references,
        canonical.metadata,
        canonical.rule_set,
    )
    return Decision(entry, [*_context_entry(state, context), *_replaced(state, entry), Entry(SchemaKey(subject, entry.version), entry)])


def canonicalized(
    state: RegistryState, parsed: ParsedSchemas, subject: str, wanted: Registration, *, normalize: bool, stored: bool = False
) -> Registration:
    """The registration with the text that is stored. A ``stored`` schema is looked for, so it need
    not pass the checks of new ones."""
    schema = parsed.parse(wanted.type, wanted.text, wanted.references, subject, stored=stored or not _checks_names(state, subject, wanted))
    normal = normalize or config_in_scope(state, subject).get("normalize") is True
    references = wanted.references
    if normal:
        references = tuple(sorted(set(references)))
    pinned = tuple(_pinned(state, subject, each) for each in references)
    return Registration(
        wanted.type,
        schema.normalized if normal else schema.canonical,
        pinned,
        wanted.metadata or None,
        wanted.rule_set or None,
        wanted.id,
        wanted.version,
    )


def is_same(parsed: ParsedSchemas, wanted: Registration, entry: SchemaEntry) -> bool:
    """Whether a canonical registration means a version, although its digest is another one: only
    the number of the version in the metadata differs, or the types of its references are written
    out, as in the schema of a class that a compiler generated."""
    if wanted.type is not entry.type or (wanted.rule_set or None) != (entry.rule_set or None):
        return False
    if (without_version(wanted.metadata) or None) != (without_version(entry.metadata) or None):
        return False
    if wanted.references == entry.references:
        return wanted.text == entry.text
    if wanted.references or wanted.type is not SchemaType.AVRO:
        return False
    schema = parsed.stored(entry)
    return isinstance(schema, AvroSchema) and schema.resolved == wanted.text


def _with_text(state: RegistryState, subject: str, wanted: Registration) -> Registration:
    """A registration without a text changes the metadata or the rules of the latest version."""
    if wanted.text.strip():
        return wanted
    latest = state.latest(subject)
    if latest is None:
        raise invalid_schema("Empty schema")
    return replace(wanted, type=latest.type, text=latest.text, references=latest.references)


def _checks_names(state: RegistryState, subject: str, wanted: Registration) -> bool:
    return wanted.id == NO_ID and config_in_scope(state, subject).get("validateNewSchemas") is not False


def _pinned(state: RegistryState, subject: str, reference: Reference) -> Reference:
    """A reference to the latest version becomes one to the version that is the latest now."""
    if reference.version != -1:
        return reference
    latest = state.latest(Subject.parse(reference.subject).within(Subject.parse(subject)).text)
    return reference._replace(version=latest.version) if latest is not None else reference


def _check_mode(state: RegistryState, subject: str, wanted: Registration) -> None:
    mode = mode_in_scope(state, subject)
    if mode.read_only:
        raise not_permitted(f"Subject {subject} is in read-only mode")
    if wanted.id != NO_ID and not mode.imports:
        raise not_permitted(f"Subject {subject} is not in import mode")
    if wanted.id == NO_ID and mode.imports:
        raise not_permitted(f"Subject {subject} is in import mode")


def _present(state: RegistryState, context: str, schema_id: int, subject: str) -> SchemaEntry | None:
    return next((entry for entry in state.uses(context, schema_id) if entry.subject == subject), None)


def _following(state: RegistryState, subject: str) -> int:
    return max((entry.version for entry in state.versions(subject, deleted=True)), default=0) + 1


def _version(state: RegistryState, subject: str, wanted: Registration, *, free: bool) -> int:
    following = _following(state, subject)
    if wanted.version <= 0:
        return following
    if wanted.version != following and not free:
        raise invalid_schema("Version is not one more than previous version")
    return wanted.version


def _id(state: RegistryState, context: str, md5: bytes, wanted: Registration, known_id: int | None) -> int:
    if wanted.id == NO_ID:
        return known_id if known_id is not None else state.next_id(context)
    other = state.by_id(context, wanted.id)
    if other is not None and other.md5 != md5:
        raise not_permitted(f"Overwrite new schema with id {wanted.id} is not permitted.")
    # An import may give one schema several ids, as the registry had that it comes from.
    return wanted.id


def _context_entry(state: RegistryState, context: str) -> list[Entry]:
    if context == DEFAULT_CONTEXT or state.has_context(context):
        return []
    return [Entry(ContextKey(context), {"tenant": "default", "context": context})]


def _replaced(state: RegistryState, entry: SchemaEntry) -> list[Entry]:
    """Tombstones for soft-deleted versions of the same schema, unless another schema refers to
    them: references name a version and not an id.
    """
    return [
        Entry(SchemaKey(entry.subject, older.version), None)
        for older in state.versions(entry.subject, deleted=True)
        if older.deleted and older.id == entry.id and older.version < entry.version
        if not state.referrers(entry.subject, older.version, deleted=True)
    ]
