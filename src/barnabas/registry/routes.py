"""The routes of the registry: what each method on each path does, and whether it writes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from barnabas.registry.core.errors import RegistryError
from barnabas.registry.endpoints import about, associations, schemas, settings, subjects, tags
from barnabas.registry.http import Call
from barnabas.registry.service import RegistryService

Endpoint = Callable[[RegistryService, Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: tuple[str, ...]
    endpoint: Endpoint
    writes: bool = False

    @property
    def template(self) -> str:
        return "/" + "/".join(self.path)


def _reads(path: str, endpoint: Endpoint, method: str = "GET") -> Route:
    return Route(method, tuple(filter(None, path.split("/"))), endpoint)


def _writes(method: str, path: str, endpoint: Endpoint) -> Route:
    return Route(method, tuple(filter(None, path.split("/"))), endpoint, writes=True)


ROUTES: Final = (
    _reads("/", about.root),
    _reads("/", about.root, "POST"),
    _reads("/v1/metadata/id", about.cluster_id),
    _reads("/v1/metadata/version", about.version),
    _reads("/v1/metadata/deployment", about.deployment),
    _reads("/subjects", subjects.list_subjects),
    _reads("/subjects/{subject}", subjects.look_up, "POST"),
    _writes("DELETE", "/subjects/{subject}", subjects.remove_subject),
    _reads("/subjects/{subject}/versions", subjects.list_versions),
    _writes("POST", "/subjects/{subject}/versions", subjects.register_version),
    _reads("/subjects/{subject}/metadata", subjects.get_by_metadata),
    _reads("/subjects/{subject}/versions/{version}", subjects.get_version),
    _writes("DELETE", "/subjects/{subject}/versions/{version}", subjects.remove_version),
    _reads("/subjects/{subject}/versions/{version}/schema", subjects.get_version_schema),
    _reads("/subjects/{subject}/versions/{version}/referencedby", subjects.list_referrers),
    _writes("POST", "/subjects/{subject}/versions/{version}/tags", tags.change_tags),
    _reads("/schemas", schemas.list_schemas),
    _reads("/schemas/types", schemas.list_types),
    _reads("/schemas/ids/{id}", schemas.get_by_id),
    _reads("/schemas/ids/{id}/schema", schemas.get_text_by_id),
    _reads("/schemas/ids/{id}/subjects", schemas.list_subjects_by_id),
    _reads("/schemas/ids/{id}/versions", schemas.list_versions_by_id),
    _reads("/schemas/guids/{guid}", schemas.get_by_guid),
    _reads("/schemas/guids/{guid}/ids", schemas.list_ids_by_guid),
    _reads("/compatibility/subjects/{subject}/versions", settings.check_subject, "POST"),
    _reads("/compatibility/subjects/{subject}/versions/{version}", settings.check_version, "POST"),
    _reads("/config", settings.get_config),
    _writes("PUT", "/config", settings.put_config),
    _writes("DELETE", "/config", settings.remove_config),
    _reads("/config/{subject}", settings.get_config),
    _writes("PUT", "/config/{subject}", settings.put_config),
    _writes("DELETE", "/config/{subject}", settings.remove_config),
    _reads("/mode", settings.get_mode),
    _writes("PUT", "/mode", settings.put_mode),
    _writes("DELETE", "/mode", settings.remove_mode),
    _reads("/mode/{subject}", settings.get_mode),
    _writes("PUT", "/mode/{subject}", settings.put_mode),
    _writes("DELETE", "/mode/{subject}", settings.remove_mode),
    _reads("/contexts", settings.list_contexts),
    _writes("DELETE", "/contexts/{context}", settings.remove_context),
    _reads("/associations/subjects/{subject}", associations.by_subject),
    _reads("/associations/resources/{namespace}/{name}", associations.by_resource),
    _reads("/associations/resources/{resource}", associations.by_resource_id),
    _writes("POST", "/associations", associations.create),
    _writes("PUT", "/associations/resources/{resource}", associations.create_or_update),
    _reads("/associations:batchGet", associations.batch_get, "POST"),
    _writes("POST", "/associations:batchMutate", associations.batch_mutate),
    _writes("DELETE", "/associations/resources/{resource}", associations.remove),
)

_BY_SHAPE: dict[int, list[Route]] = {}
for _route in ROUTES:
    _BY_SHAPE.setdefault(len(_route.path), []).append(_route)


def find_route(call: Call) -> Route:
    """The route of a call, whose arguments are filled in. Fixed parts win over arguments, since
    ``/schemas/types`` stands before ``/schemas/ids/{id}``."""
    if len(call.path) > 2 and call.path[0] == "contexts":
        # The same paths exist below a context.
        context = "." + call.path[1].strip(":").lstrip(".")
        call.context, call.path = (f":{context}:" if context != "." else ""), call.path[2:]
    known_path = False
    for route in _BY_SHAPE.get(len(call.path), ()):
        arguments = _matched(route.path, call.path)
        if arguments is None:
            continue
        if route.method == call.method:
            call.arguments = arguments
            return route
        known_path = True
    if known_path:
        raise RegistryError(405, "HTTP 405 Method Not Allowed")
    raise RegistryError(404, "HTTP 404 Not Found")


def _matched(template: tuple[str, ...], path: tuple[str, ...]) -> dict[str, str] | None:
    arguments: dict[str, str] = {}
    for wanted, part in zip(template, path, strict=True):
        if wanted.startswith("{"):
            arguments[wanted[1:-1]] = part
        elif wanted != part:
            return None
    return arguments
