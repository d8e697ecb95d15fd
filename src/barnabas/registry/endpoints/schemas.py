"""``/schemas``: schemas by id, by GUID, and all of them."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.core.errors import RegistryError, schema_not_found
from barnabas.registry.core.lookup import find_by_id
from barnabas.registry.core.subject import DEFAULT_CONTEXT, Subject
from barnabas.registry.endpoints.formats import formatted
from barnabas.registry.endpoints.printed import schema_shown, version_shown
from barnabas.registry.endpoints.subjects import begins
from barnabas.registry.http import CONTENT_TYPE, Call
from barnabas.registry.service import RegistryService
from barnabas.schemas.schema import SchemaType


def _id(call: Call) -> int:
    text = call.arguments["id"]
    if not (text.isascii() and text.isdecimal()):
        raise RegistryError(404, "HTTP 404 Not Found")
    return int(text)


def _subject(call: Call) -> str | None:
    named = call.text("subject")
    return (named if named.startswith(":.") else call.context + named) or None


def _found(service: RegistryService, call: Call) -> SchemaEntry:
    """The schema of the id in the path, if the caller may know of a subject that has it."""
    entry = find_by_id(service.state, _id(call), _subject(call))
    if not _is_visible(service, call, entry):
        raise schema_not_found(entry.id)
    return entry


def _is_visible(service: RegistryService, call: Call, entry: SchemaEntry) -> bool:
    context = Subject.parse(entry.subject).context
    uses = service.state.uses(context, entry.id, deleted=True)
    return call.may_describe(entry.subject) or any(call.may_describe(each.subject) for each in uses)


async def list_types(_: RegistryService, __: Call) -> Any:
    return [SchemaType.JSON.value, SchemaType.PROTOBUF.value, SchemaType.AVRO.value]


async def list_schemas(service: RegistryService, call: Call) -> Any:
    state = service.state
    prefix, deleted = call.text("subjectPrefix", call.context or ":*:"), call.flag("deleted")
    entries = [
        entry
        for entry in state.all_versions()
        if (deleted or not entry.deleted) and begins(entry.subject, prefix) and call.may_describe(entry.subject)
    ]
    if call.text("ruleType"):
        entries = [entry for entry in entries if _has_rule(entry, call.text("ruleType"))]
    if call.flag("latestOnly"):
        latest = {entry.subject: entry for entry in entries}
        entries = list(latest.values())
    return call.page([version_shown(entry) for entry in entries])


def _has_rule(entry: SchemaEntry, type_: str) -> bool:
    rules = [rule for kind in (entry.rule_set or {}).values() if isinstance(kind, list) for rule in kind]
    return any(str(rule.get("type", "")).lower() == type_.lower() for rule in rules)


async def get_by_id(service: RegistryService, call: Call) -> Any:
    entry = await formatted(service, call, _found(service, call))
    shown = schema_shown(entry, id_max=service.state.id_max if call.flag("fetchMaxId") else None)
    # Karapace's clients ask for the subjects in the same request.
    return {**shown, "subjects": _subjects(service, call)} if call.flag("includeSubjects") else shown


async def get_text_by_id(service: RegistryService, call: Call) -> Any:
    return Response(_found(service, call).text, media_type=CONTENT_TYPE)


async def list_subjects_by_id(service: RegistryService, call: Call) -> Any:
    return call.page(_subjects(service, call))


def _subjects(service: RegistryService, call: Call) -> list[str]:
    return sorted({entry.subject for entry in _uses(service, call)})


async def list_versions_by_id(service: RegistryService, call: Call) -> Any:
    return call.page([{"subject": entry.subject, "version": entry.version} for entry in _uses(service, call)])


def _uses(service: RegistryService, call: Call) -> list[SchemaEntry]:
    entry = _found(service, call)
    context = Subject.parse(entry.subject).context
    return [each for each in service.state.uses(context, entry.id, deleted=call.flag("deleted")) if call.may_describe(each.subject)]


def _by_guid(service: RegistryService, call: Call) -> SchemaEntry:
    entry = service.state.by_guid(call.arguments["guid"].lower())
    if entry is None or not _is_visible(service, call, entry):
        raise schema_not_found(call.arguments["guid"])
    return entry


async def get_by_guid(service: RegistryService, call: Call) -> Any:
    entry = _by_guid(service, call)
    return schema_shown(await formatted(service, call, entry))


async def list_ids_by_guid(service: RegistryService, call: Call) -> Any:
    entry = _by_guid(service, call)
    found = []
    for context in service.state.contexts:
        schema_id = service.state.id_of(context, entry.md5)
        if schema_id is not None:
            found.append({"context": context if context != DEFAULT_CONTEXT else ".", "id": schema_id})
    return found
