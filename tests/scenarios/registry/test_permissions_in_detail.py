"""What the ACLs of the cluster say about settings of contexts, about references, and about the
addresses of callers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from barnabas.testing import EmbeddedBroker
from tests.registry_process import RegistryProcess

ALICE, BOB, CAROL = ("alice", "wonderland"), ("bob", "builder"), ("carol", "danvers")
# An address of this machine from which carol may register schemas of the topic `far`.
FAR = "127.0.0.2"
SCHEMA = {"schema": '"string"'}
SECRET = {"type": "record", "name": "Secret", "fields": [{"name": "number_of_card", "type": "string"}]}
REFERENCE = {"name": "Secret", "subject": "card-value", "version": 1}


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(secure=True) as broker:
        for user, password in (ALICE, BOB, CAROL):
            broker.add_user(user, password)
        for topic in ("card", "holder"):
            broker.allow("alice", "All", topic=topic)
        broker.allow("bob", "All", topic="payments")
        broker.allow("bob", "Describe", topic="holder")
        broker.allow("carol", "AlterConfigs", "DescribeConfigs", topic="*")
        admin = AdminClient({**broker.client_settings})
        far = AclBinding(
            ResourceType.TOPIC, "far", ResourcePatternType.LITERAL, "User:carol", FAR, AclOperation.WRITE, AclPermissionType.ALLOW
        )
        for future in admin.create_acls([far]).values():
            future.result()
        yield broker


@pytest.fixture(scope="module")
def options(kafka: EmbeddedBroker, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    properties = Path(tmp_path_factory.mktemp("registry")) / "client.properties"
    properties.write_text("".join(f"{name}={value}\n" for name, value in kafka.client_settings.items()))
    return "--command-config", str(properties), "--logins", "--super-user", "User:admin"


@pytest.fixture(scope="module")
def registry(kafka: EmbeddedBroker, options: tuple[str, ...]) -> Iterator[RegistryProcess]:
    with RegistryProcess(kafka.bootstrap, *options) as process:
        yield process


@pytest.fixture(scope="module")
def follower(registry: RegistryProcess, options: tuple[str, ...]) -> Iterator[RegistryProcess]:
    with RegistryProcess(registry.bootstrap, *options) as process:
        assert not process.ask("GET", "/health").json()["leader"]
        yield process


def ask(registry: RegistryProcess, method: str, path: str, user: tuple[str, str], body: object = None) -> httpx.Response:
    return httpx.request(method, f"{registry.url}{path}", json=body, auth=user, timeout=90)


@pytest.mark.parametrize("name", [":.:", ":.", ":.__GLOBAL:", ":.eu:"])
def test_settings_of_all_topics_give_no_right_to_those_of_a_context(registry: RegistryProcess, name: str) -> None:
    assert ask(registry, "PUT", "/config/orders-value", CAROL, {"normalize": False}).status_code == 200
    assert ask(registry, "PUT", f"/config/{name}", CAROL, {"compatibility": "NONE"}).status_code == 403
    assert ask(registry, "PUT", f"/mode/{name}", CAROL, {"mode": "READONLY"}).status_code == 403
    assert ask(registry, "GET", f"/config/{name}", CAROL).status_code == 403
    assert ask(registry, "DELETE", f"/mode/{name}", CAROL).status_code == 403


def test_a_schema_refers_only_to_schemas_that_the_caller_may_describe(registry: RegistryProcess) -> None:
    """The user bob may describe ``holder``, whose schema refers to one of ``card``, but not
    ``card`` itself."""
    holder = {"type": "record", "name": "Holder", "fields": [{"name": "card", "type": "Secret"}]}
    for subject, schema, references in (("card-value", SECRET, []), ("holder-value", holder, [REFERENCE])):
        body = {"schema": json.dumps(schema), "references": references}
        assert ask(registry, "POST", f"/subjects/{subject}/versions", ALICE, body).status_code == 200
    for named, subject in (("Secret", "card-value"), ("Holder", "holder-value")):
        schema = {"type": "record", "name": "Payment", "fields": [{"name": "of", "type": named}]}
        reference = {"name": named, "subject": subject, "version": 1}
        hidden = {"schema": json.dumps(schema), "references": [reference]}
        missing = {"schema": json.dumps(schema), "references": [{**reference, "version": 9}]}
        for path in ("/subjects/payments-value/versions", "/compatibility/subjects/payments-value/versions"):
            answer, other = (ask(registry, "POST", path, BOB, body) for body in (hidden, missing))
            assert (answer.status_code, answer.json()["error_code"]) == (422, 42201)
            assert "number_of_card" not in answer.text
            if named == "Secret":
                assert answer.text == other.text.replace("version 9", "version 1").replace("version=9", "version=1")
    assert ask(registry, "GET", "/subjects/payments-value/versions", BOB).status_code == 404
    assert ask(registry, "GET", "/subjects/holder-value/versions/1", BOB).status_code == 200
    resolved = ask(registry, "GET", "/subjects/holder-value/versions/1?format=resolved", BOB)
    assert (resolved.status_code, "number_of_card" in resolved.text) == (422, False)
    assert "number_of_card" in ask(registry, "GET", "/subjects/holder-value/versions/1?format=resolved", ALICE).text


def test_a_lookup_finds_no_reference_that_the_caller_may_not_describe(registry: RegistryProcess) -> None:
    schema = {"type": "record", "name": "Payment", "fields": []}
    assert ask(registry, "POST", "/subjects/payments-key/versions", BOB, {"schema": json.dumps(schema)}).status_code == 200
    answer = ask(registry, "POST", "/subjects/payments-key", BOB, {"schema": json.dumps(schema), "references": [REFERENCE]})
    assert (answer.status_code, answer.json()["error_code"]) == (422, 42201)


def test_the_address_of_a_caller_is_that_of_its_connection(registry: RegistryProcess) -> None:
    def register(**headers: str) -> int:
        return httpx.post(f"{registry.url}/subjects/far-value/versions", json=SCHEMA, auth=CAROL, headers=headers, timeout=90).status_code

    assert register() == 403
    assert register(**{"X-Forwarded-For": FAR}) == 403
    assert register(**{"X-Barnabas-Caller": f"1 x {FAR}"}) == 403


def test_a_write_through_a_follower_is_judged_by_the_address_of_the_caller(follower: RegistryProcess) -> None:
    with httpx.Client(base_url=follower.url, auth=CAROL, transport=httpx.HTTPTransport(local_address=FAR), timeout=90) as carol:
        assert carol.post("/subjects/far-value/versions", json=SCHEMA).status_code == 200
    assert ask(follower, "POST", "/subjects/far-value/versions", CAROL, SCHEMA).status_code == 403
