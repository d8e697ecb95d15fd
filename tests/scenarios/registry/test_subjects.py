"""Registering, finding and deleting schemas through the registry's endpoints."""

from __future__ import annotations

import json

import pytest

from tests.scenarios.registry.registry_client import Client, record


def test_a_registered_schema_has_an_id_a_version_and_a_guid(client: Client) -> None:
    status, answer = client.register("orders-value", record("a"))
    assert (status, answer["id"], answer["version"]) == (200, 1, 1)
    assert len(answer["guid"]) == 36
    assert client.get("/subjects") == (200, ["orders-value"])
    assert client.get("/subjects/orders-value/versions") == (200, [1])
    _, version = client.get("/subjects/orders-value/versions/latest")
    assert version == {
        "subject": "orders-value",
        "version": 1,
        "id": 1,
        "guid": answer["guid"],
        "schema": json.dumps(record("a"), separators=(",", ":")),
    }
    assert client.get("/subjects/orders-value/versions/1/schema") == (200, json.loads(version["schema"]))


def test_the_same_schema_keeps_its_id_and_version(client: Client) -> None:
    first = client.register("a", record("a"))
    assert client.register("a", json.dumps(record("a"), indent=4)) == first
    assert client.registered("b", record("a")) == 1
    assert client.registered("b", record("a", "B")) == 2
    assert client.get("/schemas/ids/1/subjects") == (200, ["a", "b"])
    assert client.get("/schemas/ids/2/versions") == (200, [{"subject": "b", "version": 2}])


def test_an_incompatible_schema_is_refused_with_path_and_rule(client: Client) -> None:
    client.registered("a", record("a"))
    status, answer = client.register("a", record("a", "b"))
    assert (status, answer["error_code"]) == (409, 40901)
    assert 'incompatible with an earlier schema for subject "a"' in answer["message"]
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in answer["message"]
    assert "/fields/1" in answer["message"]
    assert client.get("/subjects/a/versions") == (200, [1])
    assert client.registered("a", record("a", "b"), query="?force=true") == 2


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("GET", "/subjects/none/versions", None, (404, 40401)),
        ("GET", "/subjects/none/versions/1", None, (404, 40401)),
        ("GET", "/subjects/a/versions/9", None, (404, 40402)),
        ("GET", "/subjects/a/versions/0", None, (422, 42202)),
        ("GET", "/subjects/a/versions/x", None, (422, 42202)),
        ("GET", "/subjects/a/versions/2147483648", None, (422, 42202)),
        ("GET", "/schemas/ids/99", None, (404, 40403)),
        ("GET", "/schemas/ids/x", None, (404, 404)),
        ("GET", "/schemas/guids/00000000-0000-0000-0000-000000000000", None, (404, 40403)),
        ("POST", "/subjects/none", {"schema": '"int"'}, (404, 40401)),
        ("POST", "/subjects/a", {"schema": '"int"'}, (404, 40403)),
        ("POST", "/subjects/a/versions", {"schema": "{"}, (422, 42201)),
        ("POST", "/subjects/none/versions", {"schema": ""}, (422, 42201)),
        ("POST", "/subjects/none/versions", {}, (422, 42201)),
        ("POST", "/subjects/a", {"schema": ""}, (422, 42201)),
        ("POST", "/subjects/a/versions", {"schema": 5}, (422, 42201)),
        ("POST", "/subjects/a/versions", {"schema": '"int"', "schemaType": "XML"}, (422, 42201)),
        ("POST", "/subjects/a/versions", {"schema": '"int"', "references": 5}, (422, 422)),
        ("POST", "/subjects/a/versions", {"schema": '"int"', "references": [{"name": "x", "subject": "none", "version": 1}]}, (422, 42201)),
        ("POST", "/subjects/a/versions", {"schema": '"int"', "ruleSet": {"domainRules": [{"name": "r"}]}}, (422, 42210)),
        ("POST", "/subjects/__GLOBAL/versions", {"schema": '"int"'}, (422, 42208)),
        ("POST", "/subjects/a/versions", [], (422, 422)),
        ("POST", "/subjects/a/versions", b"{", (400, 400)),
        ("DELETE", "/subjects/none", None, (404, 40401)),
        ("DELETE", "/subjects/a/versions/9", None, (404, 40402)),
        ("DELETE", "/subjects/a?permanent=true", None, (404, 40405)),
        ("DELETE", "/subjects/a/versions/1?permanent=true", None, (404, 40407)),
        ("PUT", "/subjects/a", None, (405, 405)),
        ("GET", "/nowhere", None, (404, 404)),
        ("PUT", "/config", {"compatibility": "SOMETIMES"}, (422, 42203)),
        ("GET", "/config/a", None, (404, 40408)),
        ("PUT", "/mode", {"mode": "LAZY"}, (422, 42204)),
        ("GET", "/mode/a", None, (404, 40409)),
        ("PUT", "/mode", {"mode": "IMPORT"}, (422, 42205)),
        ("DELETE", "/config/a", None, (404, 40408)),
    ],
)
def test_a_request_that_cannot_be_answered_gets_confluents_code(
    client: Client, method: str, path: str, body: object, expected: tuple[int, int]
) -> None:
    client.registered("a", record("a"))
    assert client.error(method, path, body) == expected


def test_a_body_of_another_type_is_refused(client: Client) -> None:
    status, answer = client.ask("POST", "/subjects/a/versions", {"schema": '"int"'}, content_type="text/html")
    assert (status, answer["error_code"]) == (415, 415)


def test_a_schema_is_found_under_its_subject_whatever_its_layout(client: Client) -> None:
    client.registered("a", record("a"))
    status, found = client.ask("POST", "/subjects/a", {"schema": json.dumps(record("a"), indent=2)})
    assert (status, found["subject"], found["version"], found["id"]) == (200, "a", 1, 1)


def test_a_subject_may_contain_slashes_and_other_characters(client: Client) -> None:
    client.registered("a/b ü:c", record("a"))
    assert client.get("/subjects") == (200, ["a/b ü:c"])
    assert client.get("/subjects/a%2Fb%20%C3%BC%3Ac/versions") == (200, [1])


def test_deletion_is_soft_first_and_then_for_good(client: Client) -> None:
    client.registered("a", record("a"))
    client.registered("a", record("a", "B"))
    assert client.ask("DELETE", "/subjects/a/versions/1") == (200, 1)
    assert client.error("DELETE", "/subjects/a/versions/1") == (404, 40406)
    assert client.get("/subjects/a/versions") == (200, [2])
    assert client.get("/subjects/a/versions?deleted=true") == (200, [1, 2])
    assert client.get("/subjects/a/versions?deletedOnly=true") == (200, [1])
    assert client.get("/subjects/a/versions?deletedAsNegative=true") == (200, [-1, 2])
    assert client.get("/schemas/ids/1")[0] == 200, "old records must still decode"
    assert client.ask("DELETE", "/subjects/a") == (200, [2])
    assert client.error("DELETE", "/subjects/a") == (404, 40404)
    assert client.get("/subjects") == (200, [])
    assert client.get("/subjects?deleted=true") == (200, ["a"])
    assert client.ask("DELETE", "/subjects/a?permanent=true") == (200, [1, 2])
    assert client.get("/subjects?deleted=true") == (200, [])


def test_a_deleted_schema_that_is_registered_again_keeps_its_id(client: Client) -> None:
    client.registered("a", record("a"))
    client.ask("DELETE", "/subjects/a")
    status, answer = client.register("a", record("a"))
    assert (status, answer["id"], answer["version"]) == (200, 1, 2)
    assert client.get("/subjects/a/versions?deleted=true") == (200, [2])


def test_a_version_that_another_schema_refers_to_cannot_be_deleted(client: Client) -> None:
    client.registered("address", record("street", name="Address"))
    using = {"type": "record", "name": "Person", "fields": [{"name": "home", "type": "Address"}]}
    references = [{"name": "Address", "subject": "address", "version": 1}]
    assert client.registered("person", using, references=references) == 2
    assert client.get("/subjects/address/versions/1/referencedby") == (200, [2])
    assert client.error("DELETE", "/subjects/address") == (422, 42206)
    assert client.error("DELETE", "/subjects/address/versions/1") == (422, 42206)
    assert client.get("/schemas/ids/2")[1]["references"] == references
    client.ask("DELETE", "/subjects/person")
    assert client.ask("DELETE", "/subjects/address") == (200, [1])


def test_a_reference_to_the_latest_version_is_pinned(client: Client) -> None:
    client.registered("address", record("street", name="Address"))
    client.registered("address", record("street", "CITY", name="Address"))
    using = {"type": "record", "name": "Person", "fields": [{"name": "home", "type": "Address"}]}
    client.registered("person", using, references=[{"name": "Address", "subject": "address", "version": -1}])
    assert client.get("/subjects/person/versions/1")[1]["references"][0]["version"] == 2


def test_json_and_protobuf_schemas_name_their_type(client: Client) -> None:
    assert client.registered("j", {"type": "object"}, schemaType="JSON") == 1
    assert client.registered("p", 'syntax = "proto3"; message M { string a = 1; }', schemaType="PROTOBUF") == 2
    assert client.get("/schemas/ids/1")[1]["schemaType"] == "JSON"
    assert client.get("/schemas/ids/2")[1]["schemaType"] == "PROTOBUF"
    assert client.get("/schemas/types") == (200, ["JSON", "PROTOBUF", "AVRO"])
    assert client.error("POST", "/subjects/j/versions", {"schema": '"int"'}) == (409, 40901)


def test_metadata_and_rules_are_kept_and_part_of_the_identity(client: Client) -> None:
    metadata = {"properties": {"owner": "me"}, "tags": {"R.a": ["PII"]}}
    rules = {"domainRules": [{"name": "check", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}]}
    assert client.registered("a", record("a")) == 1
    assert client.registered("a", record("a"), metadata=metadata, ruleSet=rules) == 2
    version = client.get("/subjects/a/versions/latest")[1]
    assert (version["metadata"], version["ruleSet"]) == (metadata, rules)
    assert client.get("/subjects/a/metadata?key=owner&value=me")[1]["version"] == 2
    assert client.get("/subjects/a/metadata?key=owner&value=you")[0] == 404


def test_schemas_are_listed_by_prefix_and_page(client: Client) -> None:
    for subject in ("a1", "a2", "b1"):
        client.registered(subject, record("a"))
        client.registered(subject, record("a", "B"))
    assert [each["subject"] for each in client.get("/schemas?subjectPrefix=a")[1]] == ["a1", "a1", "a2", "a2"]
    assert [each["version"] for each in client.get("/schemas?latestOnly=true")[1]] == [2, 2, 2]
    assert client.get("/subjects?offset=1&limit=1") == (200, ["a2"])
    assert client.get("/subjects?subjectPrefix=b") == (200, ["b1"])
    rules = {"domainRules": [{"name": "r", "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"}]}
    client.registered("c1", record("a"), ruleSet=rules)
    assert [each["subject"] for each in client.get("/schemas?ruleType=cel")[1]] == ["c1"]


def test_normalized_schemas_are_one_schema(client: Client) -> None:
    one = {"type": "record", "name": "R", "fields": [{"name": "x", "type": {"type": "int", "b": 1, "a": 2}}]}
    other = {"type": "record", "name": "R", "fields": [{"name": "x", "type": {"type": "int", "a": 2, "b": 1}}]}
    assert client.registered("a", one, query="?normalize=true") == client.registered("a", other, query="?normalize=true")
    assert client.registered("a", other) == 2


def test_what_the_topic_holds_makes_the_same_registry_again(client: Client) -> None:
    from barnabas.registry.core.entries import decode
    from barnabas.registry.core.state import RegistryState

    client.registered("a", record("a"))
    client.registered("a", record("a", "B"))
    client.registered("b", {"type": "object"}, schemaType="JSON")
    client.ask("DELETE", "/subjects/a/versions/1")
    client.ask("PUT", "/config/a", {"compatibility": "FULL"})
    client.ask("PUT", "/mode/b", {"mode": "READONLY"})
    again = RegistryState()
    for key, value in client.memory.records:
        entry = decode(key, value)
        assert entry is not None
        again.replay(entry)
    state = client.service.state
    assert list(again.all_versions()) == list(state.all_versions())
    assert (again.configs, again.modes, again.contexts) == (state.configs, state.modes, state.contexts)


@pytest.mark.parametrize("path", ["/subjects/a", "/subjects/a/versions/1"])
def test_settings_of_a_subject_go_when_it_is_deleted_softly(client: Client, path: str) -> None:
    def configure() -> None:
        assert client.ask("PUT", "/config/a", {"compatibility": "NONE"})[0] == 200
        assert client.ask("PUT", "/mode/a", {"mode": "READWRITE"})[0] == 200

    client.registered("a", record("a"))
    configure()
    assert client.ask("DELETE", path)[0] == 200
    assert client.error("GET", "/config/a") == (404, 40408)
    assert client.error("GET", "/mode/a") == (404, 40409)
    configure()
    assert client.ask("DELETE", f"{path}?permanent=true")[0] == 200
    assert client.get("/config/a") == (200, {"compatibilityLevel": "NONE"})
    assert client.get("/mode/a") == (200, {"mode": "READWRITE"})


def test_settings_of_a_subject_stay_while_it_has_a_version(client: Client) -> None:
    client.registered("a", record("a"))
    client.registered("a", record("a", "B"))
    client.ask("PUT", "/config/a", {"compatibility": "NONE"})
    assert client.ask("DELETE", "/subjects/a/versions/1") == (200, 1)
    assert client.ask("DELETE", "/subjects/a/versions/1?permanent=true") == (200, 1)
    assert client.get("/config/a") == (200, {"compatibilityLevel": "NONE"})


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("JSON", '{"type":"number","maximum":1e400}'),
        ("AVRO", '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":-1e400}]}'),
        ("AVRO", '{"type":"record","name":"R","doc":"\\ud800","fields":[]}'),
        ("AVRO", '{"type":"fixed","name":"F","size":2147483648}'),
    ],
)
def test_a_schema_that_other_registries_cannot_read_is_refused_with_its_reason(client: Client, kind: str, text: str) -> None:
    status, answer = client.register("a", text, schemaType=kind)
    assert (status, answer["error_code"]) == (422, 42201)
    assert f"Invalid schema of type {kind}" in answer["message"]


def test_versions_follow_one_that_was_stored_with_an_infinite_number(client: Client) -> None:
    text = '{"type":"record","name":"R","fields":[{"name":"a","type":"double","default":Infinity}]}'
    value = {"subject": "a", "version": 1, "id": 1, "schema": text, "deleted": False}
    client.memory.replay(b'{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}', json.dumps(value).encode())
    assert client.ask("POST", "/compatibility/subjects/a/versions/latest", {"schema": json.dumps(record("B"))})[1]["is_compatible"]
    assert client.registered("a", record("B")) == 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b'{"schema":"\\"int\\"","references":[{"name":"\\ud800","subject":"x","version":1}]}', (400, 400)),
        (b'{"schema":"\\"int\\"","schemaType":"\\ud800"}', (400, 400)),
        (b'{"schema":"\\"int\\"","ruleSet":{"domainRules":[{"x":1e400}]}}', (400, 400)),
        (b'{"schema":"\\"int\\"","metadata":NaN}', (400, 400)),
        ({"schema": '"int"', "schemaType": {}}, (422, 42201)),
        ({"schema": '"int"', "schemaType": []}, (422, 42201)),
        ({"schema": '"int"', "schemaType": False}, (422, 42201)),
        ({"schema": []}, (422, 42201)),
        ({"schema": '"int"', "references": {}}, (422, 422)),
    ],
)
def test_a_field_of_another_type_is_refused(client: Client, body: object, expected: tuple[int, int]) -> None:
    for path in ("/subjects/a/versions", "/subjects/a", "/compatibility/subjects/a/versions"):
        assert client.error("POST", path, body) == expected


def test_a_text_that_cannot_be_encoded_is_listed_escaped(client: Client) -> None:
    value = r'{"subject":"a\ud800","version":1,"id":1,"schema":"\"int\"","deleted":false}'
    client.memory.replay(rb'{"keytype":"SCHEMA","subject":"a\ud800","version":1,"magic":1}', value.encode())
    assert client.get("/subjects") == (200, ["a\ud800"])
