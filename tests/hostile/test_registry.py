"""Hostile callers of the registry: huge, deep and cyclic schemas, expressions that backtrack, odd
paths and bodies. Each gets an answer in bounded time, and the registry goes on.
"""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from barnabas.testing import EmbeddedBroker
from tests.registry_process import RegistryProcess

# Generous for a starved machine; an attack that works takes minutes or never ends.
ANSWER_SECONDS_MAX = 60


@pytest.fixture(scope="module")
def registry() -> Iterator[RegistryProcess]:
    with EmbeddedBroker() as kafka, RegistryProcess(kafka.bootstrap) as process:
        yield process


@pytest.fixture(autouse=True)
def goes_on(registry: RegistryProcess) -> Iterator[None]:
    """After each attack the registry answers others."""
    yield
    assert registry.ask("GET", "/schemas/types", seconds_max=ANSWER_SECONDS_MAX).json() == ["JSON", "PROTOBUF", "AVRO"]


def register(registry: RegistryProcess, subject: str, text: str, kind: str = "AVRO") -> httpx.Response:
    return registry.ask("POST", f"/subjects/{subject}/versions", {"schema": text, "schemaType": kind}, seconds_max=ANSWER_SECONDS_MAX)


def wide_union(count: int) -> str:
    return json.dumps([{"type": "record", "name": f"R{number}", "fields": []} for number in range(count)])


def mutual_json(count: int) -> dict[str, Any]:
    """Definitions that all refer to all others."""
    properties = {f"p{number}": {"$ref": f"#/definitions/d{number}"} for number in range(count)}
    return {
        "definitions": {f"d{number}": {"type": "object", "properties": properties} for number in range(count)},
        "properties": properties,
    }


def nested_one_of(depth: int, leaf: dict[str, Any]) -> dict[str, Any]:
    schema = leaf
    for _ in range(depth):
        schema = {"oneOf": [schema, {"type": "array", "items": schema}]}
    return schema


ATTACKS = {
    "deep arrays": ("AVRO", '{"type":"array","items":' * 5_000 + '"int"' + "}" * 5_000),
    "deep JSON": ("JSON", '{"not":' * 5_000 + "{}" + "}" * 5_000),
    "deep messages": ("PROTOBUF", 'syntax="proto3";' + "message M {" * 5_000 + "}" * 5_000),
    "deep lists": ("JSON", "[" * 50_000),
    "many types": ("AVRO", wide_union(30_000)),
    "a long name": ("AVRO", '"' + "x" * 900_000 + '"'),
    "too many characters": ("AVRO", '"' + "x" * 1_100_000 + '"'),
    "a circle of references": ("JSON", '{"$ref":"#"}'),
    "a file": ("JSON", '{"$ref":"file:///etc/passwd"}'),
    "a server": ("JSON", '{"$ref":"http://127.0.0.1:1/x.json"}'),
    "an import of a file": ("PROTOBUF", 'syntax="proto3"; import "/etc/passwd"; message M {}'),
    "an endless number": ("AVRO", '{"type":"fixed","name":"F","size":1' + "0" * 10_000 + "}"),
    "surrogates": ("AVRO", '"\\ud800"'),
    "no characters": ("AVRO", "\x00\x01"),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_a_hostile_schema_is_refused(registry: RegistryProcess, name: str) -> None:
    kind, text = ATTACKS[name]
    response = register(registry, "attack", text, kind)
    assert response.status_code in (400, 409, 422), response.text[:200]
    assert response.json()["error_code"] >= 400
    assert len(response.text) < 2_000_000


def test_definitions_that_refer_to_each_other_are_compared_in_time(registry: RegistryProcess) -> None:
    first = mutual_json(40)
    assert register(registry, "mutual", json.dumps(first), "JSON").status_code == 200
    changed = mutual_json(40)
    changed["definitions"]["d7"]["required"] = ["p1"]
    assert register(registry, "mutual", json.dumps(changed), "JSON").status_code in (409, 422)


def test_nested_choices_are_compared_in_time(registry: RegistryProcess) -> None:
    assert register(registry, "choices", json.dumps(nested_one_of(12, {"type": "string"})), "JSON").status_code == 200
    answer = register(registry, "choices", json.dumps(nested_one_of(12, {"type": "number"})), "JSON")
    assert answer.status_code in (200, 409, 422)


def test_an_expression_that_backtracks_is_matched_in_time(registry: RegistryProcess) -> None:
    old = {"type": "object", "additionalProperties": False, "patternProperties": {"^(a+)+$": {"type": "string"}}}
    assert register(registry, "backtracks", json.dumps(old), "JSON").status_code == 200
    new = {**old, "properties": {"a" * 50 + "!": {"type": "string"}}}
    assert register(registry, "backtracks", json.dumps(new), "JSON").status_code in (200, 409)


@pytest.mark.parametrize(
    "path",
    [
        "/subjects/..%2f..%2fetc%2fpasswd/versions",
        "/subjects/%00/versions",
        "/subjects/%ff%fe/versions",
        "/subjects/" + "x" * 5_000 + "/versions",
        "//subjects",
        "/subjects/../config",
        "/contexts/./subjects",
        "/contexts/%2e%2e/subjects",
        "/subjects?limit=-5&offset=999999999999999999999",
        "/subjects?limit=x",
        "/schemas/ids/99999999999999999999999999",
        "/schemas/ids/-1",
        "/schemas/guids/%25",
        "/subjects/a/versions/٣",
        "/subjects?" + "&".join(f"a{number}=1" for number in range(500)),
    ],
)
def test_an_odd_path_gets_an_answer(registry: RegistryProcess, path: str) -> None:
    response = registry.ask("GET", path, seconds_max=ANSWER_SECONDS_MAX)
    assert response.status_code < 500


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"schema":5}',
        b'{"schema":{"a":1}}',
        b'{"schema":"\\"int\\"","id":"x"}',
        b'{"schema":"\\"int\\"","version":1e400}',
        b"\xff" * 100,
        b"[" * 100_000,
    ],
)
def test_an_odd_body_gets_an_answer(registry: RegistryProcess, body: bytes) -> None:
    response = httpx.post(
        f"{registry.url}/subjects/odd/versions", content=body, headers={"content-type": "application/json"}, timeout=ANSWER_SECONDS_MAX
    )
    assert response.status_code in (400, 409, 422)


def test_a_body_without_end_is_cut_off(registry: RegistryProcess) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b" " * 100_000

    try:
        response = httpx.post(f"{registry.url}/subjects/odd/versions", content=endless(), timeout=ANSWER_SECONDS_MAX)
    except httpx.WriteError:
        return  # The registry has closed the connection, and its answer was lost with it.
    assert response.json()["error_code"] == 42209


def test_random_bytes_on_the_port_leave_the_registry_alone(registry: RegistryProcess) -> None:
    place = urlsplit(registry.url)
    chance = random.Random(7)
    for _ in range(50):
        with socket.create_connection((str(place.hostname), int(place.port or 0)), timeout=ANSWER_SECONDS_MAX) as connection:
            connection.sendall(chance.randbytes(chance.randrange(1, 2_000)))


def test_mutated_schemas_never_cause_a_server_error(registry: RegistryProcess) -> None:
    chance = random.Random(11)
    seeds = [
        ("AVRO", '{"type":"record","name":"R","fields":[{"name":"a","type":["null","int"],"default":null}]}'),
        ("JSON", '{"type":"object","properties":{"a":{"oneOf":[{"type":"string"},{"$ref":"#/definitions/d"}]}},"definitions":{"d":{}}}'),
        ("PROTOBUF", 'syntax = "proto3"; message M { oneof o { string a = 1; } map<string, M> m = 2; enum E { Z = 0; } }'),
    ]
    for number in range(150):
        kind, text = seeds[number % len(seeds)]
        characters = list(text)
        for _ in range(chance.randrange(1, 4)):
            position = chance.randrange(len(characters))
            characters[position] = chance.choice([characters[position], "", "{", "}", '"', "[", "]", ":", ",", "0", "\\", "é"])
        response = register(registry, f"mutated-{number}", "".join(characters), kind)
        assert response.status_code < 500, ("".join(characters), response.text)


def test_a_schema_that_is_larger_than_a_record_leaves_the_leader_alone(registry: RegistryProcess) -> None:
    text = json.dumps({"type": "enum", "name": "E", "symbols": [f"S{number}" for number in range(100_000)]})
    answer = register(registry, "large", text)
    assert (answer.status_code, answer.json()["error_code"]) == (422, 42209)
    assert registry.ask("GET", "/health", seconds_max=ANSWER_SECONDS_MAX).json()["leader"], "no election has begun"
    assert register(registry, "small", '"int"').status_code == 200
