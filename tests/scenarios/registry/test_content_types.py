"""Requests say what they send and what they take; the registry answers accordingly."""

from __future__ import annotations

import pytest

from barnabas.registry.content_types import content_type_for
from tests.scenarios.registry.registry_client import Client

V1 = "application/vnd.schemaregistry.v1+json"


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", V1),
        ("*/*", V1),
        ("*", V1),
        ("application/*", V1),
        ("application/json", "application/json"),
        ("application/vnd.schemaregistry+json", "application/vnd.schemaregistry+json"),
        (f"{V1}, application/vnd.schemaregistry+json, application/json", V1),
        (
            "application/vnd.schemaregistry.v2+json; q=0.1, application/vnd.schemaregistry+json; q=0.9",
            "application/vnd.schemaregistry+json",
        ),
        ("text/html, image/gif, *; q=.2, */*; q=.2", V1),
        ("application/json; q=0.9, */*; q=0.1", "application/json"),
        ("application/json; q=0", None),
        ("application/json; q=many", None),
        ("text/*", None),
        ("application/octet-stream", None),
        ("application/vnd.schemaregistry.v2+json", None),
    ],
)
def test_the_type_with_the_highest_weight_is_chosen(accept: str, expected: str | None) -> None:
    assert content_type_for(accept) == expected


def test_a_client_that_takes_no_offered_type_gets_406(client: Client) -> None:
    assert client.ask("GET", "/subjects", accept="text/html") == (406, {"error_code": 406, "message": "HTTP 406 Not Acceptable"})
    assert client.ask("GET", "/subjects", accept="application/json") == (200, [])


def test_a_body_may_be_utf_16(client: Client) -> None:
    body = '{"compatibility": "NONE"}'.encode("utf-16")
    assert client.ask("PUT", "/config", body, content_type=f"{V1}; charset=utf-16") == (200, {"compatibility": "NONE"})


def test_probes_of_karapace_get_an_answer(client: Client) -> None:
    assert client.get("/master_available") == (200, {"master_available": True})
    assert client.get("/_health")[0] == 200


def test_a_schema_names_its_subjects_when_it_is_asked_to(client: Client) -> None:
    client.registered("a", '"int"')
    assert client.get("/schemas/ids/1?includeSubjects=true")[1]["subjects"] == ["a"]
    assert "subjects" not in client.get("/schemas/ids/1")[1]
