"""``/subjects/{subject}/versions/{version}/tags``: a new version with other tags, metadata or
rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from barnabas.registry.core.contracts import merged_rules, without_rules
from barnabas.registry.core.errors import invalid_rule_set, unprocessable
from barnabas.registry.core.lookup import find_version
from barnabas.registry.core.registering import Registration, add_version
from barnabas.registry.core.rule_sets import checked_metadata, checked_rule_set
from barnabas.registry.core.tagging import FIELD, RECORD, Entity, tagged
from barnabas.registry.endpoints.printed import registered_shown
from barnabas.registry.endpoints.subjects import subject_of
from barnabas.registry.http import Call
from barnabas.registry.service import RegistryService


async def change_tags(service: RegistryService, call: Call) -> Any:
    subject, read = subject_of(call), await call.body()
    entry = find_version(service.state, subject, call.arguments["version"])
    version = read.get("newVersion") or 0
    if not isinstance(version, int) or isinstance(version, bool):
        raise unprocessable("The field newVersion is a number.")
    text = tagged(entry.type, entry.text, _tags(read.get("tagsToAdd")), _tags(read.get("tagsToRemove")))
    metadata = checked_metadata(read.get("metadata"))
    wanted = Registration(
        entry.type,
        text,
        entry.references,
        metadata if metadata is not None else entry.metadata,
        _rule_set(service, subject, read),
        version=max(0, version),
    )
    registered = await service.write(lambda parsed: add_version(service.state, parsed, subject, wanted))
    return registered_shown(registered)


def _rule_set(service: RegistryService, subject: str, read: Mapping[str, Any]) -> Mapping[str, Any] | None:
    given, merged, removed = checked_rule_set(read.get("ruleSet")), checked_rule_set(read.get("rulesToMerge")), read.get("rulesToRemove")
    if merged is None and removed is None:
        return given
    if given is not None:
        raise invalid_rule_set("ruleSet should be omitted if specifying rulesToMerge or rulesToRemove")
    if removed is not None and not (isinstance(removed, list) and all(isinstance(each, str) for each in removed)):
        raise unprocessable("The rules to remove are a list of names.")
    latest = service.state.latest(subject)
    return without_rules(merged_rules(latest.rule_set if latest is not None else None, merged), frozenset(removed or ()))


def _tags(read: Any) -> dict[Entity, list[str]]:
    found: dict[Entity, list[str]] = {}
    if read is not None and not isinstance(read, list):
        raise unprocessable("The tags to add or to remove are a list.")
    for each in read or []:
        entity = each.get("schemaEntity") if isinstance(each, Mapping) else None
        tags = each.get("tags") if isinstance(each, Mapping) else None
        if (
            not isinstance(entity, Mapping)
            or not isinstance(entity.get("entityPath"), str)
            or entity.get("entityType") not in (RECORD, FIELD)
        ):
            raise unprocessable(f"Tags belong to an entity with a path and the type {RECORD} or {FIELD}.")
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise unprocessable("Tags are a list of texts.")
        found.setdefault(Entity(entity["entityPath"], entity["entityType"]), []).extend(tags)
    return found
