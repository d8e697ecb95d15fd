"""``/subjects``: subjects and their versions; here schemas are registered, found and deleted."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from barnabas.registry.core.decision import Decision
from barnabas.registry.core.deleting import delete_subject, delete_version
from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.core.errors import subject_not_found
from barnabas.registry.core.lookup import find_schema, find_version
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.registering import register
from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import Subject, normalized
from barnabas.registry.endpoints.formats import formatted
from barnabas.registry.endpoints.printed import registered_shown, registration, version_shown
from barnabas.registry.http import CONTENT_TYPE, Call
from barnabas.registry.service import RegistryService
from barnabas.schemas.protobuf.protobuf_schema import is_descriptor
from barnabas.schemas.schema import SchemaType


def subject_of(call: Call) -> str:
    """The subject in the path; a context in front of the path qualifies it."""
    text = call.arguments["subject"]
    return normalized(text if text.startswith(":.") else call.context + text)


async def list_subjects(service: RegistryService, call: Call) -> Any:
    deleted_only = call.flag("deletedOnly")
    prefix = call.text("subjectPrefix", call.context or ":*:")
    state = service.state
    listed = state.subjects(deleted=deleted_only or call.flag("deleted"))
    found = [subject for subject in listed if begins(subject, prefix) and call.may_describe(subject)]
    if deleted_only:
        found = [subject for subject in found if any(entry.deleted for entry in state.versions(subject, deleted=True))]
    return call.page(found)


def begins(subject: str, prefix: str) -> bool:
    """``:*:`` stands for all contexts; without a context only the default one is meant."""
    if prefix.startswith(":*:"):
        return Subject.parse(subject).name.startswith(prefix[3:])
    return subject.startswith(prefix) and Subject.parse(subject).context == Subject.parse(prefix).context


async def list_versions(service: RegistryService, call: Call) -> Any:
    subject = subject_of(call)
    deleted_only, as_negative = call.flag("deletedOnly"), call.flag("deletedAsNegative")
    with_deleted = deleted_only or as_negative or call.flag("deleted")
    entries = service.state.versions(subject, deleted=with_deleted)
    if not entries:
        raise subject_not_found(subject)
    if deleted_only:
        entries = [entry for entry in entries if entry.deleted]
    return call.page([-entry.version if as_negative and entry.deleted else entry.version for entry in entries])


async def get_version(service: RegistryService, call: Call) -> Any:
    entry = find_version(service.state, subject_of(call), call.arguments["version"], deleted=call.flag("deleted"))
    return version_shown(await formatted(service, call, entry))


async def get_version_schema(service: RegistryService, call: Call) -> Any:
    found = find_version(service.state, subject_of(call), call.arguments["version"], deleted=call.flag("deleted"))
    entry = await formatted(service, call, found)
    return Response(entry.text, media_type=CONTENT_TYPE)


async def list_referrers(service: RegistryService, call: Call) -> Any:
    entry = find_version(service.state, subject_of(call), call.arguments["version"], deleted=True)
    return call.page(sorted({each.id for each in service.state.referrers(entry.subject, entry.version, deleted=call.flag("deleted"))}))


async def get_by_metadata(service: RegistryService, call: Call) -> Any:
    """The newest version whose metadata has the given properties."""
    subject = subject_of(call)
    wanted = dict(zip(call.query.get("key", ()), call.query.get("value", ()), strict=False))
    entry = _with_properties(service.state, subject, wanted, deleted=call.flag("deleted"))
    return version_shown(entry)


def _with_properties(state: RegistryState, subject: str, wanted: dict[str, str], *, deleted: bool) -> Any:
    for entry in reversed(state.versions(subject, deleted=deleted)):
        properties = (entry.metadata or {}).get("properties") or {}
        if all(properties.get(key) == value for key, value in wanted.items()):
            return entry
    raise subject_not_found(subject)


async def look_up(service: RegistryService, call: Call) -> Any:
    subject, wanted = subject_of(call), registration(await call.body())
    normalize, deleted = call.flag("normalize"), call.flag("deleted")

    def find(parsed: ParsedSchemas) -> SchemaEntry:
        return find_schema(service.state, parsed.seen_by(call.may_describe), subject, wanted, normalize=normalize, deleted=deleted)

    entry = await service.think(find)
    return version_shown(await formatted(service, call, entry))


async def register_version(service: RegistryService, call: Call) -> Any:
    subject, wanted = subject_of(call), registration(await call.body(), may_be_empty=True)
    normalize, force = call.flag("normalize"), call.flag("force")

    def decide(parsed: ParsedSchemas) -> Decision[SchemaEntry]:
        return register(service.state, parsed.seen_by(call.may_describe), subject, wanted, normalize=normalize, force=force)

    entry = await service.write(decide)
    # A client that sends a descriptor remembers the schema of the response as a descriptor, too.
    return registered_shown(entry, with_text=not (wanted.type is SchemaType.PROTOBUF and is_descriptor(wanted.text)))


async def remove_version(service: RegistryService, call: Call) -> Any:
    subject, version, permanent = subject_of(call), call.arguments["version"], call.flag("permanent")
    return await service.write(lambda _: delete_version(service.state, subject, version, permanent=permanent))


async def remove_subject(service: RegistryService, call: Call) -> Any:
    subject, permanent = subject_of(call), call.flag("permanent")
    return await service.write(lambda _: delete_subject(service.state, subject, permanent=permanent))
