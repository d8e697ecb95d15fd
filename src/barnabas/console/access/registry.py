"""Requests to the schema registry of a cluster.

Requests block, and run on threads of the console. Answers are not remembered: a person that looks
at subjects wants to see the change of a moment ago.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from barnabas.console.access.schema_decoding import NEEDS_EXTRA
from barnabas.console.core.subject import Schema, SchemaReference, SubjectRow, SubjectVersion, pretty_schema, versions_of
from barnabas.console.errors import BadValue, ClusterRefused, ConsoleError, Denied, NotFound

if TYPE_CHECKING:
    from barnabas.console.access.cluster_client import ClusterClient

NO_REGISTRY: Final = (
    "This cluster has no schema registry here: name one with --registry URL, or with registry: URL in the file of the console."
)
# Schemas that use a version, on its page; each is a request.
REFERRERS_MAX: Final = 50
_DELETED: Final = {"deleted": "true"}


async def ask_registry(client: ClusterClient, method: str, path: str, body: Any = None, *, query: dict[str, str] | None = None) -> Any:
    """The answer as JSON. Raises a :class:`ConsoleError` with the sentence of the registry."""
    if not client.schemas.has_registry:
        raise NotFound(NO_REGISTRY)
    try:
        from barnabas.registry_client import RegistryError, errors as refusals
    except ImportError:
        raise ClusterRefused(NEEDS_EXTRA) from None
    try:
        return await client.run(lambda: client.schemas.registry().ask(method, path, body, query=query))
    except refusals.NotFound as error:
        raise NotFound(f"The registry refuses: {error}") from error
    except refusals.RegistryRefused as error:
        if error.status in (401, 403):
            raise Denied(f"The registry denies this: {error}") from error
        raise BadValue(f"The registry refuses: {error}") from error
    except RegistryError as error:
        raise ClusterRefused(str(error)) from error


async def optional(client: ClusterClient, path: str, *, query: dict[str, str] | None = None) -> Any | None:
    """None for a subject without a setting of its own, and for one that the person may not see."""
    try:
        return await ask_registry(client, "GET", path, query=query)
    except (NotFound, Denied):
        return None


def subject_path(subject: str, *parts: str | int, below: str = "/subjects") -> str:
    """The path of a subject, or of its rules below ``/config`` and ``/mode``."""
    if subject in (".", ".."):
        # A client of HTTP removes these segments from a path, so the request would be one about the
        # whole registry.
        raise BadValue(f"A subject cannot be {subject!r}: an address of the registry cannot name it.", "subject")
    return "/".join([below, quote(subject, safe=""), *map(str, parts)])


async def subject_names(client: ClusterClient, *, deleted: bool = False) -> list[str]:
    found = await ask_registry(client, "GET", "/subjects", query=_DELETED if deleted else None)
    return sorted(map(str, found)) if isinstance(found, list) else []


async def subject_rows(client: ClusterClient, names: list[str], active: frozenset[str]) -> list[SubjectRow]:
    """With the latest version of each; those of one page, asked at once."""
    return list(await asyncio.gather(*(_row(client, each, each not in active) for each in names)))


async def _row(client: ClusterClient, name: str, is_deleted: bool) -> SubjectRow:
    query = _DELETED if is_deleted else None
    try:
        found = schema_of(await ask_registry(client, "GET", subject_path(name, "versions", "latest"), query=query))
    except ConsoleError:
        return SubjectRow(name, is_deleted)
    return SubjectRow(name, is_deleted, found.version, found.id, found.type)


async def versions(client: ClusterClient, subject: str) -> list[SubjectVersion]:
    """Raises :class:`NotFound` for a subject that never had one."""
    path = subject_path(subject, "versions")
    everything, active = await asyncio.gather(ask_registry(client, "GET", path, query=_DELETED), optional(client, path))
    return versions_of(_numbers(everything), _numbers(active))


async def schema_version(client: ClusterClient, subject: str, version: int | str) -> Schema:
    return schema_of(await ask_registry(client, "GET", subject_path(subject, "versions", version), query=_DELETED))


async def latest_schema(client: ClusterClient, subject: str) -> Schema | None:
    """None for a subject without a version that is not deleted."""
    found = await optional(client, subject_path(subject, "versions", "latest"))
    return schema_of(found) if found is not None else None


async def referrers(client: ClusterClient, subject: str, version: int) -> list[tuple[str, int]]:
    """Subjects and versions that refer to this one."""
    ids = _numbers(await optional(client, subject_path(subject, "versions", version, "referencedby")))[:REFERRERS_MAX]
    found = await asyncio.gather(*(optional(client, f"/schemas/ids/{each}/versions") for each in ids))
    return sorted({(str(one["subject"]), int(one["version"])) for answer in found for one in answer or ()})


def schema_of(answer: Any) -> Schema:
    try:
        kind, text = str(answer.get("schemaType") or "AVRO"), str(answer["schema"])
        references = [
            SchemaReference(str(each["name"]), str(each["subject"]), int(each["version"])) for each in answer.get("references") or ()
        ]
        return Schema(str(answer["subject"]), int(answer["version"]), answer.get("id"), kind, text, pretty_schema(kind, text), references)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ClusterRefused(f"The registry answers with something else than its API says: {error!r}.") from error


def _numbers(answer: Any) -> list[int]:
    return [each for each in answer if isinstance(each, int)] if isinstance(answer, list) else []
