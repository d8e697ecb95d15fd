"""Callers of a registry log in as users of the cluster, and the cluster's ACLs hold for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from barnabas.testing import EmbeddedBroker
from tests.registry_process import RegistryProcess
from tests.waiting import until

SCHEMA = {"schema": '"string"'}
ALICE, BOB = ("alice", "wonderland"), ("bob", "builder")


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(secure=True) as broker:
        for user, password in (ALICE, BOB):
            broker.add_user(user, password)
        broker.allow("alice", "Write", topic="orders")
        broker.allow("bob", "Read", topic="orders")
        broker.allow("alice", "All", topic="secret")
        yield broker


@pytest.fixture(scope="module")
def registry(kafka: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    properties = Path(tmp_path_factory.mktemp("registry")) / "client.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in kafka.client_settings.items()))
    options = ("--command-config", str(properties), "--logins", "--super-user", "User:admin")
    with RegistryProcess(kafka.bootstrap, *options) as process:
        yield process


def ask(registry: RegistryProcess, method: str, path: str, user: tuple[str, str] | None, body: object = None) -> httpx.Response:
    return httpx.request(method, f"{registry.url}{path}", json=body, auth=user, timeout=90)


@pytest.fixture(scope="module")
def filled(registry: RegistryProcess) -> RegistryProcess:
    for subject in ("orders-value", "secret-value"):
        response = ask(
            registry, "POST", f"/subjects/{subject}/versions", ALICE, SCHEMA if subject == "orders-value" else {"schema": '"long"'}
        )
        assert response.status_code == 200, response.text
    return registry


@pytest.mark.parametrize("user", [None, ("alice", "wrong"), ("mallory", "x"), ("alice", "")])
def test_a_caller_without_a_valid_login_gets_401_and_learns_nothing(registry: RegistryProcess, user: tuple[str, str] | None) -> None:
    for path in ("/subjects", "/subjects/orders-value/versions", "/schemas/ids/1", "/config"):
        response = ask(registry, "GET", path, user)
        assert response.status_code == 401
        assert "WWW-Authenticate" in response.headers


@pytest.mark.parametrize("header", ["Basic", "Basic !!!", "Bearer", "Bearer a.b", "Bearer a.e30.c", "Digest x", "Basic OmE="])
def test_a_header_that_is_none_gets_401(registry: RegistryProcess, header: str) -> None:
    assert httpx.get(f"{registry.url}/subjects", headers={"Authorization": header}, timeout=90).status_code == 401


def test_a_writer_of_a_topic_registers_and_a_reader_reads(filled: RegistryProcess) -> None:
    assert ask(filled, "GET", "/subjects/orders-value/versions/latest", BOB).json()["version"] == 1
    denied = ask(filled, "POST", "/subjects/orders-value/versions", BOB, SCHEMA)
    assert (denied.status_code, denied.json()["error_code"]) == (403, 403)
    assert ask(filled, "DELETE", "/subjects/orders-value", BOB).status_code == 403
    assert ask(filled, "PUT", "/config/orders-value", ALICE, {"compatibility": "NONE"}).status_code == 403


def test_a_listing_has_only_subjects_that_the_caller_may_describe(filled: RegistryProcess) -> None:
    assert ask(filled, "GET", "/subjects", BOB).json() == ["orders-value"]
    assert ask(filled, "GET", "/subjects", ALICE).json() == ["orders-value", "secret-value"]
    assert [each["subject"] for each in ask(filled, "GET", "/schemas", BOB).json()] == ["orders-value"]
    secret = ask(filled, "GET", "/subjects/secret-value/versions/1", ALICE).json()["id"]
    assert ask(filled, "GET", f"/schemas/ids/{secret}", BOB).status_code == 404
    assert ask(filled, "GET", f"/schemas/ids/{secret}", ALICE).status_code == 200
    assert ask(filled, "GET", "/subjects/secret-value/versions", BOB).status_code == 403


def test_global_settings_are_for_administrators(filled: RegistryProcess) -> None:
    assert ask(filled, "GET", "/config", BOB).status_code == 403
    assert ask(filled, "PUT", "/mode", ALICE, {"mode": "READONLY"}).status_code == 403


def test_associations_are_changed_by_administrators(filled: RegistryProcess) -> None:
    assert ask(filled, "POST", "/associations", ALICE, {}).status_code == 403
    assert ask(filled, "POST", "/associations:batchMutate", ALICE, {"requests": [{}]}).status_code == 403
    found = ask(filled, "POST", "/associations:batchGet", BOB, {"requests": [{"resourceId": "x"}]})
    assert (found.status_code, found.json()["results"][0]["result"]["associations"]) == (207, [])
    assert ask(filled, "POST", "/subjects/orders-value/versions/1/tags", BOB, {}).status_code == 403


def test_a_rule_that_is_added_holds_soon(filled: RegistryProcess, kafka: EmbeddedBroker) -> None:
    assert ask(filled, "GET", "/subjects/later-value/versions", BOB).status_code == 403
    kafka.allow("bob", "Describe", topic="later")
    # Allowed, and there is no such subject.
    until(lambda: ask(filled, "GET", "/subjects/later-value/versions", BOB).status_code == 404, "the rule is read")


def test_health_and_metrics_need_no_login_and_name_no_subject(filled: RegistryProcess) -> None:
    assert ask(filled, "GET", "/health", None).json()["status"] == "healthy"
    page = ask(filled, "GET", "/metrics", None).text
    assert "barnabas_registry_subjects 2.0" in page
    assert "barnabas_registry_leader 1.0" in page
    assert 'path="/subjects/{subject}/versions"' in page
    assert "secret" not in page
    assert "/subjects/{subject}/versions" in ask(filled, "GET", "/openapi.json", None).json()["paths"]
