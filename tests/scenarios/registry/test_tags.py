"""Tags inside schemas, changed by the registry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scenarios.registry.registry_client import Client, record

ADDRESS = {"type": "record", "name": "Address", "fields": [{"name": "zip", "type": "int"}]}
PERSON = {
    "type": "record",
    "name": "Person",
    "namespace": "shop",
    "fields": [{"name": "name", "type": "string"}, {"name": "homes", "type": ["null", {"type": "array", "items": ADDRESS}]}],
}


def tags(path: str, *names: str, kind: str = "sr_field") -> dict[str, Any]:
    return {"schemaEntity": {"entityPath": path, "entityType": kind}, "tags": list(names)}


ZIP = tags(".shop.Person.homes.Address.zip", "PII", "PRIVATE")


def latest(client: Client) -> Any:
    return json.loads(client.get("/subjects/p/versions/latest")[1]["schema"])


def test_tags_of_fields_and_records_make_a_new_version(client: Client) -> None:
    client.registered("p", PERSON)
    added = [
        tags("shop.Person.name", "PII"),
        ZIP,
        tags("shop.Person", "T", kind="sr_record"),
    ]
    status, answer = client.ask("POST", "/subjects/p/versions/latest/tags", {"newVersion": 2, "tagsToAdd": added})
    assert (status, answer["version"], answer["metadata"]) == (200, 2, {"properties": {"confluent:version": "2"}})
    found = latest(client)
    assert found["confluent:tags"] == ["T"]
    assert found["fields"][0]["confluent:tags"] == ["PII"]
    assert found["fields"][1]["type"][1]["items"]["fields"][0]["confluent:tags"] == ["PII", "PRIVATE"]
    removed = {"tagsToRemove": [tags("shop.Person.name", "PII"), tags("shop.Person.homes.shop.Address.zip", "PRIVATE")]}
    assert client.ask("POST", "/subjects/p/versions/2/tags", removed)[1]["version"] == 3
    assert "confluent:tags" not in latest(client)["fields"][0]
    assert latest(client)["fields"][1]["type"][1]["items"]["fields"][0]["confluent:tags"] == ["PII"]


def test_rules_and_metadata_change_with_tags(client: Client) -> None:
    rules = [{"name": name, "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": "true"} for name in ("one", "two", "three")]
    client.registered("p", PERSON, ruleSet={"domainRules": rules[:2]})
    body = {"rulesToMerge": {"domainRules": rules[2:]}, "rulesToRemove": ["one"], "metadata": {"properties": {"owner": "me"}}}
    answer = client.ask("POST", "/subjects/p/versions/1/tags", body)[1]
    assert [rule["name"] for rule in answer["ruleSet"]["domainRules"]] == ["two", "three"]
    assert answer["metadata"]["properties"]["owner"] == "me"
    assert client.error("POST", "/subjects/p/versions/1/tags", {**body, "ruleSet": {"domainRules": rules}}) == (422, 42210)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"tagsToAdd": [tags("shop.Person.none", "PII")]}, (422, 42201)),
        ({"tagsToAdd": [tags("shop.Person.name", "PII", kind="sr_record")]}, (422, 42201)),
        ({"tagsToAdd": [tags("shop.Person", "PII", kind="sr_table")]}, (422, 422)),
        ({"tagsToAdd": [{"tags": ["PII"]}]}, (422, 422)),
        ({"tagsToAdd": [5]}, (422, 422)),
        ({"tagsToAdd": 5}, (422, 422)),
        ({"tagsToRemove": {"a": 1}}, (422, 422)),
        ({"newVersion": "x"}, (422, 422)),
        ({"newVersion": 7, "tagsToAdd": [tags("shop.Person.name", "PII")]}, (422, 42201)),
    ],
)
def test_tags_that_fit_nowhere_are_refused(client: Client, body: dict[str, Any], expected: tuple[int, int]) -> None:
    client.registered("p", PERSON)
    assert client.error("POST", "/subjects/p/versions/1/tags", body) == expected
    assert client.error("POST", "/subjects/none/versions/1/tags", body) == (404, 40401)


def test_tags_inside_other_formats_are_not_implemented(client: Client) -> None:
    client.registered("j", {"type": "object"}, schemaType="JSON")
    assert client.error("POST", "/subjects/j/versions/1/tags", {"tagsToAdd": [tags("object", "PII")]}) == (501, 501)
    client.registered("a", record("a"))
    assert client.ask("POST", "/subjects/j/versions/1/tags", {"metadata": {"properties": {"owner": "me"}}})[0] == 200
