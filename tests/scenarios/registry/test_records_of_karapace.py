"""A topic that Karapace wrote, read by this registry.

``karapace_records.jsonl`` holds the records that Karapace 5 wrote to a Barnabas broker: schemas of
the three types, references, settings, soft and permanent deletions.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.scenarios.registry.registry_client import Client, record

RECORDS = Path(__file__).with_name("karapace_records.jsonl")


@pytest.fixture
def taken_over(client: Client) -> Client:
    for line in RECORDS.read_text().splitlines():
        read = json.loads(line)
        client.memory.replay(read["key"].encode(), read["value"].encode() if read["value"] is not None else None)
    return client


def test_subjects_versions_and_ids_are_those_of_karapace(taken_over: Client) -> None:
    assert taken_over.get("/subjects")[1] == [
        "address",
        "again",
        "customer",
        "events-value",
        "invoice",
        "orders-key",
        "orders-value",
        "person",
        "two",
        "with/slash and ümlaut",
    ]
    assert taken_over.get("/subjects?deletedOnly=true")[1] == ["again", "gone", "orders-value"]
    assert taken_over.get("/subjects/orders-value/versions?deletedAsNegative=true") == (200, [1, -2, 3])
    assert [taken_over.get(f"/subjects/{each}/versions/1")[1]["id"] for each in ("orders-key", "address", "person", "customer")] == [
        4,
        6,
        7,
        9,
    ]


def test_karapaces_empty_values_are_tombstones(taken_over: Client) -> None:
    assert taken_over.error("GET", "/subjects/gone-for-good/versions?deleted=true") == (404, 40401)
    assert taken_over.get("/subjects/two/versions?deleted=true") == (200, [2])
    assert taken_over.error("GET", "/config/address") == (404, 40408)


def test_settings_of_karapace_hold(taken_over: Client) -> None:
    assert taken_over.get("/config") == (200, {"compatibilityLevel": "FULL"})
    assert taken_over.get("/config/events-value") == (200, {"compatibilityLevel": "NONE"})
    assert taken_over.register("events-value", {"type": "string"}, schemaType="JSON")[0] == 200
    assert taken_over.register("two", {**record("A", "B", "c", name="Two"), "namespace": "shop"})[0] == 409


def test_schemas_of_karapace_evolve(taken_over: Client) -> None:
    wider = {**record("id", "AMOUNT", "NOTE", "MORE", name="Order"), "namespace": "shop"}
    assert taken_over.register("orders-value", wider)[1]["version"] == 4
    # The same schema, though Karapace sorts the names and this registry does not.
    again = {**record("a", name="Again"), "namespace": "shop"}
    assert taken_over.register("again", again)[1]["version"] in (2, 3)
    invoice = taken_over.get("/subjects/invoice/versions/1")[1]
    wider_invoice = invoice["schema"].replace("repeated", "string note = 3;\n  repeated")
    assert taken_over.register("invoice", wider_invoice, schemaType="PROTOBUF", references=invoice["references"])[0] == 200


def test_references_of_karapace_guard_what_they_use(taken_over: Client) -> None:
    assert taken_over.get("/subjects/address/versions/1/referencedby") == (200, [7])
    assert taken_over.error("DELETE", "/subjects/customer") == (422, 42206)
