"""Associations of topics with subjects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.scenarios.registry.registry_client import Client, record

SCHEMA = {"schema": json.dumps(record("a"))}


def request(*associations: dict[str, Any], name: str = "orders", resource_id: str = "id-1") -> dict[str, Any]:
    return {"resourceName": name, "resourceNamespace": "lkc", "resourceId": resource_id, "associations": list(associations)}


def weak(subject: str, kind: str = "value") -> dict[str, Any]:
    return {"subject": subject, "associationType": kind, "lifecycle": "WEAK"}


def test_a_topic_without_an_association_gets_an_empty_list(client: Client) -> None:
    """Serializers ask before their first record, and fall back to the name of the topic."""
    assert client.get("/associations/resources/-/orders?resourceType=topic&associationType=value") == (200, [])


def test_a_weak_association_names_the_subject_of_a_topic(client: Client) -> None:
    client.registered("shared", record("a"))
    status, answer = client.ask("POST", "/associations", request(weak("shared")))
    assert (status, answer["associations"]) == (
        200,
        [{"subject": "shared", "associationType": "value", "lifecycle": "WEAK", "frozen": False}],
    )
    (found,) = client.get("/associations/resources/-/orders?associationType=value")[1]
    assert (found["subject"], found["resourceId"], found["resourceType"]) == ("shared", "id-1", "topic")
    assert client.get("/associations/resources/lkc/-")[1] == [found]
    assert client.get("/associations/resources/id-1")[1] == [found]
    assert client.get("/associations/resources/-/orders?associationType=key") == (200, [])
    assert client.get("/associations/resources/-/orders?lifecycle=STRONG") == (200, [])
    assert [each["resourceName"] for each in client.get("/associations/subjects/shared")[1]] == ["orders"]
    assert client.error("DELETE", "/subjects/shared") == (409, 40904)
    assert client.ask("DELETE", "/associations/resources/id-1") == (204, None)
    assert client.error("DELETE", "/associations/resources/id-1") == (404, 40410)
    assert client.ask("DELETE", "/subjects/shared") == (200, [1])


def test_a_strong_association_comes_with_the_first_schema_of_its_own_subject(client: Client) -> None:
    status, answer = client.ask("POST", "/associations", request({"schema": SCHEMA}))
    assert status == 200
    (made,) = answer["associations"]
    assert (made["subject"], made["lifecycle"], made["frozen"], made["schema"]["version"]) == (":.lkc:orders-value", "STRONG", True, 1)
    assert client.ask("POST", "/associations", request({"schema": SCHEMA}))[0] == 200, "a repeated request changes nothing"
    other = request({"schema": {"schema": '"int"'}})
    assert client.error("POST", "/associations", other) == (409, 40903)
    assert client.error("DELETE", "/associations/resources/id-1") == (409, 40908)
    assert client.ask("DELETE", "/associations/resources/id-1?cascadeLifecycle=true&dryRun=true")[0] == 204
    assert client.get("/subjects?deleted=true")[1] == [":.lkc:orders-value"]
    assert client.ask("DELETE", "/associations/resources/id-1?cascadeLifecycle=true")[0] == 204
    assert client.get("/subjects?deleted=true") == (200, [])


def test_keys_and_values_get_ids_of_their_own(client: Client) -> None:
    key = {"associationType": "key", "schema": {"schema": '"string"'}}
    answer = client.ask("POST", "/associations", request({"schema": SCHEMA}, key))[1]
    assert sorted(each["schema"]["id"] for each in answer["associations"]) == [1, 2]


def test_a_dry_run_changes_nothing(client: Client) -> None:
    body = {**request({"schema": SCHEMA}), "resourceId": None}
    status, answer = client.ask("POST", "/associations?dryRun=true", body)
    assert (status, answer["associations"]) == (200, [])
    assert client.get("/subjects") == (200, [])
    assert client.error("POST", "/associations", body) == (422, 42212)


@pytest.mark.parametrize(
    ("association", "expected"),
    [
        ({"subject": "none", "lifecycle": "WEAK"}, (409, 40907)),
        ({"lifecycle": "WEAK"}, (422, 42212)),
        ({"subject": "shared", "lifecycle": "STRONG"}, (422, 42212)),
        ({"lifecycle": "STRONG"}, (422, 42212)),
        ({"subject": "shared", "lifecycle": "WEAK", "frozen": True}, (422, 42212)),
        ({"subject": "shared", "lifecycle": "WEAK", "schema": SCHEMA}, (422, 42212)),
        ({"subject": ":.lkc:orders-value", "lifecycle": "WEAK"}, (422, 42212)),
        ({"subject": "shared", "associationType": "header"}, (422, 42212)),
        ({"subject": "shared", "lifecycle": "LOOSE"}, (422, 42212)),
        ({"subject": 5}, (422, 42212)),
        ({"schema": {"schema": "{"}}, (422, 42201)),
    ],
)
def test_an_association_that_breaks_a_rule_is_refused(client: Client, association: dict[str, Any], expected: tuple[int, int]) -> None:
    client.registered("shared", record("a"))
    assert client.error("POST", "/associations", request(association)) == expected


@pytest.mark.parametrize(
    "change",
    [{"resourceName": ""}, {"resourceNamespace": None}, {"resourceType": "table"}, {"associations": []}, {"associations": [5]}],
)
def test_a_request_without_a_resource_or_associations_is_refused(client: Client, change: dict[str, Any]) -> None:
    assert client.error("POST", "/associations", {**request(weak("a")), **change}) == (422, 42212)
    assert client.error("POST", "/associations", request(weak("a"), weak("b"))) == (422, 42212)


def test_weak_associations_share_a_subject_and_strong_ones_do_not(client: Client) -> None:
    client.registered("shared", record("a"))
    assert client.ask("POST", "/associations", request(weak("shared")))[0] == 200
    assert client.ask("POST", "/associations", request(weak("shared"), name="other", resource_id="id-2"))[0] == 200
    assert client.ask("POST", "/associations", request({"schema": SCHEMA}, name="own", resource_id="id-3"))[0] == 200
    assert client.error("POST", "/associations", request(weak(":.lkc:own-value"), name="x", resource_id="id-4")) == (409, 40905)
    mixed = request({"associationType": "key", "schema": {"schema": '"string"'}})
    assert client.error("POST", "/associations", mixed) == (422, 42212), "a topic has one lifecycle"


def test_an_upsert_adds_weak_associations_and_keeps_their_subject(client: Client) -> None:
    client.registered("shared", record("a"))
    client.registered("another", record("b"))
    path = "/associations/resources/id-1"
    assert client.ask("PUT", path, request(weak("shared")))[0] == 200
    assert client.ask("PUT", path, request(weak("shared")))[0] == 200
    assert client.error("PUT", path, request(weak("another"))) == (422, 42212)
    assert client.error("PUT", path, request({"associationType": "key", "lifecycle": "STRONG"})) == (422, 42212)
    assert client.error("PUT", path, request({"associationType": "key", "schema": SCHEMA})) == (422, 42212)
    assert client.error("PUT", path, request(weak("shared"), resource_id="id-9")) == (422, 42212)


def test_a_batch_reads_several_topics(client: Client) -> None:
    client.registered("shared", record("a"))
    client.ask("POST", "/associations", request(weak("shared")))
    asked = {"requests": [{"resourceId": "id-1"}, {"resourceName": "none", "resourceNamespace": "lkc"}, {}]}
    status, answer = client.ask("POST", "/associations:batchGet?includeSchemas=true", asked)
    assert status == 207
    first, second, third = answer["results"]
    assert first["result"]["resourceName"] == "orders"
    assert first["result"]["associations"][0]["schema"]["version"] == 1
    assert second["result"]["associations"] == []
    assert "error_code" in third["error"]
    assert client.error("POST", "/associations:batchGet", {}) == (422, 42212)


def test_a_batch_changes_several_topics_each_for_itself(client: Client) -> None:
    client.registered("shared", record("a"))
    requests = [
        request({"opType": "CREATE", "schema": SCHEMA}),
        request({"opType": "UPSERT", **weak("shared")}, name="other", resource_id="id-2"),
        request({"opType": "UPSERT", **weak("none")}, name="third", resource_id="id-3"),
        request({"opType": "DELETE"}, name="other", resource_id="id-2"),
        request({"opType": "TURN"}, name="other", resource_id="id-2"),
    ]
    status, answer = client.ask("POST", "/associations:batchMutate", {"requests": requests})
    assert status == 207
    outcomes = [each.get("error", {}).get("error_code") for each in answer["results"]]
    assert outcomes == [None, None, 40907, None, 42212]
    assert answer["results"][0]["result"]["associations"][0]["schema"]["id"] == 1
    assert client.get("/associations/resources/id-2") == (200, [])
