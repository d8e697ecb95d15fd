"""Associations in the bodies of requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from barnabas.registry.core.associating import STRONG, WEAK, Resource, WantedAssociation, invalid
from barnabas.registry.core.subject import is_valid, normalized
from barnabas.registry.endpoints.printed import registration

ASSOCIATIONS_PER_REQUEST_MAX: Final = 100
REQUESTS_PER_BATCH_MAX: Final = 100
_TOPIC: Final = "topic"
_KINDS: Final = ("key", "value")


def requests_of(read: Mapping[str, Any]) -> list[Any]:
    asked = read.get("requests")
    if not isinstance(asked, list) or not 0 < len(asked) <= REQUESTS_PER_BATCH_MAX:
        raise invalid("requests", f"cannot be null or empty, nor more than {REQUESTS_PER_BATCH_MAX}")
    return asked


def resource_of(read: Any, *, needs_id: bool = True) -> Resource:
    if not isinstance(read, Mapping):
        raise invalid("requests", "are objects")
    resource_id = read.get("resourceId")
    if resource_id is not None and not isinstance(resource_id, str):
        raise invalid("resourceId", "is no text")
    if needs_id and not resource_id:
        raise invalid("resourceId", "cannot be null or empty")
    if read.get("resourceType") not in (None, "", _TOPIC):
        raise invalid("resourceType", f"must be '{_TOPIC}'")
    return Resource(_name(read, "resourceName"), _name(read, "resourceNamespace"), _TOPIC, resource_id or None)


def associations_of(read: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    asked = read.get("associations")
    if not isinstance(asked, list) or not asked:
        raise invalid("associations", "cannot be null or empty")
    if len(asked) > ASSOCIATIONS_PER_REQUEST_MAX or not all(isinstance(each, Mapping) for each in asked):
        raise invalid("associations", f"are at most {ASSOCIATIONS_PER_REQUEST_MAX} objects")
    kinds = [kind_of(each) for each in asked]
    repeated = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if repeated is not None:
        raise invalid("associationType", f"may only appear once per request, but '{repeated}' appears more than once")
    return asked


def kind_of(read: Mapping[str, Any]) -> str:
    kind = read.get("associationType") or "value"
    if kind not in _KINDS:
        raise invalid("associationType", "must be either 'key' or 'value'")
    return str(kind)


def association_of(read: Mapping[str, Any]) -> WantedAssociation:
    subject, lifecycle, frozen, schema = (read.get(name) for name in ("subject", "lifecycle", "frozen", "schema"))
    if subject is not None and (not isinstance(subject, str) or not is_valid(subject)):
        raise invalid("subject", f"{subject!r} is no subject")
    if lifecycle is not None and lifecycle not in (STRONG, WEAK):
        raise invalid("lifecycle", "must be either 'STRONG' or 'WEAK'")
    if frozen is not None and not isinstance(frozen, bool):
        raise invalid("frozen", "is true or false")
    if schema is not None and not isinstance(schema, dict):
        raise invalid("schema", "is an object with a schema")
    return WantedAssociation(
        kind_of(read),
        normalized(subject) if subject is not None else None,
        lifecycle,
        frozen,
        registration(schema) if schema is not None else None,
        read.get("normalize") is True,
    )


def _name(read: Mapping[str, Any], name: str) -> str:
    value = read.get(name)
    if not isinstance(value, str) or not value or not is_valid(value):
        raise invalid(name, "cannot be null or empty, and has no control characters")
    return value
