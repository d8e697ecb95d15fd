"""Associations: which subject a topic's keys or values use, if not the one named after the topic.

A *strong* association owns its subject, which carries the name of the topic. It is *frozen*: it
never changes, and comes with the first schema of the subject. A *weak* association uses a subject
that other topics may use, too.

A subject has one strong association or any number of weak ones. The rules, codes and sentences are
those of Confluent's registry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from barnabas.registry.core.decision import Decision
from barnabas.registry.core.deleting import erased
from barnabas.registry.core.entries import AssociationKey, Entry
from barnabas.registry.core.errors import RegistryError, not_permitted, reference_exists
from barnabas.registry.core.lookup import find_schema
from barnabas.registry.core.parsed_schemas import ParsedSchemas
from barnabas.registry.core.registering import Registration
from barnabas.registry.core.scope import Mode, mode_in_scope
from barnabas.registry.core.state import RegistryState
from barnabas.registry.core.subject import normalized

STRONG: Final = "STRONG"
WEAK: Final = "WEAK"
ANY_NAMESPACE: Final = "-"


@dataclass(frozen=True, slots=True)
class Resource:
    name: str
    namespace: str
    type: str = "topic"
    id: str | None = None

    def own_subject(self, kind: str) -> str:
        return normalized(f":.{self.namespace}:{self.name}-{kind}")


@dataclass(frozen=True, slots=True)
class WantedAssociation:
    kind: str
    """``key`` or ``value``."""
    subject: str | None = None
    lifecycle: str | None = None
    frozen: bool | None = None
    schema: Registration | None = None
    normalize: bool = False


def invalid(name: str, detail: str) -> RegistryError:
    return RegistryError(42212, f"The association specified an invalid value for property: '{name}', detail: {detail}")


def shown(key: AssociationKey, value: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "subject": key.subject,
        "guid": value.get("guid"),
        "resourceName": key.resource_name,
        "resourceNamespace": key.resource_namespace,
        "resourceId": value.get("resourceId"),
        "resourceType": key.resource_type,
        "associationType": key.association_type,
        "lifecycle": value.get("lifecycle"),
        "frozen": bool(value.get("frozen", False)),
    }


def found(
    state: RegistryState,
    *,
    subject: str | None = None,
    resource: Resource | None = None,
    resource_id: str | None = None,
    resource_type: str | None = None,
    types: Iterable[str] = (),
    lifecycle: str | None = None,
) -> list[dict[str, Any]]:
    """A resource of the name ``-`` stands for all of its namespace."""
    wanted = set(types)
    return [
        shown(key, value)
        for key, value in list(state.associations.items())
        if subject is None or key.subject == subject
        if resource is None or _names(resource, key)
        if resource_id is None or value.get("resourceId") == resource_id
        if resource_type is None or key.resource_type == resource_type
        if not wanted or key.association_type in wanted
        if lifecycle is None or value.get("lifecycle") == lifecycle
    ]


def _names(resource: Resource, key: AssociationKey) -> bool:
    if resource.name == ANY_NAMESPACE:
        return key.resource_namespace == resource.namespace
    return key.resource_name == resource.name and resource.namespace in (ANY_NAMESPACE, key.resource_namespace)


def associate(
    state: RegistryState, parsed: ParsedSchemas, resource: Resource, wanted: Sequence[WantedAssociation], *, create: bool
) -> Decision[list[dict[str, Any]]]:
    """Create associations; without ``create`` also change those that exist. Schemas that come with
    them are registered apart, and count as registered here."""
    stored = [key for key, value in state.associations.items() if resource.id and value.get("resourceId") == resource.id]
    existing = {key.association_type: key for key in stored}
    records: list[tuple[AssociationKey, Mapping[str, Any]]] = []
    lifecycles = {kind: str(state.associations[key].get("lifecycle")) for kind, key in existing.items()}
    for each in wanted:
        key = existing.get(each.kind)
        settled = _settled(state, resource, each, key, create=create)
        assert settled.subject is not None
        assert settled.lifecycle is not None
        lifecycles[each.kind] = settled.lifecycle
        if key is None:
            _check_new(state, parsed, settled, create=create)
        elif _is_equivalent(state, key, settled):
            if create and settled.schema is not None and not _has_schema(state, parsed, settled):
                raise _exists(each.kind, resource)
            continue
        else:
            _check_change(state, resource, key, each, settled, create=create)
        _check_subject(state, settled, key)
        records.append(_record(state, resource, settled, key))
    if len(set(lifecycles.values())) > 1:
        listed = ", ".join(f"{kind}={lifecycle}" for kind, lifecycle in lifecycles.items())
        raise invalid("lifecycle", f"all associations for a resource must have the same lifecycle, but got {listed}")
    return Decision([shown(*record) for record in records], [Entry(*record) for record in records])


def _settled(
    state: RegistryState, resource: Resource, wanted: WantedAssociation, key: AssociationKey | None, *, create: bool
) -> WantedAssociation:
    """The association with everything that the request leaves open."""
    own = resource.own_subject(wanted.kind)
    stored = state.associations[key] if key is not None else {}
    lifecycle = wanted.lifecycle or stored.get("lifecycle")
    if key is None:
        if wanted.schema is not None and not create:
            raise invalid("schema", "cannot be provided when adding an association to an existing topic")
        lifecycle = STRONG if wanted.schema is not None else lifecycle or WEAK
    frozen = wanted.frozen if wanted.frozen is not None else bool(stored.get("frozen", False)) if key is not None else lifecycle == STRONG
    if frozen != (lifecycle == STRONG):
        raise invalid("frozen", f"association with lifecycle of {lifecycle} cannot be frozen={str(frozen).lower()}")
    subject = wanted.subject or (key.subject if key is not None else own if lifecycle == STRONG or create else None)
    if subject is None or (lifecycle == WEAK and wanted.subject is None and key is None):
        raise invalid("subject", "must be provided for WEAK associations")
    subject = normalized(subject)
    if lifecycle == WEAK and wanted.schema is not None:
        raise invalid("lifecycle", "cannot be WEAK when schema is provided")
    if lifecycle == WEAK and subject == own:
        raise invalid("subject", f"WEAK associations cannot use subject '{own}'")
    if frozen and subject != own:
        raise invalid("subject", f"frozen associations must use subject '{own}'")
    if mode_in_scope(state, subject).read_only:
        raise not_permitted(f"Subject {subject} is in read-only mode")
    return replace(wanted, subject=subject, lifecycle=lifecycle, frozen=frozen)


def _check_new(state: RegistryState, parsed: ParsedSchemas, wanted: WantedAssociation, *, create: bool) -> None:
    assert wanted.subject is not None
    if wanted.lifecycle != STRONG or mode_in_scope(state, wanted.subject) is Mode.IMPORT:
        return
    if not create:
        raise invalid("lifecycle", "cannot be STRONG when creating an association; STRONG associations must be created with the topic")
    if wanted.schema is None:
        raise invalid("schema", "schema must be provided when creating a frozen association")
    latest = state.latest(wanted.subject)
    if latest is not None and (latest.version != 1 or not _has_schema(state, parsed, wanted)):
        raise invalid("frozen", "cannot create a frozen association when schemas already exist in the subject")


def _check_change(
    state: RegistryState, resource: Resource, key: AssociationKey, asked: WantedAssociation, settled: WantedAssociation, *, create: bool
) -> None:
    if create:
        raise _exists(settled.kind, resource)
    if asked.lifecycle is None and asked.schema is None:
        raise invalid("lifecycle", "at least lifecycle or schema must be provided for update")
    if settled.subject != key.subject:
        raise invalid("subject", f"subject of association cannot be changed from '{key.subject}' to '{settled.subject}'")
    if settled.frozen != bool(state.associations[key].get("frozen", False)):
        raise invalid("frozen", "frozen attribute of association cannot be changed")
    if settled.frozen:
        raise _frozen(key)


def _check_subject(state: RegistryState, wanted: WantedAssociation, key: AssociationKey | None) -> None:
    subject = wanted.subject
    assert subject is not None
    if wanted.schema is not None and mode_in_scope(state, subject) is Mode.IMPORT:
        raise invalid("schema", f"cannot be provided while subject '{subject}' is in IMPORT mode")
    if wanted.schema is None and not state.versions(subject):
        raise RegistryError(40907, f"No active (non-deleted) version exists for subject '{subject}'")
    others = [other for other in state.associations if other.subject == subject and other != key]
    if wanted.lifecycle == STRONG and others:
        raise RegistryError(40904, f"An association already exists for subject '{subject}'")
    if any(state.associations[other].get("lifecycle") == STRONG for other in others):
        raise RegistryError(40905, f"A strong association already exists for subject '{subject}'")
    for entry in state.versions(subject) if wanted.lifecycle == STRONG else ():
        if state.referrers(subject, entry.version):
            raise reference_exists(subject, entry.version)


def _record(
    state: RegistryState, resource: Resource, wanted: WantedAssociation, key: AssociationKey | None
) -> tuple[AssociationKey, Mapping[str, Any]]:
    assert wanted.subject is not None
    key = key or AssociationKey(resource.name, resource.namespace, resource.type, wanted.kind, wanted.subject)
    stored = state.associations.get(key, {})
    place = {
        "resourceName": key.resource_name,
        "resourceNamespace": key.resource_namespace,
        "resourceId": resource.id,
        "resourceType": key.resource_type,
        "associationType": key.association_type,
        "subject": key.subject,
    }
    guid = stored.get("guid") or str(uuid5(NAMESPACE_URL, repr(place)))
    return key, {"guid": guid, "tenant": "default", **place, "lifecycle": wanted.lifecycle, "frozen": wanted.frozen}


def dissociate(
    state: RegistryState, resource_id: str, *, resource_type: str | None, types: Iterable[str], cascade: bool = False
) -> Decision[int]:
    """The number of associations that go. With ``cascade`` a frozen one goes, too, and a strong one
    with its subject."""
    wanted = set(types)
    gone = [
        key
        for key, value in state.associations.items()
        if value.get("resourceId") == resource_id
        if resource_type is None or key.resource_type == resource_type
        if not wanted or key.association_type in wanted
    ]
    entries: list[Entry] = []
    for key in gone:
        if mode_in_scope(state, key.subject).read_only:
            raise not_permitted(f"Subject {key.subject} is in read-only mode")
        if state.associations[key].get("frozen") and not cascade:
            raise _frozen(key)
        entries.append(Entry(key, None))
        strong = state.associations[key].get("lifecycle") == STRONG
        if cascade and strong and mode_in_scope(state, key.subject) is not Mode.IMPORT:
            entries += erased(state, key.subject)
    return Decision(len(gone), entries)


def _is_equivalent(state: RegistryState, key: AssociationKey, wanted: WantedAssociation) -> bool:
    stored = state.associations[key]
    return (key.subject, stored.get("lifecycle"), bool(stored.get("frozen"))) == (wanted.subject, wanted.lifecycle, wanted.frozen)


def _has_schema(state: RegistryState, parsed: ParsedSchemas, wanted: WantedAssociation) -> bool:
    assert wanted.subject is not None
    assert wanted.schema is not None
    try:
        find_schema(state, parsed, wanted.subject, wanted.schema, normalize=wanted.normalize)
    except RegistryError:
        return False
    return True


def _exists(kind: str, resource: Resource) -> RegistryError:
    return RegistryError(40903, f"An association of type '{kind}' already exists for resource '{resource.name}'")


def _frozen(key: AssociationKey) -> RegistryError:
    return RegistryError(40908, f"The association of type  '{key.association_type}' is frozen for subject '{key.subject}'")
