"""Records in all formats that Confluent's registry has had, and records of unknown kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from barnabas.registry.core.entries import decode
from barnabas.registry.core.state import RegistryState
from tests.scenarios.registry.registry_client import Client

SCHEMA = '{"type":"record","name":"R","fields":[]}'


def put(client: Client, key: dict[str, Any], value: Any) -> None:
    client.memory.replay(json.dumps(key).encode(), json.dumps(value).encode() if value is not None else None)


def put_schema(client: Client, subject: str, version: int, schema_id: int, text: str = SCHEMA, **more: Any) -> None:
    key = {"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1}
    put(client, key, {"subject": subject, "version": version, "id": schema_id, "schema": text, "deleted": False, **more})


def test_a_schema_of_the_oldest_format_is_read(client: Client) -> None:
    """Without a digest, a type, references, and the sign of deletion; under the first magic."""
    key = {"magic": 0, "keytype": "SCHEMA", "subject": "old", "version": 1}
    put(client, key, {"subject": "old", "version": 1, "id": 9, "schema": SCHEMA})
    assert client.get("/schemas/ids/9")[1]["schema"] == SCHEMA
    assert client.registered("old", SCHEMA) == 9
    assert client.registered("next", '"int"') == 10


def test_a_digest_that_is_none_is_computed_again(client: Client) -> None:
    put_schema(client, "a", 1, 1, md5="!")
    assert client.registered("a", SCHEMA) == 1


def test_an_unknown_level_counts_as_the_default_one(client: Client) -> None:
    put(client, {"keytype": "CONFIG", "magic": 0}, {"compatibilityLevel": "SIDEWAYS"})
    client.registered("a", SCHEMA)
    assert client.register("a", '{"type":"record","name":"R","fields":[{"name":"x","type":"int"}]}')[0] == 409


def test_empty_parts_of_a_schema_are_read_as_absent(client: Client) -> None:
    put_schema(client, "a", 1, 1, schemaType="AVRO", references=[], metadata=None, ruleSet=None, md5=None)
    assert set(client.get("/subjects/a/versions/1")[1]) == {"subject", "version", "id", "guid", "schema"}


def test_metadata_rules_and_unknown_fields_of_a_schema_are_kept(client: Client) -> None:
    rule = {"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true", "disabled": False}
    put_schema(client, "a", 1, 1, metadata={"properties": {"k": "v"}}, ruleSet={"domainRules": [rule]}, ts=5, future={"x": 1})
    found = client.get("/subjects/a/versions/1")[1]
    assert (found["metadata"], found["ruleSet"]) == ({"properties": {"k": "v"}}, {"domainRules": [rule]})
    client.ask("DELETE", "/subjects/a/versions/1")
    written = json.loads(client.memory.records[-1][1] or b"")
    assert (written["deleted"], written["ts"], written["future"]) == (True, 5, {"x": 1})


@pytest.mark.parametrize("name", ["CONFIG", "MODE"])
def test_settings_of_all_and_of_a_subject_are_read_and_deleted(client: Client, name: str) -> None:
    field, value = ("compatibilityLevel", "NONE") if name == "CONFIG" else ("mode", "READONLY")
    for subject in ({}, {"subject": None}, {"subject": "a"}):
        put(client, {"keytype": name, **subject, "magic": 0}, {**subject, field: value})
    assert client.get(f"/{name.lower()}")[1] == {field: value}
    assert client.get(f"/{name.lower()}/a")[1] == {field: value}
    put(client, {"keytype": name, "subject": "a", "magic": 0}, None)
    assert client.get(f"/{name.lower()}/a")[0] == 404


def test_a_deleted_subject_loses_the_versions_up_to_that_of_the_record(client: Client) -> None:
    for version in (1, 2, 3):
        put_schema(client, "a", version, version, f'{{"type":"fixed","name":"F","size":{version}}}')
    put(client, {"keytype": "DELETE_SUBJECT", "subject": "a", "magic": 0}, {"subject": "a", "version": 2})
    assert client.get("/subjects/a/versions?deletedAsNegative=true") == (200, [-1, -2, 3])


def test_a_cleared_subject_frees_the_ids_of_its_deleted_schemas(client: Client) -> None:
    put_schema(client, "a", 1, 7)
    put(client, {"keytype": "SCHEMA", "subject": "a", "version": 1, "magic": 1}, None)
    assert client.get("/schemas/ids/7")[0] == 200, "old records must still decode"
    put(client, {"keytype": "CLEAR_SUBJECT", "subject": "a", "magic": 0}, {"subject": "a"})
    assert client.get("/schemas/ids/7")[0] == 404


def test_contexts_are_read_and_deleted(client: Client) -> None:
    key = {"keytype": "CONTEXT", "tenant": "default", "context": ".empty", "magic": 0}
    put(client, key, {"tenant": "default", "context": ".empty"})
    assert client.get("/contexts") == (200, [".", ".empty"])
    put(client, key, None)
    assert client.get("/contexts") == (200, ["."])


def test_associations_are_read_and_deleted(client: Client) -> None:
    slot = {"resourceName": "orders", "resourceNamespace": "lkc-1", "resourceType": "topic", "associationType": "value", "subject": "a"}
    key = {"keytype": "ASSOC", "tenant": "default", **slot, "magic": 0}
    put(client, key, {"guid": "g", "tenant": "default", "resourceId": "id-1", "lifecycle": "WEAK", "frozen": False, "createTs": 1, **slot})
    (found,) = client.get("/associations/resources/lkc-1/orders")[1]
    assert (found["subject"], found["resourceId"], found["guid"]) == ("a", "id-1", "g")
    put(client, key, None)
    assert client.get("/associations/resources/lkc-1/orders") == (200, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b'{"keytype":"NOOP","magic":0}', None),
        (b'{"keytype":"NOOP","magic":0}', b""),
        (b'{"keytype":"TABLE_OF_THE_FUTURE","subject":"a","magic":9}', b'{"x":1}'),
        (b'{"subject":"a"}', b"{}"),
        (b"", b"{}"),
        (b"not JSON", b"{}"),
        (b"[]", b"{}"),
        (b"\xff", b"{}"),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b"not JSON"),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b'{"id":1}'),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b'{"id":1,"schema":"x","schemaType":"XML"}'),
        (b'{"keytype":"SCHEMA","subject":"a","version":"x","magic":1}', b'{"id":1,"schema":"x"}'),
        (b'{"keytype":"SCHEMA","subject":5,"version":1,"magic":1}', b'{"id":1,"schema":"x"}'),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b'{"id":1,"schema":5,"md5":"AAAAAAAAAAAAAAAAAAAAAA=="}'),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b'{"id":1,"schema":"x","metadata":"y"}'),
        (b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', b'{"id":1,"schema":"x","references":[{"name":1}]}'),
        (b'{"keytype":"DELETE_SUBJECT","subject":"a","magic":0}', b'{"version":"x"}'),
        (b'{"keytype":"CONFIG","subject":"a","magic":0}', b"[]"),
    ],
)
def test_records_that_mean_nothing_here_are_skipped(key: bytes, value: bytes | None) -> None:
    state = RegistryState()
    entry = decode(key, value)
    if entry is not None:
        state.replay(entry)
    assert state.subjects(deleted=True) == []
    assert (state.configs, state.modes, state.contexts) == ({}, {}, ["."])
