"""Schemas as the registry shows them."""

from __future__ import annotations

from typing import Any

from barnabas.registry.core.digest import guid_of
from barnabas.registry.core.entries import SchemaEntry
from barnabas.registry.core.errors import invalid_schema, unprocessable
from barnabas.registry.core.registering import NO_ID, NO_VERSION, Registration
from barnabas.registry.core.rule_sets import checked_metadata, checked_rule_set
from barnabas.schemas.schema import Reference, SchemaType


def version_shown(entry: SchemaEntry) -> dict[str, Any]:
    return {
        "subject": entry.subject,
        "version": entry.version,
        "id": entry.id,
        "guid": guid_of(entry.md5),
        **_type_shown(entry),
        **_parts_shown(entry),
        "schema": entry.text,
        **({"deleted": True} if entry.deleted else {}),
    }


def schema_shown(entry: SchemaEntry, *, id_max: int | None = None) -> dict[str, Any]:
    """A schema without a subject and a version, as clients get it by its id."""
    return {
        "schema": entry.text,
        "guid": guid_of(entry.md5),
        **_type_shown(entry),
        **_parts_shown(entry),
        **({"maxId": id_max} if id_max is not None else {}),
    }


def registered_shown(entry: SchemaEntry, *, with_text: bool = True) -> dict[str, Any]:
    return {
        "id": entry.id,
        "version": entry.version,
        "guid": guid_of(entry.md5),
        **_type_shown(entry),
        **_parts_shown(entry),
        **({"schema": entry.text} if with_text else {}),
    }


def _type_shown(entry: SchemaEntry) -> dict[str, Any]:
    # Absent means Avro, for clients that are older than the other types.
    return {} if entry.type is SchemaType.AVRO else {"schemaType": entry.type.value}


def _parts_shown(entry: SchemaEntry) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    if entry.references:
        parts["references"] = [each._asdict() for each in entry.references]
    if entry.metadata:
        parts["metadata"] = entry.metadata
    if entry.rule_set:
        parts["ruleSet"] = entry.rule_set
    return parts


def registration(body: dict[str, Any], *, may_be_empty: bool = False) -> Registration:
    """The schema in a request. Raises a RegistryError for a field of another type."""
    text = body.get("schema")
    if text is None:
        text = ""
    if not isinstance(text, str) or (not text.strip() and not may_be_empty):
        raise invalid_schema("Empty schema")
    named = body.get("schemaType")
    if named is None or named == "":
        named = SchemaType.AVRO.value
    if not isinstance(named, str) or named not in SchemaType.__members__:
        raise invalid_schema(f"Invalid schema type {named}; the types are AVRO, JSON and PROTOBUF")
    return Registration(
        SchemaType(named),
        text,
        _references(body.get("references")),
        checked_metadata(body.get("metadata")),
        checked_rule_set(body.get("ruleSet")),
        _number(body, "id", NO_ID),
        _number(body, "version", NO_VERSION),
    )


def _references(read: Any) -> tuple[Reference, ...]:
    if read is None:
        return ()
    if not isinstance(read, list):
        raise unprocessable("The references are no list.")
    found = []
    for each in read:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str) or not isinstance(each.get("subject"), str):
            raise unprocessable("A reference has a name, a subject and a version.")
        version = each.get("version")
        if not isinstance(version, int) or isinstance(version, bool):
            raise unprocessable(f"The reference {each['name']} has no version.")
        found.append(Reference(each["name"], each["subject"], version))
    return tuple(found)


def _number(body: dict[str, Any], name: str, default: int) -> int:
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool) or not -1 <= value < 2**31:
        raise unprocessable(f"The field {name} is a number, and not {value!r}.")
    return default if value < 0 else value
