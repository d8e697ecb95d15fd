"""Settings and modes of subjects, of contexts and of all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from barnabas.registry.core.decision import Decision
from barnabas.registry.core.entries import ClearSubjectKey, ConfigKey, Entry, ModeKey, SchemaKey
from barnabas.registry.core.errors import (
    config_not_found,
    forward_mode_is_global,
    invalid_level,
    invalid_mode,
    mode_not_found,
    not_permitted,
    reference_exists,
    unprocessable,
)
from barnabas.registry.core.rule_sets import checked_metadata, checked_rule_set
from barnabas.registry.core.scope import Mode, config_in_scope, mode_in_scope
from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import GLOBAL_CONTEXT, Subject
from barnabas.schemas.compatibility import Level
from barnabas.schemas.schema import Policy

# Requests name the level `compatibility`; records and answers name it `compatibilityLevel`.
_REQUESTED_LEVEL: Final = "compatibility"
_STORED_LEVEL: Final = "compatibilityLevel"
_FLAGS: Final = ("normalize", "validateFields", "validateNewSchemas", "validateRules")
_TEXTS: Final = ("alias", "aliasForDeks", "compatibilityGroup")
# Every registration merges these with its own, so they pass the same checks.
_OBJECTS: Final = {
    "defaultMetadata": checked_metadata,
    "overrideMetadata": checked_metadata,
    "defaultRuleSet": checked_rule_set,
    "overrideRuleSet": checked_rule_set,
}


def update_config(state: RegistryState, subject: str | None, wanted: Mapping[str, Any]) -> Decision[Mapping[str, Any]]:
    """Settings that the request does not name stay; null removes one. The answer has all that the
    subject has now, under the names of a request."""
    if subject is not None and mode_in_scope(state, subject).read_only:
        raise not_permitted(f"Subject {subject} is in read-only mode")
    changes = _checked(wanted)
    stored = {**state.configs.get(subject, {}), **changes}
    if subject is not None:
        stored["subject"] = subject
    stored = {name: value for name, value in stored.items() if value is not None}
    answer = {_REQUESTED_LEVEL if name == _STORED_LEVEL else name: value for name, value in stored.items() if name != "subject"}
    return Decision(answer, [Entry(ConfigKey(subject), stored)])


def config_of(state: RegistryState, subject: str | None, *, default_to_global: bool = False) -> Mapping[str, Any]:
    if subject is None or default_to_global:
        found = dict(config_in_scope(state, subject))
    elif subject in state.configs:
        found = dict(state.configs[subject])
    else:
        raise config_not_found(subject)
    found.pop("subject", None)
    return found


def delete_config(state: RegistryState, subject: str | None) -> Decision[Mapping[str, Any]]:
    if subject is not None and mode_in_scope(state, subject).read_only:
        raise not_permitted(f"Subject {subject} is in read-only mode")
    if subject is not None and subject not in state.configs:
        raise config_not_found(subject)
    gone = config_of(state, subject)
    return Decision(gone, [Entry(ConfigKey(subject), None)])


def update_mode(state: RegistryState, subject: str | None, name: str, *, force: bool = False) -> Decision[Mode]:
    """Only an empty registry, context or subject can become one for imports, except by force."""
    if name.upper() not in Mode.__members__:
        raise invalid_mode(name)
    mode = Mode(name.upper())
    if mode is Mode.FORWARD and subject != f":{GLOBAL_CONTEXT}:":
        raise forward_mode_is_global()
    entries: list[Entry] = []
    if mode is Mode.IMPORT and mode_in_scope(state, subject) is not Mode.IMPORT and not force:
        concerned = [each for each in state.subjects(deleted=True) if _belongs(each, subject)]
        if any(state.versions(each) for each in concerned):
            raise not_permitted("Cannot import since found existing subjects")
        for each in concerned:
            for entry in state.versions(each, deleted=True):
                if state.referrers(each, entry.version, deleted=True):
                    raise reference_exists(each, entry.version)
                entries.append(Entry(SchemaKey(each, entry.version), None))
        entries.append(Entry(ClearSubjectKey(subject), {"subject": subject} if subject is not None else {}))
    value = {"mode": mode.value} if subject is None else {"subject": subject, "mode": mode.value}
    return Decision(mode, [*entries, Entry(ModeKey(subject), value)])


def mode_of(state: RegistryState, subject: str | None, *, default_to_global: bool = False) -> Mode:
    if subject is None or default_to_global:
        return mode_in_scope(state, subject)
    if subject not in state.modes:
        raise mode_not_found(subject)
    return Mode(state.modes[subject])


def delete_mode(state: RegistryState, subject: str | None, *, recursive: bool = False) -> Decision[Mode]:
    if subject is not None and subject not in state.modes:
        raise mode_not_found(subject)
    gone = mode_of(state, subject)
    below = [each for each in state.modes if each is not None and each != subject and _belongs(each, subject)] if recursive else []
    return Decision(gone, [Entry(ModeKey(each), None) for each in (subject, *below)])


def _belongs(subject: str, scope: str | None) -> bool:
    """Whether a subject is in a scope: everything, a context, or the subject itself."""
    if scope is None:
        return True
    parsed = Subject.parse(scope)
    return Subject.parse(subject).context == parsed.context if not parsed.name else subject == scope


def _checked(wanted: Mapping[str, Any]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    for name, value in wanted.items():
        if name in (_REQUESTED_LEVEL, _STORED_LEVEL):
            if value is not None and str(value).upper() not in Level.__members__:
                raise invalid_level()
            changes[_STORED_LEVEL] = str(value).upper() if value is not None else None
        elif name == "compatibilityPolicy":
            if value is not None and str(value).upper() not in Policy.__members__:
                raise unprocessable(f"Invalid compatibility policy: {value}. Valid values are STRICT and LENIENT")
            changes[name] = str(value).upper() if value is not None else None
        elif name in _OBJECTS:
            changes[name] = _OBJECTS[name](value)
        elif value is None or (name in _FLAGS and isinstance(value, bool)) or (name in _TEXTS and isinstance(value, str)):
            changes[name] = value
        elif name in (*_FLAGS, *_TEXTS):
            raise unprocessable(f"The setting {name} has no value such as {value!r}")
        else:
            raise unprocessable(f"Unrecognized field: {name}")
    return changes
