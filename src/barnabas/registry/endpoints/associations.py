"""``/associations``: the subjects that topics use. Serializers ask for them before their first
record, and take the subject named after the topic if there is none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

from starlette.responses import Response

from barnabas.registry.core.associating import Resource, WantedAssociation, associate, dissociate, found, invalid
from barnabas.registry.core.decision import Decision
from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.core.errors import RegistryError
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.registering import register
from barnabas.registry.endpoints.association_requests import association_of, associations_of, kind_of, requests_of, resource_of
from barnabas.registry.endpoints.printed import version_shown
from barnabas.registry.endpoints.subjects import subject_of
from barnabas.registry.http import Call, answer
from barnabas.registry.service import RegistryService

_TOPIC: Final = "topic"
_MULTI_STATUS: Final = 207
_CREATE, _DELETE = "CREATE", "DELETE"


def _filters(call: Call) -> dict[str, Any]:
    return {
        "resource_type": call.text("resourceType") or _TOPIC,
        "types": call.query.get("associationType", ()),
        "lifecycle": call.text("lifecycle").upper() or None,
    }


async def by_subject(service: RegistryService, call: Call) -> Any:
    return call.page(found(service.state, subject=subject_of(call), **_filters(call)))


async def by_resource(service: RegistryService, call: Call) -> Any:
    resource = Resource(call.arguments["name"], call.arguments["namespace"])
    return call.page([each for each in found(service.state, resource=resource, **_filters(call)) if call.may_describe(each["subject"])])


async def by_resource_id(service: RegistryService, call: Call) -> Any:
    every = found(service.state, resource_id=call.arguments["resource"], **_filters(call))
    return call.page([each for each in every if call.may_describe(each["subject"])])


async def create(service: RegistryService, call: Call) -> Any:
    read, dry_run = await call.body(), call.flag("dryRun")
    resource = resource_of(read, needs_id=not dry_run)
    wanted = [association_of(each) for each in associations_of(read)]
    return await _associated(service, call, resource, wanted, create=True, dry_run=dry_run)


async def create_or_update(service: RegistryService, call: Call) -> Any:
    read, named = await call.body(), call.arguments["resource"]
    if read.setdefault("resourceId", named) != named:
        raise invalid("resourceId", "Resource ID in the path parameter does not match the resource ID in the request body")
    wanted = [association_of(each) for each in associations_of(read)]
    return await _associated(service, call, resource_of(read), wanted, create=False, dry_run=call.flag("dryRun"))


async def remove(service: RegistryService, call: Call) -> Any:
    named, filters = call.arguments["resource"], _filters(call)
    cascade, dry_run = call.flag("cascadeLifecycle"), call.flag("dryRun")
    if not found(service.state, resource_id=named, resource_type=filters["resource_type"], types=filters["types"]):
        raise RegistryError(40410, f"Association for '{named}' not found.")
    await _dissociated(service, named, filters["types"], cascade=cascade, dry_run=dry_run)
    return Response(status_code=204)


async def batch_get(service: RegistryService, call: Call) -> Any:
    with_schemas = call.flag("includeSchemas")
    results = []
    for each in requests_of(await call.body()):
        try:
            results.append({"result": _looked_up(service, call, each, with_schemas=with_schemas)})
        except RegistryError as error:
            results.append({"error": {"error_code": error.code, "message": f"Error while getting associations: {error.message}"}})
    return answer({"results": results}, _MULTI_STATUS)


async def batch_mutate(service: RegistryService, call: Call) -> Any:
    """Each request of a batch stands for itself: one that is refused leaves the others alone."""
    dry_run, results = call.flag("dryRun"), []
    for each in requests_of(await call.body()):
        try:
            results.append({"result": await _mutated(service, call, each, dry_run=dry_run)})
        except RegistryError as error:
            results.append({"error": {"error_code": error.code, "message": error.message}})
    return answer({"results": results}, _MULTI_STATUS)


def _looked_up(service: RegistryService, call: Call, read: Any, *, with_schemas: bool) -> Any:
    if not isinstance(read, Mapping) or not (read.get("resourceId") or read.get("resourceName")):
        raise invalid("resourceId", "either resourceId or resourceName must be specified")
    if not read.get("resourceId") and not read.get("resourceNamespace"):
        raise invalid("resourceNamespace", "resourceNamespace is required when resourceName is specified")
    resource_id = str(read["resourceId"]) if read.get("resourceId") else None
    resource = Resource(str(read["resourceName"]), str(read["resourceNamespace"])) if resource_id is None else None
    types = read.get("associationTypes") or ()
    if not isinstance(types, Sequence) or not all(isinstance(each, str) for each in types):
        raise invalid("associationTypes", "are a list of texts")
    every = found(
        service.state, resource_type=_TOPIC, types=types, lifecycle=read.get("lifecycle"), resource_id=resource_id, resource=resource
    )
    visible = [each for each in every if call.may_describe(each["subject"])]
    first = visible[0] if visible else {}
    names = {name: read.get(name) or first.get(name) for name in ("resourceName", "resourceNamespace", "resourceId")}
    schemas = {each["subject"]: service.state.latest(each["subject"]) for each in visible} if with_schemas else {}
    return {**names, "resourceType": _TOPIC, "associations": [_shown(each, schemas.get(each["subject"])) for each in visible]}


async def _mutated(service: RegistryService, call: Call, read: Any, *, dry_run: bool) -> Any:
    resource = resource_of(read, needs_id=not dry_run)
    schemas: dict[str, SchemaEntry] = {}
    for operation, run in groupby(associations_of(read), key=lambda each: str(each.get("opType", "")).upper()):
        if operation == _DELETE:
            for each in run:
                cascade = each.get("cascadeLifecycle") is True
                await _dissociated(service, resource.id or "", [kind_of(each)], cascade=cascade, dry_run=dry_run)
        elif operation in (_CREATE, "UPSERT"):
            wanted = [association_of(each) for each in run]
            schemas |= await _write(service, call, resource, wanted, create=operation == _CREATE, dry_run=dry_run)
        else:
            raise invalid("opType", "must be CREATE, UPSERT or DELETE")
    every = [] if dry_run else found(service.state, resource_id=resource.id, resource_type=_TOPIC)
    return _response(resource, every, schemas)


async def _associated(
    service: RegistryService, call: Call, resource: Resource, wanted: list[WantedAssociation], *, create: bool, dry_run: bool
) -> Any:
    schemas = await _write(service, call, resource, wanted, create=create, dry_run=dry_run)
    kinds = [each.kind for each in wanted]
    every = [] if dry_run else found(service.state, resource_id=resource.id, resource_type=_TOPIC, types=kinds)
    return _response(resource, every, schemas)


async def _write(
    service: RegistryService, call: Call, resource: Resource, wanted: list[WantedAssociation], *, create: bool, dry_run: bool
) -> dict[str, SchemaEntry]:
    """The schemas that were registered, by subject. Everything is checked before the first of them
    is, so that a refused request leaves nothing behind."""
    state = service.state

    def decide(parsed: ParsedSchemas) -> Decision[list[dict[str, Any]]]:
        return associate(state, parsed.seen_by(call.may_describe), resource, wanted, create=create)

    await service.think(decide)
    if dry_run:
        return {}
    schemas: dict[str, SchemaEntry] = {}
    for each in wanted:
        subject = each.subject or resource.own_subject(each.kind)
        if each.schema is not None:
            schemas[subject] = await _registered(service, call, subject, each)
    await service.write(decide)
    return schemas


async def _registered(service: RegistryService, call: Call, subject: str, wanted: WantedAssociation) -> SchemaEntry:
    schema, normalize = wanted.schema, wanted.normalize
    assert schema is not None
    return await service.write(
        lambda parsed: register(service.state, parsed.seen_by(call.may_describe), subject, schema, normalize=normalize)
    )


async def _dissociated(service: RegistryService, resource_id: str, types: Sequence[str], *, cascade: bool, dry_run: bool) -> None:
    def decide(_: Any) -> Any:
        return dissociate(service.state, resource_id, resource_type=_TOPIC, types=types, cascade=cascade)

    await (service.think(decide) if dry_run else service.write(decide))


def _response(resource: Resource, every: list[dict[str, Any]], schemas: Mapping[str, SchemaEntry]) -> Any:
    return {
        "resourceName": resource.name,
        "resourceNamespace": resource.namespace,
        "resourceId": resource.id,
        "resourceType": resource.type,
        "associations": [_shown(each, schemas.get(each["subject"])) for each in every],
    }


def _shown(association: Mapping[str, Any], schema: SchemaEntry | None) -> Any:
    part = {name: association[name] for name in ("subject", "associationType", "lifecycle", "frozen")}
    return {**part, **({"schema": version_shown(schema)} if schema is not None else {})}
