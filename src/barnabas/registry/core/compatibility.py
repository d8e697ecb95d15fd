"""Whether a schema may follow the versions of a subject, under the settings of the subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.scope import config_in_scope, level_in_scope, policy_in_scope
from barnabas.registry.core.state import RegistryState
from barnabas.schemas.compatibility import Breach, Level

if TYPE_CHECKING:
    from barnabas.registry.core.entries import SchemaEntry
    from barnabas.registry.core.registering import Registration


def why_incompatible(
    state: RegistryState,
    parsed: ParsedSchemas,
    subject: str,
    wanted: Registration,
    *,
    against: Sequence[SchemaEntry] | None = None,
) -> list[str]:
    """The reasons, empty if the schema may follow; ``against`` are the versions to compare with,
    all live ones if None.
    """
    level = level_in_scope(state, subject)
    older = state.versions(subject) if against is None else list(against)
    group = config_in_scope(state, subject).get("compatibilityGroup")
    if group:
        # Only versions of the same group follow each other.
        older = [entry for entry in older if _group_of(entry.metadata, group) == _group_of(wanted.metadata, group)]
    if level is Level.NONE or not older:
        return []
    relevant = older if level.transitive else older[-1:]
    policy = policy_in_scope(state, subject)
    for against_entry in reversed(relevant):
        found = parsed.breaches(wanted, subject, against_entry, level, policy)
        if found:
            return [
                *(_printed(each) for each in found),
                f"{{oldSchemaVersion: {against_entry.version}}}",
                f"{{oldSchema: '{against_entry.text}'}}",
                f"{{compatibility: '{level.value}'}}",
            ]
    return []


def _printed(breach: Breach) -> str:
    side = "the older schema cannot read new data" if breach.forward else "the new schema cannot read older data"
    difference = breach.difference
    return f"{{errorType:'{difference.kind}', description:'at {difference.path}: {difference.sentence}; {side}'}}"


def _group_of(metadata: Mapping[str, Any] | None, group: str) -> Any:
    return ((metadata or {}).get("properties") or {}).get(group)
