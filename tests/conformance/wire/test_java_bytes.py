"""Our bytes are Apache Kafka's bytes, for every declared message and version, compared with Kafka's
own generated classes.

This is the only oracle for records in logs (metadata, coordinator and remote-log records), which
kio does not know. Values travel to ``Oracle.java`` and back in the JSON form that Kafka's
converters use; names in it are the schema's, not ours.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from barnabas.model.ids import Uuid, uuid_text
from barnabas.wire.apis import ApiKey, messages as api_messages
from barnabas.wire.compiler import decode, encode
from barnabas.wire.declare import FieldType, declaration_of
from barnabas.wire.headers import request_header_version, response_header_version
from peers.apache_kafka import java_program, why_missing
from tests.conformance.wire.schemas import SchemaField, live_schemas
from tests.unit.wire.declared import Versioned, bare, every_version, full, hollow, messages, struct_inside

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


class Oracle:
    """One Java process that answers questions; see ``Oracle.java`` for the language."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.questions, self.answers = process.stdin, process.stdout

    def ask(self, *words: object) -> str:
        self.questions.write(" ".join(map(str, words)).encode() + b"\n")
        self.questions.flush()
        line = self.answers.readline()
        assert line.endswith(b"\n"), "the oracle died; its last words are on stderr"
        answer = line.decode().rstrip("\n")
        assert not answer.startswith("refused"), answer
        return answer


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    program = Path(__file__).with_name("Oracle.java")
    with subprocess.Popen(java_program(program), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Oracle(process)
        assert process.stdin is not None
        process.stdin.close()


def kafka_json(message: Any, version: int, fields: tuple[SchemaField, ...], *, records_as_size: bool) -> dict[str, Any]:
    """The message as Kafka's converters write it: without tagged fields that hold their default.

    They read records as base64 like any bytes, but write only how many bytes there are.
    """
    rendered = {}
    for declared, schema in zip(declaration_of(type(message)).fields, fields, strict=True):
        value = getattr(message, declared.name)
        is_default_tagged = version in declared.options.tagged and value == declared.default()
        if version not in declared.options.versions or is_default_tagged:
            continue
        name = schema.name[0].lower() + schema.name[1:]
        if records_as_size and schema.type == "records" and value is not None:
            rendered[f"{name}SizeInBytes"] = len(value)
        else:
            rendered[name] = _json_value(value, declared.type, version, schema, records_as_size=records_as_size)
    return rendered


def _json_value(value: Any, kind: FieldType, version: int, schema: SchemaField, *, records_as_size: bool) -> Any:
    if isinstance(value, list):
        return [_json_value(each, kind, version, schema, records_as_size=records_as_size) for each in value]
    if value is not None and struct_inside(kind):
        assert schema.fields is not None
        return kafka_json(value, version, schema.fields, records_as_size=records_as_size)
    if isinstance(value, bytes):
        return uuid_text(Uuid(value)) if schema.type == "uuid" else base64.b64encode(value).decode()
    return value


def assert_same_bytes(message: Any, versioned: Versioned, oracle: Oracle) -> None:
    name, version = versioned.cls.__name__, versioned.version
    fields = live_schemas()[name].fields
    question = json.dumps(kafka_json(message, version, fields, records_as_size=False))
    kafka_bytes = bytes.fromhex(oracle.ask("encode", name, version, question))
    assert encode(message, version) == kafka_bytes
    assert decode(versioned.cls, version, kafka_bytes) == (message, len(kafka_bytes))
    answer = json.loads(oracle.ask("decode", name, version, encode(message, version).hex()))
    assert answer == kafka_json(message, version, fields, records_as_size=True)


@lru_cache(maxsize=None)  # one per message and version
def any_message(versioned: Versioned) -> st.SearchStrategy[Any]:
    return messages(versioned.cls, versioned.version)


@pytest.mark.parametrize("versioned", every_version(), ids=str)
@settings(max_examples=6, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_kafka_writes_our_bytes_and_reads_them_as_the_same_message(versioned: Versioned, oracle: Oracle, data: st.DataObject) -> None:
    assert_same_bytes(data.draw(any_message(versioned)), versioned, oracle)


@pytest.mark.parametrize("versioned", every_version(), ids=str)
def test_defaults_every_field_set_and_every_null_have_kafkas_bytes(versioned: Versioned, oracle: Oracle) -> None:
    for build in (bare, full, hollow):
        assert_same_bytes(build(versioned.cls, versioned.version), versioned, oracle)


@pytest.mark.parametrize("key", ApiKey, ids=lambda key: key.api_name)
def test_headers_have_the_versions_kafka_gives_them(key: ApiKey, oracle: Oracle) -> None:
    request, response = api_messages(key)
    for version in declaration_of(request).versions.all():
        ours = f"{request_header_version(request, version)} {response_header_version(response, version)}"
        assert oracle.ask("headers", int(key), version) == ours
