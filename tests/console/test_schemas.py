"""Schemas of a real registry, as JSON, as pages and in a browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from playwright.sync_api import Browser, expect

from barnabas.console.settings import ClusterSettings, LoginMode
from barnabas.testing import EmbeddedBroker
from tests.console.browser import SHIFT_MAX, observe_shifts, opened_page, screenshot, serious_problems, shifted, wider_than_the_screen
from tests.console.console_thread import ConsoleClient, ConsoleThread, console_of
from tests.registry_process import RegistryProcess

PHONE_PIXELS = 360


def _order(*fields: dict[str, Any]) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}, *fields]})


FIRST = _order()
WITH_DEFAULT = _order({"name": "note", "type": "string", "default": ""})
WITHOUT_DEFAULT = _order({"name": "amount", "type": "double"})


@pytest.fixture
def schemas(with_registry: ConsoleThread) -> Iterator[ConsoleClient]:
    made = with_registry.client()
    yield made
    made.http.close()


def _subject(name: str) -> str:
    return f"/clusters/local/schemas/subjects/{name}"


def test_versions_are_registered_compared_and_seen_by_confluents_client(schemas: ConsoleClient, registry: str, new_name: str) -> None:
    subject = f"{new_name}-value"
    for text in (FIRST, WITH_DEFAULT):
        done = schemas.post("/clusters/local/schemas", subject=subject, schema=text)
        assert done["location"] == _subject(subject)
    assert json.loads(SchemaRegistryClient({"url": registry}).get_latest_version(subject).schema.schema_str or "") == json.loads(
        WITH_DEFAULT
    )
    shown = schemas.get(_subject(subject), compare=1)
    assert ([each["number"] for each in shown["versions"]], shown["schema"]["version"], shown["schema"]["type"]) == ([2, 1], 2, "AVRO")
    changed = [(each["kind"], each["text"].strip()) for each in shown["difference"] if each["kind"] != "same"]
    assert ("added", '"name": "note",') in changed
    assert not [each for each in changed if each[0] == "removed" and "id" in each[1]]
    page = schemas.page(_subject(subject), compare=1)
    assert "Version 1 (\N{MINUS SIGN}) and version 2 (+)" in page
    listed = schemas.get("/clusters/local/schemas", search=new_name)["page"]["items"]
    assert [(each["name"], each["version"], each["is_deleted"]) for each in listed] == [(subject, 2, False)]
    assert subject in schemas.page("/clusters/local/schemas", search=new_name)
    of_topic = schemas.get(f"/clusters/local/topics/{new_name}/schemas")["subjects"]
    assert [(each["name"], each["version"]) for each in of_topic] == [(subject, 2)]
    assert subject in schemas.page(f"/clusters/local/topics/{new_name}/schemas")


def test_a_trial_names_the_differences_and_registers_nothing(schemas: ConsoleClient, new_name: str) -> None:
    schemas.post("/clusters/local/schemas", subject=new_name, schema=FIRST)
    tried = schemas.post("/clusters/local/schemas/try", subject=new_name, schema=WITHOUT_DEFAULT)["trial"]
    assert tried["is_compatible"] is False
    assert any("READER_FIELD_MISSING_DEFAULT_VALUE" in each for each in tried["reasons"])
    assert any(each["kind"] == "added" and "amount" in each["text"] for each in tried["difference"])
    fits = schemas.post("/clusters/local/schemas/try", subject=new_name, schema=WITH_DEFAULT)["trial"]
    assert (fits["is_compatible"], fits["reasons"]) == (True, [])
    broken = schemas.post("/clusters/local/schemas/try", subject=new_name, schema='{"type": "nothing"}')["trial"]
    assert broken["is_compatible"] is False
    assert [each["number"] for each in schemas.get(_subject(new_name))["versions"]] == [1]
    refused = schemas.try_post("/clusters/local/schemas", subject=new_name, schema=WITHOUT_DEFAULT)
    assert (refused.status_code, "incompatible" in refused.json()["error"]) == (400, True)
    first = schemas.post("/clusters/local/schemas/try", subject=f"{new_name}-new", schema=FIRST)["trial"]
    assert first["is_compatible"] is True


def test_levels_and_modes_are_those_of_the_subject_or_of_the_registry(schemas: ConsoleClient, new_name: str) -> None:
    schemas.post("/clusters/local/schemas", subject=new_name, schema=FIRST)
    inherited = schemas.get(_subject(new_name))["rules"]
    assert (inherited["level"], inherited["has_own_level"], inherited["mode"]) == ("BACKWARD", False, "READWRITE")
    schemas.post("/clusters/local/schemas/level", subject=new_name, level="NONE")
    schemas.post("/clusters/local/schemas", subject=new_name, schema=WITHOUT_DEFAULT)
    schemas.post("/clusters/local/schemas/mode", subject=new_name, mode="READONLY")
    own = schemas.get(_subject(new_name))["rules"]
    assert (own["level"], own["has_own_level"], own["mode"], own["has_own_mode"]) == ("NONE", True, "READONLY", True)
    refused = schemas.try_post("/clusters/local/schemas", subject=new_name, schema=_order({"name": "x", "type": "int", "default": 0}))
    assert refused.status_code == 400
    schemas.post("/clusters/local/schemas/mode", subject=new_name)
    schemas.post("/clusters/local/schemas/level", subject=new_name)
    again = schemas.get(_subject(new_name))["rules"]
    assert (again["level"], again["has_own_level"], again["has_own_mode"]) == ("BACKWARD", False, False)
    assert schemas.try_post("/clusters/local/schemas/level", level="SIDEWAYS").status_code == 400
    assert schemas.try_post("/clusters/local/schemas/level").status_code == 400


@pytest.mark.parametrize("subject", [".", ".."])
def test_a_subject_that_an_address_cannot_name_changes_nothing_of_the_registry(schemas: ConsoleClient, subject: str) -> None:
    before = schemas.get("/clusters/local/schemas")["rules"]
    for path, values in (
        ("level", {"level": "NONE"}),
        ("level", {}),
        ("mode", {"mode": "READONLY"}),
        ("delete", {"confirm_subject": subject}),
        ("try", {"schema": FIRST}),
    ):
        refused = schemas.try_post(f"/clusters/local/schemas/{path}", subject=subject, **values)
        assert (refused.status_code, refused.json()["parameter"]) == (400, "subject"), path
    assert schemas.try_post("/clusters/local/schemas", subject=subject, schema=FIRST).status_code == 400
    assert schemas.http.get("/api/clusters/local/schemas/new", params={"subject": subject}).status_code == 400
    assert schemas.get("/clusters/local/schemas")["rules"] == before


def test_references_lead_both_ways(schemas: ConsoleClient, new_name: str) -> None:
    address = json.dumps({"type": "record", "name": "Address", "namespace": "shop", "fields": [{"name": "city", "type": "string"}]})
    schemas.post("/clusters/local/schemas", subject=f"{new_name}/address", schema=address)
    order = _order({"name": "to", "type": "shop.Address"})
    schemas.post("/clusters/local/schemas", subject=new_name, schema=order, references=f"shop.Address {new_name}/address 1")
    shown = schemas.get(_subject(new_name))
    assert shown["schema"]["references"] == [{"name": "shop.Address", "subject": f"{new_name}/address", "version": 1}]
    used = schemas.get(_subject(f"{new_name}%2Faddress"))
    assert used["referrers"] == [{"subject": new_name, "version": 1}]
    form = schemas.get("/clusters/local/schemas/new", subject=new_name)
    assert form["references"] == f"shop.Address {new_name}/address 1"
    assert f"{new_name}%2Faddress" in schemas.page(_subject(new_name))


def test_a_subject_is_deleted_softly_and_then_for_ever(schemas: ConsoleClient, new_name: str) -> None:
    for text in (FIRST, WITH_DEFAULT):
        schemas.post("/clusters/local/schemas", subject=new_name, schema=text)
    delete = "/clusters/local/schemas/delete"
    assert schemas.try_post(delete, subject=new_name, confirm_subject="other").status_code == 400
    schemas.post(delete, subject=new_name, confirm_subject=new_name, version=1)
    assert schemas.get(_subject(new_name))["versions"] == [{"number": 2, "is_deleted": False}, {"number": 1, "is_deleted": True}]
    schemas.post(delete, subject=new_name, confirm_subject=new_name)
    assert schemas.get("/clusters/local/schemas", search=new_name)["page"]["items"] == []
    deleted = schemas.get("/clusters/local/schemas", search=new_name, deleted=True)["page"]["items"]
    assert [(each["name"], each["is_deleted"]) for each in deleted] == [(new_name, True)]
    assert "Delete the subject for ever" in schemas.page(_subject(new_name))
    schemas.post(delete, subject=new_name, confirm_subject=new_name, permanent=True)
    assert schemas.http.get(f"/api{_subject(new_name)}").status_code == 404


def test_without_a_registry_pages_say_how_to_name_one(client: ConsoleClient, topic: str) -> None:
    assert "--registry URL" in client.page("/clusters/local/schemas")
    assert "--registry URL" in client.page(f"/clusters/local/topics/{topic}/schemas")
    refused = client.try_post("/clusters/local/schemas", subject="a", schema=FIRST)
    assert (refused.status_code, "--registry URL" in refused.json()["error"]) == (404, True)


def test_a_registry_that_cannot_be_reached_is_a_sentence(broker: EmbeddedBroker) -> None:
    with console_of(ClusterSettings("local", broker.bootstrap, registry="http://127.0.0.1:1")) as console:
        answer = console.client().http.get("/api/clusters/local/schemas")
        assert (answer.status_code, "No registry answers" in answer.json()["error"]) == (502, True)


def test_a_person_changes_schemas_with_the_own_login_only(secure_broker: EmbeddedBroker, tmp_path: Any) -> None:
    properties = {name: str(value) for name, value in secure_broker.client_settings.items() if name != "bootstrap.servers"}
    client_file = tmp_path / "client.properties"
    client_file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    options = ("--command-config", str(client_file), "--logins", "--super-user", "User:admin")
    with RegistryProcess(secure_broker.bootstrap, *options) as registry:
        without = {name: value for name, value in properties.items() if name not in ("sasl.username", "sasl.password")}
        shared = ClusterSettings("shared", secure_broker.bootstrap, without, registry=registry.url)
        own = ClusterSettings("own", secure_broker.bootstrap, without, registry=registry.url, registry_login="user")
        with console_of(shared, own, login=LoginMode.USERS) as console:
            client = console.client()
            for each in ("shared", "own"):
                logged_in: httpx.Response = client.log_in(each, properties["sasl.username"], properties["sasl.password"])
                assert logged_in.status_code == 200, logged_in.text
            refused = client.try_post("/clusters/shared/schemas", subject="orders-value", schema=FIRST)
            assert (refused.status_code, "registry_login" in refused.json()["error"]) == (403, True)
            client.post("/clusters/own/schemas", subject="orders-value", schema=FIRST)
            assert client.get("/clusters/own/schemas")["page"]["items"][0]["name"] == "orders-value"


def test_a_person_tries_and_registers_a_schema_in_a_browser(browser: Browser, with_registry: ConsoleThread, new_name: str) -> None:
    client = with_registry.client()
    client.post("/clusters/local/schemas", subject=new_name, schema=FIRST)
    with opened_page(browser, with_registry.url) as page:
        page.goto("/clusters/local/schemas")
        page.keyboard.press("/")
        page.keyboard.type(new_name)
        expect(page.locator("#list tbody tr")).to_have_count(1)
        screenshot(page, "schemas")
        page.get_by_role("link", name=new_name).click()
        page.get_by_role("link", name="New version").click()
        page.get_by_label("Schema", exact=True).fill(WITHOUT_DEFAULT)
        page.get_by_role("button", name="Try it").click()
        expect(page.locator("#trial")).to_contain_text("READER_FIELD_MISSING_DEFAULT_VALUE")
        assert serious_problems(page) == []
        screenshot(page, "schema-tried")
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("alert")).to_contain_text("incompatible")
        page.get_by_label("Schema", exact=True).fill(WITH_DEFAULT)
        page.get_by_role("button", name="Try it").click()
        expect(page.locator("#trial")).to_contain_text("The schema is compatible.")
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("status").first).to_contain_text("is registered with id")
        page.get_by_label("Compare with").select_option("1")
        expect(page.locator(".difference")).to_contain_text("note")
        screenshot(page, "schema-difference")
        for each in ("light", "dark"):
            page.emulate_media(color_scheme=each)
            assert serious_problems(page) == []
        page.set_viewport_size({"width": PHONE_PIXELS, "height": 740})
        assert wider_than_the_screen(page) <= 0


def test_a_person_relaxes_a_rule_compares_versions_and_deletes_one(
    browser: Browser, with_registry: ConsoleThread, registry: str, new_name: str
) -> None:
    client = with_registry.client()
    client.post("/clusters/local/schemas", subject=new_name, schema=FIRST)
    with opened_page(browser, with_registry.url) as page:
        observe_shifts(page)
        page.goto(_subject(new_name))
        assert shifted(page) <= SHIFT_MAX
        page.locator("summary", has_text="Change the compatibility level").click()
        page.get_by_label("New level").select_option("NONE")
        page.get_by_role("button", name="Change the compatibility level").click()
        expect(page.locator(".facts").last).to_contain_text("NONE")
        page.get_by_role("link", name="New version").click()
        page.get_by_label("Schema", exact=True).fill(WITHOUT_DEFAULT)
        page.get_by_role("button", name="Try it").click()
        expect(page.locator("#trial")).to_contain_text("The schema is compatible.")
        assert [each["number"] for each in client.get(_subject(new_name))["versions"]] == [1]
        page.get_by_role("button", name="Register").click()
        expect(page.get_by_role("status").first).to_contain_text("is registered with id")
        page.goto(f"{_subject(new_name)}?version=2&compare=1")
        assert shifted(page) <= SHIFT_MAX
        expect(page.locator(".difference tr.added").filter(has_text="amount")).to_have_count(1)
        expect(page.locator(".difference caption")).to_contain_text("version 2 (+)")
        page.get_by_label("Version", exact=True).select_option("1")
        expect(page.locator(".facts").first).to_contain_text("AVRO")
        page.locator("summary", has_text="Delete version 1").click()
        typed = page.get_by_label("to delete version 1")
        typed.fill("another")
        page.get_by_role("button", name="Delete version 1").click()
        expect(page.get_by_role("alert")).to_be_visible()
        typed.fill(new_name)
        page.get_by_role("button", name="Delete version 1").click()
        expect(page.get_by_role("status").first).to_contain_text("deleted")
        screenshot(page, "schema-version-deleted")
    assert SchemaRegistryClient({"url": registry}).get_versions(new_name) == [2]
