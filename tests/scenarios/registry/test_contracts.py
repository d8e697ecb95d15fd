"""Metadata and rules that schemas inherit from older versions and from settings, and aliases."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scenarios.registry.registry_client import Client, record


def rule(name: str, expression: str = "true") -> dict[str, Any]:
    return {"name": name, "kind": "CONDITION", "mode": "WRITE", "type": "CEL", "expr": expression}


def latest(client: Client, subject: str) -> Any:
    return client.get(f"/subjects/{subject}/versions/latest")[1]


def test_a_schema_without_metadata_and_rules_takes_those_of_the_latest_version(client: Client) -> None:
    metadata, rules = {"properties": {"owner": "me"}}, {"domainRules": [rule("check")]}
    client.registered("a", record("a"), metadata=metadata, ruleSet=rules)
    client.registered("a", record("a", "B"))
    assert (latest(client, "a")["metadata"], latest(client, "a")["ruleSet"]) == (metadata, rules)
    client.registered("a", record("a", "B", "C"), metadata={}, ruleSet={})
    assert "metadata" not in latest(client, "a")
    assert "ruleSet" not in latest(client, "a")


def test_a_registration_without_a_text_changes_the_metadata_of_the_latest_schema(client: Client) -> None:
    client.registered("a", record("a"))
    status, answer = client.ask("POST", "/subjects/a/versions", {"metadata": {"properties": {"owner": "me"}}})
    assert (status, answer["version"]) == (200, 2)
    assert json.loads(latest(client, "a")["schema"]) == record("a")


def test_settings_add_metadata_and_rules_below_and_above_those_of_a_schema(client: Client) -> None:
    settings = {
        "defaultMetadata": {"properties": {"owner": "default", "team": "x"}, "tags": {"R.a": ["PII"]}},
        "overrideMetadata": {"properties": {"level": "high"}},
        "defaultRuleSet": {"domainRules": [rule("check", "default"), rule("other")]},
        "overrideRuleSet": {"domainRules": [rule("last")]},
    }
    assert client.ask("PUT", "/config/a", settings)[0] == 200
    own = {"properties": {"owner": "me", "level": "low"}, "tags": {"R.a": ["SECRET"]}}
    client.registered("a", record("a"), metadata=own, ruleSet={"domainRules": [rule("check", "own")]})
    found = latest(client, "a")
    assert found["metadata"] == {
        "properties": {"owner": "me", "team": "x", "level": "high"},
        "tags": {"R.a": ["PII", "SECRET"]},
    }
    assert [each["expr"] for each in found["ruleSet"]["domainRules"]] == ["true", "own", "true"]
    assert [each["name"] for each in found["ruleSet"]["domainRules"]] == ["other", "check", "last"]


def test_a_version_that_metadata_repeats_is_kept_right_and_ignored_by_lookups(client: Client) -> None:
    client.registered("a", record("a"), version=1)
    assert latest(client, "a")["metadata"] == {"properties": {"confluent:version": "1"}}
    assert client.register("a", record("a"))[1]["version"] == 1
    client.registered("a", record("a", "B"))
    assert latest(client, "a")["metadata"] == {"properties": {"confluent:version": "2"}}
    assert client.ask("POST", "/subjects/a", {"schema": json.dumps(record("a"))})[1]["version"] == 1


def test_a_schema_with_its_references_written_out_is_found(client: Client) -> None:
    """Generated classes carry such a schema, whatever the registry has."""
    address = record("street", name="Address")
    client.registered("address", address)
    fields = [{"name": "home", "type": "Address"}, {"name": "work", "type": "Address"}]
    references = [{"name": "Address", "subject": "address", "version": 1}]
    schema_id = client.registered("person", {"type": "record", "name": "Person", "fields": fields}, references=references)
    whole = {"type": "record", "name": "Person", "fields": [{"name": "home", "type": address}, fields[1]]}
    assert client.ask("POST", "/subjects/person", {"schema": json.dumps(whole)})[1]["id"] == schema_id
    assert client.registered("person", whole) == schema_id
    assert client.get("/subjects/person/versions") == (200, [1])


def test_an_alias_stands_for_another_subject(client: Client) -> None:
    client.registered("orders-v1", record("a"))
    client.ask("PUT", "/config/orders", {"alias": "orders-v1"})
    assert client.get("/subjects/orders/versions") == (200, [1])
    assert client.get("/subjects/orders/versions/latest")[1]["subject"] == "orders-v1"
    assert client.registered("orders", record("a", "B")) == 2
    assert client.get("/subjects") == (200, ["orders-v1"])
    assert client.get("/schemas/ids/1?subject=orders")[0] == 200
    assert client.get("/config/orders")[1] == {"alias": "orders-v1"}
    assert client.error("POST", "/compatibility/subjects/orders/versions/9", {"schema": '"int"'}) == (404, 40402)


def test_an_alias_stays_in_its_context(client: Client) -> None:
    client.registered(":.other:orders-v1", record("a"))
    client.ask("PUT", "/config/:.other:orders", {"alias": "orders-v1"})
    assert client.get("/contexts/.other/subjects/orders/versions") == (200, [1])
    assert client.get("/subjects/:.other:orders/versions") == (200, [1])
    assert client.error("GET", "/subjects/orders/versions") == (404, 40401)


def test_a_new_schema_is_checked_more_than_a_stored_one(client: Client) -> None:
    odd = {"type": "record", "name": "odd-name", "fields": [{"name": "a", "type": "int", "default": "x"}]}
    assert client.error("POST", "/subjects/a/versions", {"schema": json.dumps(odd)}) == (422, 42201)
    client.ask("PUT", "/config/a", {"validateNewSchemas": False})
    assert client.registered("a", odd) == 1
    client.ask("PUT", "/config/a", {"validateNewSchemas": True})
    # The stored schema takes part in comparisons, as one of another registry would.
    better = {"type": "record", "name": "odd-name", "fields": []}
    assert client.error("POST", "/subjects/a/versions", {"schema": json.dumps(better)}) == (422, 42201)
    assert client.error("POST", "/subjects/a/versions", {"schema": json.dumps(record("a", name="other"))}) == (409, 40901)
    assert client.ask("POST", "/subjects/a", {"schema": json.dumps(odd)})[1]["id"] == 1


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"defaultRuleSet": {"domainRules": [{"x": 1}]}}, 42210),
        ({"overrideRuleSet": {"domainRules": [rule("check"), rule("check")]}}, 42210),
        ({"overrideRuleSet": {"domainRules": [{**rule("check"), "params": {"a": 1}}]}}, 42210),
        ({"overrideRuleSet": {"domainRules": [{**rule("check"), "tags": 5}]}}, 42210),
        ({"overrideRuleSet": {"enableAt": 5}}, 42210),
        ({"overrideRuleSet": 5}, 422),
        ({"defaultMetadata": {"properties": {"a": 1}}}, 422),
        ({"overrideMetadata": {"tags": ["a"], "properties": [1]}}, 422),
    ],
)
def test_settings_that_would_break_registrations_are_refused(client: Client, settings: dict[str, Any], code: int) -> None:
    assert client.error("PUT", "/config/a", settings) == (422, code)
    client.registered("a", record("a"))


def test_an_older_version_is_found_although_the_latest_one_has_metadata(client: Client) -> None:
    plain = client.register("a", record("a"))
    client.registered("a", record("a"), metadata={"properties": {"owner": "me"}})
    assert client.register("a", record("a")) == plain
