"""Finding versions and schemas."""

from __future__ import annotations

from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.core.errors import invalid_version, schema_not_found, subject_not_found, version_not_found
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.registering import Registration, existing
from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import DEFAULT_CONTEXT, Subject

LATEST = -1
_VERSION_MAX = 2**31 - 1


def version_number(text: str) -> int:
    """-1 for the latest version."""
    if text in ("latest", "-1"):
        return LATEST
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= _VERSION_MAX:
        raise invalid_version(text)
    return int(text)


def find_version(state: RegistryState, subject: str, version: str, *, deleted: bool = False) -> SchemaEntry:
    number = version_number(version)
    if not state.versions(subject, deleted=deleted):
        raise subject_not_found(subject)
    if number == LATEST:
        entry = state.versions(subject, deleted=deleted)[-1]
    else:
        found = state.version(subject, number)
        if found is None or (found.deleted and not deleted):
            raise version_not_found(number)
        entry = found
    return entry


def find_schema(
    state: RegistryState, parsed: ParsedSchemas, subject: str, wanted: Registration, *, normalize: bool = False, deleted: bool = False
) -> SchemaEntry:
    """The version of a subject that has this schema, the newest first."""
    if not state.versions(subject, deleted=deleted):
        raise subject_not_found(subject)
    found = existing(state, parsed, subject, wanted, normalize=normalize, deleted=deleted)
    if found is None:
        raise schema_not_found()
    return found


def find_by_id(state: RegistryState, schema_id: int, subject: str | None = None) -> SchemaEntry:
    """Ids are those of a context: that of ``subject``, the default one without it. A subject in the
    default context may also name a schema of another context that has the subject.
    """
    context = Subject.parse(subject).context if subject else DEFAULT_CONTEXT
    found = state.by_id(context, schema_id)
    if found is None and subject and context == DEFAULT_CONTEXT:
        for other in state.contexts:
            qualified = Subject(other, subject).text
            if any(entry.subject == qualified for entry in state.uses(other, schema_id, deleted=True)):
                found = state.by_id(other, schema_id)
                break
    if found is None:
        raise schema_not_found(schema_id)
    return found
