"""The records of ``_schemas``: Confluent's keys and values, byte for byte.

The order of the names in a key matters, because compaction compares bytes. Values are JSON objects;
a value that is absent is a tombstone. Karapace deletes with an empty value, which counts as one.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from barnabas.registry.core.digest import digest_of
from barnabas.schemas.schema import Reference, SchemaType

_SCHEMA_MAGIC: Final = 1
_MAGIC: Final = 0
_TENANT: Final = "default"
_MD5_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class SchemaKey:
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class ConfigKey:
    subject: str | None
    """None for the settings of all subjects."""


@dataclass(frozen=True, slots=True)
class ModeKey:
    subject: str | None


@dataclass(frozen=True, slots=True)
class DeleteSubjectKey:
    subject: str


@dataclass(frozen=True, slots=True)
class ClearSubjectKey:
    subject: str | None


@dataclass(frozen=True, slots=True)
class ContextKey:
    context: str


@dataclass(frozen=True, slots=True)
class AssociationKey:
    resource_name: str
    resource_namespace: str
    resource_type: str
    association_type: str
    subject: str


@dataclass(frozen=True, slots=True)
class NoopKey:
    """Writes of a new leader, by which it learns where the topic ends."""


Key: TypeAlias = SchemaKey | ConfigKey | ModeKey | DeleteSubjectKey | ClearSubjectKey | ContextKey | AssociationKey | NoopKey


@dataclass(frozen=True, slots=True)
class SchemaEntry:
    """A version of a subject."""

    subject: str
    version: int
    id: int
    type: SchemaType
    text: str
    md5: bytes
    references: tuple[Reference, ...] = ()
    metadata: Mapping[str, Any] | None = None
    rule_set: Mapping[str, Any] | None = None
    deleted: bool = False
    rest: Mapping[str, Any] = field(default_factory=dict)
    """Fields that other registries write and this one does not know; they are kept."""

    def as_deleted(self) -> SchemaEntry:
        return replace(self, deleted=True)


@dataclass(frozen=True, slots=True)
class Entry:
    """A record of the topic. ``value`` is a SchemaEntry under a SchemaKey, and JSON elsewhere."""

    key: Key
    value: SchemaEntry | Mapping[str, Any] | None

    def encode(self) -> tuple[bytes, bytes | None]:
        key = _bytes(_key_json(self.key))
        if self.value is None:
            return key, None
        return key, _bytes(_schema_json(self.value) if isinstance(self.value, SchemaEntry) else dict(self.value))


def decode(key: bytes, value: bytes | None) -> Entry | None:
    """None for a record that this registry does not understand: newer ones may write such."""
    try:
        read = json.loads(key)
        decoded = _key(read)
        if decoded is None or not value:
            return Entry(decoded, None) if decoded is not None else None
        body = json.loads(value)
        if not isinstance(body, dict):
            return None
        match decoded:
            case SchemaKey():
                return Entry(decoded, _schema(decoded, body))
            case DeleteSubjectKey():
                return Entry(decoded, {**body, "version": int(body.get("version", 0))})
        return Entry(decoded, body)
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _key_json(key: Key) -> dict[str, Any]:
    match key:
        case SchemaKey(subject=subject, version=version):
            return {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": _SCHEMA_MAGIC}
        case ConfigKey(subject=named):
            return {"keytype": "CONFIG", **_subject(named), "magic": _MAGIC}
        case ModeKey(subject=named):
            return {"keytype": "MODE", **_subject(named), "magic": _MAGIC}
        case DeleteSubjectKey(subject=subject):
            return {"keytype": "DELETE_SUBJECT", "subject": subject, "magic": _MAGIC}
        case ClearSubjectKey(subject=named):
            return {"keytype": "CLEAR_SUBJECT", **_subject(named), "magic": _MAGIC}
        case ContextKey(context=context):
            return {"keytype": "CONTEXT", "tenant": _TENANT, "context": context, "magic": _MAGIC}
        case AssociationKey():
            return {
                "keytype": "ASSOC",
                "tenant": _TENANT,
                "resourceName": key.resource_name,
                "resourceNamespace": key.resource_namespace,
                "resourceType": key.resource_type,
                "associationType": key.association_type,
                "subject": key.subject,
                "magic": _MAGIC,
            }
        case NoopKey():
            return {"keytype": "NOOP", "magic": _MAGIC}


def _subject(subject: str | None) -> dict[str, str]:
    return {"subject": subject} if subject is not None else {}


def _key(read: dict[str, Any]) -> Key | None:
    match read["keytype"]:
        case "SCHEMA":
            return SchemaKey(_text(read["subject"]), int(read["version"]))
        case "CONFIG":
            return ConfigKey(_text(read.get("subject") or "") or None)
        case "MODE":
            return ModeKey(_text(read.get("subject") or "") or None)
        case "DELETE_SUBJECT":
            return DeleteSubjectKey(_text(read["subject"]))
        case "CLEAR_SUBJECT":
            return ClearSubjectKey(_text(read.get("subject") or "") or None)
        case "CONTEXT":
            return ContextKey(_text(read["context"]))
        case "ASSOC":
            names = ("resourceName", "resourceNamespace", "resourceType", "associationType", "subject")
            return AssociationKey(*(_text(read[name]) for name in names))
        case "NOOP":
            return NoopKey()
    return None


_KNOWN: Final = frozenset({"subject", "version", "id", "md5", "schemaType", "references", "metadata", "ruleSet", "schema", "deleted"})


def _schema(key: SchemaKey, read: dict[str, Any]) -> SchemaEntry:
    references = tuple(
        Reference(_text(each["name"]), _text(each["subject"]), int(each["version"])) for each in read.get("references") or ()
    )
    text, metadata, rule_set = _text(read["schema"]), _object(read.get("metadata")), _object(read.get("ruleSet"))
    md5 = b64decode(read.get("md5") or "")
    if len(md5) != _MD5_BYTES:
        # Older registries store no digest.
        md5 = digest_of(text, references, metadata, rule_set)
    return SchemaEntry(
        key.subject,
        key.version,
        int(read["id"]),
        SchemaType(read.get("schemaType") or "AVRO"),
        text,
        md5,
        references,
        metadata,
        rule_set,
        bool(read.get("deleted", False)),
        {name: value for name, value in read.items() if name not in _KNOWN},
    )


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _object(value: Any) -> dict[str, Any] | None:
    if value is not None and not isinstance(value, dict):
        raise TypeError(f"{value!r} is no object")
    return value


def _schema_json(entry: SchemaEntry) -> dict[str, Any]:
    printed: dict[str, Any] = {"subject": entry.subject, "version": entry.version, "id": entry.id, "md5": b64encode(entry.md5).decode()}
    if entry.type is not SchemaType.AVRO:
        printed["schemaType"] = entry.type.value
    if entry.references:
        printed["references"] = [each._asdict() for each in entry.references]
    if entry.metadata:
        printed["metadata"] = entry.metadata
    if entry.rule_set:
        printed["ruleSet"] = entry.rule_set
    return {**printed, "schema": entry.text, "deleted": entry.deleted, **entry.rest}


def _bytes(value: dict[str, Any]) -> bytes:
    # Halves of surrogate pairs, which other registries may have stored, stay escaped.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode(errors="backslashreplace")
