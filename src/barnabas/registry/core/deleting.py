"""Deleting versions and subjects: softly at first, and for good only what is soft-deleted.

The settings and the mode of a subject go when its last version is deleted softly. Those that it
gets afterwards stay when the versions go for good.
"""

from __future__ import annotations

from barnabas.registry.core.decision import Decision
from barnabas.registry.core.entries import ConfigKey, ContextKey, DeleteSubjectKey, Entry, ModeKey, SchemaKey
from barnabas.registry.core.errors import (
    RegistryError,
    context_not_empty,
    not_permitted,
    reference_exists,
    subject_not_found,
    subject_not_soft_deleted,
    subject_soft_deleted,
    version_not_found,
    version_not_soft_deleted,
    version_soft_deleted,
)
from barnabas.registry.core.lookup import version_number
from barnabas.registry.core.scope import mode_in_scope
from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import Subject


def delete_version(state: RegistryState, subject: str, version: str, *, permanent: bool) -> Decision[int]:
    _check_writable(state, subject)
    if not state.versions(subject, deleted=True):
        raise subject_not_found(subject)
    number = version_number(version)
    entry = state.latest(subject) if number == -1 else state.version(subject, number)
    if entry is None:
        raise version_not_found(number)
    if entry.deleted and not permanent:
        raise version_soft_deleted(subject, entry.version)
    if permanent and not entry.deleted:
        raise version_not_soft_deleted(subject, entry.version)
    if state.referrers(subject, entry.version, deleted=permanent):
        raise reference_exists(subject, entry.version)
    entries = [Entry(SchemaKey(subject, entry.version), None if permanent else entry.as_deleted())]
    if not permanent and len(state.versions(subject)) == 1:
        entries += _settings_gone(state, subject)
    return Decision(entry.version, entries)


def delete_subject(state: RegistryState, subject: str, *, permanent: bool) -> Decision[list[int]]:
    _check_writable(state, subject)
    if not state.versions(subject, deleted=True):
        raise subject_not_found(subject)
    live = state.versions(subject)
    if not permanent and not live:
        raise subject_soft_deleted(subject)
    if permanent and live:
        raise subject_not_soft_deleted(subject)
    if any(key.subject == subject for key in state.associations):
        raise RegistryError(40904, f"An association already exists for subject '{subject}'")
    entries = state.versions(subject, deleted=permanent)
    for entry in entries:
        if any(other.subject != subject for other in state.referrers(subject, entry.version, deleted=permanent)):
            raise reference_exists(subject, entry.version)
    versions = [entry.version for entry in entries]
    if not permanent:
        written = Entry(DeleteSubjectKey(subject), {"subject": subject, "version": versions[-1]})
        return Decision(versions, [written, *_settings_gone(state, subject)])
    # The newest go first: a version may refer to an older one of its own subject.
    return Decision(versions, [Entry(SchemaKey(subject, version), None) for version in reversed(versions)])


def erased(state: RegistryState, subject: str) -> list[Entry]:
    """The records that delete a subject for good, deleted softly before or not."""
    entries = state.versions(subject, deleted=True)
    for entry in entries:
        if any(other.subject != subject for other in state.referrers(subject, entry.version, deleted=True)):
            raise reference_exists(subject, entry.version)
    return [*(Entry(SchemaKey(subject, entry.version), None) for entry in reversed(entries)), *_settings_gone(state, subject)]


def delete_context(state: RegistryState, context: str) -> Decision[None]:
    if any(Subject.parse(subject).context == context for subject in state.subjects(deleted=True)):
        raise context_not_empty(context)
    return Decision(None, [Entry(ContextKey(context), None)])


def _settings_gone(state: RegistryState, subject: str) -> list[Entry]:
    gone: list[Entry] = []
    if subject in state.modes:
        gone.append(Entry(ModeKey(subject), None))
    if subject in state.configs:
        gone.append(Entry(ConfigKey(subject), None))
    return gone


def _check_writable(state: RegistryState, subject: str) -> None:
    if mode_in_scope(state, subject).read_only:
        raise not_permitted(f"Subject {subject} is in read-only mode")
