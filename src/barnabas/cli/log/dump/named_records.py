"""Records with a known schema, as a name with fields: those of the metadata log, of the
coordinators and of control batches.

Raises ``MalformedMessage`` or ``ValueError`` when a record does not have the schema that its log
implies.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NamedTuple

from barnabas.config.sensitive import is_sensitive
from barnabas.model.ids import METADATA_TOPIC, uuid_text
from barnabas.model.topic_names import CONSUMER_OFFSETS, REMOTE_LOG_METADATA, SHARE_GROUP_STATE, TRANSACTION_STATE
from barnabas.records.control_batch import ControlType, read_control_type
from barnabas.records.record import Record
from barnabas.wire import coordinator_records
from barnabas.wire.compiler import decode
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataValue
from barnabas.wire.declare import HIDDEN, ArrayOf, Declaration, FieldType, StructOf, declaration_of
from barnabas.wire.embedded.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from barnabas.wire.embedded.control_records import (
    EndTxnMarker,
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from barnabas.wire.metadata_records import ConfigRecord, decode_metadata_record
from barnabas.wire.remote_log_records import decode_remote_log_record
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.types import Primitive
from barnabas.wire.varint import read_uvarint

_INT16 = struct.Struct(">h")


class Vocabulary(StrEnum):
    """The schema of the records of a log."""

    AUTO = "auto"
    NONE = "none"
    METADATA = "metadata"
    GROUPS = "groups"
    TRANSACTIONS = "transactions"
    SHARE_STATE = "share-state"
    REMOTE_LOG = "remote-log"

    @property
    def gives_meaning(self) -> bool:
        return self not in (Vocabulary.AUTO, Vocabulary.NONE)


_BY_TOPIC = {
    METADATA_TOPIC: Vocabulary.METADATA,
    CONSUMER_OFFSETS: Vocabulary.GROUPS,
    TRANSACTION_STATE: Vocabulary.TRANSACTIONS,
    SHARE_GROUP_STATE: Vocabulary.SHARE_STATE,
    REMOTE_LOG_METADATA: Vocabulary.REMOTE_LOG,
}
# Keys are numbered per topic, so records of different topics may have the same number.
_MODULES = {
    "transaction_log": Vocabulary.TRANSACTIONS,
    "share_snapshot": Vocabulary.SHARE_STATE,
    "share_update": Vocabulary.SHARE_STATE,
}


class NamedRecord(NamedTuple):
    type: str
    fields: dict[str, Any]
    tombstone: bool = False  # deletes what its key names


def vocabulary_of(topic: str | None) -> Vocabulary:
    return _BY_TOPIC.get(topic or "", Vocabulary.NONE)


def reader_of(vocabulary: Vocabulary) -> Callable[[Record], NamedRecord] | None:
    """None for records without a known schema."""
    match vocabulary:
        case Vocabulary.AUTO | Vocabulary.NONE:
            return None
        case Vocabulary.METADATA:
            return read_metadata_record
        case Vocabulary.REMOTE_LOG:
            return read_remote_log_record
        case _:
            return lambda record: _read_coordinator_record(vocabulary, record)


def read_metadata_record(record: Record) -> NamedRecord:
    if record.value is None:
        raise ValueError("a metadata record without a value")
    message = decode_metadata_record(record.value)
    _, position = read_uvarint(record.value, 0)
    _, position = read_uvarint(record.value, position)
    version, _ = read_uvarint(record.value, position)
    fields = {"version": version, **message_fields(message, version)}
    if isinstance(message, ConfigRecord) and message.value is not None and is_sensitive(message.name):
        fields["value"] = HIDDEN
    return NamedRecord(type(message).__name__, fields)


def read_remote_log_record(record: Record) -> NamedRecord:
    if record.value is None:
        raise ValueError("a record of remote log metadata without a value")
    message = decode_remote_log_record(record.value)
    _, position = read_uvarint(record.value, 0)
    version, _ = read_uvarint(record.value, position)
    return NamedRecord(type(message).__name__, {"version": version, **message_fields(message, version)})


def _read_coordinator_record(vocabulary: Vocabulary, record: Record) -> NamedRecord:
    if record.key is None or len(record.key) < _INT16.size:
        raise ValueError("a coordinator's record without a type in its key")
    (number,) = _INT16.unpack_from(record.key)
    known = _coordinator_messages(vocabulary)
    if number not in known:
        # A newer Kafka wrote it. Coordinators skip such records, so the log is valid.
        return NamedRecord(f"UNKNOWN_{number}", {"key": record.key, "value": record.value}, tombstone=record.value is None)
    key_class, value_class = known[number]
    key, _ = decode(key_class, 0, record.key, _INT16.size)
    fields: dict[str, Any] = {"key": message_fields(key, 0), "value": None}
    if record.value is not None:
        version = _leading_version(record.value)
        value, _ = decode(value_class, version, record.value, _INT16.size)
        fields["value"] = {"version": version, **message_fields(value, version)}
        if isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
            _open_members(value, fields["value"]["members"])
    return NamedRecord(key_class.__name__.removesuffix("Key"), fields, tombstone=record.value is None)


def _open_members(group: GroupMetadataValue, shown: list[dict[str, Any]]) -> None:
    """Decode the subscriptions and assignments of members that are consumers. Brokers treat these
    bytes as opaque."""
    for member, fields in zip(group.members, shown, strict=True):
        for name, cls in (("subscription", ConsumerProtocolSubscription), ("assignment", ConsumerProtocolAssignment)):
            data = getattr(member, name)
            with suppress(MalformedMessage, ValueError):
                version = min(_leading_version(data), declaration_of(cls).versions.highest)
                fields[name] = message_fields(decode(cls, version, data, _INT16.size)[0], version)


@lru_cache(maxsize=len(Vocabulary))
def _coordinator_messages(vocabulary: Vocabulary) -> dict[int, tuple[type[Any], type[Any]]]:
    """The classes of keys and values by the number at the start of a key."""
    classes: dict[tuple[str, int], type[Any]] = {}
    for module in iter_modules(coordinator_records.__path__):
        if _MODULES.get(module.name, Vocabulary.GROUPS) is not vocabulary:
            continue
        for each in vars(import_module(f"{coordinator_records.__name__}.{module.name}")).values():
            declared = getattr(each, "__declaration__", None)
            if isinstance(declared, Declaration) and declared.key is not None:
                classes[declared.kind, declared.key] = each
    return {number: (key, classes["coordinator-value", number]) for (kind, number), key in classes.items() if kind == "coordinator-key"}


_CONTROL_MESSAGES: dict[int, type[Any]] = {
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}


def read_control_record(record: Record) -> NamedRecord:
    """Unknown types are shown with their number and not decoded, as readers of a log do."""
    kind = read_control_type(record)
    value = record.value or b""
    name = ControlType(kind).name if kind in ControlType._value2member_map_ else f"CONTROL_{kind}"
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        version = _leading_version(value)
        marker, _ = decode(EndTxnMarker, version, value, _INT16.size)
        return NamedRecord(name, {"version": version, **message_fields(marker, version)})
    if kind == ControlType.LEADER_CHANGE:
        # The only control record whose first field selects the schema of the rest.
        version = _leading_version(value)
        return NamedRecord(name, message_fields(decode(LeaderChangeMessage, version, value)[0], version))
    if kind in _CONTROL_MESSAGES:
        return NamedRecord(name, message_fields(decode(_CONTROL_MESSAGES[kind], 0, value)[0], 0))
    return NamedRecord(name, {"value": record.value})


def _leading_version(value: bytes) -> int:
    if len(value) < _INT16.size:
        raise ValueError(f"{len(value)} bytes have no room for a version")
    version: int = _INT16.unpack_from(value)[0]
    return version


def message_fields(message: Any, version: int) -> dict[str, Any]:
    """The fields of ``version``, as Kafka's tool shows them: optional ones only when set, bytes as
    base64. Kafka's tool also shows secrets."""
    shown = {}
    for each in declaration_of(type(message)).fields:
        value = getattr(message, each.name)
        if version not in each.options.versions or (each.options.tag is not None and value == each.default()):
            continue
        shown[each.name] = HIDDEN if each.options.secret else _plain(each.type, value, version)
    return shown


def _plain(kind: FieldType, value: Any, version: int) -> Any:
    if value is None:
        return None
    match kind:
        case Primitive(name="uuid"):
            return uuid_text(value)
        case Primitive(name="bytes" | "records"):
            return base64.b64encode(value).decode("ascii")
        case Primitive():
            return value
        case ArrayOf(element):
            return [_plain(element, each, version) for each in value]
        case StructOf():
            return message_fields(value, version)
