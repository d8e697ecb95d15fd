"""Every declaration equals the schema of Apache Kafka, field by field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.declare import ArrayOf, Declaration, Field, FieldType, StructOf, declaration_of
from barnabas.wire.types import Primitive
from barnabas.wire.versions import ALWAYS, NEVER, Versions
from peers.apache_kafka import why_missing
from tests.conformance.wire.schemas import Schema, SchemaField, live_schemas
from tests.unit.wire.declared import declared_messages, struct_inside

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")

# The formats of two files, not of messages or records: the storage and quorum packages know them.
_FILE_FORMATS = {"ProducerSnapshot", "QuorumStateData"}


@dataclass(frozen=True, slots=True)
class Facts:
    """The properties of a field that both sides know; ``default`` of a struct is None or the word
    ``struct``."""

    path: str
    type: str
    versions: Versions
    nullable: Versions
    tagged: Versions
    tag: int | None
    default: object
    ignorable: bool
    flexible: bool


def snake_case(name: str) -> str:
    # KRaft is one word in spite of its capitals.
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.replace("KRaft", "Kraft")).lower()


def facts_of_schema(fields: tuple[SchemaField, ...], path: str = "") -> Iterator[Facts]:
    for each in fields:
        name = path + snake_case(each.name)
        kind = "struct" if each.fields is not None else each.type
        yield Facts(
            path=name,
            type=f"list of {kind}" if each.is_array else kind,
            versions=each.versions,
            nullable=each.nullable,
            tagged=each.tagged,
            tag=each.tag,
            default=default_in_schema(each),
            ignorable=each.ignorable,
            flexible=each.flexible == ALWAYS,
        )
        assert each.flexible in (ALWAYS, NEVER), f"{name} is flexible in {each.flexible}, which we cannot declare"
        yield from facts_of_schema(each.fields or (), name + ".")


def default_in_schema(field: SchemaField) -> object:
    text = field.default
    if text == "null":
        return None
    if field.is_array:
        assert text == ""
        return []
    if field.fields is not None:
        assert text == ""
        return "struct"
    match field.type:
        case "bool":
            return text == "true"
        case "string":
            return text
        case "bytes" | "records":
            assert text == ""
            return b""
        case "uuid":
            assert text == ""
            return ZERO_UUID
        case "float64":
            return float(text or 0)
        case _:
            return int(text or "0", 0)


def facts_of_declaration(declaration: Declaration, path: str = "") -> Iterator[Facts]:
    for each in declaration.fields:
        name = path + each.name
        yield Facts(
            path=name,
            type=type_name(each.type),
            versions=each.options.versions,
            nullable=each.options.nullable,
            tagged=each.options.tagged,
            tag=each.options.tag,
            default=declared_default(each),
            ignorable=each.options.ignorable,
            flexible=each.options.flexible,
        )
        if inner := struct_inside(each.type):
            yield from facts_of_declaration(declaration_of(inner), name + ".")


def type_name(kind: FieldType) -> str:
    match kind:
        case ArrayOf(element):
            return f"list of {type_name(element)}"
        case StructOf():
            return "struct"
        case Primitive(name=name):
            return name


def declared_default(field: Field) -> object:
    default = field.default()
    if isinstance(field.type, StructOf) and default is not None:
        assert default == field.type.cls()
        return "struct"
    # True equals 1 in Python and not in Kafka.
    assert not isinstance(field.type, Primitive) or default is None or type(default) is type(field.type.zero)
    return default


def test_every_live_schema_is_declared_and_nothing_else() -> None:
    assert {cls.__name__ for cls in declared_messages()} == set(live_schemas()) - _FILE_FORMATS


def test_every_name_is_declared_once() -> None:
    names = [cls.__name__ for cls in declared_messages()]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("cls", declared_messages(), ids=lambda cls: cls.__name__)
def test_declaration_agrees_with_kafkas_schema(cls: type[Any]) -> None:
    declaration = declaration_of(cls)
    schema = live_schemas()[declaration.name]
    assert (declaration.kind, declaration.key, declaration.versions, declaration.flexible) == (
        schema.kind,
        schema.key,
        schema.versions,
        schema.flexible,
    )
    assert list(facts_of_declaration(declaration)) == list(facts_of_schema(schema.fields))


def live_requests() -> list[Schema]:
    return [each for each in live_schemas().values() if each.kind == "request"]


def test_exactly_the_89_live_apis_exist_under_kafkas_names() -> None:
    assert {each.value: f"{each.api_name}Request" for each in ApiKey} == {each.key: each.name for each in live_requests()}
    assert len(ApiKey) == 89


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_request_and_response_of_an_api_share_its_key_and_versions(key: ApiKey) -> None:
    request, response = map(declaration_of, messages(key))
    assert (request.kind, response.kind) == ("request", "response")
    assert request.key == response.key == key
    assert request.versions == response.versions


def test_stable_versions_leave_out_what_kafka_marks_unstable() -> None:
    for each in live_requests():
        assert each.key is not None
        highest = each.versions.highest - 1 if each.latest_is_unstable else each.versions.highest
        assert stable_versions(ApiKey(each.key)) == Versions(each.versions.lowest, highest), each.name
