"""Compatibility levels, modes and contexts through the registry's endpoints."""

from __future__ import annotations

import pytest

from tests.scenarios.registry.registry_client import Client, record


def test_the_level_of_a_subject_wins_over_the_global_one(client: Client) -> None:
    assert client.get("/config") == (200, {"compatibilityLevel": "BACKWARD"})
    assert client.ask("PUT", "/config", {"compatibility": "full"}) == (200, {"compatibility": "FULL"})
    assert client.get("/config/a?defaultToGlobal=true") == (200, {"compatibilityLevel": "FULL"})
    client.ask("PUT", "/config/a", {"compatibility": "NONE"})
    assert client.get("/config/a") == (200, {"compatibilityLevel": "NONE"})
    client.registered("a", record("a"))
    client.registered("a", record("a", "b"))
    assert client.ask("DELETE", "/config/a") == (200, {"compatibilityLevel": "NONE"})
    assert client.error("POST", "/subjects/a/versions", {"schema": '{"type":"record","name":"R","fields":[]}'}) == (409, 40901)


def test_a_check_says_whether_and_why_not(client: Client) -> None:
    client.registered("a", record("a"))
    body = {"schema": '{"type":"record","name":"R","fields":[{"name":"a","type":"int"},{"name":"b","type":"int"}]}'}
    assert client.ask("POST", "/compatibility/subjects/a/versions/latest", body) == (200, {"is_compatible": False})
    _, verbose = client.ask("POST", "/compatibility/subjects/a/versions?verbose=true", body)
    assert not verbose["is_compatible"]
    assert "READER_FIELD_MISSING_DEFAULT_VALUE" in verbose["messages"][0]
    assert client.ask("POST", "/compatibility/subjects/new/versions", body) == (200, {"is_compatible": True})
    assert client.ask("POST", "/compatibility/subjects/new/versions/latest", body) == (200, {"is_compatible": True})
    assert client.error("POST", "/compatibility/subjects/new/versions/1", body) == (404, 40402)
    assert client.error("POST", "/compatibility/subjects/a/versions/1", {"schema": "{"}) == (422, 42201)
    _, unreadable = client.ask("POST", "/compatibility/subjects/a/versions/1?verbose=true", {"schema": "{"})
    assert (unreadable["is_compatible"], len(unreadable["messages"])) == (False, 1)


def test_versions_of_one_compatibility_group_follow_each_other(client: Client) -> None:
    client.ask("PUT", "/config/a", {"compatibilityGroup": "major"})
    client.registered("a", record("a"), metadata={"properties": {"major": "1"}})
    client.registered("a", record("a", "b"), metadata={"properties": {"major": "2"}})
    status, _ = client.register("a", record("a", "c"), metadata={"properties": {"major": "1"}})
    assert status == 409
    client.registered("a", record("a", "C"), metadata={"properties": {"major": "1"}})


def test_a_lenient_subject_accepts_more_of_json_schema(client: Client) -> None:
    client.registered("j", {"type": "object"}, schemaType="JSON")
    wider = {"type": "object", "properties": {"a": {"type": "string"}}}
    assert client.register("j", wider, schemaType="JSON")[0] == 409
    client.ask("PUT", "/config/j", {"compatibilityPolicy": "LENIENT"})
    assert client.register("j", wider, schemaType="JSON")[0] == 200


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE"])
def test_a_read_only_registry_refuses_writes(client: Client, mode: str) -> None:
    client.registered("a", record("a"))
    assert client.ask("PUT", "/mode", {"mode": mode}) == (200, {"mode": mode})
    assert client.error("POST", "/subjects/a/versions", {"schema": '"int"'}) == (422, 42205)
    assert client.error("DELETE", "/subjects/a") == (422, 42205)
    assert client.get("/subjects/a/versions") == (200, [1])
    client.ask("PUT", "/mode", {"mode": "READWRITE"})
    client.registered("b", record("a"))


def test_an_import_keeps_ids_and_versions(client: Client) -> None:
    assert client.error("POST", "/subjects/a/versions", {"schema": '"int"', "id": 7}) == (422, 42205)
    assert client.ask("PUT", "/mode", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert client.registered("a", record("a"), id=70, version=7) == 70
    assert client.registered("a", record("b"), id=71, version=9) == 71
    assert client.error("POST", "/subjects/a/versions", {"schema": '"int"', "id": 70}) == (422, 42205)
    assert client.error("POST", "/subjects/a/versions", {"schema": '"int"'}) == (422, 42205)
    assert client.get("/subjects/a/versions") == (200, [7, 9])
    client.ask("PUT", "/mode", {"mode": "READWRITE"})
    assert client.registered("b", record("c")) == 72


def test_contexts_have_ids_of_their_own(client: Client) -> None:
    client.registered("a", record("a"))
    assert client.registered(":.other:a", record("b")) == 1
    assert client.ask("POST", "/contexts/.other/subjects/b/versions", {"schema": '"int"'})[1]["id"] == 2
    assert client.get("/contexts") == (200, [".", ".other"])
    assert client.get("/contexts?contextPrefix=.o") == (200, [".other"])
    assert client.get("/subjects") == (200, [":.other:a", ":.other:b", "a"])
    assert client.get("/contexts/other/subjects") == (200, [":.other:a", ":.other:b"])
    assert client.get("/subjects?subjectPrefix=") == (200, ["a"])
    assert client.get("/schemas/ids/2")[0] == 404
    assert client.get("/schemas/ids/2?subject=:.other:")[1]["schema"] == '"int"'
    assert client.get("/schemas/ids/2?subject=b")[1]["schema"] == '"int"'
    assert client.error("DELETE", "/contexts/.other") == (422, 42211)


def test_settings_of_a_context_hold_for_its_subjects(client: Client) -> None:
    client.ask("PUT", "/config/:.other:", {"compatibility": "NONE"})
    client.registered(":.other:a", record("a"))
    client.registered(":.other:a", record("a", "b"))
    client.registered("a", record("a"))
    assert client.register("a", record("a", "b"))[0] == 409


def test_a_follower_without_a_leader_refuses_writes_and_answers_reads(client: Client) -> None:
    client.registered("a", record("a"))
    client.service.lead(None)
    assert client.error("POST", "/subjects/b/versions", {"schema": '"int"'}) == (500, 50004)
    assert client.get("/subjects") == (200, ["a"])


def test_a_change_of_settings_answers_with_all_that_the_subject_has(client: Client) -> None:
    assert client.ask("PUT", "/config/a", {"compatibility": "none", "normalize": True}) == (
        200,
        {"compatibility": "NONE", "normalize": True},
    )
    assert client.ask("PUT", "/config/a", {"compatibilityGroup": "major"})[1] == {
        "compatibility": "NONE",
        "normalize": True,
        "compatibilityGroup": "major",
    }
    assert client.ask("PUT", "/config/a", {"compatibility": None, "compatibilityGroup": None})[1] == {"normalize": True}


def test_a_mode_of_null_is_cleared(client: Client) -> None:
    for path in ("/mode", "/mode/a"):
        client.ask("PUT", path, {"mode": "READONLY"})
        assert client.ask("PUT", path, {"mode": None}) == (200, {"mode": None})
        assert client.ask("PUT", path, {"mode": None}) == (200, {"mode": None})
    assert client.get("/mode") == (200, {"mode": "READWRITE"})
    assert client.error("GET", "/mode/a") == (404, 40409)


def test_the_mode_forward_is_for_all_contexts_only(client: Client) -> None:
    for path in ("/mode", "/mode/a", "/mode/:.other:", "/mode/:.__GLOBAL:a"):
        assert client.error("PUT", path, {"mode": "FORWARD"}) == (422, 42204)
    assert client.ask("PUT", "/mode/:.__GLOBAL:", {"mode": "FORWARD"}) == (200, {"mode": "FORWARD"})


def test_an_import_may_give_one_schema_several_ids(client: Client) -> None:
    client.ask("PUT", "/mode", {"mode": "IMPORT"})
    assert client.registered("a", record("a"), id=100, version=1) == 100
    assert client.registered("a", record("a"), id=200, version=2) == 200
    assert client.registered("b", record("a"), id=100, version=1) == 100
    assert client.get("/schemas/ids/100")[1]["schema"] == client.get("/schemas/ids/200")[1]["schema"]
    assert client.error("POST", "/subjects/c/versions", {"schema": '"int"', "id": 100}) == (422, 42205)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("AVRO", '{"type":"record","name":"R","fields":[{"name":"f","type":"int"}]}'),
        ("JSON", '{"type":"object","properties":{"f":{"type":"string"}}}'),
        ("PROTOBUF", 'syntax = "proto3"; message M { string f = 1; }'),
    ],
)
def test_reserved_fields_are_not_used_where_fields_are_validated(client: Client, kind: str, text: str) -> None:
    reserved = {"properties": {"confluent:reserved": "f, g"}}
    assert client.registered("free", text, schemaType=kind, metadata=reserved) == 1
    client.ask("PUT", "/config", {"validateFields": True})
    status, answer = client.register("a", text, schemaType=kind, metadata=reserved)
    assert (status, "FIELD_CONFLICTS_WITH_RESERVED_FIELD" in answer["message"]) == (409, True)
    client.registered("a", text, schemaType=kind, metadata={"properties": {"confluent:reserved": "g,h"}})
    status, answer = client.register("a", text, schemaType=kind, metadata={"properties": {"confluent:reserved": "h"}})
    assert (status, "RESERVED_FIELD_REMOVED" in answer["message"]) == (409, True)


@pytest.mark.parametrize("mode", ["READONLY", "READONLY_OVERRIDE", "IMPORT"])
def test_a_schema_that_a_subject_has_is_found_in_every_mode(client: Client, mode: str) -> None:
    present = client.register("a", record("a"))
    assert client.ask("PUT", "/mode?force=true", {"mode": mode})[0] == 200
    assert client.register("a", record("a")) == present
    assert client.register("a", record("a"), id=1) == present
    for refused in ({"id": 7}, {"version": 1}) if mode != "IMPORT" else ():
        status, answer = client.register("a", record("a"), **refused)
        assert (status, answer["error_code"]) == (422, 42205)
    status, answer = client.register("a", record("a", "B"))
    assert (status, answer["error_code"]) == (422, 42205)


def test_an_import_elsewhere_leaves_a_schema_its_guid(client: Client) -> None:
    guid = client.register("a", record("a"))[1]["guid"]
    client.registered(":.eu:a", record("a"))
    client.ask("DELETE", "/subjects/:.eu:a")
    client.ask("DELETE", "/subjects/:.eu:a?permanent=true")
    assert client.ask("PUT", "/mode/:.eu:", {"mode": "IMPORT"}) == (200, {"mode": "IMPORT"})
    assert client.get(f"/schemas/guids/{guid}")[0] == 200
    assert client.get(f"/schemas/guids/{guid}/ids") == (200, [{"context": ".", "id": 1}])
