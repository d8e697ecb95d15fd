"""Our bytes are kio's bytes, for every request, response, header and embedded struct in every
version.

kio generates a class per version from Kafka's schemas and shares no code with us. It models some
integers as something nicer (error codes, durations, moments), so the values compared here are those
that both sides can hold.
"""

from __future__ import annotations

import dataclasses
import io
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from kio.index import load_entity_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import Field, FieldType, declaration_of
from barnabas.wire.types import Primitive
from peers.apache_kafka import why_missing
from tests.unit.wire.declared import (
    Versioned,
    any_primitive,
    bare,
    every_version,
    full,
    hollow,
    messages,
    present_fields,
    struct_inside,
)

_KINDS = {
    "request": EntityType.request,
    "response": EntityType.response,
    "header": EntityType.header,
    "data": EntityType.data,
}
# Kafka's own classes compare the same bytes in test_java_bytes, so kio is asked less where Java is.
EXAMPLES = 8 if why_missing() else 2
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
# kio computes durations and moments in floating point, which is exact to the millisecond for some
# nine thousand years.
_EXACT_MS = 2**48
_NARROWED: dict[str, st.SearchStrategy[Any]] = {
    "error_code": st.sampled_from([each.value for each in ErrorCode]),
    "timedelta_i64": st.integers(-_EXACT_MS, _EXACT_MS),
    "datetime_i64": st.integers(0, 2**47),
}


@lru_cache(maxsize=None)  # one per message and version
def kio_class(versioned: Versioned) -> type[Any]:
    declaration = declaration_of(versioned.cls)
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", declaration.name).lower()
    if declaration.kind in ("request", "response"):
        name = name.removesuffix(f"_{declaration.kind}")
    # mypy cannot know which kinds kio can load.
    return load_entity_schema(name, versioned.version, _KINDS[declaration.kind])  # type: ignore[arg-type]


def twins(cls: type[Any], theirs: type[Any], version: int) -> Iterator[tuple[Field, Any]]:
    """Our fields of a version beside kio's: both follow the schema's order, so position and not
    name pairs them."""
    return zip(present_fields(cls, version), dataclasses.fields(theirs), strict=True)


def struct_class(annotation: Any) -> type[Any]:
    """The one dataclass inside ``X | None`` or ``tuple[X, ...]``."""
    if dataclasses.is_dataclass(annotation):
        assert isinstance(annotation, type)
        return annotation
    (found,) = (struct_class(each) for each in get_args(annotation) if each not in (type(None), Ellipsis))
    return found


@lru_cache(maxsize=None)  # one per message and version
def common_messages(versioned: Versioned) -> st.SearchStrategy[Any]:
    """Messages that both we and kio can hold."""
    kafka_types: dict[tuple[type[Any], str], str | None] = {}

    def walk(cls: type[Any], theirs: type[Any]) -> None:
        for ours, their in twins(cls, theirs, versioned.version):
            kafka_types[cls, ours.name] = their.metadata.get("kafka_type")
            if inner := struct_inside(ours.type):
                walk(inner, struct_class(their.type))

    def narrowed(cls: type[Any], field: Field, kind: Primitive) -> st.SearchStrategy[Any]:
        kafka_type = kafka_types[cls, field.name]
        return _NARROWED[kafka_type] if kafka_type in _NARROWED else any_primitive(cls, field, kind)

    walk(versioned.cls, kio_class(versioned))
    return messages(versioned.cls, versioned.version, narrowed)


def to_kio(message: Any, theirs: type[Any], version: int) -> Any:
    def convert(value: Any, kind: FieldType, their: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, list):
            return tuple(convert(each, kind, their) for each in value)
        if struct_inside(kind):
            return to_kio(value, struct_class(their.type), version)
        match their.metadata["kafka_type"]:
            case "uuid":
                return UUID(bytes=value) if any(value) else None
            case "error_code":
                return ErrorCode(value)
            case "timedelta_i32" | "timedelta_i64":
                return value * _MILLISECOND
            case "datetime_i64":
                return None if value == -1 else _EPOCH + value * _MILLISECOND
            case _:
                return value

    return theirs(
        **{their.name: convert(getattr(message, ours.name), ours.type, their) for ours, their in twins(type(message), theirs, version)}
    )


def assert_same_bytes(message: Any, versioned: Versioned) -> None:
    theirs = kio_class(versioned)
    out = io.BytesIO()
    entity_writer(theirs)(out, to_kio(message, theirs, versioned.version))
    kio_bytes = out.getvalue()
    assert encode(message, versioned.version) == kio_bytes
    assert decode(versioned.cls, versioned.version, kio_bytes) == (message, len(kio_bytes))


@pytest.mark.parametrize("versioned", every_version(*_KINDS), ids=str)
@settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_our_bytes_are_kios_bytes_and_read_back_as_the_same_message(versioned: Versioned, data: st.DataObject) -> None:
    assert_same_bytes(data.draw(common_messages(versioned)), versioned)


@pytest.mark.parametrize("versioned", every_version(*_KINDS), ids=str)
def test_defaults_every_field_set_and_every_null_have_kios_bytes(versioned: Versioned) -> None:
    for build in (bare, full, hollow):
        assert_same_bytes(build(versioned.cls, versioned.version), versioned)
